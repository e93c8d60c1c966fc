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
        column("label_category", TEXT, "category that the operators found; null when they differ"),
        column("label_origin", TEXTS, "origin that the operators found; null when they differ"),
        column("label_agrees", BOOL, "the operators' category is ours"),
        column("label_conflict", BOOL, "operators differ in category or origin; null where none spoke"),
    ),
    keys=ATTEMPT_KEY,
    partitions=("day",),
    keep_days=400,
    version=2,
)
LABEL_COLUMNS = tuple(c for c in RESULTS.columns if c.startswith("label_"))


def build_results(diagnoses: DataFrame, verdicts: DataFrame) -> DataFrame:
    """One row per live diagnosis, with what the operators' labels come to.

    Args:
        diagnoses: Diagnoses to publish.
        verdicts: Rows of `label_verdicts`.
    """
    said = verdicts.where(F.size("statements") > 0).select(
        *ATTEMPT_KEY,
        F.struct("category", "origin", "is_conflict").alias("_label"),
    )
    live = diagnoses.where(F.col("track") == LIVE).drop("track").join(said, list(ATTEMPT_KEY), "left")
    return RESULTS.conform(
        live.select(
            *(c for c in RESULTS.columns if c not in LABEL_COLUMNS),
            F.col("_label.category").alias("label_category"),
            F.col("_label.origin").alias("label_origin"),
            (F.col("_label.category") == F.col("category")).alias("label_agrees"),
            F.col("_label.is_conflict").alias("label_conflict"),
        )
    )
