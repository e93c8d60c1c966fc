"""Drafts of rules: a file that loads and passes its own two tests, from an event and whom it blames."""

import json
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import yaml
from pydantic import ValidationError

from firstfault.rules.engine.checks import SCOPES, findings
from firstfault.rules.engine.model import Rule
from firstfault.rules.engine.vocabulary import EventType, Vocabulary

PLACES = {"device": "n1/0000:3b:00", "node": "n1", "port": "n1/mlx5_0/1", "rank": "n1#3"}
"""Where a test's event happens, by what it speaks of; other events have no place."""
NAMES = {"anchor.device": "n1/0000:3b:00", "anchor.node": "n1", "anchor.port": "n1/mlx5_0/1", "anchor.rank": "rank-3"}
"""What is blamed then."""
SCOPE_OF_EVENT = {"device": "gpu", "node": "node", "port": "port", "rank": "rank"}
SOURCE_OF_SCOPE = {"gpu": "anchor.device", "job": "job", "scheduler": "scheduler"} | {
    name: f"anchor.{name}" for name in ("node", "port", "rank", "filesystem")
}
DRAFTED = ("anchor.", "attr:", "job", "scheduler")
"""Blames that one event is enough to test."""
DRAFTABLE = "anchor.<device|node|port|rank|filesystem>, attr:<name>, job or scheduler"
USUAL_SEQUELS = ("comm.*", "store.error", "proc.*", "app.exception", "train.aborted", "sched.end")
"""What most faults end in."""
_OPTIONS = {"id": "ID", "category": "--category", "anchor": "--event", "blame.scope": "--scope", "blame.from": "--from"}


class DraftError(ValueError):
    """What the draft was asked for cannot be a rule; the message says why."""


@dataclass(frozen=True)
class Wanted:
    """What a draft is asked for.

    Attributes:
        id: Id of the rule.
        event: Event type that it starts from.
        category: Root-cause category.
        scope: What it blames; None for what the event speaks of.
        source: Where the name comes from; None for what fits the scope.
    """

    id: str
    event: str
    category: str
    scope: str | None = None
    source: str | None = None


def draft_rule(wanted: Wanted, vocabulary: Vocabulary) -> str:
    """The text of a rule file with status experimental, one test that matches and one near miss.

    Raises:
        DraftError: The words do not make a rule.
    """
    if wanted.event not in vocabulary.events:
        near = get_close_matches(wanted.event, vocabulary.events, n=3)
        hint = f"; near: {', '.join(near)}" if near else "; see rules/vocabulary.yaml"
        raise DraftError(f"--event: {wanted.event} is not in the vocabulary{hint}.")
    event = vocabulary.events[wanted.event]
    scope, source = _blame(wanted, event)
    text = _text(wanted, event, scope, source, vocabulary)
    _check(text, wanted.id, vocabulary)
    return text


def _blame(wanted: Wanted, event: EventType) -> tuple[str, str]:
    """Scope and source of the blame, each from the other or from the event where it is not given."""
    scope, source = wanted.scope, wanted.source
    if scope is None and source is None:
        scope = SCOPE_OF_EVENT.get(event.scope, "job")
    if scope is None:
        # `job` and `attr:` may speak of anything.
        fitting = sorted(SCOPES.get(source or "", {"job"} if source == "job" else ()))
        scope = next(iter(fitting), None)
    if source is None:
        source = SOURCE_OF_SCOPE.get(scope or "")
    if scope is None or source is None:
        known, missing = (f"--from {source}", "--scope") if scope is None else (f"--scope {scope}", "--from")
        raise DraftError(f"{missing}: {known} alone does not tell whom to blame, give {missing} too.")
    if not source.startswith(DRAFTED):
        raise DraftError(f"--from: a draft blames {DRAFTABLE}; for {source} copy a rule that blames so.")
    return scope, source


def _text(wanted: Wanted, event: EventType, scope: str, source: str, vocabulary: Vocabulary) -> str:
    where, hit, miss = _tests(wanted.event, event, source, vocabulary)
    attribute = source.removeprefix("attr:")
    origin = [] if scope in {"job", "scheduler"} else [NAMES.get(source, _sample(event, attribute, 1))]
    told = "" if source == "anchor.filesystem" else f", origin: {json.dumps(origin)}"
    summary = event.summary[0].upper() + event.summary[1:]
    subject = f"On {{origin}}: {event.summary}" if origin else summary
    explains = [glob for glob in USUAL_SEQUELS if vocabulary.expand(glob)]
    return f"""\
id: {wanted.id}
title: {_quoted(summary)}
status: experimental
category: {wanted.category}
anchor: {{event: {wanted.event}{where}}}
blame: {{scope: {scope}, from: {_quoted(source)}}}
# What else must be seen, and what must not, as in:
# support: [{{event: "comm.*", relation: job, window_s: [-5, 3600], required: true, weight: 1}}]
# unless: [{{event: sched.end, relation: job, window_s: [-604800, -60]}}]
explains: {json.dumps(explains)}
base: 2
cap: 0.6
conclusion:
  en: {_quoted(f"{subject}; say here what that did to the job.")}
action:
  en: "Write here what to do first, how a false alarm is told from a real one, and when the job may run again."
false_positives: [Write here what looks the same and is not.]
references: [Write here the document that this rests on.]
tests:
  - {{name: it happens, events: [{_quoted(hit)}], expect: match{told}}}
  - {{name: a near miss, events: [{_quoted(miss)}], expect: none}}
"""


def _tests(name: str, event: EventType, source: str, vocabulary: Vocabulary) -> tuple[str, str, str]:
    """The anchor's `where`, a line that matches and one that does not."""
    place = PLACES.get(source.removeprefix("anchor."), PLACES.get(event.scope, "-"))
    if source == "anchor.node" and event.scope in PLACES:
        place = PLACES[event.scope]  # each of them names the node too
    blamed = source.removeprefix("attr:")
    asked = event.key or next((a for a in event.attrs if a != blamed), next(iter(event.attrs), None))
    hit, miss = (_line(name, event, place, {asked: n} if asked else {}, blamed) for n in (1, 0))
    if asked is None:
        other = next(n for n, e in vocabulary.events.items() if n != name and e.scope == event.scope)
        return "", hit, _line(other, vocabulary.events[other], place, {}, blamed)
    is_amount = event.attrs[asked] != "str" and asked != event.key
    test = f"{{gte: {_sample(event, asked, 1)}}}" if is_amount else _sample(event, asked, 1)
    return f", where: {{{asked}: {test}}}", hit, miss


def _line(name: str, event: EventType, place: str, asked: dict[str, int], blamed: str) -> str:
    given = dict.fromkeys((a for a in event.attrs if a == blamed), 1) | asked
    return " ".join(["0", place, name, *(f"{a}={_sample(event, a, n)}" for a, n in sorted(given.items()))])


def _sample(event: EventType, attribute: str, number: int) -> str:
    return ("other", "some")[number] if event.attrs.get(attribute, "str") == "str" else str(number)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _check(text: str, rule_id: str, vocabulary: Vocabulary) -> None:
    """Raises what is wrong with the draft, named by the option that gave it."""
    data: Any = yaml.safe_load(text)
    try:
        rule = Rule.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise DraftError(f"{_option(first['loc'])}: {first['msg']}.") from error
    for keys, what in findings(rule, rule_id, vocabulary):
        raise DraftError(f"{_option(keys)}: {what}.")


def _option(keys: tuple[str | int, ...]) -> str:
    """The option that a part of the rule came from."""
    name = ".".join(str(k) for k in keys)
    return next((option for part, option in _OPTIONS.items() if name.startswith(part)), name)
