"""Reporters: which rank or node stands apart in time, as the first to stop speaking or the last to begin."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from firstfault.transforms.columns import seconds

STOPPED, LAST = "stopped", "last_reporter"
LEAST_REPORTERS = 3
"""With two reporters neither is a minority."""
_GROUP = ("uid", "spec_id", "entity")


def standing_apart(starts: DataFrame) -> DataFrame:
    """One row (uid, spec_id, entity, apart) per anchor that compares times: the ranks or nodes, sorted, as texts.

    `stopped` is a minority whose last record lies `by_s` before the last of each other; `last_reporter` the one whose
    first record comes `by_s` after the first of each other. Intervals must be apart, not their middles.

    Args:
        starts: Tagged events with spec columns and `entity`.
    """
    asked = starts.where(F.col("blame").isin(STOPPED, LAST)).withColumn("who", _who()).where("who is not null")
    half = (seconds("t_high") - seconds("t_low")) / 2
    last = F.greatest(seconds("t"), F.coalesce(seconds("t_last"), seconds("t")))
    spoken = asked.groupBy(*_GROUP, "blame", "by_s", "who").agg(
        F.min("t_low").cast("double").alias("first_low"),
        F.min("t_high").cast("double").alias("first_high"),
        F.max(last - half).alias("last_low"),
        F.max(last + half).alias("last_high"),
    )
    group = Window.partitionBy(*_GROUP)
    by_last = group.orderBy("last_high", "who")
    by_first = group.orderBy("first_high", "who")
    ahead = by_last.rowsBetween(Window.unboundedPreceding, -1)
    backwards = group.orderBy(F.desc("last_high"), F.desc("who"))
    onward = backwards.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    behind = by_first.rowsBetween(Window.unboundedPreceding, -1)
    placed = spoken.withColumns(
        {
            "n": F.count("*").over(group),
            "place": F.row_number().over(by_last),
            "gap": F.min("last_low").over(onward) - F.max("last_high").over(ahead),
            "late": F.col("first_low") - F.max("first_high").over(behind),
            "place_first": F.row_number().over(by_first),
        }
    ).withColumn("stopped", F.min(F.when(F.col("gap") >= F.col("by_s"), F.col("place") - 1)).over(group))
    is_stopped = (F.col("place") <= F.col("stopped")) & (F.col("stopped") * 2 < F.col("n"))
    is_last = (F.col("place_first") == F.col("n")) & (F.col("late") >= F.col("by_s"))
    apart = F.when(F.col("blame") == STOPPED, is_stopped).otherwise(is_last)
    found = placed.where(apart & (F.col("n") >= LEAST_REPORTERS))
    return found.groupBy(*_GROUP).agg(F.sort_array(F.collect_set("who")).alias("apart"))


def _who() -> Column:
    """The reporter of an anchor event: its node, or its rank."""
    rank = F.when(F.col("rank").isNotNull(), F.format_string("rank-%d", "rank"))
    return F.when(F.col("scope") == "node", F.col("node")).otherwise(rank)
