"""topology: which HCA of which node hangs on which switch port, rack and power domain."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from firstfault.transforms.columns import field, latest
from firstfault.transforms.contract import Table, column
from firstfault.transforms.types import TEXT

TOPOLOGY = Table(
    name="topology",
    row="a node's HCA",
    fields=(
        column("cluster", TEXT, "cluster of the source", required=True),
        column("node", TEXT, "short name", required=True),
        column("hca", TEXT, "RDMA device, such as mlx5_0"),
        column("rack", TEXT, "rack"),
        column("power_domain", TEXT, "power domain"),
        column("pod", TEXT, "pod or rail group"),
        column("switch", TEXT, "leaf switch"),
        column("switch_port", TEXT, "port on the leaf switch"),
        column("hca_port", TEXT, "node/hca/1"),
        column("leaf_port", TEXT, "switch:port"),
    ),
    keys=("cluster", "node", "hca"),
)

_FILE_COLUMNS = ("rack", "power_domain", "pod", "switch", "switch_port")


def build_topology(staged: DataFrame) -> DataFrame:
    """One row per HCA of topology.csv; a later row of one HCA wins.

    Args:
        staged: Rows in flight of source `topology`, with `fields`.
    """
    node = F.lower(F.substring_index(field("node"), ".", 1))
    rows = staged.where((F.col("source") == "topology") & F.col("fields").isNotNull()).select(
        "cluster",
        node.alias("node"),
        field("hca").alias("hca"),
        *(field(name).alias(name) for name in _FILE_COLUMNS),
        F.concat(node, F.lit("/"), field("hca"), F.lit("/1")).alias("hca_port"),
        F.concat(field("switch"), F.lit(":"), field("switch_port")).alias("leaf_port"),
        F.struct("file_time", "byte_offset").alias("_at"),
    )
    return TOPOLOGY.conform(latest(rows, *TOPOLOGY.keys).where(F.col("node").isNotNull()))
