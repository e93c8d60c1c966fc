"""placement: which rank of an attempt ran where, as its own logs show it."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from firstfault.transforms.contract import Table, column
from firstfault.transforms.keys import ATTEMPT_KEY
from firstfault.transforms.types import DAY, INT, TEXT

PLACEMENT = Table(
    name="placement",
    row="a rank of an attempt",
    fields=(
        column("cluster", TEXT, "cluster of the attempt", required=True),
        column("job_id", TEXT, "job", required=True),
        column("attempt", INT, "attempt", required=True),
        column("day", DAY, "day of the attempt"),
        column("rank", INT, "global rank", required=True),
        column("node", TEXT, "node it ran on"),
        column("device", TEXT, "PCI id of its GPU, when an initialisation line says it"),
        column(
            "basis", TEXT, "init_line where the communicator said it, path of a log, or task of the scheduler's step"
        ),
    ),
    keys=("cluster", "job_id", "attempt", "rank"),
    partitions=("day",),
    keep_days=120,
)
MAX_TASKS = 100_000
"""Longest range of task numbers that is expanded; a longer one is a corrupt line."""


def build_placement(seen: DataFrame, own_events: DataFrame, attempts: DataFrame) -> DataFrame:
    """One row per rank of an attempt.

    Args:
        seen: cluster, job_id, attempt_hint, rank, node of the log streams.
        own_events: scoped events of relation `own`, whose `comm.init_complete` names rank, node and bus id, and whose
            ends of tasks by `srun` name task and node.
        attempts: attempts to place.
    """
    key = list(ATTEMPT_KEY)
    by_path = (
        attempts.select(*key, "day", "source_cluster", "nodes")
        .join(seen.withColumnRenamed("cluster", "source_cluster"), ["source_cluster", "job_id"])
        .where("rank is not null and (attempt_hint is null or attempt_hint = attempt)")
        .select(
            *key,
            "day",
            "rank",
            _known_node("node"),
            F.lit(None).cast("string").alias("device"),
            F.lit(1).alias("_p"),
        )
    )
    by_line = own_events.where("event_type = 'comm.init_complete' and rank is not null").select(
        *key, "day", "rank", "node", "device", F.lit(2).alias("_p")
    )
    said = by_path.unionByName(by_line).unionByName(_by_task(own_events))
    rows = said.groupBy(*key, "day", "rank").agg(
        _best("node").alias("node"),
        _best("device").alias("device"),
        F.element_at(F.array(F.lit("task"), F.lit("path"), F.lit("init_line")), F.max("_p") + 1).alias("basis"),
    )
    return PLACEMENT.conform(rows)


def rank_nodes(staged: DataFrame, placement: DataFrame) -> DataFrame:
    """One row per rank of a job (and of the attempt that its path names) with the node that it runs on.

    Args:
        staged: The batch in flight; lines that name both.
        placement: The placement table, of earlier batches.
    """
    key = ["cluster", "job_id", "attempt_hint", "rank"]
    told = staged.where("rank is not null and node is not null and not startswith(job_id, '_')").select(*key, "node")
    hints = F.explode(F.array(F.lit(None).cast("int"), F.col("attempt"))).alias("attempt_hint")
    known = placement.where("node is not null").select("cluster", "job_id", hints, "rank", "node")
    both = told.withColumn("_new", F.lit(1)).unionByName(known.withColumn("_new", F.lit(0)))
    counted = both.groupBy(*key, "_new", "node").agg(F.count("*").alias("_n"))
    return counted.groupBy(*key).agg(F.max_by("node", F.struct("_new", "_n", "node")).alias("node"))


def with_rank_node(rows: DataFrame, ranks: DataFrame) -> DataFrame:
    """The rows with `_ran`, the node that their rank runs on.

    Args:
        rows: Rows with cluster, job_id, attempt_hint, rank.
        ranks: Result of `rank_nodes`.
    """
    key = ("cluster", "job_id", "rank", "attempt_hint")
    ran = ranks.select(*(F.col(c).alias(f"_r_{c}") for c in key), F.col("node").alias("_ran"))
    same = [F.col(c) == F.col(f"_r_{c}") for c in key[:-1]]
    on = same[0] & same[1] & same[2] & F.col("attempt_hint").eqNullSafe(F.col("_r_attempt_hint"))
    return rows.join(F.broadcast(ran), on, "left").drop(*(f"_r_{c}" for c in key))


def _by_task(own_events: DataFrame) -> DataFrame:
    """Ranks by the tasks that srun saw end on a node, where it started several there: a task then is a rank.

    With one task a node each is a launcher of several ranks, and its number says nothing of theirs.
    """
    key = [*ATTEMPT_KEY, "day"]
    first_last = F.transform(
        F.split(F.col("attrs")["tasks"], ","), lambda part: F.transform(F.split(part, "-"), lambda n: n.try_cast("int"))
    )
    numbers = F.flatten(
        F.transform(
            F.filter(first_last, lambda ends: (ends[F.size(ends) - 1] - ends[0]).between(0, MAX_TASKS)),
            lambda ends: F.sequence(ends[0], ends[F.size(ends) - 1]),
        )
    )
    ended = own_events.where((F.col("attrs")["by"] == "srun") & F.col("node").isNotNull())
    tasks = ended.select(*key, "node", F.explode(numbers).alias("rank"))
    several = tasks.groupBy(*ATTEMPT_KEY, "node").agg(F.countDistinct("rank").alias("_n"))
    launched = several.groupBy(*ATTEMPT_KEY).agg(F.max("_n").alias("_n")).where("_n > 1")
    device = F.lit(None).cast("string").alias("device")
    return tasks.join(launched, list(ATTEMPT_KEY)).select(*key, "rank", "node", device, F.lit(0).alias("_p"))


def fill_nodes(scoped: DataFrame, placement: DataFrame, attempts: DataFrame) -> DataFrame:
    """The scoped events, those that name only a rank with the node that the rank ran on.

    All that a job of one node says of itself, it says of that node.

    Args:
        scoped: Scoped events.
        placement: Ranks of the same attempts.
        attempts: Attempts with their nodes.
    """
    ran = placement.where("node is not null").select(*ATTEMPT_KEY, "rank", F.col("node").alias("_ran_on"))
    alone = attempts.where(F.size("nodes") == 1).select(*ATTEMPT_KEY, F.col("nodes")[0].alias("_alone"))
    known = scoped.join(F.broadcast(ran), [*ATTEMPT_KEY, "rank"], "left")
    placed = known.join(F.broadcast(alone), list(ATTEMPT_KEY), "left")
    here = F.when(F.col("relation") == "own", F.col("_alone"))
    return placed.withColumn("node", F.coalesce("node", "_ran_on", here)).select(*scoped.columns)


def _best(name: str) -> Column:
    """The value of the most telling source that has one."""
    return F.max_by(name, F.when(F.col(name).isNotNull(), F.struct("_p", name)))


def _known_node(name: str) -> Column:
    """The stream's node; a single-node attempt needs none in the path."""
    return F.coalesce(F.col(name), F.when(F.size("nodes") == 1, F.col("nodes")[0])).alias("node")
