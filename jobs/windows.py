"""windows: what the counters of the attempts in question did, in windows of corrected time."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from firstfault.jobs.night import Night
from firstfault.transforms.clock_offsets import CLOCK_OFFSETS, best_offsets
from firstfault.transforms.event_windows import build_event_windows
from firstfault.transforms.raw_telemetry import RAW_TELEMETRY

CLOCK_SLACK_DAYS = 1
"""Partitions are named by written time, which a clock in a wrong zone has off by less than this."""
CLOCK_DAYS_BEFORE = 30
"""An offset holds until the next one; older ones than this are not looked for."""


def windows_of(night: Night, attempts: DataFrame, scoped: DataFrame) -> DataFrame | None:
    """Rows of event_windows of the attempts; None where the lake holds no sample that a signal asks for.

    Args:
        night: The night.
        attempts: Attempts in question with window_from and window_to.
        scoped: Their scoped events.
    """
    lake = night.lake
    if not lake.exists(RAW_TELEMETRY):
        return None
    bounds = _bounds(attempts)
    if bounds is None:
        return None
    metrics = sorted({metric for signal in night.knowledge.signals for metric in signal.metric})
    asked = F.col("hour").between(*bounds) & F.col("metric").isin(metrics) & F.col("node").isNotNull()
    samples = lake.read(RAW_TELEMETRY).where(asked)
    if samples.isEmpty():
        return None
    known = F.date_sub(F.lit(bounds[0][:10]).cast("date"), CLOCK_DAYS_BEFORE)
    clocks = lake.read(CLOCK_OFFSETS).where((F.col("day") >= known) & (F.col("day") <= bounds[1][:10]))
    return build_event_windows(
        samples, scoped, attempts, night.frames.signals, best_offsets(clocks), night.knowledge.windows
    )


def _bounds(attempts: DataFrame) -> tuple[str, str] | None:
    """First and last hour that samples of the attempts may lie in; None where none of them ever started."""
    slack = F.make_dt_interval(F.lit(CLOCK_SLACK_DAYS))
    last = F.coalesce("window_to", F.lit("9998-01-01").cast("timestamp"))
    ends = attempts.where("window_from is not null").agg(F.min("window_from") - slack, F.max(last) + slack)
    found = ends.select(*(F.date_format(c, "yyyy-MM-dd-HH") for c in ends.columns)).first()
    return (found[0], found[1]) if found and found[0] else None
