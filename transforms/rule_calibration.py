"""rule_calibration: whether verdicts of a stated confidence are right that often."""

from collections.abc import Sequence
from itertools import pairwise

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from firstfault.transforms.contract import Table, column
from firstfault.transforms.diagnoses import UNKNOWN
from firstfault.transforms.proportions import share, wilson
from firstfault.transforms.rule_stats import SCOPE, SCOPE_FIELDS, over_all
from firstfault.transforms.types import DOUBLE, LONG

RULE_CALIBRATION = Table(
    name="rule_calibration",
    row="a bin of confidence of judged verdicts",
    fields=(
        *SCOPE_FIELDS,
        column("bin_low", DOUBLE, "least confidence of the bin", required=True),
        column("bin_high", DOUBLE, "upper end, that of the last bin included", required=True),
        column("n", LONG, "judged verdicts with such a confidence", required=True),
        column("right", LONG, "of these, verdicts whose category is the label's", required=True),
        column("mean_confidence", DOUBLE, "what they stated", required=True),
        column("share_right", DOUBLE, "right / n", required=True),
        column("low", DOUBLE, "lower end of its Wilson interval (95 %)", required=True),
        column("high", DOUBLE, "upper end", required=True),
    ),
    keys=(*SCOPE, "bin_low"),
    partitions=("month",),
)


def build_rule_calibration(judged: DataFrame, edges: Sequence[float]) -> DataFrame:
    """One row per bin of confidence that holds a judged verdict; those that say `unknown` state none.

    Args:
        judged: Result of `judged.judged`.
        edges: Edges of the bins, from 0 to 1, rising.
    """
    stated = judged.where((F.col("category") != UNKNOWN) & F.col("label").isNotNull()).select(
        *SCOPE, "confidence", (F.col("category") == F.col("label")).alias("_right"), _bin(edges).alias("_bin")
    )
    binned = stated.select("*", "_bin.*")
    counted = over_all(binned, "bin_low", "bin_high").agg(
        F.count("*").alias("n"),
        F.count_if("_right").alias("right"),
        F.round(F.avg("confidence"), 6).alias("mean_confidence"),
    )
    low, high = wilson(F.col("right"), F.col("n"))
    figures = {"share_right": share(F.col("right"), F.col("n")), "low": low, "high": high}
    return RULE_CALIBRATION.conform(counted.withColumns(figures))


def _bin(edges: Sequence[float]) -> Column:
    bins = F.array(*(F.struct(F.lit(a).alias("bin_low"), F.lit(b).alias("bin_high")) for a, b in pairwise(edges)))
    return F.try_element_at(F.filter(bins, lambda b: b["bin_low"] <= F.col("confidence")), F.lit(-1))
