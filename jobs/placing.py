"""attempts, clock: what one landed batch adds to them, and which attempts that touches."""

from collections.abc import Iterable
from datetime import date
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from firstfault.jobs.batch import Batch
from firstfault.jobs.days import day_list, days_of
from firstfault.jobs.frames import local_frame, materialised
from firstfault.jobs.night import Night
from firstfault.jobs.quality import note
from firstfault.transforms.attempts import ATTEMPTS, build_attempts, inferred, superseded
from firstfault.transforms.clock_offsets import (
    CLOCK_OFFSETS,
    ERROR_METRIC,
    OFFSET_METRIC,
    arrival_offsets,
    telemetry_offsets,
)
from firstfault.transforms.inputs import INPUTS
from firstfault.transforms.keys import ATTEMPT_KEY
from firstfault.transforms.labels import LABELS
from firstfault.transforms.raw_telemetry import RAW_TELEMETRY
from firstfault.transforms.scheduler_records import kube_records, slurm_records
from firstfault.transforms.staged import LANDED_LOG, LANDED_SAMPLE


def update_attempts(night: Night, batch: Batch) -> None:
    """Merges what the batch says of attempts; those that change are noted as changed."""
    if not batch.counted(LANDED_LOG):
        return
    observed = inferred(batch.staged)
    if "sacct" in batch.formats:
        observed = observed.unionByName(slurm_records(batch.staged))
    if "kube" in batch.formats:
        observed = observed.unionByName(kube_records(batch.staged))
    observed = observed.persist()
    existing = night.lake.read(ATTEMPTS)
    built = materialised(build_attempts(observed, existing, night.frames.states))
    landed = local_frame(night.spark, batch.landed_ranges, INPUTS.schema)
    note(
        night.lake, night.gates, batch, "attempts", [(ATTEMPTS, night.gates.check(ATTEMPTS, built, {"inputs": landed}))]
    )
    changed = materialised(built.exceptAll(existing).select(*ATTEMPT_KEY).distinct())
    if night.lake.exists(ATTEMPTS):
        night.lake.delete(ATTEMPTS, superseded(observed, existing))
    night.all_are_new = not night.lake.exists(ATTEMPTS)
    night.lake.merge(ATTEMPTS, built)
    if "labels" in batch.formats:
        known = {"attempts": night.lake.read(ATTEMPTS)}
        labels = materialised(night.lake.read(LABELS))
        note(night.lake, night.gates, batch, "labels", [(LABELS, night.gates.check(LABELS, labels, known))])
    night.changed.append(changed)
    observed.unpersist()


def update_clock(night: Night, batch: Batch) -> list[date]:
    """Rewrites the clock offsets of the days that the batch brings witnesses for; the days that changed."""
    days = []
    if batch.counted(LANDED_SAMPLE):
        metrics = F.col("metric").isin(OFFSET_METRIC, ERROR_METRIC)
        witnessed = batch.staged.where((F.col("disposition") == LANDED_SAMPLE) & metrics)
        found = days_of(witnessed, F.to_date("event_time"))
        if found:
            samples = night.lake.read(RAW_TELEMETRY).where(metrics & _hours_of(found))
            days += _replace_offsets(night, batch, telemetry_offsets(samples), found, "telemetry")
    stamped = batch.staged.where("collected_at is not null and node is not null")
    arrived = days_of(stamped, F.to_date("event_time"))
    if arrived:
        days += _replace_offsets(night, batch, arrival_offsets(stamped), arrived, "arrival")
    return days


def _replace_offsets(night: Night, batch: Batch, offsets: DataFrame, days: list[date], method: str) -> list[date]:
    """Replaces one method's rows of the days, keeping those of other methods."""
    where = day_list(days)
    new = materialised(offsets.where(where))
    note(night.lake, night.gates, batch, method, [(CLOCK_OFFSETS, night.gates.check(CLOCK_OFFSETS, new))])
    kept = night.lake.read(CLOCK_OFFSETS).where(where).where(F.col("method") != method)
    return days if night.lake.replace(CLOCK_OFFSETS, new.unionByName(kept), days) else []


def union_keys(frames: Iterable[DataFrame]) -> DataFrame | None:
    """Distinct attempt keys of all frames, None when there are none."""
    listed = list(frames)
    return reduce(DataFrame.unionByName, listed).distinct() if listed else None


def _hours_of(days: list[date]) -> Column:
    return F.substring("hour", 1, 10).isin(*(d.isoformat() for d in days))
