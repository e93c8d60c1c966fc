"""Origins: what an anchor blames, by name, and on which nodes and links that lies."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from firstfault.transforms.filesystems import filesystem_origin
from firstfault.transforms.nodes_apart import BY_NODE, node_apart
from firstfault.transforms.reporters import LAST, STOPPED


def with_origin(
    anchors: DataFrame, attempts: DataFrame, placement: DataFrame, topology: DataFrame, names: DataFrame
) -> DataFrame:
    """The anchors with `origin` (sorted names), `origin_scope` and `origin_nodes`; unresolvable ones are left out.

    A port is one end of a link: `link` names the link by its switch port, `link_nodes` the nodes that it serves.

    A GPU whose device nobody names is blamed as its node; a silent or lagging rank is named only when it is a
    minority, since a silence of most says nothing of any.

    Args:
        anchors: Result of `find_anchors`.
        attempts: Attempts with uid and nodes.
        placement: Ranks of attempts with uid.
        topology: HCAs of nodes.
        names: Result of `names_known`.
    """
    ranks = placement.groupBy("uid").agg(
        F.sort_array(F.collect_set("rank")).alias("_ranks"),
        F.map_from_entries(F.collect_list(F.struct("rank", "node"))).alias("_rank_nodes"),
    )
    known = anchors.join(
        attempts.select("uid", F.col("nodes").alias("_nodes"), F.col("source_cluster").alias("_cluster")),
        "uid",
    ).join(ranks, "uid", "left")
    shared = known.join(_common(known, topology), ["uid", "spec_id", "entity"], "left").join(names, "uid", "left")
    named = shared.withColumns({"_silent": _silent_ranks(), "_behind": _behind_ranks()})
    located = named.withColumn("origin", _origin()).withColumn("origin_scope", _scope())
    kept = located.where(
        ~F.col("blame").isin("silent", "behind", "ranks", "common", STOPPED, LAST) | (F.size("origin") > 0)
    )
    linked = _with_link(kept, topology)
    return linked.withColumn("origin_nodes", _origin_nodes()).drop(*_HELPERS, *(c for c in names.columns if c != "uid"))


_HELPERS = (
    "_nodes", "_cluster", "_ranks", "_rank_nodes", "_silent", "_behind", "_common", "apart", "placed_ranks", "peers",
    "said",
)  # fmt: skip


def _with_link(located: DataFrame, topology: DataFrame) -> DataFrame:
    """The anchors with the link that a blamed port is an end of, and the nodes behind it."""
    behind = topology.groupBy("cluster", "leaf_port").agg(F.sort_array(F.collect_set("node")).alias("link_nodes"))
    ends = topology.select("cluster", "leaf_port", F.explode(F.array("leaf_port", "hca_port")).alias("_end")).distinct()
    named = (
        ends.join(behind, ["cluster", "leaf_port"])
        .where("_end is not null")
        .select(F.col("cluster").alias("_cluster"), "_end", F.col("leaf_port").alias("link"), "link_nodes")
    )
    end = F.when(F.col("origin_scope") == "port", F.try_element_at("origin", F.lit(1)))
    return located.withColumn("_end", end).join(F.broadcast(named), ["_cluster", "_end"], "left").drop("_end")


def _silent_ranks() -> Column:
    """Ranks that the anchor's reporters leave out, when they are a minority of the ranks known."""
    absent = F.array_except(F.col("_ranks"), F.col("ranks"))
    few = (F.size(absent) > 0) & (F.size(absent) * 2 <= F.size("_ranks"))
    return F.when(few & (F.size("ranks") > 0), absent)


def _behind_ranks() -> Column:
    """Ranks whose sequence number is lowest, when others are further and they are at most half."""
    lowest = F.array_min(F.transform("sequences", lambda s: s["seq"]))
    behind = F.filter("sequences", lambda s: s["seq"] == lowest)
    ranks = F.sort_array(F.array_distinct(F.transform(behind, lambda s: s["rank"])))
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
    return F.sort_array(F.array_distinct(F.array_compact(nodes)))


def _named_together() -> Column:
    """All ranks that the anchor's events name, when they are a minority: what names one does not clear the other."""
    few = (F.size("ranks") > 0) & (F.size("ranks") * 2 <= F.coalesce(F.size("_ranks"), F.lit(0)))
    alone = F.col("_ranks").isNull()
    return F.when(few | alone, _names(F.col("ranks")))


def _origin() -> Column:
    blame = F.col("blame")
    by_node = F.col("scope") == "node"
    silent = F.when(by_node, _nodes_of(F.col("_silent"))).otherwise(_names(F.col("_silent")))
    behind = F.when(by_node, _nodes_of(F.col("_behind"))).otherwise(_names(F.col("_behind")))
    none = F.array().cast("array<string>")
    is_store = blame.isin("filesystem", "attr") & (F.col("scope") == "filesystem")
    return F.coalesce(
        F.when(blame.isin("scheduler", "job"), none)
        .when(blame == "silent", silent)
        .when(blame == "behind", behind)
        .when(blame.isin(STOPPED, LAST), F.col("apart"))
        .when(blame == "ranks", _named_together())
        .when(blame == "common", F.when(F.col("_common").isNotNull(), F.array("_common")))
        .when(blame.isin(*BY_NODE), F.array_compact(F.array(node_apart(blame))))
        .when(is_store, F.array_compact(F.array(filesystem_origin(F.col("entity"), F.col("first.attrs")))))
        .otherwise(F.when(F.col("entity") != "", F.array("entity"))),
        none,
    )


def _scope() -> Column:
    """The rule's scope; `node` where only the node of a device or port is known, `job` where nothing is."""
    is_node = F.col("blame").isin("device", "port") & (F.col("entity") == F.col("first.node"))
    by_name = F.col("blame").isin("rank", "filesystem", *BY_NODE)
    is_nobody = by_name & (F.size("origin") == 0)
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
