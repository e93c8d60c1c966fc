"""repairs: parts that were taken out of nodes (an RMA list)."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from firstfault.transforms.columns import field, latest
from firstfault.transforms.contract import Table, column
from firstfault.transforms.types import DAY, TEXT

REPAIRS = Table(
    name="repairs",
    row="a part of a node that was replaced",
    fields=(
        column("cluster", TEXT, "cluster", required=True),
        column("node", TEXT, "short name", required=True),
        column("device", TEXT, "PCI id, or HCA; null when the list names none"),
        column("serial", TEXT, "serial number of the part that was taken out"),
        column("part", TEXT, "kind of part in lower case, such as gpu, cable, dimm", required=True),
        column("day", DAY, "day of the repair", required=True),
    ),
    keys=("cluster", "node", "device", "serial", "part", "day"),
)


def build_repairs(staged: DataFrame) -> DataFrame:
    """One row per repair of repairs.csv; a line without node, part or a readable day is left out.

    Args:
        staged: Rows in flight of source `repairs`, with `fields`.
    """
    rows = staged.where((F.col("source") == "repairs") & F.col("fields").isNotNull()).select(
        F.coalesce(field("cluster"), F.col("cluster")).alias("cluster"),
        F.lower(F.substring_index(field("node"), ".", 1)).alias("node"),
        F.lower(field("device")).alias("device"),
        field("serial").alias("serial"),
        F.lower(field("part")).alias("part"),
        _day("day").alias("day"),
        F.col("byte_offset").alias("_at"),
    )
    whole = rows.where("node is not null and part is not null and day is not null")
    return REPAIRS.conform(latest(whole, *REPAIRS.keys))


def _day(name: str) -> Column:
    return F.expr(f"try_cast(left(trim(fields['{name}']), 10) as date)")
