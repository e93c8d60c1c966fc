"""What a masking rule is, which lines it looks at, and the array work that masking shares."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Ints: TypeAlias = npt.NDArray[np.int64]
Mark: TypeAlias = tuple[int, str]

_NEVER = r"[^\x00-\x{10FFFF}]"


@dataclass(frozen=True)
class MaskRule:
    """What the mechanism knows of one rule.

    Attributes:
        id: Name of the rule.
        kind: First word of its pseudonyms.
        regex: RE2 whose group `secret` is replaced; a match without the group stays. Empty: named fields only.
        prefilter: RE2 each, without regard to case; a line without any is not looked at.
        keep: RE2 of secrets that stay, without regard to case.
        address: The secret is an IP address; those of the listed networks and what is none stay.
        formats: Formats of sources it applies to; empty: all.
        reasons: It applies only to lines refused for one of these reasons.
        fields: RE2 of names of structured fields whose whole value is replaced.
        begin: It applies only to lines between one that holds this and one that holds `end`.
        end: See `begin`.
        lines: Longest distance to a `begin` or `end` that has no other side.
    """

    id: str
    kind: str
    regex: str = ""
    prefilter: tuple[str, ...] = ()
    keep: str = ""
    address: bool = False
    formats: frozenset[str] = frozenset()
    reasons: frozenset[str] = frozenset()
    fields: str = ""
    begin: str = ""
    end: str = ""
    lines: int = 0

    def is_for(self, source: str) -> bool:
        """Whether it applies to lines of the source as they are."""
        return bool(self.regex) and not self.reasons and (not self.formats or source in self.formats)


@lru_cache(maxsize=256)
def rules_of(rules: tuple[MaskRule, ...], source: str) -> tuple[MaskRule, ...]:
    """Rules of a source."""
    return tuple(r for r in rules if r.is_for(source))


@lru_cache(maxsize=4096)
def prefilter_of(rules: tuple[MaskRule, ...]) -> str:
    """One expression that finds the lines that any of the rules may change."""
    parts = dict.fromkeys(part for rule in rules for part in rule.prefilter)
    return "|".join(f"(?:{part})" for part in parts) or _NEVER


def between(texts: pa.Array, rows: Ints, rule: MaskRule) -> Ints:
    """Rows inside blocks whose first or last lines are among the candidates; an open block ends after `lines`."""
    part = texts.take(pa.array(rows))
    marks = [(int(row), rule.begin) for row in rows[true_rows(pc.match_substring(part, rule.begin))]]
    marks += [(int(row), rule.end) for row in rows[true_rows(pc.match_substring(part, rule.end))]]
    inside = np.zeros(len(texts), bool)
    for (row, mark), (following, other) in _pairs(sorted(marks), len(texts)):
        closed = mark == rule.begin and other == rule.end
        if closed and following - row <= rule.lines:
            inside[row + 1 : following] = True
            continue
        if mark == rule.begin:
            inside[row + 1 : min(following, row + 1 + rule.lines)] = True
        if other == rule.end:
            inside[max(row + 1, following - rule.lines) : following] = True
    return np.flatnonzero(inside & texts.is_valid().to_numpy(zero_copy_only=False))


def _pairs(marks: Sequence[Mark], count: int) -> Sequence[tuple[Mark, Mark]]:
    """Each mark with the next one; before the first and behind the last there is none."""
    if not marks:
        return []
    around = [(-1, ""), *marks, (count, "")]
    return list(pairwise(around))


def each_distinct(values: pa.Array, function: Callable[[pa.Array], pa.Array]) -> pa.Array:
    """The function of every value, called with the distinct ones."""
    encoded = values.dictionary_encode()
    return function(encoded.dictionary).take(encoded.indices)


def put(texts: pa.Array, rows: Ints, values: pa.Array) -> pa.Array:
    """The texts with those of some rows, in order, replaced."""
    if len(rows) == len(texts):
        return values
    chosen = np.zeros(len(texts), bool)
    chosen[rows] = True
    return pc.replace_with_mask(texts, pa.array(chosen), values)


def true_rows(hit: pa.Array) -> Ints:
    """Rows that are true."""
    return np.flatnonzero(hit.to_numpy(zero_copy_only=False))


def holding(texts: pa.Array, regex: str) -> Ints:
    """Rows that hold the expression, without regard to case."""
    return true_rows(pc.fill_null(pc.match_substring_regex(texts, regex, ignore_case=True), fill_value=False))
