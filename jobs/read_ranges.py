"""Bytes of one planned range -> rows of its reader, segment by segment, and how many units the bytes held."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from firstfault.jobs.landing import Inflated, Landing
from firstfault.jobs.sources import is_document, is_whole_file
from firstfault.transforms.formats.context import StreamContext
from firstfault.transforms.formats.registry import BINARY_FORMATS, HEADED_FORMATS, READERS
from firstfault.transforms.staged import QUARANTINED, READ_SCHEMA

SEGMENT_BYTES = 32 << 20
BINARY_SAMPLE_BYTES = 8192
BINARY_SHARE = 0.1
"""A head in which more than a tenth of the bytes are NUL or other control bytes is no text."""
HEADER_BYTES = 1 << 16
_TEXT_CONTROLS = frozenset(b"\t\n\r\x1b\x0c\x08")

Stream = dict[str, Any]
"""Columns of `inputs` of one planned range."""


@dataclass(frozen=True)
class Read:
    """What one segment held.

    Attributes:
        stream: The planned range.
        rows: Rows of the reader (`staged.READ_SCHEMA`).
        units: Units counted on the bytes, not on the rows: a reader cannot lose a line unseen.
        byte_from: Offset of the segment.
    """

    stream: Stream
    rows: pa.Table
    units: int
    byte_from: int


@dataclass(frozen=True)
class Segment:
    """Whole lines of one range, in memory, with the header of the table that they continue."""

    data: bytes
    byte_from: int
    lines_before: int
    header: bytes = b""


def read_range(landing: Landing, planned: Stream) -> Iterator[Read]:
    """Rows of one range, segment by segment; what cannot be read is refused, by name, and the night goes on."""
    try:
        if planned["compression"] == "none":
            segment = _plain(landing, planned)
            if segment.data:
                yield _read_segment(segment, planned)
            if len(segment.data) < planned["to_byte"] - planned["from_byte"]:
                yield _refused("file_shrank", planned, planned["from_byte"] + len(segment.data), units=1)
            return
        inflated = landing.inflate(planned["file"], planned["compression"])
        for segment in _segments(inflated, planned):
            yield _read_segment(segment, planned)
        if not inflated.whole:
            yield _refused("truncated_archive", planned, planned["to_byte"], units=1)
    except OSError as error:
        yield _refused(f"unreadable: {type(error).__name__}", planned, planned["from_byte"], units=1)


def _plain(landing: Landing, planned: Stream) -> Segment:
    start, end = planned["from_byte"], planned["to_byte"]
    header = b""
    if start and planned["format"] in HEADED_FORMATS:
        header = _first_line(landing.read(planned["file"], 0, HEADER_BYTES))
    return Segment(landing.read(planned["file"], start, end), start, planned["lines_before"], header)


def _segments(inflated: Inflated, planned: Stream) -> Iterator[Segment]:
    """The range of a compressed stream in pieces that fit in memory, cut after line ends."""
    start, end, lines = planned["from_byte"], planned["to_byte"], planned["lines_before"]
    whole = is_whole_file(planned["format"], planned["file"])
    headed = planned["format"] in HEADED_FORMATS
    header, waiting, position = b"", b"", 0
    for block in inflated:
        header = _first_line(block) if headed and position == 0 else header
        waiting += block[max(0, start - position) : max(0, end - position)]
        position += len(block)
        if not whole and len(waiting) >= SEGMENT_BYTES and (cut := waiting.rfind(b"\n") + 1):
            yield Segment(waiting[:cut], start, lines, header if start else b"")
            start, lines, waiting = start + cut, lines + waiting.count(b"\n", 0, cut), waiting[cut:]
    if waiting:
        yield Segment(waiting, start, lines, header if start else b"")


def _first_line(data: bytes) -> bytes:
    return data.split(b"\n", 1)[0]


def _read_segment(segment: Segment, planned: Stream) -> Read:
    if planned["format"] not in BINARY_FORMATS and _is_binary(segment.data):
        return _refused("binary", planned, segment.byte_from, max(1, segment.data.count(b"\n")))
    context = StreamContext(
        source=planned["format"],
        node=planned["node"],
        rank=planned["rank"],
        zone=planned["zone"],
        file_time=planned["file_time"],
        byte_from=segment.byte_from,
        lines_before=segment.lines_before,
        header=segment.header,
        file=planned["file"],
    )
    rows = READERS[planned["format"]](segment.data, context)
    units = pc.sum(rows["units"]).as_py() or 0
    if not is_document(planned["format"], planned["file"]):
        units = segment.data.count(b"\n") + (not segment.data.endswith(b"\n"))
    return Read(planned, rows, units, segment.byte_from)


def _is_binary(data: bytes) -> bool:
    sample = data[:BINARY_SAMPLE_BYTES]
    controls = sum(1 for byte in sample if byte < 32 and byte not in _TEXT_CONTROLS)
    return bool(sample) and controls / len(sample) > BINARY_SHARE


def _refused(reason: str, planned: Stream, offset: int, units: int) -> Read:
    row = {"disposition": QUARANTINED, "units": units, "byte_offset": offset, "reason": reason, "node": planned["node"]}
    cells = [pa.array([row.get(field.name)], field.type) for field in READ_SCHEMA]
    return Read(planned, pa.table(cells, schema=READ_SCHEMA), units, offset)
