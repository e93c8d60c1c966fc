"""land: the planned ranges of one batch, read once, written to the raw tables, with books that balance."""

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F

from firstfault.jobs.frames import local_frame
from firstfault.jobs.lake import Lake
from firstfault.jobs.land import ranges_frame, stage
from firstfault.jobs.masking import make_masker
from firstfault.jobs.night import Night
from firstfault.jobs.plan import Known, Range, Reached
from firstfault.transforms.inputs import INPUTS, LANDED, PLANNED, UNMATCHED
from firstfault.transforms.labels import LABELS, build_labels
from firstfault.transforms.quarantine import QUARANTINE, build_quarantine
from firstfault.transforms.raw_logs import RAW_LOGS, build_raw_logs, plausible_time
from firstfault.transforms.raw_telemetry import RAW_TELEMETRY, build_raw_telemetry
from firstfault.transforms.staged import COUNTED, DROPPED, LANDED_LOG, LANDED_SAMPLE, QUARANTINED
from firstfault.transforms.topology import TOPOLOGY, build_topology

RANGES_PER_TASK = 400
"""Small files share a task: starting one costs as much as reading some hundreds of them."""
BYTES_PER_TASK = 64 << 20


class BooksError(RuntimeError):
    """Lines read are not lines landed + quarantined + dropped: a broken promise of our own."""


@dataclass(frozen=True)
class Books:
    """Units of one batch."""

    read: int = 0
    landed: int = 0
    quarantined: int = 0
    dropped: int = 0

    @property
    def balance(self) -> bool:
        """Whether every unit read is accounted for."""
        return self.read == self.landed + self.quarantined + self.dropped

    def __add__(self, other: "Books") -> "Books":
        return Books(*(a + b for a, b in zip(asdict(self).values(), asdict(other).values(), strict=True)))

    def columns(self) -> dict[str, int]:
        """As columns of `inputs` and `runs`."""
        return {f"lines_{name}": value for name, value in asdict(self).items()}


@dataclass
class Batch:
    """A landed batch: its rows in flight and its books per range."""

    batch_id: str
    ranges: list[Range]
    staged: DataFrame
    books_by_range: dict[tuple[str, int], Row]

    @property
    def books(self) -> Books:
        """The sum over all ranges."""
        return sum((_books(r) for r in self.books_by_range.values()), Books())

    @property
    def formats(self) -> frozenset[str]:
        """Formats of sources that the batch holds."""
        return frozenset(r.format for r in self.ranges)

    def counted(self, disposition: str) -> int:
        """Units of one disposition."""
        return sum(row[disposition] or 0 for row in self.books_by_range.values())


def known_streams(lake: Lake) -> Known:
    """How far every stream was read in earlier batches."""
    if not lake.exists(INPUTS):
        return Known({})
    landed = lake.read(INPUTS).where(F.col("state") == LANDED)
    last = landed.groupBy("stream_id").agg(
        F.max_by(F.struct("identity", "head_bytes", "to_byte", "lines_before", "lines_read"), "to_byte").alias("r")
    )
    rows = last.select("stream_id", "r.*").collect()
    return Known(
        {
            r["stream_id"]: Reached(
                r["identity"],
                r["head_bytes"],
                r["to_byte"],
                (r["lines_before"] or 0) + (r["lines_read"] or 0),
            )
            for r in rows
        }
    )


def pending_ranges(lake: Lake) -> list[Range]:
    """Ranges that an earlier run planned and did not finish; they are landed first, exactly as planned."""
    if not lake.exists(INPUTS):
        return []
    inputs = lake.read(INPUTS)
    done = inputs.where(F.col("state") == LANDED).select("stream_id", "from_byte")
    open_rows = inputs.where(F.col("state") == PLANNED).join(done, ["stream_id", "from_byte"], "left_anti")
    names = Range.__dataclass_fields__
    return [Range(**{n: row[n] for n in names}) for row in open_rows.orderBy("stream_id", "from_byte").collect()]


def write_intent(night: Night, ranges: list[Range], unmatched: list[Range]) -> None:
    """Appends what will be read, and files that no source matches and that were not noted before."""
    noted: set[str] = set()
    if unmatched and night.lake.exists(INPUTS):
        rows = night.lake.read(INPUTS).where(F.col("state") == UNMATCHED).select("stream_id").collect()
        noted = {r["stream_id"] for r in rows}
    new = [*ranges, *(u for u in unmatched if u.stream_id not in noted)]
    if new:
        night.lake.append(INPUTS, ranges_frame(night.spark, new))


def land_batch(night: Night, ranges: list[Range]) -> Batch:
    """Reads the ranges, writes the raw tables, and checks the books.

    Raises:
        BooksError: The books do not balance; nothing after this runs.
    """
    batch_id = ranges[0].batch_id
    size = sum(r.to_byte - r.from_byte for r in ranges)
    tasks = max(1, min(len(ranges), max(len(ranges) // RANGES_PER_TASK, size // BYTES_PER_TASK, _cores(night))))
    planned = ranges_frame(night.spark, ranges)
    masker = make_masker(night.settings, night.knowledge.masking)
    staged = stage(planned, night.landing, list(night.knowledge.patterns.compiled), tasks, masker)
    staged = staged.persist(StorageLevel.MEMORY_AND_DISK)
    batch = Batch(batch_id, ranges, staged, _count(staged))
    if not batch.books.balance:
        raise BooksError(f"books of batch {batch_id} do not balance: {batch.books}; the raw tables were not written.")
    _write_raw(night.lake, batch)
    return batch


def _cores(night: Night) -> int:
    return night.spark.sparkContext.defaultParallelism


def _count(staged: DataFrame) -> dict[tuple[str, int], Row]:
    time = plausible_time()
    counted = staged.groupBy("stream_id", "range_from").agg(
        _units(COUNTED).alias("read"),
        _units(LANDED_LOG).alias(LANDED_LOG),
        _units(LANDED_SAMPLE).alias(LANDED_SAMPLE),
        _units(QUARANTINED).alias(QUARANTINED),
        _units(DROPPED).alias(DROPPED),
        F.min(time).alias("first_time"),
        F.max(time).alias("last_time"),
    )
    return {(r["stream_id"], r["range_from"]): r for r in counted.collect()}


def _units(*dispositions: str) -> Column:
    return F.sum(F.when(F.col("disposition").isin(*dispositions), F.col("units")))


def _books(row: Row) -> Books:
    landed = (row[LANDED_LOG] or 0) + (row[LANDED_SAMPLE] or 0)
    return Books(row["read"] or 0, landed, row[QUARANTINED] or 0, row[DROPPED] or 0)


def _write_raw(lake: Lake, batch: Batch) -> None:
    if batch.counted(LANDED_LOG):
        lake.append(RAW_LOGS, build_raw_logs(batch.staged), intent=batch.batch_id)
    if batch.counted(LANDED_SAMPLE):
        lake.append(RAW_TELEMETRY, build_raw_telemetry(batch.staged), intent=batch.batch_id)
    if batch.counted(QUARANTINED):
        lake.append(QUARANTINE, build_quarantine(batch.staged), intent=batch.batch_id)
    if "topology" in batch.formats:
        lake.merge(TOPOLOGY, build_topology(batch.staged))
    if "labels" in batch.formats:
        lake.merge(LABELS, build_labels(batch.staged))


def mark_landed(night: Night, batch: Batch) -> None:
    """Appends the ranges as landed, with their books: the batch is then never read again."""
    rows: list[dict[str, Any]] = []
    for planned in batch.ranges:
        row = batch.books_by_range.get((planned.stream_id, planned.from_byte))
        times: dict[str, datetime | None] = {"first_time": None, "last_time": None}
        books = Books()
        if row is not None:
            books, times = _books(row), {k: row[k] for k in times}
        rows.append(dict.fromkeys(INPUTS.columns) | asdict(planned) | books.columns() | times | {"state": LANDED})
    night.lake.append(INPUTS, local_frame(night.spark, rows, INPUTS.schema))
