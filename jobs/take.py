"""land: the planned ranges of one batch, read once, checked and written to the raw tables, with books that balance."""

from datetime import timedelta
from functools import partial

from pyspark import StorageLevel
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from firstfault.jobs.batch import Batch, BooksError
from firstfault.jobs.frames import local_frame, materialised
from firstfault.jobs.labelling import add_statements
from firstfault.jobs.land import Lander, stage
from firstfault.jobs.masking import make_masker
from firstfault.jobs.night import Night
from firstfault.jobs.plan import Range
from firstfault.jobs.quality import Warned, note
from firstfault.jobs.raw_files import ParquetSink, RawFile, first_hours
from firstfault.transforms.contract import Table
from firstfault.transforms.dropped_lines import DROPPED_LINES, build_dropped_lines
from firstfault.transforms.inputs import INPUTS, LANDED
from firstfault.transforms.labels import LABELS, build_labels
from firstfault.transforms.quarantine import QUARANTINE, build_quarantine
from firstfault.transforms.raw_rows import RAW_TABLES
from firstfault.transforms.repairs import REPAIRS, build_repairs
from firstfault.transforms.staged import DISPOSITIONS, DROPPED, QUARANTINED
from firstfault.transforms.topology import TOPOLOGY, build_topology


def land_batch(night: Night, ranges: list[Range]) -> Batch:
    """Reads the ranges, writes the raw tables, and checks the books.

    Raises:
        BooksError: The books do not balance; nothing after this runs.
        CriticalExpectationError: A table breaks a promise of ours; it is not written.
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
        marks=knowledge.clock_marks,
        sink=partial(ParquetSink, night.lake.root),
    )
    staged = stage(night.spark, ranges, lander, night.spark.sparkContext.defaultParallelism)
    staged = staged.persist(StorageLevel.MEMORY_AND_DISK)
    batch = Batch(batch_id, ranges, staged, *_reports(staged))
    if not batch.books.balance:
        raise BooksError(f"books of batch {batch_id} do not balance: {batch.books}; the raw tables were not written.")
    _write(night, batch)
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


def _write(night: Night, batch: Batch) -> None:
    """Writes the raw tables and what landing set aside; all of these pass their gates before one is written."""
    warned = _check_raw(night, batch)
    aside = _set_aside(batch)
    landed = _landed(night, batch)
    warned.append((INPUTS, night.gates.check(INPUTS, landed)))
    for table, rows in aside:
        warned.append((table, night.gates.check(table, rows, {"inputs": landed})))
    for table in RAW_TABLES.values():
        files = [file for file in batch.files if file.table == table.name]
        if files:
            night.lake.commit_files(table, files, intent=batch.batch_id)
    for table, rows in aside:
        night.lake.append(table, rows, intent=batch.batch_id)
    warned += _merge_given(night, batch)
    note(night.lake, night.gates, batch, "land", warned)


def _check_raw(night: Night, batch: Batch) -> list[Warned]:
    """The suites of the raw tables, on the files that the tasks wrote and nobody has committed yet.

    (Decision 2026-11-29: of a batch of more than `gate_rows` rows, the first hours of each home are checked; keys,
    offsets and books of every line are held by the reports of the tasks.)
    """
    warned = []
    for table in RAW_TABLES.values():
        files = first_hours([file for file in batch.files if file.table == table.name], night.settings.gate_rows)
        if files and night.gates.gate is not None:
            warned.append((table, night.gates.check(table, night.lake.read_files(table, files))))
    return warned


def _set_aside(batch: Batch) -> list[tuple[Table, DataFrame]]:
    aside = []
    if batch.counted(QUARANTINED):
        aside.append((QUARANTINE, materialised(build_quarantine(batch.staged))))
    if batch.counted(DROPPED):
        aside.append((DROPPED_LINES, materialised(build_dropped_lines(batch.staged))))
    return aside


def _landed(night: Night, batch: Batch) -> DataFrame:
    """The landed ranges of the batch and of the look-back: a source that fell silent is only there."""
    rows = local_frame(night.spark, batch.landed_ranges, INPUTS.schema)
    if night.gates.gate is None or not night.lake.exists(INPUTS):
        return rows
    newest = max((r.file_time for r in batch.ranges), default=None)
    since = F.lit(newest - timedelta(days=night.settings.lookback_days) if newest else None)
    before = night.lake.read(INPUTS).where((F.col("state") == LANDED) & (F.col("file_time") >= since))
    return materialised(
        rows.unionByName(before.join(rows, ["stream_id", "from_byte"], "left_anti").select(*INPUTS.columns))
    )


def _merge_given(night: Night, batch: Batch) -> list[Warned]:
    """What operators gave, topology, labels and repairs: rows that break an expectation are set aside.

    Whether the labelled attempts are known is asked later, when the attempts of this batch are.
    """
    warned = []
    for source, table, build in (
        ("topology", TOPOLOGY, build_topology), ("labels", LABELS, build_labels), ("repairs", REPAIRS, build_repairs),
    ):  # fmt: skip
        if source in batch.formats:
            rows, warnings = night.gates.without_failing(table, materialised(build(batch.staged)))
            if table is LABELS:
                add_statements(night.lake.root, rows.toArrow().to_pylist())
                night.labelled = True
            else:
                night.lake.merge(table, rows)
            warned.append((table, warnings))
    return warned
