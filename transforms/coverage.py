"""coverage: which sources an attempt could be seen by, from when to when."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from firstfault.transforms.contract import Table, column
from firstfault.transforms.keys import ATTEMPT_KEY, HOME_NODE
from firstfault.transforms.types import BOOL, DAY, INT, LONG, TEXT, TIME

APP_LOG, KERNEL_LOG, TELEMETRY_SOURCE, SCHEDULER_LOG = "app_log", "kernel_log", "telemetry", "scheduler"
KINDS = {
    "app": APP_LOG,
    "kernel": KERNEL_LOG,
    "dmesg": KERNEL_LOG,
    "journal": KERNEL_LOG,
    "nvidia_smi_csv": TELEMETRY_SOURCE,
    "prometheus": TELEMETRY_SOURCE,
    "exposition": TELEMETRY_SOURCE,
    "perfquery": "port_counters",
    "ethtool": "port_counters",
    "switch_counters": "port_counters",
    "slurmctld": SCHEDULER_LOG,
    "sacct": SCHEDULER_LOG,
    "kube": SCHEDULER_LOG,
    "fabricmanager": "fabric_manager",
}
SLACK_S = 900
"""A source is taken as delivered to the end if its last line is at most this long before it: quiet logs are normal, but
those of a busy node rarely rest longer."""

COVERAGE = Table(
    name="coverage",
    row="an attempt, a node and a kind of source",
    fields=(
        column("cluster", TEXT, "cluster of the attempt", required=True),
        column("job_id", TEXT, "job", required=True),
        column("attempt", INT, "attempt", required=True),
        column("day", DAY, "day of the attempt"),
        column("node", TEXT, "node; null for sources of the whole job or cluster"),
        column(
            "kind",
            TEXT,
            "kind of source: app_log, kernel_log, telemetry, port_counters, scheduler",
            required=True,
        ),
        column("first", TIME, "earliest written time"),
        column("last", TIME, "latest written time"),
        column("lines", LONG, "units landed"),
        column("delivered_throughout", BOOL, "written until the end of the attempt, less a slack"),
    ),
    keys=(*ATTEMPT_KEY, "node", "kind"),
    partitions=("day",),
    keep_days=120,
)


def build_coverage(landed: DataFrame, attempts: DataFrame, snapshot_after_s: int) -> DataFrame:
    """One row per attempt, node and kind of source that has anything within the attempt's window.

    Args:
        landed: `inputs` rows of state landed.
        attempts: Attempts to cover.
        snapshot_after_s: How long after the end a source still speaks of the attempt.
    """
    kind = F.create_map(*(F.lit(x) for pair in KINDS.items() for x in pair))[F.col("format")]
    streams = landed.select(
        F.col("cluster").alias("source_cluster"),
        F.col("job_id").alias("_home"),
        "attempt_hint",
        F.col("node").alias("_node"),
        kind.alias("kind"),
        F.coalesce("first_time", "file_time").alias("_first"),
        F.coalesce("last_time", "file_time").alias("_last"),
        F.col("lines_landed").alias("_lines"),
    ).where("kind is not null")
    scope = attempts.select(*ATTEMPT_KEY, "day", "source_cluster", "start", "end", "nodes")
    own = scope.join(
        streams.where(~F.col("_home").startswith("_")).withColumnRenamed("_home", "job_id"),
        ["source_cluster", "job_id"],
    ).where("attempt_hint is null or attempt_hint = attempt")
    after = F.col("end").cast("double") + snapshot_after_s
    touches = (F.col("_last") >= F.col("start")) & (F.col("end").isNull() | (F.col("_first").cast("double") <= after))
    by_node = scope.select("*", F.explode("nodes").alias("_node")).join(
        streams.where(F.col("_home") == HOME_NODE), ["source_cluster", "_node"]
    )
    whole = streams.where(F.col("_home").startswith("_") & (F.col("_home") != HOME_NODE))
    cluster = scope.join(whole, "source_cluster")
    columns = [*ATTEMPT_KEY, "day", "end", "_node", "kind", "_first", "_last", "_lines"]
    every = own.select(*columns).unionByName(by_node.where(touches).select(*columns))
    every = every.unionByName(cluster.where(touches).select(*columns))
    grouped = every.groupBy(*ATTEMPT_KEY, "day", "end", F.col("_node").alias("node"), "kind").agg(
        F.min("_first").alias("first"), F.max("_last").alias("last"), F.sum("_lines").alias("lines")
    )
    until = F.col("last").cast("double") + SLACK_S >= F.col("end").cast("double")
    return COVERAGE.conform(grouped.withColumn("delivered_throughout", F.coalesce(until, F.lit(True))).drop("end"))
