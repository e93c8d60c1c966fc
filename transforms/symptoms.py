"""Symptoms: what an attempt felt, first per node and type; and which attempts need a verdict."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from firstfault.transforms.keys import ATTEMPT_KEY

FELT = ("initiating", "cascade")
PROGRESS = ("train.step", "train.ckpt_end", "train.done")
SUCCESS = "train.done"


def first_symptoms(scoped: DataFrame) -> DataFrame:
    """One row per (uid, node, event_type) with a role that is felt: its first event.

    Args:
        scoped: Scoped events with `uid`.
    """
    felt = scoped.where(F.col("role").isin(*FELT))
    row = F.struct(
        "event_id",
        "t",
        "t_low",
        "t_high",
        "clock_error_s",
        "device",
        "rank",
        "code",
        "role",
        "text",
        "relation",
    )
    return (
        felt.groupBy("uid", "node", "event_type")
        .agg(F.min_by(row, F.struct("t_high", "event_id")).alias("s"), F.sum("count").alias("n"))
        .select("uid", "node", "event_type", "n", "s.*")
    )


def diagnosable(attempts: DataFrame, scoped: DataFrame, as_of: Column, hung_after_s: int) -> DataFrame:
    """Keys of attempts that need a verdict, with `succeeded` (its own logs say so) and `is_hung`.

    The scheduler's word on failure decides; without one, or when it says success, an attempt needs a verdict if one of
    its own streams ends with a fault after its last progress mark and nothing says that the run succeeded.

    Args:
        attempts: Attempts in question.
        scoped: Their scoped events.
        as_of: Newest time the lake knows of.
        hung_after_s: A running attempt without a progress mark for this long is hung.
    """
    offset = F.col("byte_offset")
    fault = F.col("role").isin(*FELT, "teardown", "confirmation")
    streams = (
        scoped.where("relation = 'own'")
        .groupBy(*ATTEMPT_KEY, "stream_id")
        .agg(
            F.max(F.when(fault, offset)).alias("fault"),
            F.max(F.when(F.col("event_type").isin(*PROGRESS), offset)).alias("progress"),
            F.max(F.when(F.col("event_type") == SUCCESS, offset)).alias("success"),
            F.max(F.when(F.col("event_type") == "train.step", offset)).alias("step"),
            F.max(F.when(F.col("event_type").isin(*PROGRESS), F.col("t_last"))).alias("progress_at"),
        )
    )
    ends = streams.groupBy(*ATTEMPT_KEY).agg(
        F.max(F.coalesce((F.col("fault") > F.coalesce("progress", F.lit(-1))), F.lit(False))).alias("_faulty"),
        F.max(F.coalesce((F.col("success") >= F.coalesce("step", F.lit(-1))), F.lit(False))).alias("succeeded"),
        F.max("progress_at").alias("_progress_at"),
    )
    known = attempts.join(ends, list(ATTEMPT_KEY), "left").withColumn(
        "succeeded", F.coalesce("succeeded", F.lit(False))
    )
    silent_s = as_of.cast("double") - F.col("_progress_at").cast("double")
    is_hung = ~F.col("is_ended") & F.coalesce(silent_s > hung_after_s, F.lit(False))
    by_logs = F.coalesce("_faulty", F.lit(False)) & ~F.col("succeeded")
    due = is_hung | (F.col("is_ended") & (F.col("is_failure") | by_logs))
    return known.where(due).select(*ATTEMPT_KEY, "succeeded", is_hung.alias("is_hung"))
