"""Figures that fell against the months before, or that lie below what they are held to."""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from firstfault.transforms.judged import EVERY
from firstfault.transforms.labels import OPERATOR
from firstfault.transforms.proportions import fisher_less, share, wilson, with_discovery_rate
from firstfault.transforms.review_findings import (
    PRECISION_FELL,
    PRECISION_LOW,
    RECALL_FELL,
    RECALL_LOW,
    Bars,
    Drift,
    findings,
    percent,
)
from firstfault.transforms.rule_stats import CATEGORY, RULE

PRECISION, RECALL = "precision", "recall"
_OF = ("cluster", "ruleset_version", "track", "level", "name", "measure")


def fallen(stats: DataFrame, month: str, before: Sequence[str], drift: Drift) -> DataFrame:
    """One finding per figure that fell by more than chance explains.

    A figure needs support on both sides; all figures of a cluster are tested together, so that one in ten alarms is
    false (`false_discovery_rate`), however many rules there are.

    Args:
        stats: Rows of rule_stats of these months.
        month: The month.
        before: The months it is held against.
        drift: When it counts.
    """
    counts = _counts(stats)
    then = _summed(counts.where(F.col("month").isin(list(before)))).selectExpr(*_OF, "k as k0", "n as n0")
    both = _summed(counts.where(F.col("month") == month)).join(then, list(_OF))
    enough = both.where((F.col("n") >= drift.min_n) & (F.col("n0") >= drift.min_before))
    tested = enough.withColumn("_chance", fisher_less(*(F.col(c) for c in ("k", "n", "k0", "n0"))))
    judged = _with_figure(with_discovery_rate(tested, "_chance", "cluster", "ruleset_version", "track"))
    fell = judged.withColumns({"reference": share(F.col("k0"), F.col("n0")), "reference_n": F.col("n0")}).where(
        (F.col("discovery_rate") <= drift.false_discovery_rate)
        & (F.col("reference") - F.col("figure") >= drift.least_fall)
    )
    note = F.concat(
        "measure",
        F.format_string(" %d of %d, in the months before %d of %d (", "k", "n", "k0", "n0"),
        percent(F.col("figure")),
        F.lit(" after "),
        percent(F.col("reference")),
        F.lit(")"),
    )
    return findings(fell, month, _kind(PRECISION_FELL, RECALL_FELL), note)


def below_bar(stats: DataFrame, rules: DataFrame, month: str, months: Sequence[str], bars: Bars) -> DataFrame:
    """One finding per figure whose whole 95 % interval lies below its bar.

    Args:
        stats: Rows of rule_stats of these months.
        rules: Rows of the rules table, of one rule set.
        month: The month.
        months: Months counted together, the month among them.
        bars: What figures are held to.
    """
    status = rules.select(F.lit(RULE).alias("level"), F.col("rule_id").alias("name"), "status")
    summed = _with_figure(_summed(_counts(stats).where(F.col("month").isin(list(months)))))
    held = summed.join(F.broadcast(status), ["level", "name"], "left").withColumn("reference", _bar(bars))
    low = held.where((F.col("n") >= bars.min_n) & (F.col("high") < F.col("reference")))
    who = F.when(F.col("level") == RULE, F.concat(F.lit(" for status "), F.col("status"))).otherwise("")
    note = F.concat(
        "measure", F.format_string(" %d of %d in %d months, bar ", "k", "n", F.lit(len(months))),
        percent(F.col("reference")), who,
    )  # fmt: skip
    return findings(low, month, _kind(PRECISION_LOW, RECALL_LOW), note)


def _counts(stats: DataFrame) -> DataFrame:
    """One row per figure of the live rules and categories, all rule sets together, with its two counts."""
    of_all = stats.where(
        (F.col("ruleset_version") == EVERY) & (F.col("label_kind") == OPERATOR) & F.col("level").isin(RULE, CATEGORY)
    )
    measures = F.array(
        F.struct(F.lit(PRECISION).alias("measure"), F.col("tp").alias("k"), (F.col("tp") + F.col("fp")).alias("n")),
        F.struct(F.lit(RECALL).alias("measure"), F.col("tp").alias("k"), F.col("support").alias("n")),
    )
    return of_all.withColumn("_m", F.explode(measures)).select(*_OF[:-1], "month", "_m.*")


def _summed(counts: DataFrame) -> DataFrame:
    return counts.groupBy(*_OF).agg(F.sum("k").alias("k"), F.sum("n").alias("n"))


def _with_figure(summed: DataFrame) -> DataFrame:
    low, high = wilson(F.col("k"), F.col("n"))
    return summed.withColumns({"figure": share(F.col("k"), F.col("n")), "low": low, "high": high})


def _kind(precision: str, recall: str) -> Column:
    return F.when(F.col("measure") == PRECISION, precision).otherwise(recall)


def _bar(bars: Bars) -> Column:
    """The bar of a figure; null where there is none, such as for the recall of a rule."""
    by_status = F.create_map(*(F.lit(x) for pair in sorted(bars.rule_precision.items()) for x in pair))
    of_category = F.when(F.col("measure") == PRECISION, bars.category_precision).otherwise(bars.category_recall)
    of_rule = F.when(F.col("measure") == PRECISION, F.try_element_at(by_status, F.col("status")))
    return F.when(F.col("level") == RULE, of_rule).otherwise(of_category)
