"""labels: what operators found in the end."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from firstfault.transforms.columns import field, latest
from firstfault.transforms.contract import Table, column
from firstfault.transforms.types import INT, TEXT, TEXTS, TIME

LABELS = Table(
    name="labels",
    row="an operator's verdict on an attempt",
    fields=(
        column("cluster", TEXT, "cluster", required=True),
        column("job_id", TEXT, "job", required=True),
        column("attempt", INT, "attempt", required=True),
        column("category", TEXT, "root-cause category", required=True),
        column("origin_scope", TEXT, "what the origin names"),
        column("origin", TEXTS, "origin names, sorted"),
        column("kind", TEXT, "operator or weak", required=True),
        column("source", TEXT, "file or command it came from", required=True),
        column("labelled_at", TIME, "when it was given, else the time of the file"),
    ),
    keys=("cluster", "job_id", "attempt", "source"),
)


def build_labels(staged: DataFrame) -> DataFrame:
    """One row per verdict of labels.csv.

    Args:
        staged: Rows in flight of source `labels`, with `fields`.
    """
    rows = staged.where((F.col("source") == "labels") & F.col("fields").isNotNull())
    origin = F.filter(F.split(F.coalesce(field("origin"), F.lit("")), r"\s*;\s*"), lambda o: o != "")
    built = rows.select(
        F.coalesce(field("cluster"), F.col("cluster")).alias("cluster"),
        field("job_id").alias("job_id"),
        F.coalesce(F.expr("try_cast(fields['attempt'] as int)"), F.lit(0)).alias("attempt"),
        field("category").alias("category"),
        field("origin_scope").alias("origin_scope"),
        F.array_sort(origin).alias("origin"),
        F.lit("operator").alias("kind"),
        F.col("file").alias("source"),
        F.col("file_time").alias("labelled_at"),
        F.col("byte_offset").alias("_at"),
    ).where("job_id is not null and category is not null")
    return LABELS.conform(latest(built, *LABELS.keys))
