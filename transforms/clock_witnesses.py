"""Witnesses of clocks: what each source says of how far a clock was off, in one shape for the fusion.

Decision 2026-11-30: lines are paired in Spark by (attempt, kind, key) and reduced to medians of five minutes; the
graph of nodes that share such moments is then solved per cluster and day (`clock_fusion`), as those rows are few.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from firstfault.transforms.columns import seconds
from firstfault.transforms.keys import HOME_CLUSTER

TELEMETRY, ARRIVAL, SCHEDULE, TOLD_STEP = "telemetry", "arrival", "schedule", "told_step"
FAMILIES = {kind: kind for kind in (TELEMETRY, ARRIVAL, SCHEDULE)}
"""Kinds that are no training mark, by the word they have in `method`."""
REFERENCES = {TELEMETRY: "NTP/PTP sources", ARRIVAL: "collector", SCHEDULE: "scheduler"}
"""What true time is taken from where such a witness anchors a component, the best one deciding."""
OFFSET_METRIC, ERROR_METRIC = "clock.offset_s", "clock.max_error_s"
SPAN_S = 300
"""Witnesses are reduced to one value in such a span."""
RANKS_APART_S = 30.0
"""Ranks of one node share its clock: a moment that they put further apart is not one moment."""
ARRIVAL_SIGMA_S = 0.2
"""Spread of the fastest delivery in five minutes; corrected by the fit from its own residuals."""
LEAST_SIGMA_S = 0.0005


def telemetry_witnesses(samples: DataFrame) -> DataFrame:
    """One row per node and span with synchronisation telemetry: the offset that the node itself measured.

    Args:
        samples: raw_telemetry rows of the metrics `clock.offset_s` and `clock.max_error_s`.
    """
    is_offset = F.col("metric") == OFFSET_METRIC
    offset = F.when(is_offset, F.col("value"))
    spans = (
        samples.where(F.col("metric").isin(OFFSET_METRIC, ERROR_METRIC))
        .where("event_time is not null and node is not null and not isnan(value)")
        .groupBy("cluster", "node", _span("event_time").alias("_span"))
        .agg(
            F.percentile(offset, 0.5).alias("value_s"),
            ((F.max(offset) - F.min(offset)) / 2).alias("_spread"),
            F.max(F.when(~is_offset, F.col("value"))).alias("_bound"),
            F.count(offset).alias("n"),
            F.avg(F.when(is_offset, seconds("event_time"))).alias("_t"),
        )
        .where("value_s is not null")
    )
    # The daemon's bound counts the offset itself; what is left of it is delay and dispersion.
    slack = F.greatest(F.coalesce(F.col("_bound") - F.abs("value_s"), F.lit(0.0)), F.lit(0.0)) / 2
    sigma = F.greatest("_spread", slack, F.lit(LEAST_SIGMA_S))
    return _witness(spans, TELEMETRY, source=F.lit("*"), sigma=sigma)


def arrival_witnesses(marks: DataFrame) -> DataFrame:
    """One row per node, source and span: the fastest delivery, as written less collected time.

    The delay of the collector itself is a constant of the group, which nodes with other witnesses settle.

    Args:
        marks: Rows of `clock_marks` of kind arrival; value_s is written less collected.
    """
    spans = (
        marks.where(F.col("kind") == ARRIVAL)
        .where("node is not null")
        .groupBy("cluster", "node", "source", _span("t").alias("_span"))
        .agg(
            F.max("value_s").alias("value_s"),
            F.max_by(seconds("t"), "value_s").alias("_t"),
            F.sum("n").alias("n"),
        )
    )
    group = F.concat_ws("/", F.lit(ARRIVAL), "source")
    return _witness(spans, ARRIVAL, source=F.col("source"), sigma=F.lit(ARRIVAL_SIGMA_S), group=group)


def told_steps(marks: DataFrame) -> DataFrame:
    """One row per step that a node's daemon told of, `value_s` being its size.

    Args:
        marks: Rows of `clock_marks` of kind told_step.
    """
    told = marks.where((F.col("kind") == TOLD_STEP) & F.col("node").isNotNull()).withColumn("_t", seconds("t"))
    return _witness(told, TOLD_STEP, source=F.lit("*"), sigma=F.lit(1.0))


def schedule_witnesses(streams: DataFrame, attempts: DataFrame) -> DataFrame:
    """One row per attempt and node: its own lines lie between the scheduler's start and end.

    That bounds the offset from both sides and prefers nothing between: the value is the least offset that fits.

    Args:
        streams: cluster, job_id, attempt_hint, node, source, first_time, last_time of the job's own streams.
        attempts: source_cluster, job_id, attempt, nodes, start, end, scope_source.
    """
    told = attempts.where("scope_source = 'scheduler' and start is not null and end is not null")
    windows = told.select(F.col("source_cluster").alias("cluster"), "job_id", "attempt", "start", "end", "nodes")
    held = (
        streams.where("first_time is not null")
        .select("cluster", "job_id", "attempt_hint", "node", "source", "first_time", "last_time")
        .join(F.broadcast(windows), ["cluster", "job_id"])
    )
    own = held.where("attempt_hint is null or attempt_hint = attempt").withColumn(
        "node", F.coalesce("node", F.when(F.size("nodes") == 1, F.col("nodes")[0]))
    )
    # One stream may hold several attempts of its job: then it bounds none of them.
    several = Window.partitionBy("cluster", "job_id", "node", "source")
    single = own.where("node is not null").withColumn("_n", F.size(F.collect_set("attempt").over(several)))
    spans = (
        single.where("_n = 1")
        .groupBy("cluster", "job_id", "attempt", "node", "source", "start", "end")
        .agg(F.min("first_time").alias("_first"), F.max("last_time").alias("_last"))
    )
    late, early = seconds("_first") - seconds("start"), seconds("_last") - seconds("end")
    bounded = spans.withColumns(
        {
            "value_s": F.greatest(early, F.least(late, F.lit(0.0))),
            "_t": (seconds("_first") + seconds("_last")) / 2,
            "_half": (late - early) / 2,
            "n": F.lit(2),
        }
    ).where("_half > -30")
    sigma = F.greatest(F.col("_half") / 2, F.lit(1.0)) + 1.0
    return _witness(bounded, SCHEDULE, source=F.col("source"), sigma=sigma)


def mark_witnesses(marks: DataFrame, kinds: DataFrame) -> DataFrame:
    """One row per attempt, kind, node and span: how far the node's times of shared moments lie from their middle.

    Ranks of one node share its clock, so their median stands for it: a rank that is always late moves nothing.

    Args:
        marks: Rows of `clock_marks`.
        kinds: kind, width_s.
    """
    attempt = ["cluster", "job_id", "attempt_hint"]
    moment = [*attempt, "kind", "key"]
    placed = marks.where("node is not null").join(F.broadcast(kinds.select("kind", "width_s")), "kind")
    once = placed.groupBy(*moment, "width_s", "node", "source", "stream_id", "rank").agg(
        F.min(_middle_of_second()).alias("_y"), F.count("*").alias("_times"), F.max(_rounding_s()).alias("_rounding")
    )
    by_node = (
        once.where("_times = 1")
        .groupBy(*moment, "width_s", "node", "source")
        .agg(
            F.percentile("_y", 0.5).alias("_y"),
            (F.max("_y") - F.min("_y")).alias("_apart"),
            F.count("*").alias("n"),
            F.max("_rounding").alias("_rounding"),
        )
        .where(F.col("_apart") <= RANKS_APART_S)
    )
    together = Window.partitionBy(*moment)
    shared = by_node.withColumns(
        {
            "_centre": F.percentile("_y", 0.5).over(together),
            "_nodes": F.size(F.collect_set("node").over(together)),
        }
    ).where("_nodes > 1")
    away = F.col("_y") - F.col("_centre")
    # Moments of an attempt are seen by the same nodes, those of a cluster or a link by other nodes each time.
    apart = F.when(F.col("job_id") == HOME_CLUSTER, F.col("key")).alias("_moment")
    span = F.floor(F.col("_centre") / SPAN_S).alias("_span")
    spans = shared.groupBy(*attempt, "kind", apart, "width_s", "node", "source", span).agg(
        # Whole seconds fall to one side or the other: only their mean tells parts of one.
        F.when(F.max("_rounding") > 0, F.avg(away)).otherwise(F.percentile(away, 0.5)).alias("value_s"),
        F.avg("_centre").alias("_t"),
        F.count("*").alias("_moments"),
        F.sum("n").alias("n"),
        F.max("_rounding").alias("_rounding"),
    )
    one = F.sqrt(F.col("width_s") ** 2 + F.col("_rounding") ** 2)
    hint = F.coalesce(F.col("attempt_hint").cast("string"), F.lit("-"))
    group = F.concat_ws("/", "job_id", hint, "kind", "_moment")
    return _witness(
        spans, F.col("kind"), source=F.col("source"), sigma=1.2533 * one / F.sqrt("_moments"), group=group
    )  # fmt: skip


def _whole_second() -> Column:
    return F.unix_micros("t") % 1_000_000 == 0


def _middle_of_second() -> Column:
    """Seconds of the written time; one without a fraction stands for its whole second."""
    return seconds("t") + F.when(_whole_second(), 0.5).otherwise(0.0)


def _rounding_s() -> Column:
    return F.when(_whole_second(), 0.2887).otherwise(0.0)


def _span(name: str) -> Column:
    return F.floor(seconds(name) / SPAN_S)


def _witness(
    rows: DataFrame, kind: str | Column, *, source: Column, sigma: Column, group: Column | None = None
) -> DataFrame:
    """The rows in the shape of all witnesses."""
    return rows.select(
        "cluster",
        "node",
        source.alias("source"),
        (F.lit(kind) if isinstance(kind, str) else kind).alias("kind"),
        (F.lit(None).cast("string") if group is None else group).alias("group_id"),
        F.timestamp_seconds(F.round("_t", 6)).alias("t"),
        F.col("value_s").cast("double").alias("value_s"),
        sigma.cast("double").alias("sigma_s"),
        F.col("n").cast("bigint").alias("n"),
    ).where("isnotnull(value_s) and not isnan(value_s)")
