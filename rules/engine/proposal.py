"""Drafts for lines that no rule explains: a pattern, the word of the vocabulary that it gives, and a rule on it."""

import json
import re
from dataclasses import dataclass
from typing import Any

from firstfault.rules.engine.draft import DraftError, Wanted, draft_rule
from firstfault.rules.engine.patterns import FORMATS, MIN_LITERAL_BYTES
from firstfault.rules.engine.vocabulary import EventType, Vocabulary
from firstfault.transforms.matching import FAMILIES

_MASK = re.compile(r"<[a-z]+>")
_WORD = re.compile(r"[A-Za-z][a-z]{2,}")
_NOT_NAMED = {"the", "and", "for", "with", "from", "has", "was", "not", "info", "warn", "warning", "error", "kernel"}
_SCOPES = {"app": ("rank", "user_code", "app"), "kernel": ("node", "host_hardware", "host")}
_ELSE = ("node", "unknown", "proposed")
_GAP = ".{0,120}?"
"""What a mask stood for: anything, but not a whole progress bar."""


@dataclass(frozen=True)
class Seen:
    """A template that unknown attempts share.

    Attributes:
        template: The line with masks.
        example: A line of it, masked as it lies in the lake.
        source: Format of the source that it came from.
        event_type: Event that a pattern already makes of it; None for none.
        category: What operators say these attempts were; None where they do not, or differ.
    """

    template: str
    example: str
    source: str
    event_type: str | None
    category: str | None


@dataclass(frozen=True)
class Proposal:
    """A draft, and what a person must add.

    Attributes:
        id: Of the rule; names its files.
        rule: Text of the rule file; empty where none could be drafted.
        pattern: Text of the pattern file; empty where an event exists already.
        missing: What a person must decide.
    """

    id: str
    rule: str
    pattern: str
    missing: tuple[str, ...]


def propose(seen: Seen, number: int, vocabulary: Vocabulary) -> Proposal:
    """A draft of a rule, and of the pattern and event that it needs where no pattern knows the line.

    Args:
        seen: The template.
        number: Keeps ids of one review apart.
        vocabulary: Words that exist.
    """
    scope, guess, domain = _SCOPES.get(_family(seen.source), _ELSE)
    words = [w for w in _WORD.findall(_MASK.sub(" ", seen.template)) if w.lower() not in _NOT_NAMED]
    slug = "_".join(w.lower() for w in words[:4]) or "line"
    rule_id = f"{domain}_{slug}_{number:02d}"
    missing = [f"who looks at these attempts and says what they were (drafted as {seen.category or guess})"]
    if seen.category is None:
        missing.append("the category: no operator has labelled these attempts, or they differ")
    event, pattern, words_known = seen.event_type, "", vocabulary
    if event is None:
        event = f"{domain}.{slug}"
        while event in vocabulary.events:
            event += "_2"
        word = EventType(
            summary=_summary(seen.template), scope=scope, role="initiating", category=seen.category or guess,
            gap_s=60, attrs={},
        )  # fmt: skip
        words_known = vocabulary.model_copy(update={"events": {**vocabulary.events, event: word}})
        pattern, lacking = _pattern(seen, event, word)
        missing += [*lacking, f"the event {event} in rules/vocabulary.yaml: the line stands on top of the pattern"]
    try:
        rule = draft_rule(Wanted(rule_id, event, seen.category or guess), words_known)
    except DraftError as error:
        return Proposal(rule_id, "", pattern, (*missing, f"the rule itself: {error}"))
    return Proposal(rule_id, rule, pattern, tuple(missing))


def literal_of(template: str) -> str:
    """The longest stretch of a template that is the same in every line of it."""
    return max((part.strip() for part in _MASK.split(template)), key=len, default="")


def regex_of(template: str) -> str:
    """RE2 that finds lines of the template."""
    return _GAP.join(re.escape(part.strip()) for part in _MASK.split(template) if part.strip())


def _family(source: str) -> str:
    """Format of patterns that fits a source best."""
    families = FAMILIES.get(source, frozenset({source}))
    return "kernel" if "kernel" in families else next(iter(sorted(families)))


def _pattern(seen: Seen, event: str, word: EventType) -> tuple[str, list[str]]:
    """Text of a pattern file and what it lacks."""
    form, literal = _family(seen.source), literal_of(seen.template)
    lacking = []
    if form not in FORMATS:
        lacking.append(f"formats of the pattern: {seen.source} is none that patterns know")
    if len(literal.encode()) < MIN_LITERAL_BYTES:
        lacking.append("a literal: the template keeps fewer than five bytes in a row")
    near = _MASK.sub("0", seen.template).replace(literal, "")
    entry: dict[str, Any] = {
        "id": f"proposed.{event.replace('.', '_')}", "event": event, "formats": [form], "literal": literal,
        "regex": regex_of(seen.template),
        "tests": {"hit": [{"line": seen.example, "gives": {}}], "miss": [near or "another line"]},
    }  # fmt: skip
    # JSON is YAML, and escapes whatever a log line may hold.
    body = "\n".join(f"  {name}: {json.dumps(value)}" for name, value in entry.items())
    as_word = json.dumps(word.model_dump(exclude_none=True))
    return f"# Into rules/vocabulary.yaml, events:  {event}: {as_word}\n-{body[1:]}\n", lacking


def _summary(template: str) -> str:
    text = " ".join(_MASK.sub("...", template).split())
    return text if len(text) <= 90 else f"{text[:89]}…"
