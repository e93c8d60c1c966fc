"""Needs: what anchors ask of the events around them, so that only events that some anchor asks for are looked at."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from firstfault.transforms.columns import seconds

BEYOND_ATTEMPT = ("cluster", "other_jobs_node", "other_jobs_device", "workload", "user")
"""Relations whose events are looked for in the whole lake."""
WIDE = -1
"""Bucket of events whose interval is wider than a bucket: they are looked at one by one, for every window."""
MAX_SLOTS = 5000
"""Bound of the buckets that one anchor may touch, whatever its interval."""
HOW = ("kind", "kind_arg", "bucket_s", "distinct_by")
"""How the events of a selector are folded."""


def needs(anchors: DataFrame, spec_probes: DataFrame, probes: DataFrame, *, beyond: bool) -> DataFrame:
    """One row per selector that an anchor asks for, of an attempt or (beyond) of the whole lake.

    `asks` tells each way its events are folded, with the first and the last time bucket that any window touches.

    Args:
        anchors: Anchors with `uid` and `first`.
        spec_probes: Which probes an anchor needs.
        probes: Rows of `rule_tables.PROBES`.
        beyond: Whether for the relations that look beyond the attempt.
    """
    is_beyond = F.col("kind").isin(*BEYOND_ATTEMPT)
    of_specs = spec_probes.join(probes.where(is_beyond if beyond else ~is_beyond), "probe_id")
    owner = [] if beyond else ["uid"]
    asked = anchors.select("uid", "spec_id", "first.t_low", "first.t_high").join(F.broadcast(of_specs), "spec_id")
    first, last = slots_around()
    spans = asked.groupBy(*owner, "selector_id", *HOW).agg(F.min(first).alias("first"), F.max(last).alias("last"))
    return spans.groupBy(*owner, "selector_id").agg(F.collect_list(F.struct(*HOW, "first", "last")).alias("asks"))


def slots_around() -> tuple[Column, Column]:
    """The first and the last time bucket that the window of an anchor touches."""
    first = F.floor((seconds("t_low") + F.col("lo_s")) / F.col("bucket_s")).cast("bigint") - 1
    last = F.floor((seconds("t_high") + F.col("hi_s")) / F.col("bucket_s")).cast("bigint") + 1
    return first, F.least(last, first + MAX_SLOTS)


def slot_of_event() -> Column:
    """The time bucket of an event: that of its time, or the one of wide events."""
    is_wide = seconds("t_high") - seconds("t_low") > F.col("bucket_s")
    return F.when(is_wide, WIDE).otherwise(F.floor(seconds("t") / F.col("bucket_s"))).cast("bigint")
