"""scoped_events: which events belong to which attempt, and how (design section 6)."""

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from firstfault.transforms.contract import Table, column
from firstfault.transforms.events import EVENTS
from firstfault.transforms.keys import ATTEMPT_KEY, HOME_CLUSTER
from firstfault.transforms.types import DAY, INT, TEXT

OWN, NODE, PORT, CLUSTER = "own", "node", "port", "cluster"
_LEFT_OUT = {"cluster", "job_id", "attempt_hint", "day", "t_prev", "t_next", "file_time", "t_raw_last"}
EVENT_COLUMNS = [c for c in EVENTS.columns if c not in _LEFT_OUT]

SCOPED_EVENTS = Table(
    name="scoped_events",
    row="an event that an attempt may have felt",
    fields=(
        column("cluster", TEXT, "cluster of the attempt", required=True),
        column("job_id", TEXT, "job", required=True),
        column("attempt", INT, "attempt", required=True),
        column("day", DAY, "day of the attempt"),
        column("relation", TEXT, "own, node, port or cluster", required=True),
        *(f for f in EVENTS.fields if f.name in EVENT_COLUMNS),
    ),
    keys=(*ATTEMPT_KEY, "event_id"),
    partitions=("day",),
    keep_days=120,
)


@dataclass(frozen=True)
class Padding:
    """Seconds around an attempt within which its nodes' events count."""

    before_s: int = 900
    after_s: int = 600
    snapshot_after_s: int = 86_400


def build_scoped_events(events: DataFrame, attempts: DataFrame, topology: DataFrame, padding: Padding) -> DataFrame:
    """One row per event and attempt; an event reaches an attempt by its nearest relation only.

    Args:
        events: The events table of the days around the attempts.
        attempts: Attempts to scope; those that run have no end.
        topology: HCAs of nodes with their leaf ports.
        padding: Seconds around an attempt.
    """
    scope = attempts.select(*ATTEMPT_KEY, "day", "source_cluster", "start", "end", "nodes", "aliases").withColumns(
        {
            "_from": _plus("start", -padding.before_s),
            "_to": _plus("end", padding.after_s),
            "_to_snapshot": _plus("end", padding.snapshot_after_s),
        }
    )
    found = [
        _own(events, scope),
        _by_node(events, scope),
        _by_port(events, scope, topology),
        _by_job_name(events, scope),
    ]
    every = found[0]
    for more in found[1:]:
        every = every.unionByName(more)
    nearest = Window.partitionBy(*ATTEMPT_KEY, "event_id").orderBy("_rank")
    return SCOPED_EVENTS.conform(every.withColumn("_n", F.row_number().over(nearest)).where("_n = 1"))


def _plus(name: str, seconds: int) -> Column:
    return F.timestamp_seconds(F.col(name).cast("double") + seconds)


def _row(relation: str | Column, rank: int) -> list[Column]:
    names = [F.col(f"a.{k}").alias(k) for k in (*ATTEMPT_KEY, "day")]
    return [
        *names,
        (F.lit(relation) if isinstance(relation, str) else relation).alias("relation"),
        *(F.col(f"e.{c}").alias(c) for c in EVENT_COLUMNS),
        F.lit(rank).alias("_rank"),
    ]


def _within() -> Column:
    """The event's interval touches the padded window of the attempt."""
    snapshot = F.col("e.time_basis") == "file_time"
    to = F.when(snapshot, F.col("a._to_snapshot")).otherwise(F.col("a._to"))
    began = F.col("e.t_high") >= F.col("a._from")
    return began & (F.col("a.end").isNull() | (F.col("e.t_low") <= to))


def _nearest_attempt(rows: DataFrame) -> DataFrame:
    """Of several attempts of one job the one whose window is nearest to the event."""
    t = F.col("t").cast("double")
    away = F.greatest(
        F.coalesce(F.col("_start").cast("double") - t, F.lit(0.0)),
        F.coalesce(t - F.col("_end").cast("double"), F.lit(0.0)),
        F.lit(0.0),
    )
    order = Window.partitionBy("event_id", "cluster", "job_id").orderBy(away, "attempt")
    return rows.withColumn("_n", F.row_number().over(order)).where("_n = 1").drop("_n", "_start", "_end")


def _own(events: DataFrame, scope: DataFrame) -> DataFrame:
    own = events.where(~F.col("job_id").startswith("_")).alias("e")
    joined = own.join(
        scope.alias("a"),
        (F.col("e.cluster") == F.col("a.source_cluster"))
        & (F.col("e.job_id") == F.col("a.job_id"))
        & (F.col("e.attempt_hint").isNull() | (F.col("e.attempt_hint") == F.col("a.attempt"))),
    )
    windows = [F.col("a.start").alias("_start"), F.col("a.end").alias("_end")]
    return _nearest_attempt(joined.select(*_row(OWN, 0), *windows))


def _by_node(events: DataFrame, scope: DataFrame) -> DataFrame:
    on_nodes = events.where(F.col("job_id").startswith("_") & F.col("node").isNotNull()).alias("e")
    nodes = scope.select("*", F.explode("nodes").alias("_node")).alias("a")
    joined = on_nodes.join(
        nodes,
        (F.col("e.cluster") == F.col("a.source_cluster")) & (F.col("e.node") == F.col("a._node")) & _within(),
    )
    by_controller = F.col("e.job_id") == HOME_CLUSTER
    return joined.select(*_row(F.when(by_controller, CLUSTER).otherwise(NODE), 2))


def _by_port(events: DataFrame, scope: DataFrame, topology: DataFrame) -> DataFrame:
    at_ports = events.where(F.col("port").isNotNull() & F.col("node").isNull()).alias("e")
    ports = topology.select(
        F.col("cluster").alias("source_cluster"), "node", F.explode(F.array("leaf_port", "hca_port")).alias("_port")
    ).where("_port is not null")
    behind = (
        scope.select("*", F.explode("nodes").alias("node"))
        .join(ports, ["source_cluster", "node"])
        .dropDuplicates([*ATTEMPT_KEY, "_port"])
    ).alias("a")
    joined = at_ports.join(
        behind,
        (F.col("e.cluster") == F.col("a.source_cluster")) & (F.col("e.port") == F.col("a._port")) & _within(),
    )
    return joined.select(*_row(PORT, 3))


def _by_job_name(events: DataFrame, scope: DataFrame) -> DataFrame:
    """Events outside the job's own streams (controller, kubelet, kernel cgroup) that name the job."""
    naming = events.where(F.col("job_id").startswith("_") & F.col("attrs")["job"].isNotNull()).alias("e")
    names = scope.select(
        "*", F.explode(F.array_union(F.array("job_id"), F.coalesce("aliases", F.array()))).alias("_name")
    ).alias("a")
    joined = naming.join(
        names,
        (F.col("e.cluster") == F.col("a.source_cluster")) & (F.col("e.attrs")["job"] == F.col("a._name")) & _within(),
    )
    windows = [F.col("a.start").alias("_start"), F.col("a.end").alias("_end")]
    return _nearest_attempt(joined.select(*_row(CLUSTER, 1), *windows))
