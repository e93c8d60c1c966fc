"""Anchors: where rules start, one per attempt, anchor specification and blamed entity."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from firstfault.transforms.event_windows import EVERYWHERE
from firstfault.transforms.nodes_apart import HUB, ODD
from firstfault.transforms.reporters import standing_apart

FIRST_COLUMNS = (
    "event_id", "event_type", "t", "t_low", "t_high", "clock_error_s", "clock", "clock_shared_s", "clock_reference",
    "node", "device", "port", "rank", "code",
    "class", "role", "category", "count", "attrs", "relation", "_device", "_ports", "_switches", "_rack",
    "_power_domain", "_filesystem",
)  # fmt: skip
MAX_IDS = 50
OWN_RISE = ("device", "node", "port")
"""Blames of one place, which a counter that rises everywhere accuses no more than any other."""


def starts_of(tagged: DataFrame, specs: DataFrame) -> DataFrame:
    """One row per event and anchor specification that starts from it, with `entity`: what it is grouped by.

    A counter that rose on the other nodes as well starts no rule that blames one place.

    Args:
        tagged: Scoped events with `uid`, places and `selector_id`.
        specs: Rows of `rule_tables.SPECS`.
    """
    every = tagged.join(F.broadcast(specs), "selector_id").withColumn("entity", _entity())
    return every.where("entity is not null").where(_accuses())


def find_anchors(starts: DataFrame, taken: DataFrame) -> DataFrame:
    """One row per (uid, spec_id, entity): the earliest event, how many records there were, on which nodes and ranks.

    `apart` names who stands apart in time, where the blame asks.

    Args:
        starts: Result of `starts_of`.
        taken: Result of `suppression.taken_back`: events that start nothing after all.
    """
    left = starts.join(taken, ["uid", "spec_id", "event_id"], "left_anti")
    return _grouped(left).join(standing_apart(left), ["uid", "spec_id", "entity"], "left")


def _grouped(starts: DataFrame) -> DataFrame:
    first = F.min_by(F.struct(*FIRST_COLUMNS), F.struct("t_high", "event_id")).alias("first")
    sequence = F.struct(
        F.coalesce(F.col("attrs")["seq"], F.col("attrs")["last_completed"]).try_cast("bigint").alias("seq"),
        "rank",
        "node",
    )
    value = F.when(F.col("blame") == ODD, F.element_at("attrs", F.col("blame_arg")))
    said = F.struct(value.alias("value"), "node")
    return starts.groupBy("uid", "spec_id", "blame", "blame_arg", "scope", "entity").agg(
        first,
        F.sum("count").alias("n"),
        F.max(F.greatest("t", F.coalesce("t_last", "t"))).alias("last_t"),
        F.sort_array(F.collect_set("node")).alias("nodes"),
        F.sort_array(F.collect_set("rank")).alias("ranks"),
        F.collect_set(F.when(F.col("node").isNotNull(), F.col("rank"))).alias("placed_ranks"),
        F.sort_array(F.collect_set(F.when(F.col("blame") == HUB, F.col("attrs")["peer"]))).alias("peers"),
        F.sort_array(F.collect_set(F.when(said["value"].isNotNull() & F.col("node").isNotNull(), said))).alias("said"),
        F.size(F.collect_set(F.when(F.col("device").isNotNull(), F.col("_device")))).alias("n_devices"),
        F.sort_array(F.collect_set(F.when(sequence["seq"].isNotNull(), sequence))).alias("sequences"),
        F.slice(F.sort_array(F.collect_set("event_id")), 1, MAX_IDS).alias("event_ids"),
    )


def _accuses() -> Column:
    """The event may speak against what the rule blames."""
    everywhere = F.coalesce(F.col("attrs")[EVERYWHERE] == "true", F.lit(False))
    return ~(everywhere & F.col("blame").isin(*OWN_RISE))


def _entity() -> Column:
    """What an anchor event is grouped by: the blamed thing, or one group where the blame needs the whole group.

    A rank or file system that nobody names still leaves the job to blame; a node or device does not.
    """
    blame, nobody = F.col("blame"), F.lit("")
    device = F.coalesce(F.when(F.col("device").isNotNull(), F.col("_device")), F.col("node"))
    return (
        F.when(blame == "device", device)
        .when(blame == "node", F.col("node"))
        .when(blame == "port", F.coalesce("port", "node"))
        .when(blame == "rank", F.when(F.col("rank").isNotNull(), F.format_string("rank-%d", "rank")).otherwise(nobody))
        .when(blame == "filesystem", F.coalesce("_filesystem", nobody))
        .when(blame == "attr", F.element_at("attrs", F.col("blame_arg")))
        .otherwise(F.lit(""))
    )
