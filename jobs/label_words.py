"""What statements on one attempt come to, for those who read and write labels without Spark.

The twin of `transforms.label_verdicts.resolve`: a test holds both to the same statements.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from firstfault.rules.engine.vocabulary import Vocabulary
from firstfault.transforms.formats.hosts import short_host
from firstfault.transforms.labels import LABELS, OPERATOR, VOICE

Row = dict[str, Any]
_CONTENT = ("category", "origin_scope", "origin", "withdrawn", "note")
_SAME_TIME = timedelta(seconds=1)
"""Statements of one voice that bear one time are put a microsecond apart, in the order in which they came."""
_EARLIEST = datetime.min.replace(tzinfo=UTC)
MAX_NAME, MAX_NOTE, MAX_ORIGINS = 200, 2000, 1000
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]+")
_PCI = r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}(?:\.[0-7])?"
_FORMS = {
    "gpu": re.compile(rf"[^/:\s]+/{_PCI}(?:/[0-9]+){{0,2}}"),
    "rank": re.compile(r"rank-[0-9]+"),
    "filesystem": re.compile(r"(?:[^/:\s]+:)?/\S*"),
    "port": re.compile(r"[^/:\s]+:[^:\s]+|[^/:\s]+/[^/:\s]+/[0-9]+"),
    "node": re.compile(r"[^/:\s]+"),
}
"""How an origin of a scope is written (design section 10), in the order in which a name is tried; others have none."""
_WRITTEN = {
    "gpu": "node/0000:3b:00", "rank": "rank-3", "filesystem": "/mount", "port": "switch:port or node/hca/1",
    "node": "a node's name",
}  # fmt: skip


class LabelError(ValueError):
    """A label cannot be taken as it is given; the message says what, where and what to do."""


@dataclass(frozen=True)
class Verdict:
    """What the operators' statements on an attempt come to; fields as in `label_verdicts`."""

    category: str | None = None
    origin_scope: str | None = None
    origin: list[str] | None = None
    is_conflict: bool = False
    statements: list[Row] = field(default_factory=list)


def come_to(statements: Iterable[Row]) -> Verdict:
    """What the statements on one attempt come to.

    Args:
        statements: Rows of `labels` of one attempt, in any order.
    """
    held = held_of(statements)
    named = [s for s in held if s["origin"]]
    categories = {s["category"] for s in held}
    origins = {tuple(s["origin"]) for s in named}
    agreed, located = len(categories) == 1, len(origins) == 1
    scopes = [s["origin_scope"] for s in (named if located else held) if s["origin_scope"]]
    return Verdict(
        category=held[0]["category"] if agreed else None,
        origin_scope=max(scopes, default=None) if located or (agreed and not origins) else None,
        origin=list(named[0]["origin"]) if located else None,
        is_conflict=len(categories) > 1 or len(origins) > 1,
        statements=held,
    )


def held_of(statements: Iterable[Row]) -> list[Row]:
    """What each voice of the operators says now, sorted."""
    newest: dict[tuple[Any, ...], Row] = {}
    for row in sorted(statements, key=_order):
        if row["kind"] == OPERATOR and not row.get("refutes"):
            newest[tuple(row.get(k) for k in VOICE)] = row | {"origin": row.get("origin") or []}
    held = [row for row in newest.values() if not row.get("withdrawn")]
    return sorted(
        held, key=lambda s: (s["category"], s["origin_scope"] or "", s["origin"], s.get("who") or "", s["source"])
    )


def _order(row: Row) -> tuple[Any, ...]:
    return (
        row["labelled_at"] or _EARLIEST, bool(row.get("withdrawn")), row["category"], row.get("origin_scope") or "",
        row.get("origin") or [],
    )  # fmt: skip


def new_statements(given: Iterable[Row], history: Iterable[Row]) -> list[Row]:
    """The given statements that the history does not hold yet, ready to be appended.

    A statement equal to the one before it of the same voice, or to its newest, says nothing new. One that differs from
    a statement of the same voice at the same time is put behind it, and takes nothing's place.

    Args:
        given: Rows of `labels`, with all columns.
        history: Rows of `labels` of the same attempts.
    """
    voices: dict[tuple[Any, ...], list[Row]] = {}
    for row in history:
        voices.setdefault(tuple(row[k] for k in VOICE), []).append(row)
    added = []
    for row in sorted(given, key=lambda r: r["labelled_at"] or _EARLIEST):
        own = sorted(voices.setdefault(tuple(row[k] for k in VOICE), []), key=lambda r: r["labelled_at"] or _EARLIEST)
        if _says_nothing_new(row, own):
            continue
        taken = {r["labelled_at"] for r in own}
        at = row["labelled_at"]
        while at in taken:
            at += timedelta(microseconds=1)
        added.append(row | {"labelled_at": at})
        voices[tuple(row[k] for k in VOICE)].append(added[-1])
    return added


def _says_nothing_new(row: Row, own: Sequence[Row]) -> bool:
    """Whether one of the voice's statements, in order of time, says the same."""
    at = row["labelled_at"]
    before = [r for r in own if (r["labelled_at"] or _EARLIEST) <= at][-1:]
    at_once = [r for r in own if timedelta() <= (r["labelled_at"] or _EARLIEST) - at < _SAME_TIME]
    return any(_content(r) == _content(row) for r in (*before, *own[-1:], *at_once))


def _content(row: Row) -> list[Any]:
    return [row.get(name) or None for name in _CONTENT]


def statement(**columns: Any) -> Row:  # noqa: ANN401
    """A row of `labels` of an operator; what is not given is plain."""
    plain = {"kind": OPERATOR, "weight": 1.0, "refutes": False, "withdrawn": False, "origin": []}
    return dict.fromkeys(LABELS.columns) | plain | columns


def clean(text: str | None, longest: int) -> str | None:
    """Text from outside as it may be kept: no control or direction characters, cut, null when empty."""
    return _CONTROLS.sub(" ", text or "").strip()[:longest] or None


def checked_category(category: str, vocabulary: Vocabulary) -> str:
    """The category.

    Raises:
        LabelError: The vocabulary does not know it.
    """
    if category not in vocabulary.categories:
        raise LabelError(f"no category {_shown(category)}; there are {', '.join(vocabulary.categories)}.")
    return category


def checked_origin(names: Sequence[str], scope: str | None, vocabulary: Vocabulary) -> tuple[str | None, list[str]]:
    """Scope and names of an origin, the scope taken from the form of the names where none is given.

    Raises:
        LabelError: The vocabulary does not know the scope, a name does not have its form, or names have several scopes.
    """
    if scope and scope not in vocabulary.scopes:
        raise LabelError(f"no scope {_shown(scope)}; there are {', '.join(vocabulary.scopes)}.")
    wanted = [n.strip() for n in names if n.strip()]
    if len(wanted) > MAX_ORIGINS or any(len(n) > MAX_NAME or _CONTROLS.search(n) for n in wanted):
        raise LabelError(f"an origin is too long or holds control characters; give up to {MAX_ORIGINS} plain names.")
    scopes = {scope or _scope_of(name) for name in wanted}
    if len(scopes) > 1:
        raise LabelError(f"the origins are of several scopes ({', '.join(sorted(scopes))}); label one of them.")
    chosen = scopes.pop() if scopes else scope
    return chosen, sorted({_written(name, str(chosen)) for name in wanted})


def _scope_of(name: str) -> str:
    return next((scope for scope, form in _FORMS.items() if form.fullmatch(_lowered(name))), "node")


def _written(name: str, scope: str) -> str:
    """The name as tables hold it: hosts short and in lower case, devices in lower case."""
    form, lowered = _FORMS.get(scope), _lowered(name)
    if form is None:
        return name
    if not form.fullmatch(lowered):
        raise LabelError(f"{_shown(name)} does not name a {scope}, which is written {_WRITTEN[scope]}.")
    return name if scope == "filesystem" else lowered


def _lowered(name: str) -> str:
    head, slash, rest = name.partition("/")
    return f"{short_host(head) or head}{slash}{rest.lower()}" if head and ":" not in head else name


def _shown(text: str) -> str:
    return repr(_CONTROLS.sub(" ", text)[:60])
