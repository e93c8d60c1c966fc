"""Nodes apart: the one node that an anchor's events point at: who speaks, whom nobody reaches, or what it says."""

from pyspark.sql import Column
from pyspark.sql import functions as F

ONLY, HUB, ODD = "only_node", "hub", "odd"
BY_NODE = (ONLY, HUB, ODD)
"""Blames that name one node, or the job where no single node stands apart."""


def node_apart(blame: Column) -> Column:
    """The node that the blame finds; null where it finds none.

    `only_node` is the node that all events come from, or the only one of the job; `hub` the one node that is an end of
    every connection which the events say failed; `odd` the one whose value of an attribute differs from that of several
    others, or, where all name one value, the only node that complains of the others.
    """
    return F.when(blame == ONLY, _only()).when(blame == HUB, _hub()).when(blame == ODD, _odd())


def _only() -> Column:
    """The one node of all reporters, or of the job; a rank that nobody places may be of another."""
    alone = F.when(F.size("_nodes") == 1, F.col("_nodes")[0])
    placed = F.size(F.array_except("ranks", "placed_ranks")) == 0
    return F.coalesce(alone, F.when(placed & (F.size("nodes") == 1), F.col("nodes")[0]))


def _heard() -> Column:
    """Nodes of the attempt of which a rank is known: their logs would say what they saw."""
    return F.array_distinct(F.array_compact(F.map_values("_rank_nodes")))


def _hub() -> Column:
    """The peer that nobody reached, or who reached no peer though others were heard."""
    several = (F.size("peers") > 1) & (F.size(_heard()) > 1)
    return F.when(F.size("peers") == 1, _peer(F.col("peers")[0])).when(several, _only())


def _peer(peer: Column) -> Column:
    """The node of an address: by its announcement, its own name, or as the only node left that was heard."""
    announced = F.filter("_addresses", lambda known: known["addr"] == peer)
    by_address = F.when(F.size(announced) == 1, announced[0]["node"])
    short = F.lower(F.substring_index(peer, ".", 1))
    by_name = F.when(F.array_contains("_nodes", short), short)
    left = F.array_except("_nodes", "nodes")
    placed = F.size(F.array_except("ranks", "placed_ranks")) == 0
    is_last = placed & (F.size("nodes") > 0) & (F.size(left) == 1) & F.arrays_overlap(left, _heard())
    known = F.coalesce(by_address, by_name, F.when(is_last, left[0]))
    return F.when(F.array_contains("_nodes", known), known)


def _odd() -> Column:
    """The node that says another value than two or more others that agree; else a minority's only reporter."""
    values = F.array_distinct(F.transform("said", lambda s: s["value"]))

    def says(value: Column) -> Column:
        return F.array_distinct(F.transform(F.filter("said", lambda s: s["value"] == value), lambda s: s["node"]))

    by_value = F.transform(values, says)
    alone = F.filter(by_value, lambda nodes: F.size(nodes) == 1)
    apart = F.when((F.size(values) == 2) & (F.size(alone) == 1), alone[0][0])
    few = F.size("ranks") * 2 <= F.size("_ranks")
    complains = F.when((F.size(values) <= 1) & (F.size("ranks") > 1) & few, _only())
    return F.coalesce(apart, complains)
