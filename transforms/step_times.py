"""Step times: how much slower each stretch of an attempt's steps was than the fastest stretch before it."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from firstfault.transforms.columns import seconds
from firstfault.transforms.keys import ATTEMPT_KEY

STEP = "train.step"
SLOWDOWN = "slowdown"
LEAST_STEPS = 5
"""Steps of a stretch below which its time says little: one checkpoint or evaluation weighs too much."""


def mark_slow(scoped: DataFrame) -> DataFrame:
    """The events; a step report with `attrs.slowdown`, the step time from it to the next report over the best before.

    A burst of reports is one event with its first step, so a stretch is some minutes long. A stretch that was slowed
    down by nothing has a slowdown near 1; the first of a stream has none. Steps that go back (a restart) begin anew.

    Args:
        scoped: Scoped events.
    """
    is_step = F.col("event_type") == STEP
    stream = Window.partitionBy(*ATTEMPT_KEY, "stream_id").orderBy("t", "event_id")
    before = stream.rowsBetween(Window.unboundedPreceding, -1)
    step = F.col("attrs")["step"].try_cast("bigint")
    steps = F.lead(step).over(stream) - step
    lasts_s = F.lead(seconds("t")).over(stream) - seconds("t")
    timed = scoped.where(is_step).withColumn("_step_s", F.when(steps >= LEAST_STEPS, lasts_s / steps))
    slowdown = F.round(F.col("_step_s") / F.min("_step_s").over(before), 2)
    marked = timed.withColumn("_slowdown", slowdown).withColumn("attrs", _with_slowdown())
    return scoped.where(~is_step).unionByName(marked.select(*scoped.columns))


def _with_slowdown() -> Column:
    more = F.create_map(F.lit(SLOWDOWN), F.format_string("%.2f", "_slowdown"))
    attrs = F.coalesce("attrs", F.create_map().cast("map<string,string>"))
    return F.when(F.col("_slowdown").isNotNull(), F.map_concat(attrs, more)).otherwise(F.col("attrs"))
