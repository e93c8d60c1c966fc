"""Anchors: where rules start, one per attempt, anchor specification and blamed entity."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from firstfault.transforms.event_windows import EVERYWHERE

FIRST_COLUMNS = (
    "event_id", "event_type", "t", "t_low", "t_high", "clock_error_s", "clock", "clock_shared_s", "clock_reference",
    "node", "device", "port", "rank", "code",
    "class", "role", "category", "count", "attrs", "relation", "_device", "_ports", "_switches", "_rack",
    "_power_domain", "_filesystem",
)  # fmt: skip
MAX_IDS = 50
OWN_RISE = ("device", "node", "port")
"""Blames of one place, which a counter that rises everywhere accuses no more than any other."""


def find_anchors(tagged: DataFrame, specs: DataFrame) -> DataFrame:
    """One row per (uid, spec_id, entity): the earliest event, how many records there were, on which nodes and ranks.

    A counter that rose on the other nodes as well starts no rule that blames one place.

    Args:
        tagged: Scoped events with `uid`, places and `selector_id`.
        specs: Rows of `rule_tables.SPECS`.
    """
    paired = tagged.join(F.broadcast(specs), "selector_id").withColumn("entity", _entity())
    first = F.min_by(F.struct(*FIRST_COLUMNS), F.struct("t_high", "event_id")).alias("first")
    sequence = F.struct(
        F.coalesce(F.col("attrs")["seq"], F.col("attrs")["last_completed"]).try_cast("bigint").alias("seq"),
        "rank",
        "node",
    )
    return (
        paired.where("entity is not null")
        .where(_accuses())
        .groupBy("uid", "spec_id", "blame", "blame_arg", "scope", "entity")
        .agg(
            first,
            F.sum("count").alias("n"),
            F.array_sort(F.collect_set("node")).alias("nodes"),
            F.array_sort(F.collect_set("rank")).alias("ranks"),
            F.array_sort(F.collect_set(F.when(sequence["seq"].isNotNull(), sequence))).alias("sequences"),
            F.slice(F.array_sort(F.collect_set("event_id")), 1, MAX_IDS).alias("event_ids"),
        )
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


def with_origin(anchors: DataFrame, attempts: DataFrame, placement: DataFrame, topology: DataFrame) -> DataFrame:
    """The anchors with `origin` (sorted names), `origin_scope` and `origin_nodes`; unresolvable ones are left out.

    A GPU whose device nobody names is blamed as its node; a silent or lagging rank is named only when it is a
    minority, since a silence of most says nothing of any.

    Args:
        anchors: Result of `find_anchors`.
        attempts: Attempts with uid and nodes.
        placement: Ranks of attempts with uid.
        topology: HCAs of nodes.
    """
    ranks = placement.groupBy("uid").agg(
        F.array_sort(F.collect_set("rank")).alias("_ranks"),
        F.map_from_entries(F.collect_list(F.struct("rank", "node"))).alias("_rank_nodes"),
    )
    known = anchors.join(
        attempts.select("uid", F.col("nodes").alias("_nodes"), F.col("source_cluster").alias("_cluster")),
        "uid",
    ).join(ranks, "uid", "left")
    shared = known.join(_common(known, topology), ["uid", "spec_id", "entity"], "left")
    named = shared.withColumns({"_silent": _silent_ranks(), "_behind": _behind_ranks()})
    located = named.withColumn("origin", _origin()).withColumn("origin_scope", _scope())
    kept = located.where(~F.col("blame").isin("silent", "behind", "common") | (F.size("origin") > 0))
    return kept.withColumn("origin_nodes", _origin_nodes()).drop(
        "_nodes", "_cluster", "_ranks", "_rank_nodes", "_silent", "_behind", "_common"
    )


def _silent_ranks() -> Column:
    """Ranks that the anchor's reporters leave out, when they are a minority of the ranks known."""
    absent = F.array_except(F.col("_ranks"), F.col("ranks"))
    few = (F.size(absent) > 0) & (F.size(absent) * 2 <= F.size("_ranks"))
    return F.when(few & (F.size("ranks") > 0), absent)


def _behind_ranks() -> Column:
    """Ranks whose sequence number is lowest, when others are further and they are at most half."""
    lowest = F.array_min(F.transform("sequences", lambda s: s["seq"]))
    behind = F.filter("sequences", lambda s: s["seq"] == lowest)
    ranks = F.array_sort(F.array_distinct(F.transform(behind, lambda s: s["rank"])))
    highest = F.array_max(F.transform("sequences", lambda s: s["seq"]))
    differ = (highest > lowest) & (F.size(behind) * 2 <= F.size("sequences"))
    return F.when(differ, F.filter(ranks, lambda r: r.isNotNull()))


def _common(anchors: DataFrame, topology: DataFrame) -> DataFrame:
    """What all nodes of an anchor have in common, by level."""
    levels = topology.select(
        F.col("cluster").alias("_cluster"),
        "node",
        F.explode(
            F.map_from_arrays(
                F.array(F.lit("switch"), F.lit("rack"), F.lit("power_domain")),
                F.array("switch", "rack", "power_domain"),
            )
        ).alias("blame_arg", "_name"),
    ).dropDuplicates()
    several = anchors.where("blame = 'common' and size(nodes) > 1")
    spread = several.select(
        "uid",
        "spec_id",
        "entity",
        "blame_arg",
        "_cluster",
        F.size("nodes").alias("_n"),
        F.explode("nodes").alias("node"),
    )
    held = spread.join(F.broadcast(levels), ["_cluster", "node", "blame_arg"]).groupBy(
        "uid", "spec_id", "entity", "_n", "_name"
    )
    whole = held.agg(F.countDistinct("node").alias("_held")).where("_held = _n and _name is not null")
    return whole.groupBy("uid", "spec_id", "entity").agg(F.min("_name").alias("_common"))


def _names(ranks: Column) -> Column:
    return F.transform(ranks, lambda r: F.format_string("rank-%d", r))


def _nodes_of(ranks: Column) -> Column:
    nodes = F.transform(ranks, lambda r: F.col("_rank_nodes")[r])
    return F.array_sort(F.array_distinct(F.array_compact(nodes)))


def _origin() -> Column:
    blame = F.col("blame")
    by_node = F.col("scope") == "node"
    silent = F.when(by_node, _nodes_of(F.col("_silent"))).otherwise(_names(F.col("_silent")))
    behind = F.when(by_node, _nodes_of(F.col("_behind"))).otherwise(_names(F.col("_behind")))
    none = F.array().cast("array<string>")
    return F.coalesce(
        F.when(blame.isin("scheduler", "job"), none)
        .when(blame == "silent", silent)
        .when(blame == "behind", behind)
        .when(blame == "common", F.when(F.col("_common").isNotNull(), F.array("_common")))
        .otherwise(F.when(F.col("entity") != "", F.array("entity"))),
        none,
    )


def _scope() -> Column:
    """The rule's scope; `node` where only the node of a device or port is known, `job` where nothing is."""
    is_node = F.col("blame").isin("device", "port") & (F.col("entity") == F.col("first.node"))
    by_name = F.col("blame").isin("rank", "filesystem")
    is_nobody = by_name & (F.col("entity") == "")
    return F.when(is_nobody, "job").when(is_node, "node").otherwise(F.col("scope"))


def _origin_nodes() -> Column:
    """The nodes that the origin lies on, to tell them from those that only suffered."""
    of_ranks = F.array_compact(
        F.transform(
            F.col("origin"),
            lambda name: F.col("_rank_nodes")[F.regexp_extract(name, r"^rank-(\d+)$", 1).try_cast("int")],
        )
    )
    head = F.transform("origin", lambda name: F.substring_index(name, "/", 1))
    return F.array_distinct(
        F.concat(
            F.array_intersect(head, F.coalesce("_nodes", F.array())),
            F.coalesce(of_ranks, F.array()),
            F.when(F.col("blame") == "node", F.array("entity")).otherwise(F.array()),
        )
    )
