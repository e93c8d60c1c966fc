"""land: bytes of the planned ranges -> files of the raw tables and rows in flight, in parallel.

No text passes through the driver, and none through the JVM but that of events, records and refused lines.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from firstfault.jobs.frames import local_frame
from firstfault.jobs.landing import Landing
from firstfault.jobs.plan import Range
from firstfault.jobs.raw_files import Sink
from firstfault.jobs.read_ranges import Read, read_range
from firstfault.transforms.bursts import Folding, fold_hits
from firstfault.transforms.contract import column
from firstfault.transforms.in_flight import files_row, report, report_row, rows_to_go_on, staged_rows
from firstfault.transforms.inputs import INPUTS
from firstfault.transforms.marks_in_flight import MarkKind, find_marks
from firstfault.transforms.masked_rows import mask_rows
from firstfault.transforms.masking import Masker
from firstfault.transforms.matching import CompiledPattern, match
from firstfault.transforms.raw_rows import raw_rows
from firstfault.transforms.retention import Retention, counted
from firstfault.transforms.staged import STAGED
from firstfault.transforms.types import INT

ROWS_PER_BATCH = 20_000
RANGE_COST_BYTES = 64 << 10
"""What opening one more file costs, in bytes of reading."""
BYTES_PER_TASK = 256 << 20


@dataclass(frozen=True)
class Lander:
    """What a task needs to land ranges; it travels to the executors.

    Attributes:
        landing: Where the files lie.
        patterns: The pattern library.
        folding: How repeats of each event type fold.
        masker: What is replaced before a row leaves its task.
        retention: Which lines are counted instead of landed.
        marks: Moments that several nodes write of.
        sink: Makes where landed rows go.
    """

    landing: Landing
    patterns: tuple[CompiledPattern, ...]
    folding: Folding
    masker: Masker
    retention: Retention
    marks: tuple[MarkKind, ...]
    sink: Callable[[], Sink]

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The body of a task: planned ranges in, rows in flight (`STAGED_SCHEMA`) out."""
        sink, waiting, batch_id = self.sink(), list[Read](), ""
        for batch in batches:
            for stream in batch.to_pylist():
                batch_id = stream["batch_id"]
                waiting += read_range(self.landing, stream)
                # Small files share a batch: each one masked and sent on its own costs more than reading it.
                if sum(read.rows.num_rows for read in waiting) >= ROWS_PER_BATCH:
                    yield from self._land(waiting, sink)
                    waiting = []
        yield from self._land(waiting, sink)
        files = [file.to_json() for file in sink.close()]
        if files:
            yield from files_row(files, batch_id).to_batches()

    def _land(self, waiting: list[Read], sink: Sink) -> Iterator[pa.RecordBatch]:
        """The waiting segments, masked together by format, matched one by one."""
        staged = []
        for source in sorted({read.stream["format"] for read in waiting}):
            reads = [read for read in waiting if read.stream["format"] == source]
            masked = mask_rows(pa.concat_tables([read.rows for read in reads]), source, self.masker)
            start = 0
            for read in reads:
                staged += self._segment(read, masked.slice(start, read.rows.num_rows).combine_chunks(), sink)
                start += read.rows.num_rows
        if staged:
            yield from pa.concat_tables(staged).combine_chunks().to_batches(max_chunksize=ROWS_PER_BATCH)

    def _segment(self, read: Read, rows: pa.Table, sink: Sink) -> list[pa.Table]:
        """One masked segment: its lines to the sink, its report and what later stages need as rows in flight."""
        stream = read.stream
        rows, matched = self._retained(rows, stream["format"])
        sink.add(raw_rows(rows, stream))
        hits = fold_hits(matched, rows, self.folding)
        marks = find_marks(matched, rows, stream["format"], self.marks)
        needed = pa.array(rows_to_go_on(rows, hits, marks, stream["format"]))
        figures = report(rows, read.units, stream["file_time"])
        told = report_row(figures, stream, read.byte_from)
        if not needed.true_count:
            return [told]
        return [staged_rows(rows.filter(needed), hits.filter(needed), marks.filter(needed), stream), told]

    def _retained(self, rows: pa.Table, source: str) -> tuple[pa.Table, pa.ListArray]:
        """The rows with their events; chatter far from any event is a count by rule, hour and template."""
        hits = match(rows["text"], rows["rank"], source, self.patterns)
        gone = self.retention.dropped(rows["text"].combine_chunks(), hits, source)
        if not len(gone.rows):
            return rows, hits
        kept, told = gone.kept(rows.num_rows), counted(rows, gone)
        hits = pa.concat_arrays([hits.take(kept), pa.nulls(told.num_rows, hits.type)])
        return pa.concat_tables([rows.take(kept), told]).combine_chunks(), hits


def ranges_frame(spark: SparkSession, ranges: list[Range]) -> DataFrame:
    """One row per planned range, with the columns of `inputs`."""
    unknown = dict.fromkeys(INPUTS.columns)
    return local_frame(spark, [{**unknown, **asdict(r)} for r in ranges], INPUTS.schema)


def stage(spark: SparkSession, ranges: list[Range], lander: Lander, cores: int) -> DataFrame:
    """The batch in flight: reports, files written, and the rows that later stages need.

    Args:
        spark: Session.
        ranges: Planned ranges; those of one job lie together, so that a partition is written by few tasks.
        lander: What a task does.
        cores: Tasks that run at a time.
    """
    ordered = sorted(ranges, key=lambda r: (r.job_id, r.file, r.from_byte))
    tasks = task_of(ordered, cores)
    unknown = dict.fromkeys(INPUTS.columns)
    rows = [{**unknown, **asdict(r), "_task": task} for r, task in zip(ordered, tasks, strict=True)]
    planned = local_frame(spark, rows, StructType([*INPUTS.fields, column("_task", INT, "task that reads the range")]))
    return planned.repartitionById(tasks[-1] + 1, F.col("_task")).drop("_task").mapInArrow(lander.run, STAGED)


def task_of(ranges: list[Range], cores: int) -> list[int]:
    """Task of each range: runs of neighbours of about equal cost, a multiple of the cores where there is work."""
    costs = [r.to_byte - r.from_byte + RANGE_COST_BYTES for r in ranges]
    rounds = -(-sum(costs) // (BYTES_PER_TASK * cores))
    wanted = min(len(ranges), rounds * cores)
    share, spent, tasks = sum(costs) / wanted, 0.0, list[int]()
    for cost in costs:
        tasks.append(min(int((spent + cost / 2) / share), wanted - 1))
        spent += cost
    number = {task: place for place, task in enumerate(sorted(set(tasks)))}
    return [number[task] for task in tasks]
