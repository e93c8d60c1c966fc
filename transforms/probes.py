"""Probes: what stands around each anchor.

Found by equality on (scope, selector, kind, key, time bucket) and then
filtered by interval; there is no OR and no inequality-only join.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from firstfault.transforms.columns import seconds
from firstfault.transforms.needs import BEYOND_ATTEMPT, WIDE, slot_of_event, slots_around
from firstfault.transforms.selection import relation_keys

EVERYWHERE = "*"
"""Scope key of relations that look beyond the attempt."""
ONE_NODE = ("node", "device", "origin_node")
"""Relations whose events may share the anchor's clock."""
KEPT_EVENTS = 5
KEPT_INTERVALS = 64
"""Earliest folded times of a clause that a sequence looks at."""


def fold(around: DataFrame, *, beyond: bool) -> DataFrame:
    """One row per (scope, selector, kind, key, bucket): how many records, on which nodes, between which times.

    Args:
        around: Tagged events with places and `asks` of `needs`; scoped ones with `uid`, or (beyond) those of the whole
            lake with `home` and `ran`.
        beyond: Whether these events serve the relations that look beyond the attempt.
    """
    asked = around.select("*", F.inline("asks")).drop("asks")
    near = asked.withColumn("bucket", slot_of_event()).where(_is_near())
    keyed = near.withColumn("key", F.explode(relation_keys(F.col("kind"), F.col("kind_arg"))))
    by_node = F.when(F.col("kind") == "job_other_nodes", F.coalesce("node", F.lit("")))
    error, shared = F.col("clock_error_s"), F.col("clock_shared_s")
    low, high = seconds("t_low"), seconds("t_high")
    grouped = keyed.groupBy(
        (F.lit(EVERYWHERE) if beyond else F.col("uid")).alias("scope_key"),
        "selector_id",
        "kind",
        F.coalesce("kind_arg", F.lit("")).alias("kind_arg"),
        "key",
        "bucket_s",
        "distinct_by",
        "bucket",
        F.when(F.col("bucket") == WIDE, F.col("event_id")).alias("_alone"),
        by_node.alias("fold_node"),
        F.when(F.col("kind").isin(*ONE_NODE), F.col("clock")).alias("clock"),
        F.col("clock_reference").alias("reference"),
        (F.col("home") if beyond else F.lit(None).cast("string")).alias("home"),
    )
    return grouped.agg(
        F.sum("count").alias("n"),
        F.sort_array(F.collect_set(_counted(beyond=beyond))).alias("names"),
        F.min(low).alias("low"),
        F.max(high).alias("high"),
        F.min(low + error).alias("near_low"),
        F.max(high - error).alias("near_high"),
        F.min(low + shared).alias("like_low"),
        F.max(high - shared).alias("like_high"),
        F.slice(F.sort_array(F.collect_set(F.struct("t", "event_id"))), 1, KEPT_EVENTS).alias("events"),
    ).drop("_alone")


def _is_near() -> Column:
    """The event may lie in a window of some anchor."""
    return (F.col("bucket") == WIDE) | F.col("bucket").between(F.col("first"), F.col("last"))


def _counted(*, beyond: bool) -> Column:
    """What is counted distinctly among the events of a clause; jobs are told apart only beyond the attempt."""
    by = F.col("distinct_by")
    return (
        F.when(by == "rank", F.col("rank").cast("string"))
        .when(by == "device", F.when(F.col("device").isNotNull(), F.col("_device")))
        .when(by == "port", F.try_element_at("_ports", F.lit(1)))
        .when(by == "job", F.col("ran") if beyond else None)
        .otherwise(F.col("node"))
    )


def probe(anchors: DataFrame, spec_probes: DataFrame, probes: DataFrame, folds: DataFrame) -> DataFrame:
    """One row per (uid, spec_id, entity, probe_id) that found anything: records possible and certain, names, events.

    `names` are the distinct things that its clause counts; `intervals` the single times that a sequence needs.

    Two times of one clock share its error, and two clocks of one reference a part of it: that does not count between
    them.

    Args:
        anchors: Anchors with `uid`, `first`, `home` (cluster and job), `window_from`, `window_to`.
        spec_probes: Which probes an anchor needs.
        probes: Rows of `rule_tables.PROBES`.
        folds: Union of `fold` within and beyond the attempts.
    """
    needs = (
        anchors.select(
            "uid",
            "spec_id",
            "entity",
            "home",
            "window_from",
            "window_to",
            "source_cluster",
            "workload_key",
            "user",
            "origin_nodes",
            "first.*",
        )
        .join(F.broadcast(spec_probes.join(probes, "probe_id")), "spec_id")
        .withColumn("key", F.explode(_anchor_keys()))
        .withColumn("bucket", F.explode(_slots()))
        .withColumn("scope_key", F.when(F.col("kind").isin(*BEYOND_ATTEMPT), EVERYWHERE).otherwise(F.col("uid")))
    )
    on = ["scope_key", "selector_id", "kind", "kind_arg", "key", "bucket_s", "distinct_by", "bucket"]
    found = needs.withColumn("kind_arg", F.coalesce("kind_arg", F.lit(""))).alias("a").join(folds.alias("f"), on)
    possible, certain = _holds()
    interval = F.struct("f.low", "f.high", "f.near_low", "f.near_high", "f.clock")
    kept = found.where(possible & _not_excluded())
    return kept.groupBy("uid", "spec_id", "entity", "probe_id").agg(
        F.sum("f.n").alias("possible"),
        F.sum(F.when(certain, F.col("f.n")).otherwise(0)).alias("certain"),
        F.array_distinct(F.flatten(F.collect_list("f.names"))).alias("names"),
        F.slice(F.sort_array(F.array_distinct(F.flatten(F.collect_list("f.events")))), 1, KEPT_EVENTS).alias("events"),
        F.slice(F.sort_array(F.collect_list(F.when(F.col("is_ordered"), interval))), 1, KEPT_INTERVALS).alias(
            "intervals"
        ),
    )


def _anchor_keys() -> Column:
    """The keys of an anchor for a relation; `origin_node` looks at what the rule blames, not where it started."""
    at_origin = F.col("kind") == "origin_node"
    return F.when(at_origin, F.col("origin_nodes")).otherwise(relation_keys(F.col("kind"), F.col("kind_arg")))


def _slots() -> Column:
    """Buckets that the window of an anchor touches, and the one of wide events."""
    return F.array_union(F.sequence(*slots_around()), F.array(F.lit(WIDE).cast("bigint")))


def _holds() -> tuple[Column, Column]:
    """Whether the window clause holds for some, and for all, times inside both intervals."""
    same_clock = F.coalesce(F.col("a.clock") == F.col("f.clock"), F.lit(False))
    like_clock = F.coalesce(F.col("a.clock_reference") == F.col("f.reference"), F.lit(False))

    def common(near: Column, like: Column, far: Column) -> Column:
        return F.when(same_clock, near).when(like_clock, like).otherwise(far)

    error = common(F.col("a.clock_error_s"), F.col("a.clock_shared_s"), F.lit(0.0))
    a_low = F.col("a.t_low").cast("double") + error
    a_high = F.greatest(a_low, F.col("a.t_high").cast("double") - error)
    low = common(F.col("f.near_low"), F.col("f.like_low"), F.col("f.low"))
    high = F.greatest(low, common(F.col("f.near_high"), F.col("f.like_high"), F.col("f.high")))
    possible = (high - a_low >= F.col("lo_s")) & (low - a_high <= F.col("hi_s"))
    certain = (low - a_high >= F.col("lo_s")) & (high - a_low <= F.col("hi_s"))
    return possible, certain


def _not_excluded() -> Column:
    """`job_other_nodes` leaves out the anchor's node, cross-job relations the anchor's own job and window."""
    other_node = F.col("f.fold_node").isNull() | ~F.col("f.fold_node").eqNullSafe(F.coalesce("a.node", F.lit("")))
    other_job = F.col("f.home").isNull() | (F.col("kind") == "cluster") | (F.col("f.home") != F.col("a.home"))
    outside = ~F.col("kind").isin("other_jobs_node", "other_jobs_device") | (
        (F.col("f.high") < F.col("a.window_from").cast("double"))
        | (F.col("f.low") > F.coalesce(F.col("a.window_to").cast("double"), F.lit(float("inf"))))
    )
    return other_node & other_job & outside
