"""What the sources of an attempt say that they lost: ratelimits, dropped messages, rings that wrapped."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from firstfault.transforms.keys import ATTEMPT_KEY

LOG_GAP = "sys.log_gap"
NOTHING_LOST = "none"
"""Value of the attribute `lost` of a notice that stands for messages whose text is known."""
LEAD_S = 30
"""What a notice counts was lost before it: within the interval of the limiter, 5 s of printk, 30 s of journald."""


def with_gaps(sources: DataFrame, notices: DataFrame, slack_s: int) -> DataFrame:
    """The sources, each with what it lost, and `_late`: whether that may lie in the last of its attempt.

    Args:
        sources: Attempt key, end, node, kind.
        notices: Scoped events of the type `LOG_GAP`, with the kind of their source.
        slack_s: How much before the end counts as the last of an attempt.
    """
    until = F.greatest("t_high", "t_last")
    lost = notices.where(F.coalesce(F.col("attrs")["lost"] != NOTHING_LOST, F.lit(True))).select(
        *ATTEMPT_KEY,
        "kind",
        F.col("node").alias("_of"),
        F.col("attrs")["count"].try_cast("bigint").alias("_lost"),
        F.col("t_low").alias("_from"),
        until.alias("_to"),
    )
    end = F.col("end").cast("double")
    late = (F.col("_from").cast("double") - LEAD_S <= end) & (F.col("_to").cast("double") >= end - slack_s)
    # A source of the whole job or cluster has no node: a loss of any node is one of it.
    here = F.col("node").isNull() | (F.col("node") == F.col("_of"))
    per_row = [*ATTEMPT_KEY, "node", "kind"]
    gaps = (
        sources.select(*per_row, "end")
        .join(F.broadcast(lost), [*ATTEMPT_KEY, "kind"])
        .where(here)
        .groupBy(*(F.col(c).alias(f"_{c}") for c in per_row))
        .agg(
            F.count("*").alias("gaps"),
            F.sum("_lost").alias("lost_lines"),
            F.min("_from").alias("gap_from"),
            F.max("_to").alias("gap_to"),
            F.max(F.coalesce(late, F.lit(False))).alias("_late"),
        )
    )
    same = [F.col(c).eqNullSafe(F.col(f"_{c}")) for c in per_row]
    return sources.join(F.broadcast(gaps), same, "left").withColumns(
        {"gaps": F.coalesce("gaps", F.lit(0)), "_late": F.coalesce("_late", F.lit(False))}
    )
