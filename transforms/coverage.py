"""coverage: which sources an attempt could be seen by, from when to when, what they lost, and whose clock is off."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from firstfault.transforms.clock_offsets import EVERY_SOURCE
from firstfault.transforms.contract import Table, column
from firstfault.transforms.keys import ATTEMPT_KEY, HOME_NODE
from firstfault.transforms.log_gaps import with_gaps
from firstfault.transforms.types import BOOL, DAY, DOUBLE, INT, LONG, TEXT, TEXTS, TIME

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
        column("delivered_throughout", BOOL, "written until the end of the attempt, less a slack, with no loss there"),
        column("gaps", LONG, "notices, near the attempt, of lines that the source lost"),
        column("lost_lines", LONG, "lines that these count, at least: the first of a burst speaks; null: none counts"),
        column("gap_from", TIME, "earliest corrected time of such a notice"),
        column("gap_to", TIME, "latest"),
        column("clock_offset_s", DOUBLE, "local minus true of the node's clock at the end; null where nothing says"),
        column("clock_error_s", DOUBLE, "largest error of that within the attempt"),
        column("clock_faults", TEXTS, "faults, within the attempt, of the node's clock or these sources' zone"),
    ),
    keys=(*ATTEMPT_KEY, "node", "kind"),
    partitions=("day",),
    keep_days=120,
    version=2,
)


def build_coverage(
    landed: DataFrame, attempts: DataFrame, snapshot_after_s: int, gaps: DataFrame, clocks: DataFrame
) -> DataFrame:
    """One row per attempt, node and kind of source that has anything within the attempt's window.

    Args:
        landed: `inputs` rows of state landed.
        attempts: Attempts to cover.
        snapshot_after_s: How long after the end a source still speaks of the attempt.
        gaps: Scoped events of the type `log_gaps.LOG_GAP`.
        clocks: Attempt key, node, clock_offset_s, clock_error_s, faults (`attempt_clocks.clocks_of`).
    """
    grouped = _delivered(landed, attempts, snapshot_after_s)
    notices = gaps.withColumn("kind", _kind("source"))
    told = with_gaps(grouped, notices, SLACK_S).join(F.broadcast(clocks), [*ATTEMPT_KEY, "node"], "left")
    until = F.col("last").cast("double") + SLACK_S >= F.col("end").cast("double")
    whole = F.coalesce(until, F.lit(True)) & ~F.col("_late")
    rows = told.withColumns({"delivered_throughout": whole, "clock_faults": _faults()})
    return COVERAGE.conform(rows.drop("end", "faults"))


def _kind(source: str | Column) -> Column:
    return F.create_map(*(F.lit(x) for pair in KINDS.items() for x in pair))[
        F.col(source) if isinstance(source, str) else source
    ]


def _faults() -> Column:
    """Faults of the node's clock, and of what sources of this kind write in another zone."""
    of_kind = F.filter("faults", lambda f: (f["source"] == EVERY_SOURCE) | (_kind(f["source"]) == F.col("kind")))
    words = F.array_sort(F.array_distinct(F.transform(of_kind, lambda f: f["fault"])))
    return F.coalesce(words, F.array().cast("array<string>"))


def _delivered(landed: DataFrame, attempts: DataFrame, snapshot_after_s: int) -> DataFrame:
    """One row per attempt, node and kind of source: from when to when, and how many lines."""
    streams = landed.select(
        F.col("cluster").alias("source_cluster"),
        F.col("job_id").alias("_home"),
        "attempt_hint",
        F.col("node").alias("_node"),
        _kind("format").alias("kind"),
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
    return every.groupBy(*ATTEMPT_KEY, "day", "end", F.col("_node").alias("node"), "kind").agg(
        F.min("_first").alias("first"), F.max("_last").alias("last"), F.sum("_lines").alias("lines")
    )
