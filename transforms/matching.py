"""Lines to typed events: a scan for the literals of all patterns, regular expressions only on what it found.

How literals are found: `literal_scan`. What becomes of matches: `hits`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from firstfault.transforms.conversions import convert
from firstfault.transforms.hits import Found, assemble
from firstfault.transforms.literal_scan import Engine, Hyperscan, Ints, Re2, is_fast

_DAEMONS = frozenset({"kernel", "slurmd", "slurmctld", "fabricmanager", "kubelet"})
FAMILIES = {
    **dict.fromkeys(("kernel", "syslog", "messages", "dmesg", "journal"), _DAEMONS),
    "sacct_json": frozenset({"sacct"}),
    "scontrol": frozenset({"slurmctld"}),
    "switch_log": frozenset({"switch"}),
    "ptp": frozenset({"clock"}),
    "torch_error": frozenset({"app"}),
    **dict.fromkeys(("shipper", "otel", "fluentbit", "vector", "loki"), _DAEMONS | {"app"}),
}
"""Format of a source -> formats of patterns that apply; syslog holds all daemons. Others: their own name."""

HEAD, TAIL = 48 * 1024, 16 * 1024
"""Characters of a longer line that are matched: an error can be glued behind a progress bar."""
_FOLLOWER = 2048
_JOIN_ROWS = 1024


@dataclass(frozen=True)
class CompiledPattern:
    """What the mechanism knows of one pattern.

    Attributes:
        id: Name of the pattern.
        event_type: Event that a match gives.
        formats: Formats of sources it applies to.
        literals: A line must hold one of them before `regex` is tried.
        regex: RE2; named groups are captures.
        conversions: (group, name of a conversion). `rank_hint` marks a rank that may be one of some process
            group: the rank of the row, if it has one, is better, and the hit then names none.
        order: The lowest order gives the one primary event of a record.
        constants: (attribute, value) set on every match.
        join_lines: Following lines of the same rank that `regex` sees behind a newline.
        join_until: RE2 that ends the join; the line it matches is the last one.
        also: The event stands beside the primary one.
    """

    id: str
    event_type: str
    formats: tuple[str, ...]
    literals: tuple[str, ...]
    regex: str
    conversions: tuple[tuple[str, str], ...] = ()
    order: int = 100
    constants: tuple[tuple[str, str], ...] = ()
    join_lines: int = 0
    join_until: str | None = None
    also: bool = False

    @property
    def attributes(self) -> tuple[str, ...]:
        """Names that a match can set."""
        return tuple(sorted({name for name, _ in self.conversions + self.constants}))


def match(
    texts: pa.Array | pa.ChunkedArray,
    ranks: pa.Array | pa.ChunkedArray | None,
    source: str,
    patterns: Sequence[CompiledPattern],
    *,
    engine: Engine = "auto",
) -> pa.ListArray:
    """Matches one batch of lines.

    Args:
        texts: Bodies of the lines in stream order; a null is not matched.
        ranks: Rank of each line, for patterns over several lines; None: all lines are of one.
        source: Format of the source.
        patterns: The library; only patterns of this source's formats are tried.
        engine: How literals are found; `auto` takes Hyperscan where it is installed.

    Returns:
        For each line its hits (`HIT_TYPE`): the primary event first, then derived ones that name the primary's
        pattern in `derived_from`; null where nothing matched.
    """
    plan = _plan(tuple(patterns), source, engine)
    lines = _Lines(_bounded(_flat(texts)), None if ranks is None else _flat(ranks))
    return assemble(list(_found(plan, lines)), len(lines.texts))


def _found(plan: "_Plan", lines: "_Lines") -> Iterator[Found]:
    """Matches in order of rank; a line that has its primary event is not shown to other patterns for one."""
    taken = np.zeros(len(lines.texts), bool)
    for pattern, rows in plan.candidates(lines.texts):
        open_rows = rows if pattern.also else rows[~taken[rows]]
        if len(open_rows):
            found = _matches(lines, open_rows, pattern)
            taken[found.rows] = True
            yield found


def _flat(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values


def _bounded(texts: pa.Array) -> pa.Array:
    """The texts, longer ones as their head and tail."""
    texts = texts.cast(pa.string())
    long = pc.fill_null(pc.greater(pc.binary_length(texts), HEAD + TAIL), fill_value=False)
    if not long.true_count:
        return texts
    whole = texts.filter(long)
    ends = pc.utf8_slice_codeunits(whole, 0, HEAD), pc.utf8_slice_codeunits(whole, -TAIL, None)
    return pc.replace_with_mask(texts, long, pc.binary_join_element_wise(*ends, " ... "))


class _Plan:
    """The patterns of one source in order of rank, and the scan for their literals."""

    def __init__(self, patterns: Sequence[CompiledPattern], engine: Engine) -> None:
        self.patterns = sorted(patterns, key=lambda p: (p.also, p.order, p.id))
        literals = sorted({x for p in patterns for x in p.literals})
        number = {x: k for k, x in enumerate(literals)}
        self._wanted = [[number[x] for x in p.literals] for p in self.patterns]
        self._literals = [x.encode() for x in literals]
        self._fast = is_fast(engine)

    @cached_property
    def _scanner(self) -> Hyperscan | Re2:
        return Hyperscan(self._literals) if self._fast else Re2(self._literals)

    def candidates(self, texts: pa.Array) -> Iterator[tuple[CompiledPattern, Ints]]:
        """Each pattern that may match, in order of rank, and the rows where it may."""
        if not self._literals or not len(texts):
            return
        rows, literals = self._scanner.scan(texts)
        if texts.null_count:
            valid = texts.is_valid().to_numpy(zero_copy_only=False)[rows]
            rows, literals = rows[valid], literals[valid]
        order = np.argsort(literals, kind="stable")
        rows, ends = rows[order], np.cumsum(np.bincount(literals, minlength=len(self._literals)))
        for pattern, wanted in zip(self.patterns, self._wanted, strict=True):
            parts = [rows[ends[k - 1] if k else 0 : ends[k]] for k in wanted]
            if any(len(part) for part in parts):
                yield pattern, np.unique(np.concatenate(parts))


@lru_cache(maxsize=64)
def _plan(patterns: tuple[CompiledPattern, ...], source: str, engine: Engine) -> _Plan:
    wanted = FAMILIES.get(source, frozenset({source}))
    return _Plan([p for p in patterns if wanted & set(p.formats)], engine)


class _Lines:
    """The lines of a batch and, for records of several lines, what follows each of them."""

    def __init__(self, texts: pa.Array, ranks: pa.Array | None) -> None:
        self.texts = texts
        self.ranks = ranks

    @cached_property
    def _next(self) -> Ints:
        """Next line of the same rank, -1 at the end."""
        count = len(self.texts)
        if self.ranks is None:
            return np.append(np.arange(1, count, dtype=np.int64), -1)
        ranks = pc.fill_null(self.ranks.cast(pa.int64()), -1).to_numpy(zero_copy_only=False)
        order = np.argsort(ranks, kind="stable")
        after = np.full(count, -1, dtype=np.int64)
        same = ranks[order[:-1]] == ranks[order[1:]]
        after[order[:-1][same]] = order[1:][same]
        return after

    def records(self, rows: Ints, pattern: CompiledPattern) -> pa.Array:
        """The text that the pattern's expression sees for each of the rows."""
        if not pattern.join_lines:
            return self.texts.take(pa.array(rows))
        blocks = [rows[k : k + _JOIN_ROWS] for k in range(0, len(rows), _JOIN_ROWS)]
        return pa.concat_arrays([self._joined(block, pattern) for block in blocks])

    def _joined(self, rows: Ints, pattern: CompiledPattern) -> pa.Array:
        parts, at = [self.texts.take(pa.array(rows))], rows
        for _ in range(pattern.join_lines):
            at = np.where(at < 0, -1, self._next[at])
            line = pc.utf8_slice_codeunits(self.texts.take(pa.array(at, mask=at < 0)), 0, _FOLLOWER)
            parts.append(line)
            if pattern.join_until is not None:
                last = pc.fill_null(pc.match_substring_regex(line, pattern.join_until), fill_value=False)
                at = np.where(last.to_numpy(zero_copy_only=False), -1, at)
        return pc.binary_join_element_wise(*parts, "\n", null_handling="skip")


def _matches(lines: _Lines, rows: Ints, pattern: CompiledPattern) -> Found:
    """Those of the rows that the pattern matches, and what it captures there."""
    texts = lines.records(rows, pattern)
    if not pattern.conversions:
        hit = pc.match_substring_regex(texts, pattern.regex).to_numpy(zero_copy_only=False)
        captures = {}
    else:
        groups = pc.extract_regex(texts, pattern.regex)
        hit = groups.is_valid().to_numpy(zero_copy_only=False)
        kept = groups.filter(pa.array(hit))
        captures = {name: convert(pc.struct_field(kept, name), how) for name, how in pattern.conversions}
    rows = rows[hit]
    if ("rank", "rank_hint") in pattern.conversions and lines.ranks is not None:
        better = lines.ranks.take(pa.array(rows)).is_valid()
        captures["rank"] = pc.if_else(better, None, captures["rank"])
    captures |= {name: pa.repeat(pa.scalar(value), len(rows)) for name, value in pattern.constants}
    return Found(pattern.id, pattern.event_type, pattern.also, rows, captures)
