"""Suppression: anchor events that a later event takes back, such as a stall that ended by itself within seconds."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from firstfault.transforms.columns import seconds
from firstfault.transforms.selection import relation_keys


def cancels(starts: DataFrame, suppressions: DataFrame) -> DataFrame:
    """One row (uid, selector_id): what would take back an anchor event of the attempt.

    Args:
        starts: Result of `anchors.starts_of`.
        suppressions: Rows of `rule_tables.SUPPRESSIONS`.
    """
    begun = starts.select("uid", "spec_id").distinct()
    return begun.join(F.broadcast(suppressions), "spec_id").select("uid", "selector_id").distinct()


def taken_back(starts: DataFrame, ends: DataFrame, suppressions: DataFrame) -> DataFrame:
    """One row (uid, spec_id, event_id) per anchor event that a later event takes back for certain.

    A burst counts from its last record: what it says may only be taken back after it has been said.

    Args:
        starts: Result of `anchors.starts_of`.
        ends: Events tagged with `cancels`.
        suppressions: Rows of `rule_tables.SUPPRESSIONS`.
    """
    rules = F.broadcast(suppressions.withColumnRenamed("selector_id", "_cancels"))
    begun = _keyed(starts.join(rules, "spec_id"), is_end=False)
    ended = _keyed(ends.join(rules, F.col("selector_id") == F.col("_cancels")), is_end=True)
    group = Window.partitionBy("uid", "spec_id", "suppression_no", "key")
    # Backwards, since a frame that ends at the end of its group is computed anew for each of its rows.
    later = group.orderBy(F.desc("at"), F.desc("is_end")).rowsBetween(Window.unboundedPreceding, -1)
    end = F.last(F.when(F.col("is_end"), F.struct("low", "high", "near_low", "near_high", "clock")), True)
    known = begun.unionByName(ended).withColumn("_end", end.over(later))
    one_clock = F.coalesce(F.col("clock") == F.col("_end.clock"), F.lit(False))

    def pick(near: str, far: str) -> Column:
        return F.when(one_clock, F.col(near)).otherwise(F.col(far))

    after = pick("_end.near_low", "_end.low") >= pick("near_high", "high")
    in_time = pick("_end.near_high", "_end.high") - pick("near_low", "low") <= F.col("within_s")
    return known.where(~F.col("is_end") & after & in_time).select("uid", "spec_id", "event_id").distinct()


def _keyed(events: DataFrame, *, is_end: bool) -> DataFrame:
    """One row per event and thing that both kinds of event have in common."""
    at = seconds("t") if is_end else F.greatest(seconds("t"), F.coalesce(seconds("t_last"), seconds("t")))
    lasts_s = at - seconds("t")
    low, high, error = seconds("t_low") + lasts_s, seconds("t_high") + lasts_s, F.col("clock_error_s")
    return events.select(
        "uid",
        "spec_id",
        "suppression_no",
        "within_s",
        "event_id",
        "clock",
        F.explode(relation_keys(F.col("kind"), F.col("kind_arg"))).alias("key"),
        F.lit(is_end).alias("is_end"),
        at.alias("at"),
        low.alias("low"),
        high.alias("high"),
        F.least(low + error, at).alias("near_low"),
        F.greatest(high - error, at).alias("near_high"),
    )
