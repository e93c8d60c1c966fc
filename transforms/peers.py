"""Peers: how far a figure lies from those of the attempt's other nodes, and whether it rose everywhere.

All that is asked of the other nodes (median, median deviation, how high a part of them lies) is an element of a sorted
array with one element taken out, so that a group of n nodes costs a few sorts and not n of them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

NORMAL = 1.4826
"""Standard deviations of a normal distribution per median absolute deviation."""


@dataclass(frozen=True)
class Peers:
    """How a node is compared with the others (`rules/windows.yaml`).

    Attributes:
        least: Fewer other nodes give no distance.
        share: Part of the other nodes that must have risen too.
        comparable: Part of the own rise that counts as risen too.
        far: Distance from which a node stands out.
        floor: Least spread in units of the figure.
        floor_share: Least spread as a part of the median.
    """

    least: int
    share: float
    comparable: float
    far: float
    floor: float
    floor_share: float


def with_peers(rows: DataFrame, group: Sequence[str], peers: Peers) -> DataFrame:
    """The rows with peers, peer_median, peer_mad, distance and everywhere; groups without a `_heard` row are left out.

    The figure of a node is the largest of its rows; a row is compared with the figures of the other nodes.

    Args:
        rows: `_figure` (null: not to be compared), `_heard` and node beside the columns of the group.
        group: What the rows compared have in common; with `_level`, the figure from which a reading is high (null
            where any above zero has risen), and `_silent`, the number of nodes of which those without a row count 0.
        peers: How a node is compared.
    """
    own = [c for c in rows.columns if c not in {*group, "node"}]
    heard = F.bool_or("_heard").alias("_heard")
    by_node = rows.groupBy(*group, "node").agg(
        F.max("_figure").alias("_peak"), F.collect_list(F.struct(*own)).alias("_rows"), heard
    )
    by_group = by_node.groupBy(*group).agg(F.collect_list(F.struct("node", "_peak", "_rows")).alias("_nodes"), heard)
    sorted_ = by_group.where("_heard").withColumn("_figures", _figures()).withColumn("_medians", _medians())
    spread = sorted_.withColumn("_spreads", F.transform("_medians", _deviations))
    compared = spread.withColumn("_nodes", F.transform(F.transform("_nodes", _with_median), _with_spread(peers)))
    # No array is empty; of the plain forms Spark infers a filter that says so, with all that makes the array in it.
    nodes = compared.select(*group, F.explode_outer("_nodes").alias("_node"))
    each = nodes.select(*group, *(F.col(f"_node.{c}").alias(c) for c in _OF_NODE), F.inline_outer("_node._rows"))
    return each.withColumn("distance", _distance(peers)).withColumn("everywhere", _everywhere(peers))


_OF_NODE = ("node", "peers", "peer_median", "peer_mad", "_upper")


def _figures() -> Column:
    """The figures of all nodes, sorted; those of silent ones are zero."""
    known = F.filter("_nodes", lambda n: n["node"].isNotNull() & n["_peak"].isNotNull())
    silent = F.greatest(F.col("_silent") - F.size(known), F.lit(0))
    return F.sort_array(F.concat(F.transform(known, lambda n: n["_peak"]), F.array_repeat(F.lit(0.0), silent)))


def _other(figures: Column, own: Column, at: Column) -> Column:
    """The element at a place of the sorted figures without the own one; null beyond them."""
    return F.when(F.get(figures, at) < own, F.get(figures, at)).otherwise(F.get(figures, at + 1))


def _median_of_others(figures: Column, own: Column) -> Column:
    others = F.size(figures) - 1
    low, high = F.shiftright(others - 1, 1), F.shiftright(others, 1)
    return (_other(figures, own, low) + _other(figures, own, high)) / 2


def _medians() -> Column:
    """The medians that taking out one figure can give: there are at most three."""
    figures, n = F.col("_figures"), F.size("_figures")
    places = (F.lit(0), F.shiftright(n, 1), n - 1)
    return F.array(*(_median_of_others(figures, F.get(figures, at)) for at in places))


def _deviations(median: Column) -> Column:
    return F.sort_array(F.transform("_figures", lambda figure: F.abs(figure - median)))


def _with_median(node: Column) -> Column:
    known = node["node"].isNotNull() & node["_peak"].isNotNull()
    peak = F.when(known, node["_peak"])
    return F.struct(
        node["node"].alias("node"),
        node["_rows"].alias("_rows"),
        peak.alias("_peak"),
        (F.size("_figures") - known.cast("int")).alias("peers"),
        F.when(known, _median_of_others(F.col("_figures"), peak)).alias("peer_median"),
    )


def _with_spread(peers: Peers) -> Callable[[Column], Column]:
    """Adds the median deviation of the others, and the figure that the asked share of them reaches."""

    def add(node: Column) -> Column:
        median, peak, n = node["peer_median"], node["_peak"], node["peers"]
        deviations = F.get("_spreads", F.array_position("_medians", median).cast("int") - 1)
        reached = (n - F.ceil(n * F.lit(peers.share))).cast("int")
        return F.struct(
            node["node"].alias("node"),
            node["_rows"].alias("_rows"),
            n.alias("peers"),
            F.round(median, 6).alias("peer_median"),
            F.round(_median_of_others(deviations, F.abs(peak - median)), 6).alias("peer_mad"),
            F.when(peak.isNotNull(), _other(F.col("_figures"), peak, reached)).alias("_upper"),
        )

    return add


def _distance(peers: Peers) -> Column:
    """Robust z of the figure among the other nodes."""
    spread = F.greatest(
        F.col("peer_mad") * NORMAL, F.lit(peers.floor), F.abs(F.col("peer_median")) * F.lit(peers.floor_share)
    )
    return F.when(F.col("peers") >= peers.least, F.round((F.col("_figure") - F.col("peer_median")) / spread, 3))


def _everywhere(peers: Peers) -> Column:
    figure, level = F.col("_figure"), F.col("_level")
    risen = F.coalesce(figure >= level, figure > 0)
    others_too = F.col("_upper") >= F.coalesce(level, figure * peers.comparable)
    return F.coalesce(risen & others_too & (F.col("distance") < peers.far), F.lit(False))
