"""Moments that several nodes write of, found on the lines of one segment while it is in flight.

They are taken before repeats are folded: the fit of clocks needs each of them. Of a stream's frequent ones about so
many in five minutes are kept, by a hash of their number, so that every rank keeps the same ones.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from firstfault.transforms.staged import MARK_TYPE

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

SLOT_S = 300
_TIMELESS = pa.array(["boot_relative", "file_time", "neighbour", "other_neighbour", "none", "boot_wall"])
"""Bases of times that are no reading of a clock."""
_US, _NS_IN_US = 1_000_000, 1000
_HASH, _BITS = np.uint64(2_654_435_761), np.uint64(0xFFFF_FFFF)  # Knuth's multiplicative hash of 32 bits


@dataclass(frozen=True)
class MarkKind:
    """One kind of `rules/clock_marks.yaml`.

    Attributes:
        id: Its name.
        events: Event types of its lines; none for a kind of records.
        sources: Formats whose lines count; none for all.
        source: Format of its records.
        time_field: Field of the record that holds epoch nanoseconds.
        where: Values that fields or attributes must have.
        key: Attributes or fields that name the moment.
        width_s: One standard deviation of a line around the moment.
        first: Of a stream's lines of one key only the first tells of the moment.
        within: What the key names the moment within: the attempt, or the cluster.
        per_slot: About how many of a stream's moments in five minutes are kept; None for all.
        thin_by: The part of the key, a number, that decides which.
    """

    id: str
    width_s: float
    events: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    source: str | None = None
    time_field: str | None = None
    where: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    key: tuple[str, ...] = ()
    first: bool = False
    within: str = "attempt"
    per_slot: int | None = None
    thin_by: str | None = None

    def tells(self, source: str) -> bool:
        """Whether lines or records of a format may be of the kind; the two ends of a link are told apart later on."""
        if self.within == "port":
            return False
        return source == self.source if self.source else not self.sources or source in self.sources


def find_marks(hits: pa.ListArray, rows: pa.Table, source: str, kinds: Iterable[MarkKind]) -> pa.ListArray:
    """The moments that each line tells of: lists of `MARK_TYPE`, null where there is none.

    Args:
        hits: What `matching.match` found in one segment, not folded.
        rows: Its lines.
        source: Format of the source.
        kinds: The kinds.
    """
    told = [kind for kind in kinds if kind.tells(source)]
    found = [_of_lines(hits, rows, kind) if kind.events else _of_records(rows, kind) for kind in told]
    owners = np.concatenate([np.zeros(0, np.int64), *(owner for owner, _ in found)])
    if not len(owners):
        return pa.nulls(rows.num_rows, pa.list_(MARK_TYPE))
    order = np.argsort(owners, kind="stable")
    marks = pa.concat_arrays([part for _, part in found]).take(pa.array(order))
    sizes = np.bincount(owners, minlength=rows.num_rows)
    offsets = np.append(0, np.cumsum(sizes)).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), marks, type=pa.list_(MARK_TYPE), mask=pa.array(sizes == 0))


def _of_lines(hits: pa.ListArray, rows: pa.Table, kind: MarkKind) -> tuple[Ints, pa.StructArray]:
    """Lines whose event is of the kind, at the time they were written."""
    flat, owners = hits.flatten(), pc.list_parent_indices(hits).to_numpy().astype(np.int64)
    at = np.flatnonzero(_flags(pc.is_in(flat.field("event_type"), pa.array(kind.events))))
    lines = rows.take(pa.array(owners[at]))
    usable = _flags(lines["event_time"].is_valid()) & ~_flags(pc.is_in(lines["time_basis"], _TIMELESS))
    told = flat.field("attrs").take(pa.array(at[usable]))
    time = lines["event_time"].filter(pa.array(usable)).combine_chunks().cast(pa.int64())
    return _chosen(owners[at[usable]], told, time, kind)


def _of_records(rows: pa.Table, kind: MarkKind) -> tuple[Ints, pa.StructArray]:
    """Records of the kind's source, at the time that a field of theirs holds."""
    fields = rows["fields"].combine_chunks()
    nanos = pc.map_lookup(fields, pa.scalar(kind.time_field), "first")
    numeric = _flags(pc.match_substring_regex(nanos, r"^[1-9]\d{17,18}$"))
    at = np.flatnonzero(numeric)
    time = pc.divide(nanos.take(pa.array(at)).cast(pa.int64()), _NS_IN_US)
    return _chosen(at.astype(np.int64), fields.take(pa.array(at)), time, kind)


def _chosen(owners: Ints, told: pa.MapArray, time: pa.Int64Array, kind: MarkKind) -> tuple[Ints, pa.StructArray]:
    """Of the candidates those that say what the kind asks for, thinned; with the places of their lines."""
    parts = {name: pc.map_lookup(told, pa.scalar(name), "first") for name in {*kind.key, *kind.where}}
    keep = np.ones(len(owners), bool)
    for name, values in kind.where.items():
        keep &= _flags(pc.is_in(parts[name], pa.array(list(values))))
    for name in kind.key:
        keep &= _flags(parts[name].is_valid())
    if kind.per_slot and kind.thin_by:
        candidates = pa.array(keep)
        keep[keep] = _thinned(parts[kind.thin_by].filter(candidates), time.filter(candidates), kind)
    chosen = pa.array(keep)
    count = int(keep.sum())
    names = [parts[name].filter(chosen).cast(pa.string()) for name in kind.key]
    key = pc.binary_join_element_wise(*names, "|") if names else pa.repeat(pa.scalar(""), count)
    if kind.first:
        at = _first_of_each(key)
        keep, chosen, key, count = _only(keep, at), pa.array(_only(keep, at)), key.take(pa.array(at)), len(at)
    stamps = time.filter(chosen).cast(MARK_TYPE.field("t").type)
    made = pa.StructArray.from_arrays([pa.repeat(pa.scalar(kind.id), count), key, stamps], fields=list(MARK_TYPE))
    return owners[keep], made


def _first_of_each(keys: pa.StringArray) -> Ints:
    """Place of the first of each key, in order."""
    codes = keys.dictionary_encode().indices.to_numpy(zero_copy_only=False)
    return np.sort(np.unique(codes, return_index=True)[1]).astype(np.int64)


def _only(keep: Flags, at: Ints) -> Flags:
    """Of the kept places those at these positions among them."""
    fewer = np.zeros(len(keep), bool)
    fewer[np.flatnonzero(keep)[at]] = True
    return fewer


def _thinned(numbers: pa.StringArray, time: pa.Int64Array, kind: MarkKind) -> Flags:
    """Which moments are kept: half of them, a quarter ... by a hash of the number that is the same for every rank."""
    if not len(numbers):
        return np.zeros(0, bool)
    plain = _flags(pc.match_substring_regex(numbers, r"^\d{1,18}$"))
    value = pc.if_else(pa.array(plain), numbers, "0").cast(pa.int64()).to_numpy(zero_copy_only=False)
    stamps = time.to_numpy(zero_copy_only=False)
    slots = max(1.0, (int(stamps.max()) - int(stamps.min())) / (SLOT_S * _US))
    halvings = max(0, int(np.ceil(np.log2(max(1.0, len(value) / slots / (kind.per_slot or 1))))))
    hashed = (value.astype(np.uint64) * _HASH) & _BITS
    return np.asarray(plain & (hashed >> np.uint64(32 - min(halvings, 31)) == 0) if halvings else plain, bool)


def _flags(values: pa.Array | pa.ChunkedArray) -> Flags:
    return np.asarray(pc.fill_null(values, fill_value=False).to_numpy(zero_copy_only=False), bool)
