"""clock: what a landed batch says of clocks, and the offsets and faults of the days that this concerns."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from firstfault.jobs.batch import Batch
from firstfault.jobs.days import day_list, days_of, in_utc
from firstfault.jobs.frames import few_rows, local_frame, materialised
from firstfault.jobs.night import Night
from firstfault.jobs.quality import note
from firstfault.transforms.attempts import ATTEMPTS
from firstfault.transforms.clock_faults import (
    CLOCK_FAULTS,
    UNSYNCED_EVENT,
    frozen_collectors,
    offset_faults,
    told_faults,
)
from firstfault.transforms.clock_fusion import OVERLAP_S, fuse, fuse_day
from firstfault.transforms.clock_marks import CLOCK_MARKS, build_clock_marks
from firstfault.transforms.clock_of import NODE_CLOCKED
from firstfault.transforms.clock_offsets import CLOCK_OFFSETS
from firstfault.transforms.clock_witnesses import (
    ERROR_METRIC,
    OFFSET_METRIC,
    arrival_witnesses,
    mark_witnesses,
    schedule_witnesses,
    telemetry_witnesses,
    told_steps,
)
from firstfault.transforms.events import EVENTS
from firstfault.transforms.inputs import INPUTS, LANDED
from firstfault.transforms.placement import PLACEMENT, rank_nodes
from firstfault.transforms.raw_telemetry import RAW_TELEMETRY
from firstfault.transforms.topology import TOPOLOGY

CLOCK_FORMATS = frozenset({"chrony", "ptp", "ntpq"})
"""Sources of telemetry of clocks."""
_TIME = pa.timestamp("us", "UTC")
OVERLAP = timedelta(seconds=OVERLAP_S)


def ranks_of(night: Night, batch: Batch) -> DataFrame:
    """The node of each rank, where the batch has logs whose path names none."""
    if not any(r.node is None and r.job_id[:1] != "_" for r in batch.ranges):
        return night.spark.createDataFrame([], "cluster string, job_id string, attempt_hint int, rank int, node string")
    return materialised(rank_nodes(batch.staged, night.lake.read(PLACEMENT)))


def update_clock(night: Night, batch: Batch, ranks: DataFrame) -> list[date]:
    """Lands what the batch says of clocks and fits the clocks of those days again; the days whose offsets changed.

    After a run that was cut all of them count: it may have written offsets, and placed no event by them.
    """
    marks = materialised(build_clock_marks(batch.staged, ranks, night.lake.read(TOPOLOGY), night.frames.mark_kinds))
    seen = days_of(marks, F.col("day"))
    if seen:
        note(night.lake, night.gates, batch, "clock_marks", [(CLOCK_MARKS, night.gates.check(CLOCK_MARKS, marks))])
        night.lake.append(CLOCK_MARKS, marks, intent=batch.batch_id)
    days = _days_to_fit(batch, seen)
    if not days:
        return []
    offsets = _fitted(night, batch, days)
    note(night.lake, night.gates, batch, "clock", [(CLOCK_OFFSETS, night.gates.check(CLOCK_OFFSETS, offsets))])
    return days if night.lake.replace(CLOCK_OFFSETS, offsets, days) or night.run.redo else []


def _days_to_fit(batch: Batch, seen: list[date]) -> list[date]:
    """Days whose fit the batch's marks, telemetry of clocks, or logs of jobs take part in."""
    moments = [datetime.combine(day, hour, UTC) for day in seen for hour in (time.min, time.max)]
    for row in batch.landed_ranges:
        if row["format"] in CLOCK_FORMATS or (row["format"] in NODE_CLOCKED and row["job_id"][:1] != "_"):
            moments += [row[name] for name in ("first_time", "last_time") if row[name] is not None]
    reach = {(moment + away).date() for moment in map(in_utc, moments) for away in (-OVERLAP, OVERLAP)}
    return sorted(reach)


def _fitted(night: Night, batch: Batch, days: list[date]) -> DataFrame:
    """The offsets of these days; of few witnesses in the driver, without a task."""
    witnesses = _witnesses(night, batch, days).persist()
    try:
        few = few_rows(witnesses)
        if few is None:
            return materialised(fuse(witnesses, [day.isoformat() for day in days]))
    finally:
        witnesses.unpersist()
    rows = [row for part in _by_day(few, days) for row in fuse_day(part).to_pylist()]
    return local_frame(night.spark, rows, CLOCK_OFFSETS.schema)


def _by_day(witnesses: pa.Table, days: list[date]) -> Iterator[pa.Table]:
    """The witnesses of each cluster and day with its overlaps, as `clock_fusion.fuse` groups them."""
    for day in days:
        start = datetime.combine(day, time.min, UTC)
        inside = pc.and_(
            pc.greater_equal(witnesses["t"], pa.scalar(start - OVERLAP, _TIME)),
            pc.less(witnesses["t"], pa.scalar(start + timedelta(days=1) + OVERLAP, _TIME)),
        )
        of_day = witnesses.filter(inside)
        for cluster in sorted(pc.unique(of_day["cluster"]).to_pylist()):
            part = of_day.filter(pc.equal(of_day["cluster"], cluster))
            yield part.append_column("day_start", pa.repeat(pa.scalar(start, _TIME), part.num_rows))


def _witnesses(night: Night, batch: Batch, days: list[date]) -> DataFrame:
    """All that is known of the clocks of these days and of the hours around them."""
    lake = night.lake
    around = _neighbours(days)
    found = []
    if lake.exists(CLOCK_MARKS):
        marks = lake.read(CLOCK_MARKS).where(day_list(around))
        found = [mark_witnesses(marks, night.frames.mark_kinds), arrival_witnesses(marks), told_steps(marks)]
    if lake.exists(RAW_TELEMETRY):
        metrics = F.col("metric").isin(OFFSET_METRIC, ERROR_METRIC)
        found.append(telemetry_witnesses(lake.read(RAW_TELEMETRY).where(metrics & _hours_of(around))))
    if lake.exists(ATTEMPTS):
        found.append(schedule_witnesses(_job_streams(night, batch, around), lake.read(ATTEMPTS)))
    return reduce(DataFrame.unionByName, found)


def _neighbours(days: list[date]) -> list[date]:
    return sorted({day + timedelta(days=n) for day in days for n in (-1, 0, 1)})


def _hours_of(days: list[date]) -> Column:
    return F.substring("hour", 1, 10).isin(*(d.isoformat() for d in days))


def _job_streams(night: Night, batch: Batch, days: list[date]) -> DataFrame:
    """Logs of jobs, of this batch and of earlier ones, that a node's own clock wrote on these days."""
    batch_rows = local_frame(night.spark, batch.landed_ranges, INPUTS.schema)
    earlier = night.lake.read(INPUTS).where((F.col("state") == LANDED) & (F.col("batch_id") != batch.batch_id))
    own = ~F.col("job_id").startswith("_") & F.col("format").isin(*sorted(NODE_CLOCKED))
    dates = [F.lit(d) for d in days]
    touched = F.to_date("last_time").isin(*dates) | F.to_date("first_time").isin(*dates)
    return batch_rows.unionByName(earlier).where(own & touched).withColumnRenamed("format", "source")


def update_clock_faults(night: Night, batch: Batch, days: list[date]) -> None:
    """Rewrites the faults of clocks of these days, by their offsets, their collectors and what they say themselves."""
    if not days:
        return
    lake, where = night.lake, day_list(days)
    found = [offset_faults(lake.read(CLOCK_OFFSETS).where(where))]
    if lake.exists(CLOCK_MARKS):
        found.append(frozen_collectors(lake.read(CLOCK_MARKS).where(where)))
    if lake.exists(EVENTS):
        found.append(told_faults(lake.read(EVENTS).where(where).where(F.col("event_type") == UNSYNCED_EVENT)))
    faults = materialised(reduce(DataFrame.unionByName, found).where(where))
    note(lake, night.gates, batch, "clock_faults", [(CLOCK_FAULTS, night.gates.check(CLOCK_FAULTS, faults))])
    lake.replace(CLOCK_FAULTS, faults, days)
