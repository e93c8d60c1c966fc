"""Attempts of a synthetic fleet, where they ran, and the switches behind their nodes."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from firstfault.transforms.keys import digest

Ints = npt.NDArray[np.int64]
CLUSTERS, NODES, NODES_PER_SWITCH, NODES_PER_RACK = 4, 500, 16, 8
HCA = "mlx5_0"
DEVICES = [f"0000:{bus}:00" for bus in ("1b", "3b", "4c", "5d", "9b", "bb", "cb", "db")]
BUILDS = 10
DAYS = 10
FIRST_DAY = date(2026, 11, 20)
MIDNIGHT_US = int(datetime(2026, 11, 20, tzinfo=UTC).timestamp() * 1_000_000)
EVENTS_PER_ATTEMPT = 500
LARGE = 100
"""One attempt in so many is large; these hold half of the events."""
KINDS = ("app_log", "kernel_log", "scheduler", "telemetry", "switch_log")


@dataclass(frozen=True)
class Fleet:
    """Attempts by number.

    Attributes:
        start: Microseconds since the epoch.
        lasts_s: Length.
        first_node: First of its nodes, which lie side by side.
        width: How many nodes.
        build: One of `BUILDS`.
        keys: cluster, job_id, attempt, day and uid.
        node_names: Of all clusters.
        leaf_ports: Switch port of each node.
    """

    start: Ints
    lasts_s: Ints
    first_node: Ints
    width: Ints
    build: Ints
    keys: dict[str, pa.Array]
    node_names: pa.Array
    leaf_ports: pa.Array

    def sizes(self, events: int) -> Ints:
        """Events of each attempt."""
        n = len(self.start)
        large = np.arange(n) % LARGE == 0
        return np.where(large, events // 2 // large.sum(), events // 2 // (n - large.sum()))


def make_fleet(attempts: int) -> Fleet:
    rng = np.random.default_rng(7)
    cluster = rng.integers(0, CLUSTERS, attempts)
    width = rng.choice([1, 2, 4, 8, 16], attempts)
    start = rng.integers(0, DAYS * 86_400, attempts)
    lasts_s = rng.integers(3600, 12 * 3600, attempts)
    days = [FIRST_DAY + timedelta(seconds=int(s)) for s in start // 86_400 * 86_400]
    names = [(f"c{c}", f"{100_000 + n}", "0") for n, c in enumerate(cluster)]
    every = [(c, n) for c in range(CLUSTERS) for n in range(NODES)]
    return Fleet(
        start=MIDNIGHT_US + start * 1_000_000,
        lasts_s=lasts_s,
        first_node=cluster * NODES + rng.integers(0, NODES - 16, attempts),
        width=width,
        build=rng.integers(0, BUILDS, attempts),
        keys={
            "cluster": pa.array([c for c, _, _ in names]),
            "job_id": pa.array([job for _, job, _ in names]),
            "attempt": pa.array(np.zeros(attempts, np.int32)),
            "day": pa.array(days),
            "uid": pa.array([digest(*name) for name in names]),
        },
        node_names=pa.array([f"c{c}-n{n:03d}" for c, n in every]),
        leaf_ports=pa.array([f"c{c}-sw{n // NODES_PER_SWITCH}:{n % NODES_PER_SWITCH}" for c, n in every]),
    )


def attempts_of(spark: SparkSession, fleet: Fleet) -> DataFrame:
    names = fleet.node_names.to_pylist()
    spans = zip(fleet.first_node.tolist(), fleet.width.tolist(), strict=True)
    end = fleet.start + fleet.lasts_s * 1_000_000
    workloads = [f"w{n // 5}" for n in range(len(end))]
    table = pa.table(
        fleet.keys
        | {
            "nodes": pa.array([names[first : first + width] for first, width in spans]),
            "start": pa.array(fleet.start).cast(pa.timestamp("us", "UTC")),
            "end": pa.array(end).cast(pa.timestamp("us", "UTC")),
            "workload_key": pa.array(workloads),
            "user": pa.array([f"u{n // 50}" for n in range(len(end))]),
        }
    )
    home = F.concat_ws("/", "cluster", "job_id")
    window = {"window_from": F.col("start") - F.expr("interval 15 minutes"), "window_to": F.col("end")}
    made = spark.createDataFrame(table).withColumns({"source_cluster": F.col("cluster"), "home": home})
    return made.withColumns(window)


def topology_of(spark: SparkSession, fleet: Fleet) -> DataFrame:
    rows = []
    for number, (node, leaf) in enumerate(zip(fleet.node_names.to_pylist(), fleet.leaf_ports.to_pylist(), strict=True)):
        rack = f"r{number // NODES_PER_RACK}"
        switch, _, port = leaf.partition(":")
        place = {"rack": rack, "power_domain": f"p{number // 64}", "pod": "", "switch": switch, "switch_port": port}
        ports = {"hca": HCA, "hca_port": f"{node}/{HCA}/1", "leaf_port": leaf}
        rows.append({"cluster": node.partition("-")[0], "node": node} | place | ports)
    return spark.createDataFrame(pa.Table.from_pylist(rows))


def placement_of(attempts: DataFrame) -> DataFrame:
    """Eight ranks a node."""
    spread = attempts.select("cluster", "job_id", "attempt", "day", "uid", F.posexplode("nodes").alias("_at", "node"))
    ranks = spread.withColumn("_k", F.explode(F.sequence(F.lit(0), F.lit(7))))
    device = F.lit(None).cast("string")
    return ranks.withColumns({"rank": F.col("_at") * 8 + F.col("_k"), "device": device, "basis": F.lit("path")}).drop(
        "_at", "_k"
    )
