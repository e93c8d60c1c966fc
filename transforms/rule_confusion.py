"""rule_confusion: which category was said where the label is another."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from firstfault.transforms.contract import Table, column
from firstfault.transforms.rule_stats import SCOPE, SCOPE_FIELDS, over_all
from firstfault.transforms.types import LONG, TEXT

RULE_CONFUSION = Table(
    name="rule_confusion",
    row="a pair of the label's category and the one that was said",
    fields=(
        *SCOPE_FIELDS,
        column("label_category", TEXT, "category of the label", required=True),
        column("said_category", TEXT, "category of the verdict, unknown where none was sure enough", required=True),
        column("n", LONG, "verdicts", required=True),
    ),
    keys=(*SCOPE, "label_category", "said_category"),
    partitions=("month",),
)


def build_rule_confusion(judged: DataFrame) -> DataFrame:
    """One row per category of labels and category said that met, with how often they did.

    Args:
        judged: Result of `judged.judged`.
    """
    pairs = judged.where("label is not null").select(
        *SCOPE, F.col("label").alias("label_category"), F.col("category").alias("said_category")
    )
    return RULE_CONFUSION.conform(over_all(pairs, "label_category", "said_category").agg(F.count("*").alias("n")))
