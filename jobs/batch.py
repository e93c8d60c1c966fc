"""land: the planned ranges of one batch, read once, written to the raw tables, with books that balance."""

from dataclasses import asdict, dataclass, field
from datetime import datetime
from functools import partial
from typing import Any

from pyspark import StorageLevel
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from firstfault.jobs.frames import local_frame
from firstfault.jobs.lake import Lake
from firstfault.jobs.land import Lander, ranges_frame, stage
from firstfault.jobs.masking import make_masker
from firstfault.jobs.night import Night
from firstfault.jobs.plan import Known, Range, Reached
from firstfault.jobs.raw_files import ParquetSink, RawFile
from firstfault.transforms.dropped_lines import DROPPED_LINES, build_dropped_lines
from firstfault.transforms.inputs import INPUTS, LANDED, PLANNED, UNMATCHED
from firstfault.transforms.labels import LABELS, build_labels
from firstfault.transforms.quarantine import QUARANTINE, build_quarantine
from firstfault.transforms.raw_rows import RAW_TABLES
from firstfault.transforms.staged import DISPOSITIONS, DROPPED, LANDED_LOG, LANDED_SAMPLE, QUARANTINED
from firstfault.transforms.topology import TOPOLOGY, build_topology


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
    """A landed batch: its rows in flight, its books per range, and the files its tasks wrote."""

    batch_id: str
    ranges: list[Range]
    staged: DataFrame
    books_by_range: dict[tuple[str, int], Row]
    files: list[RawFile] = field(default_factory=list)

    @property
    def books(self) -> Books:
        """The sum over all ranges."""
        return sum((_books(r) for r in self.books_by_range.values()), Books())

    @property
    def formats(self) -> frozenset[str]:
        """Formats of sources that the batch holds."""
        return frozenset(r.format for r in self.ranges)

    def jobs_with(self, source: str) -> list[str]:
        """Jobs of which the batch holds files of one format."""
        return sorted({r.job_id for r in self.ranges if r.format == source})

    @property
    def first_sample(self) -> datetime | None:
        """Earliest time of the ranges that hold samples."""
        times = [row["first_time"] for row in self.books_by_range.values() if row[LANDED_SAMPLE] and row["first_time"]]
        return min(times, default=None)

    def counted(self, disposition: str) -> int:
        """Units of one disposition."""
        return sum(row[disposition] for row in self.books_by_range.values())


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
    knowledge = night.knowledge
    masker = make_masker(night.settings, knowledge.masking)
    lander = Lander(
        landing=night.landing,
        patterns=tuple(knowledge.patterns.compiled),
        folding=knowledge.vocabulary.folding,
        masker=masker,
        retention=knowledge.retention.retention(on=night.settings.retention_on, off=night.settings.retention_off),
        sink=partial(ParquetSink, night.lake.root),
    )
    staged = stage(night.spark, ranges, lander, night.spark.sparkContext.defaultParallelism)
    staged = staged.persist(StorageLevel.MEMORY_AND_DISK)
    batch = Batch(batch_id, ranges, staged, *_reports(staged))
    if not batch.books.balance:
        raise BooksError(f"books of batch {batch_id} do not balance: {batch.books}; the raw tables were not written.")
    _write_raw(night.lake, batch)
    return batch


def _reports(staged: DataFrame) -> tuple[dict[tuple[str, int], Row], list[RawFile]]:
    """The reports of each range, added up, and the files that the tasks wrote."""
    told = staged.where("report is not null or files is not null")
    rows = told.select("stream_id", "range_from", "report.*", "files").collect()
    files = [RawFile.from_json(text) for row in rows for text in row["files"] or ()]
    by_range: dict[tuple[str, int], list[Row]] = {}
    for row in rows:
        if row["files"] is None:
            by_range.setdefault((row["stream_id"], row["range_from"]), []).append(row)
    return {key: _total(parts) for key, parts in by_range.items()}, sorted(files, key=lambda file: file.path)


def _total(reports: list[Row]) -> Row:
    """The reports of a range's segments as one."""
    times = {"first_time": min, "last_time": max}
    total = {name: sum(r[name] for r in reports) for name in ("read", *DISPOSITIONS)}
    for name, choose in times.items():
        total[name] = choose((r[name] for r in reports if r[name] is not None), default=None)
    return Row(**total)


def _books(row: Row) -> Books:
    return Books(row["read"], row[LANDED_LOG] + row[LANDED_SAMPLE], row[QUARANTINED], row[DROPPED])


def _write_raw(lake: Lake, batch: Batch) -> None:
    for table in RAW_TABLES.values():
        files = [file for file in batch.files if file.table == table.name]
        if files:
            lake.commit_files(table, files, intent=batch.batch_id)
    if batch.counted(QUARANTINED):
        lake.append(QUARANTINE, build_quarantine(batch.staged), intent=batch.batch_id)
    if batch.counted(DROPPED):
        lake.append(DROPPED_LINES, build_dropped_lines(batch.staged), intent=batch.batch_id)
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
