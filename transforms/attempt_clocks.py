"""How far the clocks of an attempt's nodes were off, how well that is known, and what was wrong with them."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from firstfault.transforms.clock_offsets import best_offsets, error_at, offset_at
from firstfault.transforms.columns import seconds
from firstfault.transforms.keys import ATTEMPT_KEY

_NODE_KEY = (*ATTEMPT_KEY, "node")


def clocks_of(attempts: DataFrame, offsets: DataFrame, faults: DataFrame) -> DataFrame:
    """One row per attempt and node: the offset at its end, the largest error within it, `faults` of which sources.

    Args:
        attempts: Attempts to look at.
        offsets: Rows of `clock_offsets` around them.
        faults: Rows of `clock_faults` around them.
    """
    node = F.explode(F.array_distinct("nodes")).alias("node")
    nodes = attempts.select(*ATTEMPT_KEY, "source_cluster", "start", "end", node)
    known = nodes.join(_offsets_within(nodes, offsets), list(_NODE_KEY), "left")
    off = F.coalesce("clock_offset_s", F.lit(0.0))
    bad = faults.select(
        F.col("cluster").alias("source_cluster"),
        "node",
        F.struct("source", "fault").alias("fault"),
        "t_from",
        F.coalesce("t_to", "t_from").alias("t_to"),
    )
    # Both are read on the node's clock: an hour off must not miss the attempt.
    begun = F.col("end").isNull() | (seconds("t_from") - off <= seconds("end"))
    touches = begun & (F.col("start").isNull() | (seconds("t_to") - off >= seconds("start")))
    return (
        known.join(F.broadcast(bad), ["source_cluster", "node"], "left")
        .groupBy(*_NODE_KEY)
        .agg(
            F.first("clock_offset_s").alias("clock_offset_s"),
            F.first("clock_error_s").alias("clock_error_s"),
            F.array_sort(F.collect_set(F.when(touches, F.col("fault")))).alias("faults"),
        )
    )


def _offsets_within(nodes: DataFrame, offsets: DataFrame) -> DataFrame:
    """One row per attempt and node with a known clock: offset at the end, and largest error from start to end."""
    off = F.col("o.offset_s")
    till = F.least(seconds("end") + off, seconds("o.t_to"))
    since = F.greatest(seconds("start") + off, seconds("o.t_from"))
    last = F.when(F.col("end").isNull(), seconds("o.known_to")).otherwise(till)
    first = F.when(F.col("start").isNull(), seconds("o.known_from")).otherwise(since)
    begun = F.col("end").isNull() | (seconds("o.t_from") - off <= seconds("end"))
    touches = begun & (F.col("start").isNull() | (seconds("o.t_to") - off > seconds("start")))
    of_node = (F.col("o.cluster") == F.col("source_cluster")) & (F.col("o.node") == nodes["node"])
    at_first, at_last = F.timestamp_seconds(first), F.timestamp_seconds(last)
    return (
        nodes.join(F.broadcast(best_offsets(offsets)).alias("o"), of_node & touches)
        .groupBy(*(nodes[k] for k in _NODE_KEY))
        .agg(
            F.round(F.max_by(offset_at(at_last, "o"), "o.t_from"), 6).alias("clock_offset_s"),
            F.round(F.max(F.greatest(error_at(at_first, "o"), error_at(at_last, "o"))), 6).alias("clock_error_s"),
        )
    )
