"""Rule files of all fault domains, checked against the vocabulary; problems are told with file and line."""

import hashlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from firstfault.rules.engine.inline_event import parse_event
from firstfault.rules.engine.model import Absence, Clause, Rule, Selector
from firstfault.rules.engine.vocabulary import Vocabulary
from firstfault.rules.engine.yaml_io import Keys, KnowledgeError, Problems, build, load_documents

OTHER_FOLDERS = frozenset({"engine", "patterns", "signals", "catalogues"})
COLUMNS = frozenset({"code", "class", "role", "category", "relation", "source", "count", "node", "rank"})
"""What a `where` may test besides the attributes of the event."""
PLACEHOLDERS = frozenset({"origin", "node", "device", "code", "count", "nodes", "event"})
SCOPES = {
    "anchor.device": {"gpu"},
    "anchor.node": {"node"},
    "anchor.port": {"port"},
    "anchor.rank": {"rank"},
    "silent": {"rank", "node"},
    "behind": {"rank", "node"},
    "common:switch": {"port", "node"},
    "common:rack": {"rack"},
    "common:power_domain": {"power_domain"},
    "common:filesystem": {"filesystem"},
    "scheduler": {"scheduler"},
}
"""Origin scopes that fit each blame; `job` and `attr:` may speak of any."""
VERSION_DIGITS = 12


def rule_files(folder: Path) -> list[Path]:
    """Rule files below the rules folder: `<domain>/<id>.yaml`."""
    domains = (d for d in sorted(folder.iterdir()) if d.is_dir() and d.name not in OTHER_FOLDERS)
    return [file for domain in domains for file in sorted(domain.glob("*.yaml"))]


def load_rules(folder: Path, vocabulary: Vocabulary) -> list[Rule]:
    """All rules, in order of id.

    Args:
        folder: The rules folder with one subfolder a fault domain.
        vocabulary: The only words that rules may use.

    Raises:
        KnowledgeError: With every problem of every file.
    """
    problems = Problems()
    rules: dict[str, Rule] = {}
    for file in rule_files(folder):
        rule = _load(file, vocabulary, problems)
        if rule is not None and rule.id in rules:
            problems.found.append(f"{file}:1: id: {rule.id} is used by another file, take another id")
        elif rule is not None:
            rules[rule.id] = rule
    problems.raise_any()
    return [rules[name] for name in sorted(rules)]


def _load(file: Path, vocabulary: Vocabulary, problems: Problems) -> Rule | None:
    try:
        documents = load_documents(file)
    except KnowledgeError as error:
        problems.found += error.problems
        return None
    if not documents:
        problems.found.append(f"{file}:1: document: empty, write a rule or remove the file")
        return None
    located = documents[0]
    rule = build(Rule, located, (), located.data, problems)
    if rule is not None:
        for keys, what in _findings(rule, file.stem, vocabulary):
            problems.add(located, keys, what)
    return rule


def _findings(rule: Rule, stem: str, vocabulary: Vocabulary) -> Iterator[tuple[Keys, str]]:
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
    parts: tuple[tuple[str, Iterable[Clause]], ...] = (
        ("support", rule.support),
        ("unless", rule.unless),
        ("absence", rule.absence),
    )
    for name, clauses in parts:
        for number, clause in enumerate(clauses):
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


def _clause(keys: Keys, clause: Clause, rule: Rule, vocabulary: Vocabulary) -> Iterator[tuple[Keys, str]]:
    yield from _selector(keys, clause, vocabulary)
    kind, _, attribute = clause.relation.partition(":")
    if kind == "attr":
        for event in (rule.anchor.event, clause.event):
            if not _has(event, attribute, vocabulary):
                yield (*keys, "relation"), f"{attribute} is no attribute of {event}, take one of both"
    if isinstance(clause, Absence):
        from firstfault.transforms.coverage import KINDS

        name, kinds = clause.needs_coverage, sorted(set(KINDS.values()))
        if name not in kinds:
            yield (*keys, "needs_coverage"), f"{name} is no kind of source, take one of {', '.join(kinds)}"


def _has(event: str, attribute: str, vocabulary: Vocabulary) -> bool:
    return any(attribute in vocabulary.events[t].attrs for t in vocabulary.expand(event))


def _blame(rule: Rule, vocabulary: Vocabulary) -> Iterator[tuple[Keys, str]]:
    source, scope = rule.blame.source, rule.blame.scope
    kind, _, attribute = source.partition(":")
    if kind == "attr" and not _has(rule.anchor.event, attribute, vocabulary):
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


def ruleset_version(root: Path) -> str:
    """Hash of everything a verdict depends on: rules, vocabulary, catalogues, patterns, signals, windows and scoring.

    Args:
        root: The rules folder.
    """
    total = hashlib.sha256()
    for file in sorted(root.rglob("*.yaml"), key=lambda f: f.relative_to(root).as_posix()):
        content = hashlib.sha256(file.read_bytes()).hexdigest()
        total.update(f"{file.relative_to(root).as_posix()}\x1f{content}\n".encode())
    return total.hexdigest()[:VERSION_DIGITS]
