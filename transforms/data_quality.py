"""data_quality: what the gates found poor, and which verdicts lean on it.

A poor source is read all the same: a warning never keeps a night from its verdicts, it lowers their confidence.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

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


def poor_inputs(winners: DataFrame, scoped: DataFrame, quality: DataFrame) -> DataFrame:
    """One row per attempt whose winner rests on events of a source that was poor at that time: uid, poor_inputs.

    Args:
        winners: uid, source_cluster, event_ids.
        scoped: Scoped events with uid.
        quality: Rows of data_quality.
    """
    used = winners.select("uid", "source_cluster", F.explode("event_ids").alias("event_id"))
    events = used.join(scoped.select("uid", "event_id", "node", "source", "t_low", "t_high"), ["uid", "event_id"])
    poor = quality.where("cluster is not null and source is not null").select(
        F.col("cluster").alias("_cluster"),
        F.col("node").alias("_node"),
        F.col("source").alias("_source"),
        "t_from",
        "t_to",
        "text",
    )
    at_that_time = (F.col("t_from").isNull() | (F.col("t_high") >= F.col("t_from"))) & (
        F.col("t_to").isNull() | (F.col("t_low") <= F.col("t_to"))
    )
    same_source = (F.col("source_cluster") == F.col("_cluster")) & (F.col("source") == F.col("_source"))
    same_node = F.col("_node").isNull() | (F.col("_node") == F.col("node"))
    leaning = events.join(F.broadcast(poor), same_source & same_node & at_that_time)
    place = F.concat_ws(" of ", "source", "_node")
    return leaning.groupBy("uid").agg(
        F.array_sort(F.collect_set(F.concat(place, F.lit(": "), F.col("text")))).alias("poor_inputs")
    )
