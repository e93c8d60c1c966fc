"""Composites: probes that are judged together, as a sequence of events or as a silence among speakers."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from firstfault.transforms.probes import KEPT_EVENTS

SEQUENCE, SILENCE = "sequence", "silence"
_ANCHOR = ("uid", "spec_id", "entity")


def judge_composites(anchors: DataFrame, spec_probes: DataFrame, composites: DataFrame, found: DataFrame) -> DataFrame:
    """One row per (uid, spec_id, entity, probe_id) that holds, shaped as the result of `probes.probe`.

    Args:
        anchors: Anchors with `first`.
        spec_probes: Which probes an anchor needs; those below zero are composites.
        composites: Rows of `rule_tables.COMPOSITES`.
        found: Result of `probes.probe`, with the intervals of ordered ones.
    """
    needed = F.broadcast(spec_probes.join(composites, "probe_id"))
    steps = anchors.select(*_ANCHOR, _anchor_interval().alias("_self")).join(needed, "spec_id")
    known = steps.join(found.withColumnRenamed("probe_id", "step_probe_id"), [*_ANCHOR, "step_probe_id"], "left")
    is_self = F.col("step_probe_id").isNull()
    step = F.struct(
        "step_no",
        F.when(is_self, 1).otherwise(F.coalesce("possible", F.lit(0))).cast("bigint").alias("possible"),
        F.when(is_self, 1).otherwise(F.coalesce("certain", F.lit(0))).cast("bigint").alias("certain"),
        F.when(is_self, F.array("_self")).otherwise(F.col("intervals")).alias("intervals"),
        F.col("events"),
    )
    gathered = known.groupBy(*_ANCHOR, "probe_id", "composite").agg(F.array_sort(F.collect_list(step)).alias("steps"))
    verdict = F.when(F.col("composite") == SEQUENCE, _sequence()).otherwise(_silence())
    events = F.flatten(F.filter(F.transform("steps", lambda s: s["events"]), lambda e: e.isNotNull()))
    return (
        gathered.withColumn("_holds", verdict)
        .where("_holds > 0")
        .select(
            *_ANCHOR,
            "probe_id",
            F.lit(1).cast("bigint").alias("possible"),
            (F.col("_holds") == 2).cast("bigint").alias("certain"),
            F.array().cast("array<string>").alias("names"),
            F.slice(F.array_sort(F.array_distinct(events)), 1, KEPT_EVENTS * 2).alias("events"),
        )
    )


def _anchor_interval() -> Column:
    low, high, error = F.col("first.t_low").cast("double"), F.col("first.t_high").cast("double"), "first.clock_error_s"
    middle = F.col("first.t").cast("double")
    return F.struct(
        low.alias("low"),
        high.alias("high"),
        F.least(low + F.col(error), middle).alias("near_low"),
        F.greatest(high - F.col(error), middle).alias("near_high"),
        F.col("first.clock").alias("clock"),
    )


def _silence() -> Column:
    """2 for certain, 1 possibly, 0 not: spoken before, not after, while others go on."""
    before, after, others = (F.col("steps")[n] for n in range(3))
    holds = (before["possible"] > 0) & (after["possible"] == 0) & (others["possible"] > 0)
    certain = (before["certain"] > 0) & (others["certain"] > 0)
    return F.when(holds & certain, 2).when(holds, 1).otherwise(0)


def _sequence() -> Column:
    """2 for certain, 1 possibly, 0 not: an event of each step, none before that of the step before it.

    Each step takes the earliest fitting interval, which leaves the most room for the next. Times of one clock share
    its error, which does not count between them.
    """
    clocks = F.array_distinct(F.flatten(F.transform("steps", lambda s: s["intervals"]["clock"])))
    one_clock = (F.size(clocks) == 1) & clocks[0].isNotNull()

    def low(i: Column) -> Column:
        return F.when(one_clock, i["near_low"]).otherwise(i["low"])

    def high(i: Column) -> Column:
        return F.when(one_clock, i["near_high"]).otherwise(i["high"])

    def possible(reached: Column, step: Column) -> Column:
        fitting = F.filter(step["intervals"], lambda i: high(i) >= reached)
        return F.array_min(F.transform(fitting, lambda i: F.greatest(low(i), reached)))

    def certain(reached: Column, step: Column) -> Column:
        fitting = F.filter(step["intervals"], lambda i: low(i) >= reached)
        return F.array_min(F.transform(fitting, high))

    start = F.lit(float("-inf"))
    is_certain = F.aggregate("steps", start, certain).isNotNull()
    return F.when(is_certain, 2).when(F.aggregate("steps", start, possible).isNotNull(), 1).otherwise(0)
