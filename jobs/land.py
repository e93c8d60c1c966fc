"""land: bytes of the planned ranges -> rows in flight, in parallel, without passing text through the driver."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession

from firstfault.jobs.frames import local_frame
from firstfault.jobs.landing import Inflated, Landing
from firstfault.jobs.plan import Range
from firstfault.jobs.sources import is_document, is_whole_file
from firstfault.transforms.formats.context import StreamContext
from firstfault.transforms.formats.registry import BINARY_FORMATS, HEADED_FORMATS, READERS
from firstfault.transforms.inputs import INPUTS
from firstfault.transforms.masked_rows import mask_rows
from firstfault.transforms.masking import Masker
from firstfault.transforms.matching import CompiledPattern, match
from firstfault.transforms.staged import COUNTED, QUARANTINED, READ_SCHEMA, STAGED, STAGED_SCHEMA

SEGMENT_BYTES = 32 << 20
BINARY_SAMPLE_BYTES = 8192
BINARY_SHARE = 0.1
"""A head in which more than a tenth of the bytes are NUL or other control bytes is no text."""
HEADER_BYTES = 1 << 16
ROWS_PER_BATCH = 20_000
_TEXT_CONTROLS = frozenset(b"\t\n\r\x1b\x0c\x08")


def ranges_frame(spark: SparkSession, ranges: list[Range]) -> DataFrame:
    """One row per planned range, with the columns of `inputs`."""
    unknown = dict.fromkeys(INPUTS.columns)
    return local_frame(spark, [{**unknown, **asdict(r)} for r in ranges], INPUTS.schema)


def stage(
    ranges: DataFrame, landing: Landing, patterns: list[CompiledPattern], n_tasks: int, masker: Masker
) -> DataFrame:
    """The batch in flight: one row per unit read, matched against the patterns.

    Args:
        ranges: Planned rows of `inputs`.
        landing: Where the files lie.
        patterns: The pattern library.
        n_tasks: Parallel tasks.
        masker: What is replaced before a row leaves its task.
    """
    return ranges.repartition(n_tasks).mapInArrow(_task(landing, patterns, masker), STAGED)


def _task(
    landing: Landing, patterns: list[CompiledPattern], masker: Masker
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        waiting: list[tuple[pa.Table, dict[str, Any]]] = []
        for batch in batches:
            for planned in batch.to_pylist():
                waiting += ((read, planned) for read in _read_range(landing, planned))
                # Small files share a batch: each one masked and sent on its own costs more than reading it.
                if sum(rows.num_rows for rows, _ in waiting) >= ROWS_PER_BATCH:
                    yield from _batches(waiting, patterns, masker)
                    waiting = []
        yield from _batches(waiting, patterns, masker)

    return run


def _batches(
    waiting: list[tuple[pa.Table, dict[str, Any]]], patterns: list[CompiledPattern], masker: Masker
) -> Iterator[pa.RecordBatch]:
    """The waiting rows, masked together by format, matched stream by stream."""
    staged = []
    for source in sorted({planned["format"] for _, planned in waiting}):
        pieces = [(rows, planned) for rows, planned in waiting if planned["format"] == source]
        masked = mask_rows(pa.concat_tables([rows for rows, _ in pieces]), source, masker)
        start = 0
        for rows, planned in pieces:
            staged.append(_staged(masked.slice(start, rows.num_rows), planned, patterns))
            start += rows.num_rows
    if staged:
        yield from pa.concat_tables(staged).combine_chunks().to_batches(max_chunksize=ROWS_PER_BATCH)


@dataclass(frozen=True)
class Segment:
    """Whole lines of one range, in memory, with the header of the table that they continue."""

    data: bytes
    byte_from: int
    lines_before: int
    header: bytes = b""


def _read_range(landing: Landing, planned: dict[str, Any]) -> Iterator[pa.Table]:
    """Rows of one range, segment by segment, each with a `counted` row that says what was read."""
    try:
        if planned["compression"] == "none":
            yield _read_segment(_plain(landing, planned), planned)
            return
        inflated = landing.inflate(planned["file"], planned["compression"])
        for segment in _segments(inflated, planned):
            yield _read_segment(segment, planned)
        if not inflated.whole:
            yield _refused("truncated_archive", planned, planned["to_byte"], units=1)
    except OSError as error:
        yield _refused(f"unreadable: {type(error).__name__}", planned, planned["from_byte"], units=1)


def _plain(landing: Landing, planned: dict[str, Any]) -> Segment:
    start, end = planned["from_byte"], planned["to_byte"]
    header = b""
    if start and planned["format"] in HEADED_FORMATS:
        header = _first_line(landing.read(planned["file"], 0, HEADER_BYTES))
    return Segment(landing.read(planned["file"], start, end), start, planned["lines_before"], header)


def _segments(inflated: Inflated, planned: dict[str, Any]) -> Iterator[Segment]:
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


def _read_segment(segment: Segment, planned: dict[str, Any]) -> pa.Table:
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
        # Counted on the bytes, so that a reader cannot lose a line unseen.
        units = segment.data.count(b"\n") + (not segment.data.endswith(b"\n"))
    return pa.concat_tables([rows, _one_row(disposition=COUNTED, units=units, byte_offset=segment.byte_from)])


def _is_binary(data: bytes) -> bool:
    sample = data[:BINARY_SAMPLE_BYTES]
    controls = sum(1 for byte in sample if byte < 32 and byte not in _TEXT_CONTROLS)
    return bool(sample) and controls / len(sample) > BINARY_SHARE


def _refused(reason: str, planned: dict[str, Any], offset: int, units: int) -> pa.Table:
    row = _one_row(disposition=QUARANTINED, units=units, byte_offset=offset, reason=reason, node=planned["node"])
    return pa.concat_tables([row, _one_row(disposition=COUNTED, units=units, byte_offset=offset)])


def _one_row(**values: str | int | None) -> pa.Table:
    return pa.table({f.name: pa.array([values.get(f.name)], type=f.type) for f in READ_SCHEMA}, schema=READ_SCHEMA)


def staged_table(rows: pa.Table, planned: dict[str, Any], patterns: list[CompiledPattern], masker: Masker) -> pa.Table:
    """Rows of a reader, masked, with the stream's constants and the events that the patterns find."""
    return _staged(mask_rows(rows, planned["format"], masker), planned, patterns)


def _staged(rows: pa.Table, planned: dict[str, Any], patterns: list[CompiledPattern]) -> pa.Table:
    n = rows.num_rows
    text = rows["text"].combine_chunks()
    ranks = rows["rank"].combine_chunks()
    columns: dict[str, pa.Array] = {
        "batch_id": planned["batch_id"],
        "cluster": planned["cluster"],
        "job_id": planned["job_id"],
        "attempt_hint": planned["attempt_hint"],
        "source": planned["format"],
        "zone": planned["zone"],
        "stream_id": planned["stream_id"],
        "range_from": planned["from_byte"],
        "file": planned["file"],
        "file_time": planned["file_time"],
    }
    arrays: dict[str, Any] = {
        name: _constant(value, STAGED_SCHEMA.field(name).type, n) for name, value in columns.items()
    }
    arrays |= {name: rows[name] for name in READ_SCHEMA.names if name != "text"}
    arrays["hits"] = match(text, ranks, planned["format"], patterns)
    return pa.table({name: arrays[name] for name in STAGED_SCHEMA.names}, schema=STAGED_SCHEMA)


def _constant(value: str | int | datetime | None, dtype: pa.DataType, n: int) -> pa.Array:
    return pa.repeat(pa.scalar(value, type=dtype), n)
