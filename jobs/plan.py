"""plan: lists the landing zone and decides which byte ranges of which streams this batch reads."""

import hashlib
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property

from firstfault.jobs.landing import BLOCK_BYTES, Landing, LandingFile
from firstfault.jobs.sources import Owned, Sources, is_whole_file
from firstfault.transforms.inputs import PLANNED, UNMATCHED
from firstfault.transforms.keys import digest

HEAD_BYTES = 1024
TAIL_WAITS = timedelta(hours=24)
"""An incomplete last line waits until its file has not changed for a day. (Decision 2026-11-29: design section 3 says
"unchanged for two nights"; the age of the file says the same without a state that depends on when a run looked.)"""


@dataclass(frozen=True)
class Range:
    """A byte range to read; the columns of `inputs` that are known before reading."""

    batch_id: str
    stream_id: str
    identity: str
    head_bytes: int
    from_byte: int
    to_byte: int
    lines_before: int
    state: str
    format: str
    zone: str
    owner: str
    cluster: str
    job_id: str
    attempt_hint: int | None
    node: str | None
    rank: int | None
    file: str
    file_time: datetime
    compression: str


@dataclass(frozen=True)
class Plan:
    """What one batch will read, and what it will not."""

    batch_id: str
    ranges: list[Range]
    unmatched: list[Range]
    waiting_tails: list[str]


@dataclass(frozen=True)
class Reached:
    """How far a stream was read before.

    Attributes:
        identity: What the stream is but for its content (owner, rank, format, name without rotation).
        head_bytes: Length of the head whose hash, with `identity`, made the stream's id.
        to_byte: End of the last range that was planned or landed.
        lines: Lines up to there.
    """

    identity: str
    head_bytes: int
    to_byte: int
    lines: int


@dataclass(frozen=True)
class Known:
    """All streams read before, by id and by identity."""

    by_stream: dict[str, Reached]

    @cached_property
    def head_lengths(self) -> dict[str, list[int]]:
        """Head lengths in use per identity: a head that was short when first seen keeps its id."""
        lengths: dict[str, set[int]] = {}
        for reached in self.by_stream.values():
            lengths.setdefault(reached.identity, set()).add(reached.head_bytes)
        return {identity: sorted(found, reverse=True) for identity, found in lengths.items()}


def make_plan(landing: Landing, sources: Sources, known: Known, split_bytes: int, now: datetime) -> Plan:
    """The batch's ranges: whole lines that were not read before, large plain files split at line ends."""
    files = landing.list_files()
    owned = [(f, sources.own(f.path)) for f in files]
    with ThreadPoolExecutor(max_workers=16) as pool:
        planned = list(
            pool.map(lambda pair: _plan_file(landing, pair[0], pair[1], known, split_bytes, now), _matched(owned))
        )
    ranges = _once(found for found, _ in planned if found)
    batch_id = digest(*(f"{r.stream_id}:{r.from_byte}:{r.to_byte}" for r in ranges)) if ranges else ""
    return Plan(
        batch_id=batch_id,
        ranges=[replace(r, batch_id=batch_id) for r in ranges],
        unmatched=[_unmatched(f) for f, o in owned if o is None],
        waiting_tails=[path for _, path in planned if path],
    )


def _once(planned: Iterable[list[Range]]) -> list[Range]:
    """Of files that are one stream, as one delivered twice under a rotated name, the one that goes furthest."""
    furthest: dict[str, list[Range]] = {}
    for ranges in planned:
        held = furthest.get(ranges[0].stream_id)
        if held is None or ranges[-1].to_byte > held[-1].to_byte:
            furthest[ranges[0].stream_id] = ranges
    return [r for ranges in furthest.values() for r in ranges]


def _matched(owned: Iterable[tuple[LandingFile, Owned | None]]) -> Iterator[tuple[LandingFile, Owned]]:
    return ((f, o) for f, o in owned if o is not None)


def _plan_file(
    landing: Landing,
    file: LandingFile,
    owned: Owned,
    known: Known,
    split_bytes: int,
    now: datetime,
) -> tuple[list[Range], str | None]:
    """The ranges of one file, and its path when an incomplete last line has to wait."""
    if is_whole_file(owned.format, file.path):
        stream, waits = _snapshot(landing, file, owned), False
    else:
        stream, waits = _growing(landing, file, owned, known, now)
    before = known.by_stream.get(stream.id, Reached("", 0, 0, 0))
    end = stream.end
    if end <= before.to_byte:
        return [], file.path if waits else None
    whole = Range(
        "", stream.id, stream.identity, stream.head_bytes, before.to_byte, end, before.lines, PLANNED,
        owned.format, owned.zone, owned.owner, owned.cluster, owned.job_id, owned.attempt, owned.node, owned.rank,
        file.path, file.time, owned.compression,
    )  # fmt: skip
    split = _split(landing, whole, split_bytes) if owned.compression == "none" else [whole]
    return split, file.path if waits else None


@dataclass(frozen=True)
class _Stream:
    id: str
    identity: str
    head_bytes: int
    end: int


def _snapshot(landing: Landing, file: LandingFile, owned: Owned) -> _Stream:
    """Id by the full name and the whole content; read whole or not at all."""
    data = b"".join(_blocks(landing, file, owned.compression))
    identity = digest(owned.cluster, owned.owner, owned.format, file.path)
    return _Stream(digest(identity, hashlib.sha256(data).hexdigest()), identity, len(data), len(data))


def _growing(landing: Landing, file: LandingFile, owned: Owned, known: Known, now: datetime) -> tuple[_Stream, bool]:
    """Id by the first complete lines, which rotation and growth keep; ends at the last complete line."""
    head, size, last_newline = b"", 0, -1
    if owned.compression == "none":
        head = landing.read(file.path, 0, min(HEAD_BYTES, file.size_bytes))
        size, last_newline = file.size_bytes, _last_newline(landing, file)
    else:
        for block in landing.inflate(file.path, owned.compression):
            head = head if len(head) >= HEAD_BYTES else (head + block)[:HEAD_BYTES]
            found = block.rfind(b"\n")
            last_newline = size + found if found >= 0 else last_newline
            size += len(block)
    takes_tail = owned.compression != "none" or file.modified < now - TAIL_WAITS
    end = size if takes_tail else last_newline + 1
    identity = digest(owned.cluster, owned.owner, owned.attempt, owned.rank, owned.format, owned.base_name)
    stream_id, head_bytes = _stream_id(identity, head, known)
    return _Stream(stream_id, identity, head_bytes, end), end < size


def _stream_id(identity: str, head: bytes, known: Known) -> tuple[str, int]:
    """The id under which this head was seen before, else a new one over its complete lines."""
    complete = head.rfind(b"\n") + 1 or len(head)
    for length in known.head_lengths.get(identity, []):
        seen = digest(identity, hashlib.sha256(head[:length]).hexdigest())
        if length <= len(head) and seen in known.by_stream:
            return seen, length
    return digest(identity, hashlib.sha256(head[:complete]).hexdigest()), complete


def _last_newline(landing: Landing, file: LandingFile) -> int:
    """Offset of the last line end of a plain file, -1 when it has none."""
    end = file.size_bytes
    while end > 0:
        start = max(0, end - BLOCK_BYTES)
        found = landing.read(file.path, start, end).rfind(b"\n")
        if found >= 0:
            return start + found
        end = start
    return -1


def _split(landing: Landing, whole: Range, split_bytes: int) -> list[Range]:
    """The range cut after line ends near multiples of `split_bytes`; a line longer than that stays whole."""
    ranges, start, lines = [], whole.from_byte, whole.lines_before
    while whole.to_byte - start > split_bytes:
        cut = _line_end_after(landing, whole, start + split_bytes)
        ranges.append(replace(whole, from_byte=start, to_byte=cut, lines_before=lines))
        lines += landing.read(whole.file, start, cut).count(b"\n")
        start = cut
    if start < whole.to_byte:
        ranges.append(replace(whole, from_byte=start, lines_before=lines))
    return ranges


def _line_end_after(landing: Landing, whole: Range, offset: int) -> int:
    while offset < whole.to_byte:
        block = landing.read(whole.file, offset, min(offset + BLOCK_BYTES, whole.to_byte))
        found = block.find(b"\n")
        if found >= 0:
            return offset + found + 1
        offset += len(block)
    return whole.to_byte


def _blocks(landing: Landing, file: LandingFile, compression: str) -> Iterable[bytes]:
    return [landing.read(file.path)] if compression == "none" else landing.inflate(file.path, compression)


def _unmatched(file: LandingFile) -> Range:
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    return Range(
        "", digest("unmatched", file.path), "", 0, 0, 0, 0, UNMATCHED, "", "", "", "", "", None, None, None, file.path,
        epoch, "none",
    )  # fmt: skip
