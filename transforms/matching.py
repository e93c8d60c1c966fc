"""Lines to typed events: one scan for the literals of all patterns, regular expressions only on what it found.

The scan runs over the whole Arrow buffer of a batch. Hyperscan is used where it is installed: one pass for any
number of literals. Without it one RE2 alternation picks the lines and a search picks their literals; both give
the same candidates, and everything behind them is shared (measured: tests/benchmarks/bench_matching.py).
"""

import importlib
import re
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from firstfault.transforms.conversions import convert
from firstfault.transforms.staged import HIT_TYPE


def _optional(name: str) -> Any:  # noqa: ANN401
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


hyperscan = _optional("hyperscan")

Ints: TypeAlias = npt.NDArray[np.int64]
Engine = Literal["auto", "hyperscan", "re2"]

ENTITIES = ("node", "device", "port", "rank")
"""Captures that go to columns of a hit; all others are attributes."""

_DAEMONS = frozenset({"kernel", "slurmd", "slurmctld", "fabricmanager", "kubelet"})
FAMILIES = {
    **dict.fromkeys(("kernel", "syslog", "messages", "dmesg", "journal"), _DAEMONS),
    "sacct_json": frozenset({"sacct"}),
    **dict.fromkeys(("shipper", "otel", "fluentbit", "vector", "loki"), _DAEMONS | {"app"}),
}
"""Format of a source -> formats of patterns that apply; syslog holds all daemons. Others: their own name."""

HEAD, TAIL = 48 * 1024, 16 * 1024
"""Characters of a longer line that are matched: an error can be glued behind a progress bar."""
_FOLLOWER = 2048
_ALTERNATIVES = 64
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
    found = [_Found.of(lines, rows, number, plan.patterns[number]) for number, rows in plan.candidates(lines.texts)]
    return _assemble([f for f in found if len(f.rows)], plan.patterns, len(lines.texts))


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


# ---------------------------------------------------------------------------------------------- literals


class _Buffer:
    """The bytes of a string array and where its rows begin."""

    def __init__(self, texts: pa.Array) -> None:
        _, offsets, data = texts.buffers()
        at = np.frombuffer(offsets, dtype=np.int32) if offsets else np.zeros(1, np.int32)
        self.starts: Ints = at[texts.offset : texts.offset + len(texts) + 1].astype(np.int64)
        first, last = int(self.starts[0]), int(self.starts[-1])
        self.data = memoryview(data)[first:last] if data is not None else memoryview(b"")
        self.starts -= first

    def rows(self, begins: Ints, ends: Ints) -> tuple[Ints, npt.NDArray[np.bool_]]:
        """Row of each match, and whether the match lies inside that row."""
        rows = np.searchsorted(self.starts, begins, side="right") - 1
        return rows, ends <= self.starts[rows + 1]


class _Hyperscan:
    def __init__(self, literals: Sequence[bytes]) -> None:
        self._lengths = np.array([len(x) for x in literals], dtype=np.int64)
        self._database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
        self._database.compile(
            expressions=literals,
            ids=list(range(len(literals))),
            elements=len(literals),
            flags=0,
            literal=True,
        )
        self._lock = threading.Lock()  # the scratch space serves one scan at a time

    def scan(self, texts: pa.Array) -> tuple[Ints, Ints]:
        buffer, found = _Buffer(texts), list[tuple[int, int]]()

        def keep(literal: int, _begin: int, end: int, _flags: int, _context: Any) -> None:  # noqa: ANN401
            found.append((literal, end))

        if len(buffer.data):
            with self._lock:
                self._database.scan(buffer.data, match_event_handler=keep)
        literals, ends = np.array(found, dtype=np.int64).reshape(-1, 2).T
        rows, inside = buffer.rows(ends - self._lengths[literals], ends)
        return rows[inside], literals[inside]


class _Re2:
    def __init__(self, literals: Sequence[bytes]) -> None:
        self._literals = literals
        escaped = [re.escape(x.decode()) for x in literals]
        # RE2 slows down when one automaton grows too large.
        self._regexes = ["|".join(escaped[k : k + _ALTERNATIVES]) for k in range(0, len(escaped), _ALTERNATIVES)]

    def scan(self, texts: pa.Array) -> tuple[Ints, Ints]:
        rows, literals = [], []
        for part, regex in enumerate(self._regexes):
            hit = pc.fill_null(pc.match_substring_regex(texts, regex), fill_value=False)
            chosen = pc.indices_nonzero(hit)
            buffer, base = _Buffer(texts.take(chosen)), chosen.to_numpy().astype(np.int64)
            data = bytes(buffer.data)
            for number in range(part * _ALTERNATIVES, min((part + 1) * _ALTERNATIVES, len(self._literals))):
                literal = self._literals[number]
                begins = np.fromiter(_occurrences(data, literal), dtype=np.int64)
                row, inside = buffer.rows(begins, begins + len(literal))
                rows.append(base[row[inside]])
                literals.append(np.full(int(inside.sum()), number, dtype=np.int64))
        return np.concatenate(rows), np.concatenate(literals)


def _occurrences(data: bytes, literal: bytes) -> Iterator[int]:
    at = data.find(literal)
    while at >= 0:
        yield at
        at = data.find(literal, at + 1)


class _Plan:
    """The patterns of one source in order of rank, and the scan for their literals."""

    def __init__(self, patterns: Sequence[CompiledPattern], engine: Engine) -> None:
        self.patterns = sorted(patterns, key=lambda p: (p.also, p.order, p.id))
        literals = sorted({x for p in patterns for x in p.literals})
        number = {x: k for k, x in enumerate(literals)}
        self._wanted = [[number[x] for x in p.literals] for p in self.patterns]
        self._literals = [x.encode() for x in literals]
        self._fast = hyperscan is not None and engine != "re2"
        if engine == "hyperscan" and hyperscan is None:
            raise RuntimeError("the package hyperscan is not installed; use engine='re2'")

    @cached_property
    def _scanner(self) -> _Hyperscan | _Re2:
        return _Hyperscan(self._literals) if self._fast else _Re2(self._literals)

    def candidates(self, texts: pa.Array) -> Iterator[tuple[int, Ints]]:
        """Number of each pattern that may match, and the rows where it may."""
        if not self._literals or not len(texts):
            return
        rows, literals = self._scanner.scan(texts)
        if texts.null_count:
            valid = texts.is_valid().to_numpy(zero_copy_only=False)[rows]
            rows, literals = rows[valid], literals[valid]
        order = np.argsort(literals, kind="stable")
        rows, ends = rows[order], np.cumsum(np.bincount(literals, minlength=len(self._literals)))
        for number, wanted in enumerate(self._wanted):
            parts = [rows[ends[k - 1] if k else 0 : ends[k]] for k in wanted]
            if any(len(part) for part in parts):
                yield number, np.unique(np.concatenate(parts))


@lru_cache(maxsize=64)
def _plan(patterns: tuple[CompiledPattern, ...], source: str, engine: Engine) -> _Plan:
    wanted = FAMILIES.get(source, frozenset({source}))
    return _Plan([p for p in patterns if wanted & set(p.formats)], engine)


# ---------------------------------------------------------------------------------------------- records


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


@dataclass(frozen=True)
class _Found:
    """Matches of one pattern: rows, and what they captured by name."""

    number: int
    rows: Ints
    captures: dict[str, pa.Array]

    @classmethod
    def of(cls, lines: _Lines, rows: Ints, number: int, pattern: CompiledPattern) -> "_Found":
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
        return cls(number, rows, captures)


# ---------------------------------------------------------------------------------------------- hits


def _assemble(found: list[_Found], patterns: Sequence[CompiledPattern], count: int) -> pa.ListArray:
    """One primary hit a row, derived ones behind it."""
    if not found:
        return pa.nulls(count, pa.list_(HIT_TYPE))
    rows = np.concatenate([f.rows for f in found])
    numbers = np.concatenate([np.full(len(f.rows), f.number) for f in found])
    order = np.lexsort((numbers, rows))
    first = np.append(True, np.diff(rows[order]) > 0)
    kept = first | np.array([p.also for p in patterns])[numbers[order]]
    order, first = order[kept], first[kept]
    rows, numbers = rows[order], numbers[order]
    leader = np.maximum.accumulate(np.where(first, np.arange(len(rows)), 0))
    ids = pa.array([p.id for p in patterns])
    derived = pa.array(numbers[leader], mask=first)
    columns = _entities(found, order) | {
        "ordinal": pa.array(np.arange(len(rows)) - leader, pa.int32()),
        "pattern_id": ids.take(pa.array(numbers)),
        "event_type": pa.array([p.event_type for p in patterns]).take(pa.array(numbers)),
        "attrs": _attributes(found, order, ids.take(derived)),
    }
    hits = pa.StructArray.from_arrays([columns[f.name] for f in HIT_TYPE], fields=list(HIT_TYPE))
    sizes = np.bincount(rows, minlength=count)
    offsets = np.append(0, np.cumsum(sizes)).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), hits, type=pa.list_(HIT_TYPE), mask=pa.array(sizes == 0))


def _entities(found: list[_Found], order: Ints) -> dict[str, pa.Array]:
    """Columns node, device, port and rank of the kept hits."""
    columns = {}
    for name in ENTITIES:
        empty = [f.captures.get(name, pa.nulls(len(f.rows), pa.string())) for f in found]
        columns[name] = pa.concat_arrays(empty).take(pa.array(order))
    digits = pc.match_substring_regex(columns["rank"], r"^\d{1,9}$")
    rank = pc.if_else(digits, columns["rank"], None).cast(pa.int32())
    return columns | {"rank": rank}


def _attributes(found: list[_Found], order: Ints, derived_from: pa.Array) -> pa.MapArray:
    """The attributes of the kept hits as a map each, names in order, nulls left out."""
    names = sorted({n for f in found for n in f.captures if n not in ENTITIES} | {"derived_from"})
    position = np.full(sum(len(f.rows) for f in found), -1, dtype=np.int64)
    position[order] = np.arange(len(order))
    owners, keys, values, base = (
        [np.arange(len(order))],
        [np.full(len(order), names.index("derived_from"))],
        [derived_from],
        0,
    )
    for f in found:
        for name, value in f.captures.items():
            if name not in ENTITIES:
                owners.append(position[base : base + len(f.rows)])
                keys.append(np.full(len(f.rows), names.index(name)))
                values.append(value)
        base += len(f.rows)
    owner, key, value = np.concatenate(owners), np.concatenate(keys), pa.concat_arrays(values)
    kept = np.flatnonzero((owner >= 0) & value.is_valid().to_numpy(zero_copy_only=False))
    kept = kept[np.lexsort((key[kept], owner[kept]))]
    offsets = np.searchsorted(owner[kept], np.arange(len(order) + 1)).astype(np.int32)
    return pa.MapArray.from_arrays(
        pa.array(offsets), pa.array(names).take(pa.array(key[kept])), value.take(pa.array(kept))
    )
