"""Matches of patterns to hits: one primary hit a line, derived ones behind it, as Arrow lists of `HIT_TYPE`."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from firstfault.transforms.literal_scan import Ints
from firstfault.transforms.staged import HIT_TYPE

ENTITIES = ("node", "device", "port", "rank")
"""Captures that go to columns of a hit; all others are attributes."""


@dataclass(frozen=True)
class Found:
    """Matches of one pattern.

    Attributes:
        pattern_id: The pattern.
        event_type: Event that each match gives.
        also: The events stand beside the primary one.
        rows: Lines that match.
        captures: What they captured, by name.
    """

    pattern_id: str
    event_type: str
    also: bool
    rows: Ints
    captures: dict[str, pa.Array]


def assemble(found: Sequence[Found], count: int) -> pa.ListArray:
    """The hits of each line.

    Args:
        found: Matches, in order of rank: of a line's matches the first is its primary hit.
        count: Number of lines.
    """
    found = [f for f in found if len(f.rows)]
    if not found:
        return pa.nulls(count, pa.list_(HIT_TYPE))
    rows = np.concatenate([f.rows for f in found])
    numbers = np.repeat(np.arange(len(found)), [len(f.rows) for f in found])
    order = np.lexsort((numbers, rows))
    first = np.append(True, np.diff(rows[order]) > 0)
    kept = first | np.array([f.also for f in found])[numbers[order]]
    order, first = order[kept], first[kept]
    rows, numbers = rows[order], numbers[order]
    leader = np.maximum.accumulate(np.where(first, np.arange(len(rows)), 0))
    ids = pa.array([f.pattern_id for f in found])
    derived = pa.array(numbers[leader], mask=first)
    columns = _entities(found, order) | {
        "ordinal": pa.array(np.arange(len(rows)) - leader, pa.int32()),
        "pattern_id": ids.take(pa.array(numbers)),
        "event_type": pa.array([f.event_type for f in found]).take(pa.array(numbers)),
        "attrs": _attributes(found, order, ids.take(derived)),
    }
    hits = pa.StructArray.from_arrays([columns[f.name] for f in HIT_TYPE], fields=list(HIT_TYPE))
    sizes = np.bincount(rows, minlength=count)
    offsets = np.append(0, np.cumsum(sizes)).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), hits, type=pa.list_(HIT_TYPE), mask=pa.array(sizes == 0))


def _entities(found: Sequence[Found], order: Ints) -> dict[str, pa.Array]:
    """Columns node, device, port and rank of the kept hits."""
    columns = {}
    for name in ENTITIES:
        empty = [f.captures.get(name, pa.nulls(len(f.rows), pa.string())) for f in found]
        columns[name] = pa.concat_arrays(empty).take(pa.array(order))
    digits = pc.match_substring_regex(columns["rank"], r"^\d{1,9}$")
    rank = pc.if_else(digits, columns["rank"], None).cast(pa.int32())
    return columns | {"rank": rank}


def _attributes(found: Sequence[Found], order: Ints, derived_from: pa.Array) -> pa.MapArray:
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
