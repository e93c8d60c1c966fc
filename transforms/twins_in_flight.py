"""Which lines of a segment may date a `dmesg -T` dump, or be dated by it: messages that its node's logs hold as well.

The dump and the log are read by different tasks, so that neither knows what the other holds. Both keep the messages
with the lowest hashes: what stands in both is then kept by both, or by neither.
"""

import hashlib

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from firstfault.transforms.formats import times
from firstfault.transforms.staged import LANDED_LOG

Ints = npt.NDArray[np.int64]

TWIN_SOURCES = frozenset({"dmesg", "kernel", "journal"})
"""Sources that hold messages of the kernel."""
CLOCKED = (times.ZONED, times.ASSUMED_ZONE, times.NO_YEAR, times.EPOCH)
"""Bases of times that a clock showed when the line was written."""
BODY = "body"
"""Field in which a line in flight carries the hash of its message."""
KEPT_OF_DUMP, KEPT_OF_LOG = 192, 48
"""Distinct messages that go on from a segment: a dump is rare and holds days, a log comes every night."""
_POOL = 8  # so many times what is kept is looked at: repeats are no twins
_ENDS_BYTES = 8
_PRIME = np.uint64(0x9E37_79B9_7F4A_7C15)


def twin_candidates(rows: pa.Table) -> Ints:
    """Places of the lines that go on as possible twins; of a repeated message two, so that it shows as repeated.

    Args:
        rows: Masked rows of a reader (`staged.READ_SCHEMA`).
    """
    usable = _flags(pc.equal(rows["disposition"], LANDED_LOG))
    for name in ("text", "node", "event_time"):
        usable &= _flags(rows[name].is_valid())
    found = []
    for bases, count in (((times.BOOT_WALL,), KEPT_OF_DUMP), (CLOCKED, KEPT_OF_LOG)):
        so_timed = _flags(pc.is_in(rows["time_basis"], pa.array(bases)))
        found.append(_lowest(rows["text"], np.flatnonzero(usable & so_timed), count))
    return np.concatenate(found)


def with_bodies(rows: pa.Table, source: str) -> pa.ChunkedArray:
    """Fields of the rows, those of kernel messages with the hash of the message.

    Args:
        rows: The rows that go on.
        source: Format of the source.
    """
    fields = rows["fields"]
    if source not in TWIN_SOURCES:
        return fields
    pairs = zip(fields.to_pylist(), rows["text"].to_pylist(), strict=True)
    made = [told if text is None else [*(told or []), (BODY, _digest(text))] for told, text in pairs]
    return pa.chunked_array([pa.array(made, fields.type)])


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _lowest(texts: pa.ChunkedArray, at: Ints, count: int) -> Ints:
    """Of the lines at these places those of the messages with the lowest hashes."""
    if not len(at):
        return at
    chosen = texts.take(pa.array(at)).combine_chunks()
    order = _priority(chosen)
    last = min(_POOL * count, len(at)) - 1
    pool = np.flatnonzero(order <= np.partition(order, last)[last])
    places: dict[tuple[int, str], list[int]] = {}
    for place, text in zip(pool.tolist(), chosen.take(pa.array(pool)).to_pylist(), strict=True):
        places.setdefault((int(order[place]), text), []).append(place)
    ranked = [places[key] for key in sorted(places)]
    single = [found for found in ranked if len(found) == 1][:count]
    repeated = [found[:2] for found in ranked if len(found) > 1][:count]
    return at[np.array([place for found in (*single, *repeated) for place in found], np.int64)]


def _priority(texts: pa.StringArray) -> npt.NDArray[np.uint64]:
    """A hash of length, first and last bytes of each text: cheap on columns, and equal for equal texts."""
    offsets = np.frombuffer(texts.buffers()[1], np.int32)[texts.offset :][: len(texts) + 1].astype(np.int64)
    data = np.frombuffer(texts.buffers()[2] or b"\0", np.uint8)
    starts, ends = offsets[:-1], offsets[1:]
    value = (ends - starts).astype(np.uint64)
    for step in range(_ENDS_BYTES):
        for place in (starts + step, ends - 1 - step):
            inside = np.clip(place, starts, np.maximum(ends - 1, starts)) % len(data)
            value = (value ^ data[inside]) * _PRIME
            value ^= value >> np.uint64(29)
    return value


def _flags(values: pa.Array | pa.ChunkedArray) -> npt.NDArray[np.bool_]:
    return np.asarray(pc.fill_null(values, fill_value=False).to_numpy(zero_copy_only=False), bool)
