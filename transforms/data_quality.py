"""data_quality: what the gates found poor, and which verdicts lean on it.

A poor source is read all the same: a warning never keeps a night from its verdicts, it lowers their confidence.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from firstfault.transforms.clock_offsets import EVERY_SOURCE
from firstfault.transforms.contract import Table, column
from firstfault.transforms.types import DOUBLE, LONG, TEXT, TIME

DATA_QUALITY = Table(
    name="data_quality",
    row="a check that a batch's rows, or one source of a node, did not hold",
    fields=(
        column("batch_id", TEXT, "batch that brought the rows", required=True),
        column("table_name", TEXT, "table whose suite found it", required=True),
        column("check", TEXT, "name of the expectation", required=True),
        column("severity", TEXT, "warning; a critical one is told by the run that it ended", required=True),
        column("cluster", TEXT, "cluster of the source; null where rows of many are counted"),
        column("node", TEXT, "node of the source"),
        column("source", TEXT, "format of the source"),
        column("t_from", TIME, "earliest time of that source in the batch"),
        column("t_to", TIME, "latest time of that source in the batch"),
        column("failed", LONG, "rows or groups that did not hold"),
        column("total", LONG, "rows looked at, where rows are counted"),
        column("figure", DOUBLE, "how poor, in the unit that the text names"),
        column("text", TEXT, "what was found, in words"),
    ),
    keys=("batch_id", "table_name", "check", "cluster", "node", "source"),
    keep_days=120,
)

POOR = ("cluster", "node", "source", "t_from", "t_to", "text")
"""What is said of a poor source or clock."""


def poor_sources(quality: DataFrame, factor: float) -> DataFrame:
    """The warnings that speak of a source, as `poor_inputs` takes them.

    Args:
        quality: Rows of data_quality.
        factor: Part of a verdict's confidence that is left when it rests on one.
    """
    return quality.where("cluster is not null and source is not null").select(
        *POOR, F.lit(False).alias("is_clock"), F.lit(factor).alias("factor")
    )


def poor_inputs(winners: DataFrame, scoped: DataFrame, poor: DataFrame) -> DataFrame:
    """One row per attempt whose winner rests on events of a source or clock that was poor at that time.

    Args:
        winners: uid, source_cluster, event_ids.
        scoped: Scoped events with uid.
        poor: Rows of `poor_sources` and `clock_faults.faulty_clocks`: of a source of a node (of all nodes where it is
            null), or of all that a node's clock wrote.

    Returns:
        uid, poor_inputs (sentences), poor_factor (the least of their factors).
    """
    used = winners.select("uid", "source_cluster", F.explode("event_ids").alias("event_id"))
    columns = ("uid", "event_id", "node", "clock", "source", "t_low", "t_high")
    events = used.join(scoped.select(*columns), ["uid", "event_id"])
    known = poor.select(*(F.col(c).alias(f"_{c}") for c in poor.columns))
    at_that_time = (F.col("_t_from").isNull() | (F.col("t_high") >= F.col("_t_from"))) & (
        F.col("_t_to").isNull() | (F.col("t_low") <= F.col("_t_to"))
    )
    same_source = (F.col("_source") == EVERY_SOURCE) | (F.col("source") == F.col("_source"))
    place = F.when(F.col("_is_clock"), F.col("clock")).otherwise(F.col("node"))
    same_node = F.col("_node").isNull() | (F.col("_node") == place)
    here = (F.col("source_cluster") == F.col("_cluster")) & same_source & same_node
    leaning = events.join(F.broadcast(known), here & at_that_time)
    named = F.concat_ws(" of ", F.when(F.col("_source") == EVERY_SOURCE, "clock").otherwise(F.col("_source")), "_node")
    return leaning.groupBy("uid").agg(
        F.array_sort(F.collect_set(F.concat(named, F.lit(": "), F.col("_text")))).alias("poor_inputs"),
        F.min("_factor").alias("poor_factor"),
    )
