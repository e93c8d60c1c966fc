"""Flight Recorder rows as facts: the newest dump of each rank, its calls, and how far it got in each process group."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

ATTEMPT = ["cluster", "job_id", "attempt_hint"]
GROUP = [*ATTEMPT, "pg", "members"]
POINTER = ("node", "stream_id", "byte_offset", "file", "line_no", "event_time")
NO_ATTEMPT = -1
"""Stands for an attempt that the path does not name."""
STALE_S = 1800
"""A dump that is older than the attempt's newest by more than this tells of another incident."""

_OPEN_CALLS = 64  # of a rank in a group; the first ones matter
_MESSAGE = (
    "record_id bigint, process_group array<string>, pg_id string, collective_seq_id bigint, is_p2p boolean, "
    "profiling_name string, state string, input_sizes string, input_dtypes string, time_created_ns bigint, "
    "fr_group string, ranks array<int>, last_enqueued_collective bigint, last_completed_collective bigint"
)


def flight_facts(rows: DataFrame) -> DataFrame:
    """One row per recorded call and per group and rank, of the newest dump of each rank.

    `members` tells groups of one name apart.

    Args:
        rows: Rows of raw_logs; those of source `flight_recorder` with a rank are used.
    """
    m = F.from_json("message", _MESSAGE).alias("m")
    told = _newest(rows).select(*ATTEMPT, "rank", "fresh", *POINTER, m)
    is_call = F.col("m.profiling_name").isNotNull()
    facts = told.where(is_call | F.col("m.fr_group").isNotNull()).select(
        *ATTEMPT,
        "rank",
        "fresh",
        *POINTER,
        is_call.alias("is_call"),
        F.coalesce("m.fr_group", F.get("m.process_group", F.lit(0)), "m.pg_id").alias("pg"),
        F.array_sort("m.ranks").alias("ranks"),
        F.coalesce("m.is_p2p", F.lit(False)).alias("is_p2p"),
        F.col("m.collective_seq_id").alias("seq"),
        F.regexp_extract("m.profiling_name", r"^(?:[^:]*:)?(\S+)", 1).alias("op"),
        F.col("m.state").alias("state"),
        F.regexp_replace(F.coalesce("m.input_sizes", F.lit("")), r"\s", "").alias("sizes"),
        F.regexp_replace(F.coalesce("m.input_dtypes", F.lit("")), r"""[\s"\[\]]""", "").alias("dtypes"),
        F.timestamp_micros(F.floor(F.col("m.time_created_ns") / 1000).cast("bigint")).alias("created"),
        _none_is_zero("m.last_enqueued_collective").alias("enqueued"),
        _none_is_zero("m.last_completed_collective").alias("completed"),
    )
    own = Window.partitionBy(*ATTEMPT, "rank", "pg")
    # A list of all ranks beside every call would weigh more than the calls: only its hash goes along.
    listed = F.when(F.col("ranks").isNotNull(), F.xxhash64("ranks"))
    return facts.withColumn("members", F.coalesce(F.max(listed).over(own), F.lit(0)))


def _newest(rows: DataFrame) -> DataFrame:
    """Rows of each rank's newest dump, with `fresh`."""
    attempt = F.regexp_extract("file", r"(?:^|/)attempt-(\d+)/", 1).try_cast("int")
    dumps = rows.where("source = 'flight_recorder' and rank is not null and event_time is not null")
    keyed = dumps.withColumn("attempt_hint", F.coalesce(attempt, F.lit(NO_ATTEMPT)))
    # Few streams are ordered, not their many rows.
    streams = keyed.groupBy(*ATTEMPT, "rank", "stream_id").agg(F.max("event_time").alias("_at"))
    newer = Window.partitionBy(*ATTEMPT, "rank").orderBy(F.desc("_at"), F.desc("stream_id"))
    age_s = F.max("_at").over(Window.partitionBy(*ATTEMPT)).cast("double") - F.col("_at").cast("double")
    aged = streams.withColumns({"_nth": F.row_number().over(newer), "fresh": age_s <= STALE_S})
    kept = aged.where("_nth = 1").select(*ATTEMPT, "rank", "stream_id", "fresh")
    return keyed.join(F.broadcast(kept), [*ATTEMPT, "rank", "stream_id"])


def _none_is_zero(name: str) -> Column:
    """A last number; -1 means that there was none yet."""
    return F.greatest(F.col(name), F.when(F.col(name).isNotNull(), F.lit(0)))


def heads(facts: DataFrame) -> DataFrame:
    """One row per group and rank: `last` and `done` numbers, its first `open` calls, and the oldest one it waits in.

    Point-to-point calls raise the same counter, each pair on its own: where a group is `paired`, only the numbers of
    its collectives are compared.
    """
    called = F.col("is_call") & ~F.col("is_p2p")
    is_open = called & (F.col("state") != "completed")
    call = F.struct("seq", "created", "op", "state", F.struct(*POINTER).alias("at"))
    summed = facts.groupBy(*GROUP, "rank").agg(
        F.max("enqueued").alias("_enqueued"),
        F.max("completed").alias("_completed"),
        F.max(F.when(called, F.col("seq"))).alias("_called"),
        F.max(F.when(called & ~is_open, F.col("seq"))).alias("_left"),
        F.slice(F.array_sort(F.collect_list(F.when(is_open, call))), 1, _OPEN_CALLS).alias("open"),
        F.min_by(F.struct(*POINTER), F.struct("is_call", "byte_offset")).alias("at"),
        F.first("ranks", ignorenulls=True).alias("ranks"),
        F.max("fresh").alias("fresh"),
        F.max("is_p2p").alias("_paired"),
    )
    paired = summed.withColumn("paired", F.max("_paired").over(Window.partitionBy(*GROUP)))
    oldest = F.get("open", F.lit(0))
    waits = F.when(F.size("open") > 0, F.struct(oldest["created"].alias("since"), "pg", oldest["seq"].alias("seq")))
    return paired.select(
        *GROUP,
        "rank",
        F.greatest(F.when(~F.col("paired"), F.col("_enqueued")), "_called").alias("last"),
        F.greatest(F.when(~F.col("paired"), F.col("_completed")), "_left").alias("done"),
        *("open", "at", "ranks", "fresh", "paired"),
        F.min(waits).over(Window.partitionBy(*ATTEMPT, "rank")).alias("waits"),
    )
