"""Repeats folded in flight: of a burst in one segment only its first record goes on, with count and last time.

`events.fold_bursts` folds what is left by the same rule: a burst goes on while the gap to the latest time seen before
is at most the type's `gap_s`, and a progress mark in a later slot begins a new one. The latest time, not that of the
record before, decides: so the end of a segment cannot change what folds, whatever the order of the times.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from firstfault.transforms.staged import FOLDED_TYPE, HIT_TYPE

Ints = npt.NDArray[np.int64]

PROGRESS_BURST_S = 300
"""Progress marks fold within five minutes, so that silence after the last one stays visible."""
SECOND_US = 1_000_000
_NO_TIME = np.iinfo(np.int64).min
_SPREAD = "nodes"
"""A record that names several nodes becomes an event of each later on: it is left alone."""
_PORT_OF = "hca"
_RELATIVE = "boot_relative"
"""Times that are moved later on, when the node's boot is known, cannot decide a burst yet."""
_PLACES = ("node", "device", "port", "rank")


@dataclass(frozen=True)
class Fold:
    """How one event type folds.

    Attributes:
        gap_s: Longest gap inside a burst.
        key: Attribute that tells two events of the type apart.
        progress: Marks of different slots do not fold.
    """

    gap_s: int
    key: str | None
    progress: bool


Folding = Mapping[str, Fold]


def fold_hits(hits: pa.ListArray, rows: pa.Table, folding: Folding) -> pa.ListArray:
    """The hits of each line, folded: `FOLDED_TYPE`, null where nothing is left.

    Args:
        hits: What `matching.match` found in one segment of one stream.
        rows: Its lines: event_time, t_prev, node, rank, device, port.
        folding: How each event type folds.
    """
    flat, owners = hits.flatten(), pc.list_parent_indices(hits).to_numpy().astype(np.int64)
    if not len(flat):
        return pa.nulls(len(hits), pa.list_(FOLDED_TYPE))
    times = _micros(rows)[owners]
    words, types = _encoded(flat.field("event_type"))
    rules = [folding.get(word or "") for word in words]
    group = _groups(flat, rows.take(pa.array(owners)), types, rules)
    order = np.argsort(group, kind="stable")
    starts = _starts(times[order], group[order], types[order], rules)
    return _folded(flat, owners, order, starts, times, len(hits))


def _micros(rows: pa.Table) -> Ints:
    """Written time of each line, else of the one before it."""
    time = pc.coalesce(rows["event_time"], rows["t_prev"]).cast(pa.int64())
    return np.asarray(pc.fill_null(time, int(_NO_TIME)).to_numpy(), np.int64)


def _encoded(values: pa.Array | pa.ChunkedArray) -> tuple[list[str | None], Ints]:
    """Distinct values, null among them, and the place of each value in their list."""
    flat = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    coded = flat.dictionary_encode(null_encoding="encode")
    return coded.dictionary.to_pylist(), coded.indices.to_numpy().astype(np.int64)


def _groups(flat: pa.StructArray, lines: pa.Table, types: Ints, rules: list[Fold | None]) -> Ints:
    """Number of the series of each hit: one type, place and code of one ordinal; some hits are alone in theirs."""
    attrs = _Attributes(flat.field("attrs"))
    keys = [rule.key if rule else None for rule in rules]
    columns = [types, flat.field("ordinal").to_numpy().astype(np.int64)]
    columns += [_encoded(flat.field(name))[1] for name in _PLACES if flat.field(name).null_count < len(flat)]
    columns += [_encoded(lines[name])[1] for name in _PLACES if lines[name].null_count < lines.num_rows]
    columns += [attrs.values(keys, types), attrs.values([_PORT_OF] * len(keys), types)]
    alone = np.array([rule is None for rule in rules])[types] | attrs.has(_SPREAD)
    alone |= pc.fill_null(pc.equal(lines["time_basis"], _RELATIVE), fill_value=False).to_numpy()
    columns.append(np.where(alone, np.arange(1, len(flat) + 1), 0))
    group = np.zeros(len(flat), np.int64)
    for column in columns:
        size = int(column.max()) + 1
        if size > 1:
            group = np.unique(group * size + column, return_inverse=True)[1]
    return group


class _Attributes:
    """Attributes of hits, one name at a time."""

    def __init__(self, attrs: pa.MapArray) -> None:
        offsets = attrs.offsets.to_numpy()
        names = attrs.keys[offsets[0] : offsets[-1]]
        words, self._name_of = _encoded(names) if len(names) else ([], np.zeros(0, np.int64))
        self._place = {word: k for k, word in enumerate(words)}
        self._owner = np.repeat(np.arange(len(attrs)), np.diff(offsets))
        self._items = attrs.items[offsets[0] : offsets[-1]]
        self._count = len(attrs)

    def values(self, names: list[str | None], types: Ints) -> Ints:
        """Number of the value that each hit gives to the attribute its type names; 0 for none."""
        wanted = np.array([self._place.get(name, -1) if name else -1 for name in names], np.int64)[types]
        numbers = np.zeros(self._count, np.int64)
        given = self._name_of == wanted[self._owner]
        if given.any():
            numbers[self._owner[given]] = _encoded(self._items.filter(pa.array(given)))[1] + 1
        return numbers

    def has(self, name: str) -> npt.NDArray[np.bool_]:
        """Which hits give the attribute."""
        found = np.zeros(self._count, bool)
        if name in self._place:
            found[self._owner[self._name_of == self._place[name]]] = True
        return found


def _starts(times: Ints, group: Ints, types: Ints, rules: list[Fold | None]) -> npt.NDArray[np.bool_]:
    """Which hits, in order of their series, begin a burst."""
    first = np.append(True, group[1:] != group[:-1])
    before = np.append(_NO_TIME, _running_latest(times, group)[:-1])
    timed = ~first & (times != _NO_TIME) & (before != _NO_TIME)
    gap_us = np.array([rule.gap_s * SECOND_US if rule else 0 for rule in rules])[types]
    slot_us = PROGRESS_BURST_S * SECOND_US
    progress = np.array([bool(rule and rule.progress) for rule in rules])[types]
    since = np.where(timed, times - np.where(timed, before, 0), 0)
    later_slot = timed & progress & (times // slot_us > before // slot_us)
    starts: npt.NDArray[np.bool_] = first | (timed & (since > gap_us)) | later_slot
    return starts


def _running_latest(times: Ints, group: Ints) -> Ints:
    """Latest time of each series up to each hit."""
    levels, rank = np.unique(times, return_inverse=True)
    return np.asarray(levels[np.maximum.accumulate(group * len(levels) + rank) % len(levels)], np.int64)


def _folded(
    flat: pa.StructArray, owners: Ints, order: Ints, starts: npt.NDArray[np.bool_], times: Ints, count: int
) -> pa.ListArray:
    """The first hit of each burst in its line."""
    begins = np.flatnonzero(starts)
    latest = np.maximum.reduceat(times[order], begins)
    kept = order[begins]
    back = np.argsort(kept, kind="stable")
    kept, latest = kept[back], latest[back]
    repeats = np.diff(np.append(begins, len(order)))[back]
    hits = flat.take(pa.array(kept))
    columns = [hits.field(field.name) for field in HIT_TYPE]
    last = pa.array(latest, pa.int64(), mask=latest == _NO_TIME).cast(FOLDED_TYPE.field("t_last").type)
    made = pa.StructArray.from_arrays([*columns, pa.array(repeats, pa.int64()), last], fields=list(FOLDED_TYPE))
    sizes = np.bincount(owners[kept], minlength=count)
    offsets = np.append(0, np.cumsum(sizes)).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), made, type=pa.list_(FOLDED_TYPE), mask=pa.array(sizes == 0))
