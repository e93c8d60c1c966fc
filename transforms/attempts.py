"""attempts: what ran where and when, and how the scheduler says it ended.

Decision 2026-11-29: the logs of a landing zone rarely name the cluster that Slurm prints, so every attempt also keeps
`source_cluster`, the cluster under which its streams landed, and own lines are joined by that.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from firstfault.transforms.contract import Table, column
from firstfault.transforms.types import BOOL, DAY, INT, LONG, TEXT, TEXTS, TIME

SCHEDULER, INFERRED = "scheduler", "inferred"

ATTEMPTS = Table(
    name="attempts",
    row="one attempt of a workload",
    fields=(
        column("cluster", TEXT, "cluster, as the scheduler names it", required=True),
        column("job_id", TEXT, "job; Slurm arrays as 123_4", required=True),
        column("attempt", INT, "0 for the first, requeues in order", required=True),
        column("day", DAY, "UTC day of the end, else of the start"),
        column("source_cluster", TEXT, "cluster under which its own streams landed"),
        column("workload_key", TEXT, "user and job name: what runs again and again"),
        column("job_name", TEXT, "name given by the user"),
        column("user", TEXT, "user"),
        column("account", TEXT, "account or queue"),
        column("partition", TEXT, "partition"),
        column("namespace", TEXT, "Kubernetes namespace"),
        column("submit", TIME, "submitted"),
        column("start", TIME, "started"),
        column("end", TIME, "ended; null while it runs"),
        column("end_basis", TEXT, "scheduler, last_line or running"),
        column("time_limit_s", LONG, "time limit"),
        column("nodes", TEXTS, "nodes, sorted"),
        column("gpus", INT, "GPUs allocated"),
        column("state", TEXT, "scheduler's state, verbatim; null when no scheduler spoke"),
        column("reason", TEXT, "scheduler's reason, verbatim"),
        column("exit_code", INT, "exit code"),
        column("signal", INT, "signal"),
        column("restarts", INT, "restarts counted by the scheduler"),
        column("aliases", TEXTS, "other ids of the job"),
        column("outcome_hint", TEXT, "outcome that the scheduler's state means"),
        column("is_ended", BOOL, "the attempt is over"),
        column("is_failure", BOOL, "the scheduler's state is not success"),
        column("scope_source", TEXT, "scheduler or inferred", required=True),
    ),
    keys=("cluster", "job_id", "attempt"),
    partitions=("day",),
    keep_days=400,
)

_DERIVED = {"attempt", "day", "workload_key", "outcome_hint", "is_ended", "is_failure", "end_basis"}
_LASTING = ("nodes", "aliases", "exit_code", "signal", "gpus", "time_limit_s", "job_name", "user")
OBSERVED_COLUMNS = [c for c in ATTEMPTS.columns if c not in _DERIVED]
"""What one scheduler record (or the logs) says of an attempt, before it is numbered."""


def build_attempts(observed: DataFrame, existing: DataFrame, states: DataFrame) -> DataFrame:
    """One row per attempt of the jobs that this batch speaks of.

    Args:
        observed: Rows of `OBSERVED_COLUMNS` plus `_seen` (order in which they were said), from
            `scheduler_records`, `kube_records` and `inferred`.
        existing: The table as it is.
        states: state, outcome, is_ended, is_failure (catalogue of scheduler states).
    """
    jobs = observed.select("source_cluster", "job_id").distinct()
    known = existing.join(jobs, ["source_cluster", "job_id"], "left_semi")
    earlier = known.select(*OBSERVED_COLUMNS, F.lit("").alias("_seen"))
    said = _without_superseded(observed.unionByName(earlier))
    return ATTEMPTS.conform(_judged(_numbered(_newest(said)), states))


def superseded(observed: DataFrame, existing: DataFrame) -> DataFrame:
    """Keys of inferred attempts for which a scheduler has spoken since."""
    spoken = observed.where(F.col("scope_source") == SCHEDULER).select("source_cluster", "job_id").distinct()
    guesses = existing.where(F.col("scope_source") == INFERRED)
    return guesses.join(spoken, ["source_cluster", "job_id"], "left_semi").select(*ATTEMPTS.keys)


def _without_superseded(said: DataFrame) -> DataFrame:
    job = Window.partitionBy("source_cluster", "job_id")
    spoken = F.max((F.col("scope_source") == SCHEDULER).cast("int")).over(job) == 1
    return said.withColumn("_spoken", spoken).where("not _spoken or scope_source = 'scheduler'").drop("_spoken")


def _newest(said: DataFrame) -> DataFrame:
    """One row per attempt: the last record that has an end, else the last record; inferred windows are joined."""
    attempt_key: list[str | Column] = [
        "cluster",
        "job_id",
        F.when(F.col("scope_source") == SCHEDULER, F.coalesce("submit", "start").cast("string"))
        .otherwise(F.format_string("attempt-%d", "restarts"))
        .alias("_started"),
    ]
    row = F.struct(*said.columns)
    rank = F.struct(F.col("end").isNotNull(), "_seen", F.to_json(row))
    grouped = said.groupBy(*attempt_key).agg(
        F.max_by(row, rank).alias("row"),
        F.min("start").alias("_first"),
        F.max("end").alias("_last"),
        *(_last_said(c, rank) for c in _LASTING),
        F.array_sort(F.array_distinct(F.flatten(F.collect_list(F.coalesce("nodes", F.array()))))).alias("_nodes"),
    )
    inferred = F.col("row.scope_source") == INFERRED
    return grouped.select(
        *(F.col(f"row.{c}").alias(c) for c in OBSERVED_COLUMNS if c not in {"start", "end", *_LASTING}),
        *(F.col(f"_{c}_said").alias(c) for c in _LASTING if c != "nodes"),
        F.when(inferred, F.col("_first")).otherwise(F.col("row.start")).alias("start"),
        F.when(inferred, F.col("_last")).otherwise(F.col("row.end")).alias("end"),
        F.when(inferred, F.col("_nodes")).otherwise(F.col("_nodes_said")).alias("nodes"),
    )


def _last_said(name: str, rank: Column) -> Column:
    """The column's value in the last record that gives one: a later record may know less."""
    given = F.col(name).isNotNull()
    if name in {"nodes", "aliases"}:
        given = given & (F.size(name) > 0)
    return F.max_by(name, F.when(given, rank)).alias(f"_{name}_said")


def _numbered(attempts: DataFrame) -> DataFrame:
    order = Window.partitionBy("cluster", "job_id").orderBy(
        F.coalesce("submit", "start").asc_nulls_last(), F.array_join("aliases", ",")
    )
    counted = F.row_number().over(order) - 1
    return attempts.withColumn(
        "attempt", F.when(F.col("scope_source") == INFERRED, F.col("restarts")).otherwise(counted)
    )


def _judged(attempts: DataFrame, states: DataFrame) -> DataFrame:
    word = F.upper(F.substring_index(F.col("state"), " ", 1))
    known = F.broadcast(states.select(F.col("state").alias("_word"), "outcome", "is_ended", "is_failure"))
    ended = F.coalesce("is_ended", F.col("end").isNotNull())
    return (
        attempts.withColumn("_word", word)
        .join(known, "_word", "left")
        .select(
            *OBSERVED_COLUMNS,
            "attempt",
            F.to_date(F.coalesce("end", "start", "submit")).alias("day"),
            F.concat_ws("/", "user", "job_name").alias("workload_key"),
            F.col("outcome").alias("outcome_hint"),
            ended.alias("is_ended"),
            F.coalesce("is_failure", F.lit(False)).alias("is_failure"),
            F.when(~ended, "running")
            .when(F.col("scope_source") == INFERRED, "last_line")
            .otherwise("scheduler")
            .alias("end_basis"),
        )
    )


def inferred(staged: DataFrame) -> DataFrame:
    """One row per job (and attempt folder) that logged lines: window and nodes as its own lines give them.

    Args:
        staged: The batch in flight.
    """
    reports = staged.where(F.col("report").isNotNull() & ~F.col("job_id").startswith("_"))
    lines = reports.groupBy("cluster", "job_id", F.coalesce("attempt_hint", F.lit(0)).alias("restarts")).agg(
        F.coalesce(F.min("report.first_time"), F.min("file_time")).alias("start"),
        F.coalesce(F.max("report.last_time"), F.max("file_time")).alias("end"),
        F.array_sort(F.array_distinct(F.flatten(F.collect_list("report.nodes")))).alias("nodes"),
    )
    return observation(
        lines,
        {
            "source_cluster": F.col("cluster"),
            "scope_source": F.lit(INFERRED),
        },
        seen=F.lit(""),
    )


def observation(rows: DataFrame, given: dict[str, Column], *, seen: Column) -> DataFrame:
    """The rows with every observed column; those neither given nor present are null."""
    types = {f.name: f.dataType for f in ATTEMPTS.fields}
    columns = []
    for name in OBSERVED_COLUMNS:
        value = given.get(name, F.col(name) if name in rows.columns else F.lit(None))
        columns.append(value.cast(types[name]).alias(name))
    return rows.select(*columns, seen.cast("string").alias("_seen"))
