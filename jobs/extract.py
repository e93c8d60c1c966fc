"""extract: the events of a landed batch, on corrected time, and which attempts they touch."""

from datetime import date, timedelta
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from firstfault.jobs.batch import Batch
from firstfault.jobs.days import day_list, days_of, in_utc
from firstfault.jobs.frames import local_frame, materialised
from firstfault.jobs.lake import Lake
from firstfault.jobs.night import Night
from firstfault.jobs.quality import note
from firstfault.transforms.attempts import ATTEMPTS
from firstfault.transforms.boot_times import BOOT_FORMATS, with_boot_times
from firstfault.transforms.clock_faults import UNSYNCED_EVENT
from firstfault.transforms.clock_offsets import CLOCK_OFFSETS, UNWITNESSED_ERROR_S, reaching
from firstfault.transforms.event_times import place_in_time
from firstfault.transforms.events import EVENTS, FOUND_COLUMNS, extract_events
from firstfault.transforms.flight_events import flight_events
from firstfault.transforms.formats.times import BOOT_WALL
from firstfault.transforms.keys import ATTEMPT_KEY
from firstfault.transforms.raw_logs import RAW_LOGS
from firstfault.transforms.raw_telemetry import RAW_TELEMETRY
from firstfault.transforms.scoped_events import Padding, build_scoped_events
from firstfault.transforms.signal_events import signal_events
from firstfault.transforms.staged import LANDED_SAMPLE
from firstfault.transforms.topology import TOPOLOGY

FLIGHT_RECORDER = "flight_recorder"
SIGNAL_HISTORY = timedelta(hours=3)
"""Samples before the batch that a series is continued from."""


def place_events(night: Night, batch: Batch, clock_days: list[date], ranks: DataFrame) -> list[date]:
    """Writes the batch's events on corrected time, and again those whose clock is now better known.

    Returns:
        Days on which an event of the batch says that nothing keeps a clock.
    """
    staged = batch.staged
    if BOOT_FORMATS & batch.formats:
        walls = staged.where(F.col("time_basis") == BOOT_WALL).limit(1).count() > 0
        staged = with_boot_times(staged, walls=walls)
    found = extract_events(staged, night.frames.vocabulary, night.frames.codes)
    if batch.counted(LANDED_SAMPLE):
        found = found.unionByName(_signals(night, batch))
    dumped = batch.jobs_with(FLIGHT_RECORDER)
    if dumped:
        found = found.unionByName(_flight_events(night, dumped))
    found = found.persist()
    placed = materialised(_checked(night, batch, materialised(_placed(night, found, ranks, _span(batch)))))
    new_days = days_of(placed, F.col("day"))
    days = sorted({*new_days, *_around(clock_days, night.lake), *_judged_before(night.lake, dumped)})
    if not days:
        return []
    where = day_list(days)
    existing = night.lake.read(EVENTS).where(where)
    if night.lake.exists(EVENTS):
        kept = existing.where(~_of_dumps(dumped)) if dumped else existing
        kept = kept.select(*FOUND_COLUMNS).join(found.select("event_id"), "event_id", "left_anti")
        rows = placed.unionByName(_placed(night, kept, ranks, days)).where(where)
    else:
        rows = placed
    rows = rows.dropDuplicates(["event_id"])
    night.lake.replace(EVENTS, rows, days)
    if not night.all_are_new:
        _note_touched(night, placed, clock_days, where)
    if dumped and not night.all_are_new:
        # A dump may take back all that earlier ones said, so that no event is left to name the attempt.
        night.changed.append(night.lake.read(ATTEMPTS).where(F.col("job_id").isin(*dumped)).select(*ATTEMPT_KEY))
    found.unpersist()
    return days_of(placed.where(F.col("event_type") == UNSYNCED_EVENT), F.col("day"))


def _checked(night: Night, batch: Batch, placed: DataFrame) -> DataFrame:
    """The new events that break no expectation; each of them points at a line that landed."""
    if night.gates.gate is None:
        return placed
    rows, warnings = night.gates.without_failing(EVENTS, placed, {"raw": _raw_pointers(night, batch, placed)})
    note(night.lake, night.gates, batch, "events", [(EVENTS, warnings)])
    return rows


def _raw_pointers(night: Night, batch: Batch, placed: DataFrame) -> DataFrame:
    """Where the batch's rows lie in the raw tables, and what events of streams of earlier batches point at.

    The latter were held against their lines when those landed; only the batch's own partitions are read.
    """
    pointer = ("stream_id", "byte_offset")
    streams = local_frame(
        night.spark, [{"stream_id": s} for s in batch.streams], StructType([EVENTS.schema["stream_id"]])
    )
    earlier = placed.join(F.broadcast(streams), "stream_id", "left_anti").select(*pointer)
    in_hours = F.col("hour").isin(*batch.hours)
    tables = (night.lake.read(table).where(in_hours).select(*pointer) for table in (RAW_LOGS, RAW_TELEMETRY))
    return reduce(DataFrame.unionByName, tables, earlier)


def _placed(night: Night, found: DataFrame, ranks: DataFrame, days: list[date]) -> DataFrame:
    """The events on corrected time, by the clocks of these days and of a day around them."""
    windows = night.lake.read(ATTEMPTS).select(
        F.col("source_cluster").alias("cluster"), "job_id", "nodes", "start", "end"
    )
    offsets = night.lake.read(CLOCK_OFFSETS)
    if days:
        first, last = min(days) - timedelta(days=1), max(days) + timedelta(days=1)
        offsets = offsets.where(F.col("day").between(F.lit(first), F.lit(last)))
    return place_in_time(found, reaching(offsets), windows, ranks, UNWITNESSED_ERROR_S)


def _span(batch: Batch) -> list[date]:
    """First and last day that the batch's lines and files were written on."""
    names = ("first_time", "last_time", "file_time")
    times = [in_utc(row[name]) for row in batch.landed_ranges for name in names if row[name] is not None]
    return [min(times).date(), max(times).date()] if times else []


def _signals(night: Night, batch: Batch) -> DataFrame:
    """Events of the batch's metrics; samples shortly before it continue the series."""
    first = batch.first_sample
    since = first - SIGNAL_HISTORY if first else None
    metrics = F.broadcast(night.frames.signals.select("metric").distinct())
    table = night.lake.read(RAW_TELEMETRY)
    recent = table.where(F.col("event_time") >= F.lit(since)) if since else table
    return signal_events(
        recent.join(metrics, "metric", "left_semi"),
        night.frames.signals,
        night.frames.vocabulary,
        night.frames.codes,
    )


def _flight_events(night: Night, jobs: list[str]) -> DataFrame:
    """What the dumps of these jobs say of each other; one that landed earlier is compared with the new ones."""
    dumps = night.lake.read(RAW_LOGS).where(_of_dumps(jobs))
    return flight_events(dumps, night.frames.vocabulary, night.frames.codes)


def _of_dumps(jobs: list[str]) -> Column:
    return (F.col("source") == FLIGHT_RECORDER) & F.col("job_id").isin(*jobs)


def _judged_before(lake: Lake, jobs: list[str]) -> list[date]:
    """Days of what earlier dumps of these jobs said, which later ones may refute."""
    return days_of(lake.read(EVENTS).where(_of_dumps(jobs)), F.col("day")) if jobs and lake.exists(EVENTS) else []


def _note_touched(night: Night, placed: DataFrame, clock_days: list[date], where: str) -> None:
    """Notes the attempts that the batch's events, or a better clock, may speak of."""
    attempts = night.lake.read(ATTEMPTS)
    touching = placed
    if clock_days:
        touching = night.lake.read(EVENTS).where(where)
    scoped = build_scoped_events(touching, attempts, night.lake.read(TOPOLOGY), padding(night))
    night.changed.append(materialised(scoped.select(*ATTEMPT_KEY).distinct()))


def padding(night: Night) -> Padding:
    """The padding of the settings."""
    s = night.settings
    return Padding(s.pad_before_s, s.pad_after_s, s.snapshot_pad_after_s)


def _around(days: list[date], lake: Lake) -> set[date]:
    """The days and their neighbours: a corrected event may cross midnight, into a day that had none."""
    return {d + timedelta(days=n) for d in days for n in (-1, 0, 1)} if lake.exists(EVENTS) else set()
