"""clock_offsets: how far each clock was off, from when to when, and how well that is known.

First cut: an hourly row per node from its own synchronisation telemetry, else a daily row from the lower envelope of
collector arrival minus written time. Further witnesses add rows with a `method` of their own; `best_offsets` alone
decides which one an event is corrected by.
"""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from firstfault.transforms.contract import Table, column
from firstfault.transforms.types import DAY, DOUBLE, LONG, TEXT, TIME

TELEMETRY, ARRIVAL = "telemetry", "arrival"
OFFSET_METRIC, ERROR_METRIC = "clock.offset_s", "clock.max_error_s"
UNWITNESSED_ERROR_S = 1.0
"""Error of a clock that no witness speaks of: NTP keeps most fleets within a second (design section 7)."""
ARRIVAL_ERROR_S = 1.0
"""A collector's fastest delivery may still have taken this long."""
REACH_S = 86_400
"""A measured offset is trusted this long before its first and after its last sample."""

CLOCK_OFFSETS = Table(
    name="clock_offsets",
    row="a clock over an interval of its own time",
    fields=(
        column("cluster", TEXT, "cluster of the stream", required=True),
        column("node", TEXT, "node whose clock it is", required=True),
        column("source", TEXT, "source whose times it corrects; * for all of the node", required=True),
        column("t_from", TIME, "start of the interval, on that clock", required=True),
        column("t_to", TIME, "end of the interval, exclusive", required=True),
        column("day", DAY, "day of t_from"),
        column("offset_s", DOUBLE, "local minus true; true time = written - offset_s"),
        column("drift_ppm", DOUBLE, "drift within the interval"),
        column("error_s", DOUBLE, "95 % bound of the error of offset_s"),
        column("method", TEXT, "telemetry or arrival", required=True),
        column("n", LONG, "samples it rests on"),
        column("reference", TEXT, "what true time is taken from"),
    ),
    keys=("cluster", "node", "source", "t_from", "method"),
    partitions=("day",),
    keep_days=400,
)


def telemetry_offsets(samples: DataFrame) -> DataFrame:
    """One row per node and hour with synchronisation telemetry: median offset, and the larger of spread and bound.

    Args:
        samples: raw_telemetry rows of the metrics `clock.offset_s` and `clock.max_error_s`.
    """
    is_offset = F.col("metric") == OFFSET_METRIC
    offset = F.when(is_offset, F.col("value"))
    hourly = (
        samples.where(F.col("metric").isin(OFFSET_METRIC, ERROR_METRIC))
        .where("event_time is not null and node is not null")
        .groupBy("cluster", "node", F.date_trunc("hour", "event_time").alias("t_from"))
        .agg(
            F.percentile(offset, 0.5).alias("mid"),
            ((F.max(offset) - F.min(offset)) / 2).alias("spread"),
            F.count(offset).alias("n"),
            F.max(F.when(~is_offset, F.col("value"))).alias("bound"),
        )
    )
    rows = hourly.where("mid is not null").select(
        "cluster",
        "node",
        "t_from",
        F.round("mid", 6).alias("offset_s"),
        F.round(F.greatest("spread", F.coalesce("bound", F.lit(0.0)), F.lit(0.001)), 6).alias("error_s"),
        "n",
        F.lit(TELEMETRY).alias("method"),
        F.lit("NTP/PTP source of the node").alias("reference"),
    )
    return _with_interval(rows, 3600)


def arrival_offsets(arrivals: DataFrame) -> DataFrame:
    """One row per node and day whose lines carry a collector's stamp: lower envelope of arrival minus written.

    Args:
        arrivals: cluster, node, event_time, collected_at. Queueing delay is positive, so the least difference is
            the offset's negative plus the fastest delivery.
    """
    delay = F.col("collected_at").cast("double") - F.col("event_time").cast("double")
    daily = (
        arrivals.where("node is not null and event_time is not null and collected_at is not null")
        .groupBy("cluster", "node", F.date_trunc("day", "event_time").alias("t_from"))
        .agg(F.min(delay).alias("least"), F.count("*").alias("n"))
    )
    significant = F.abs("least") > ARRIVAL_ERROR_S
    rows = daily.select(
        "cluster",
        "node",
        "t_from",
        F.round(F.when(significant, -F.col("least")).otherwise(0.0), 6).alias("offset_s"),
        F.lit(ARRIVAL_ERROR_S).alias("error_s"),
        "n",
        F.lit(ARRIVAL).alias("method"),
        F.lit("collector").alias("reference"),
    )
    return _with_interval(rows, 86_400)


def _with_interval(rows: DataFrame, length_s: int) -> DataFrame:
    end = F.timestamp_seconds(F.col("t_from").cast("double") + length_s)
    placed = rows.withColumns({"source": F.lit("*"), "drift_ppm": F.lit(None), "t_to": end, "day": F.to_date("t_from")})
    return CLOCK_OFFSETS.conform(placed)


def best_offsets(offsets: DataFrame) -> DataFrame:
    """The offsets that events are corrected by: where a node has telemetry, its other methods are left out."""
    node = Window.partitionBy("cluster", "node")
    has_telemetry = F.max((F.col("method") == TELEMETRY).cast("int")).over(node) == 1
    return _with_reach(offsets.withColumn("_has", has_telemetry).where(~F.col("_has") | (F.col("method") == TELEMETRY)))


def _with_reach(rows: DataFrame) -> DataFrame:
    """Intervals without gaps: each reaches to the next one, the first and the last a day beyond."""
    clock = Window.partitionBy("cluster", "node").orderBy("t_from")
    before = F.timestamp_seconds(F.col("t_from").cast("double") - REACH_S)
    after = F.timestamp_seconds(F.col("t_to").cast("double") + REACH_S)
    return rows.select(
        "cluster",
        "node",
        F.when(F.lag("t_from").over(clock).isNull(), before).otherwise(F.col("t_from")).alias("t_from"),
        F.coalesce(F.lead("t_from").over(clock), after).alias("t_to"),
        "offset_s",
        "error_s",
    )
