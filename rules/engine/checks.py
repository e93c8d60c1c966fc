"""Checks of a rule against the vocabulary: words, attributes, relations, blames, texts and inline tests."""

import re
from collections.abc import Iterator

from firstfault.rules.engine.clauses import Absence, AnyClause, Counted, Selector, Sequence, Silence, Suppress
from firstfault.rules.engine.inline_event import parse_event
from firstfault.rules.engine.model import Rule
from firstfault.rules.engine.vocabulary import Vocabulary
from firstfault.rules.engine.yaml_io import Keys

COLUMNS = frozenset({"code", "class", "role", "category", "relation", "source", "count", "node", "rank"})
"""What a `where` may test besides the attributes of the event."""
PLACEHOLDERS = frozenset({"origin", "node", "device", "code", "count", "nodes", "event"})
SCOPES = {
    "anchor.device": {"gpu"},
    "anchor.node": {"node"},
    "anchor.only_node": {"node"},
    "anchor.filesystem": {"filesystem"},
    "hub": {"node"},
    "anchor.port": {"port"},
    "anchor.rank": {"rank"},
    "anchor.ranks": {"rank"},
    "silent": {"rank", "node"},
    "behind": {"rank", "node"},
    "stopped": {"rank", "node"},
    "last_reporter": {"rank", "node"},
    "common:switch": {"port", "node"},
    "common:rack": {"rack"},
    "common:power_domain": {"power_domain"},
    "common:filesystem": {"filesystem"},
    "scheduler": {"scheduler"},
}
"""Origin scopes that fit each blame; `job` and `attr:` may speak of any."""
BEYOND = ("other_jobs_same_node", "other_jobs_same_device", "same_workload", "same_user", "cluster")
"""Relations whose events may belong to several jobs."""


def findings(rule: Rule, stem: str, vocabulary: Vocabulary) -> Iterator[tuple[Keys, str]]:
    """Where a rule is wrong, and what to do."""
    if rule.id != stem:
        yield ("id",), f"{rule.id} is not the file's name, write {stem} or rename the file"
    for key, word, words in (
        ("category", rule.category, vocabulary.categories),
        ("outcome", rule.outcome, vocabulary.outcomes),
    ):
        if word is not None and word not in words:
            yield (key,), f"{word} is no {key}, take one of {', '.join(words)}"
    yield from _selector(("anchor",), rule.anchor, vocabulary)
    yield from _blame(rule, vocabulary)
    for number, suppress in enumerate(rule.anchor.suppress):
        keys: Keys = ("anchor", "suppress", number)
        yield from _selector(keys, suppress, vocabulary)
        yield from _related(keys, suppress, suppress.event, rule, vocabulary)
    for name in ("support", "unless", "doubt", "absence", "silence", "sequence"):
        for number, clause in enumerate(getattr(rule, name)):
            yield from _clause((name, number), clause, rule, vocabulary)
    for number, glob in enumerate(rule.explains):
        if not vocabulary.expand(glob):
            yield ("explains", number), f"{glob} matches no event type, correct it"
    yield from _texts(rule)
    yield from _tests(rule, vocabulary)


def _selector(keys: Keys, selector: Selector, vocabulary: Vocabulary) -> Iterator[tuple[Keys, str]]:
    types = vocabulary.expand(selector.event)
    if not types:
        yield (*keys, "event"), f"{selector.event} is not in the vocabulary, correct it or add it"
        return
    known = {a for t in types for a in vocabulary.events[t].attrs}
    for name in selector.where:
        if name not in known | COLUMNS:
            options = ", ".join(sorted(known | COLUMNS))
            yield (*keys, "where", name), f"{name} is no attribute of {selector.event}, take one of {options}"


def _clause(keys: Keys, clause: AnyClause, rule: Rule, vocabulary: Vocabulary) -> Iterator[tuple[Keys, str]]:
    if isinstance(clause, Sequence):
        for number, step in enumerate(clause.steps):
            if step.event is not None:
                inside: Keys = (*keys, "steps", number)
                yield from _selector(inside, Selector(event=step.event, where=step.where), vocabulary)
                yield from _related(keys, clause, step.event, rule, vocabulary)
        return
    yield from _selector(keys, clause, vocabulary)
    yield from _related(keys, clause, clause.event, rule, vocabulary)
    if isinstance(clause, Counted) and clause.min_jobs > 1 and clause.relation not in BEYOND:
        yield (*keys, "min_jobs"), f"{clause.relation} sees one job only, take one of {', '.join(BEYOND)}"
    if isinstance(clause, Absence | Silence):
        from firstfault.transforms.coverage import KINDS

        name, kinds = clause.needs_coverage, sorted(set(KINDS.values()))
        if name not in kinds:
            yield (*keys, "needs_coverage"), f"{name} is no kind of source, take one of {', '.join(kinds)}"


def _related(
    keys: Keys, clause: AnyClause | Suppress, event: str, rule: Rule, vocabulary: Vocabulary
) -> Iterator[tuple[Keys, str]]:
    """An attribute that is to be equal must be one of both events."""
    kind, _, attribute = clause.relation.partition(":")
    if kind == "attr":
        for name in (rule.anchor.event, event):
            if not _has(name, attribute, vocabulary):
                yield (*keys, "relation"), f"{attribute} is no attribute of {name}, take one of both"


def _has(event: str, attribute: str, vocabulary: Vocabulary) -> bool:
    return any(attribute in vocabulary.events[t].attrs for t in vocabulary.expand(event))


def _blame(rule: Rule, vocabulary: Vocabulary) -> Iterator[tuple[Keys, str]]:
    source, scope = rule.blame.source, rule.blame.scope
    kind, _, attribute = source.partition(":")
    if kind in {"attr", "odd"} and not _has(rule.anchor.event, attribute, vocabulary):
        yield ("blame", "from"), f"{attribute} is no attribute of {rule.anchor.event}, take one that it has"
    fitting = SCOPES.get(source)
    if fitting is not None and scope not in fitting:
        yield ("blame", "scope"), f"{source} names no {scope}, write {' or '.join(sorted(fitting))}"


def _texts(rule: Rule) -> Iterator[tuple[Keys, str]]:
    for key, text in (("conclusion", rule.conclusion), ("action", rule.action)):
        for language in ("en", "zh"):
            for name in re.findall(r"\{(\w*)\}", getattr(text, language) or ""):
                if name not in PLACEHOLDERS:
                    options = ", ".join(sorted(PLACEHOLDERS))
                    yield (key, language), f"{{{name}}} cannot be filled in, take one of {options}"


def _tests(rule: Rule, vocabulary: Vocabulary) -> Iterator[tuple[Keys, str]]:
    for number, test in enumerate(rule.tests):
        for position, line in enumerate(test.events):
            try:
                parse_event(line, vocabulary)
            except ValueError as error:
                yield ("tests", number, "events", position), str(error)
        if test.expect == "none" and test.origin is not None:
            yield ("tests", number, "origin"), "a rule that does not match has no origin, remove it"
