"""results: the verdicts of the live rule set with what operators found, for light readers."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from firstfault.transforms.contract import Table, column
from firstfault.transforms.diagnoses import DIAGNOSES, LIVE
from firstfault.transforms.keys import ATTEMPT_KEY
from firstfault.transforms.types import BOOL, TEXT, TEXTS

RESULTS = Table(
    name="results",
    row="a diagnosis of the live rule set",
    fields=(
        *(f for f in DIAGNOSES.fields if f.name != "track"),
        column("label_category", TEXT, "category that an operator found"),
        column("label_origin", TEXTS, "origin that an operator found"),
        column("label_agrees", BOOL, "the operator's category is ours"),
    ),
    keys=ATTEMPT_KEY,
    partitions=("day",),
    keep_days=400,
)


def build_results(diagnoses: DataFrame, labels: DataFrame) -> DataFrame:
    """One row per live diagnosis, with the newest operator's label where there is one.

    Args:
        diagnoses: Diagnoses to publish.
        labels: The labels table.
    """
    newest = (
        labels.where("kind = 'operator'")
        .groupBy(*ATTEMPT_KEY)
        .agg(F.max_by(F.struct("category", "origin"), F.struct("labelled_at", "source")).alias("label"))
    )
    live = diagnoses.where(F.col("track") == LIVE).drop("track").join(newest, list(ATTEMPT_KEY), "left")
    return RESULTS.conform(
        live.select(
            *(c for c in RESULTS.columns if not c.startswith("label_")),
            F.col("label.category").alias("label_category"),
            F.col("label.origin").alias("label_origin"),
            (F.col("label.category") == F.col("category")).alias("label_agrees"),
        )
    )
