"""clock_offsets: how far each clock was off, from when to when, and how well that is known.

The rows are made by `clock_fusion` from all witnesses of a day; `best_offsets` says which one an event is corrected by.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from firstfault.transforms.columns import seconds
from firstfault.transforms.contract import Table, column
from firstfault.transforms.types import DAY, DOUBLE, LONG, TEXT, TIME

EVERY_SOURCE = "*"
UNWITNESSED_ERROR_S = 1.0
"""Error of a clock that no witness speaks of: NTP keeps most fleets within a second (design section 7)."""
REACH_S = 86_400
"""An offset is trusted this long before its first and after its last interval ..."""
REACH_PPM = 20.0
"""... while its error grows as an undisciplined crystal may drift."""

CLOCK_OFFSETS = Table(
    name="clock_offsets",
    row="a clock over an interval of its own time",
    fields=(
        column("cluster", TEXT, "cluster of the stream", required=True),
        column("node", TEXT, "node whose clock it is", required=True),
        column("source", TEXT, "source whose times it corrects; * for all of the node", required=True),
        column("t_from", TIME, "start of the interval, on that clock", required=True),
        column("t_to", TIME, "end of the interval, exclusive", required=True),
        column("day", DAY, "day of the true time at its start, by which it was fitted"),
        column("offset_s", DOUBLE, "local minus true at t_from; true time = written - offset_s"),
        column("drift_ppm", DOUBLE, "growth of the offset within the interval, microseconds a second"),
        column("error_s", DOUBLE, "95 % bound of the error of offset_s"),
        column("shared_error_s", DOUBLE, "the part of error_s that all clocks of the same reference share"),
        column("step_s", DOUBLE, "size of the jump that falls into this interval; null where there is none"),
        column("method", TEXT, "kinds of witnesses joined by +: telemetry, arrival, marks, schedule", required=True),
        column("n", LONG, "lines and samples it rests on"),
        column("reference", TEXT, "what true time is taken from"),
    ),
    keys=("cluster", "node", "source", "t_from"),
    partitions=("day",),
    keep_days=400,
    version=2,
)


def best_offsets(offsets: DataFrame) -> DataFrame:
    """The offsets of whole nodes without gaps: each interval reaches to the next, the first and last a day beyond."""
    return _with_reach(offsets.where(F.col("source") == EVERY_SOURCE))


def reaching(offsets: DataFrame) -> DataFrame:
    """The offsets of whole nodes, and those of sources that write another zone than their node, without gaps."""
    return _with_reach(offsets)


def _with_reach(rows: DataFrame) -> DataFrame:
    clock = Window.partitionBy("cluster", "node", "source").orderBy("t_from")
    before = F.timestamp_seconds(seconds("t_from") - REACH_S)
    after = F.timestamp_seconds(seconds("t_to") + REACH_S)
    return rows.select(
        "cluster",
        "node",
        "source",
        F.when(F.lag("t_from").over(clock).isNull(), before).otherwise(F.col("t_from")).alias("t_from"),
        F.coalesce(F.lead("t_from").over(clock), after).alias("t_to"),
        F.col("t_from").alias("known_from"),
        F.col("t_to").alias("known_to"),
        "offset_s",
        "drift_ppm",
        "error_s",
        "shared_error_s",
        "reference",
    )


def offset_at(at: Column, row: str) -> Column:
    """Offset of a row of `best_offsets` at a written time, in seconds; beyond its interval the drift does not go on.

    Args:
        at: Written time.
        row: Alias of the offsets.
    """
    inside = F.least(F.greatest(seconds(at), seconds(f"{row}.known_from")), seconds(f"{row}.known_to"))
    drift = F.coalesce(F.col(f"{row}.drift_ppm"), F.lit(0.0)) * 1e-6
    return F.col(f"{row}.offset_s") + drift * (inside - seconds(f"{row}.known_from"))


def error_at(at: Column, row: str) -> Column:
    """Error of a row of `best_offsets` at a written time, in seconds; it grows beyond the row's interval."""
    beyond = F.greatest(
        seconds(f"{row}.known_from") - seconds(at), seconds(at) - seconds(f"{row}.known_to"), F.lit(0.0)
    )
    return F.col(f"{row}.error_s") + beyond * (REACH_PPM * 1e-6)
