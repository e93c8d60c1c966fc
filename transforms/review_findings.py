"""review_findings: what a month's figures say that somebody should decide upon.

The table is filled by `review_drift` (figures that fell, or lie below their bar) and `review_fired` (rules that stand
for nothing, stand together, or stand in the way).
"""

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from firstfault.transforms.contract import Table, column
from firstfault.transforms.types import DOUBLE, LONG, TEXT

PRECISION_FELL, RECALL_FELL = "precision_fell", "recall_fell"
PRECISION_LOW, RECALL_LOW = "precision_low", "recall_low"
NEVER_FIRED, OVERLAP, NOISY = "never_fired", "overlap", "noisy"
KINDS = (PRECISION_FELL, RECALL_FELL, PRECISION_LOW, RECALL_LOW, NOISY, OVERLAP, NEVER_FIRED)
"""What calls for a decision first stands first."""

REVIEW_FINDINGS = Table(
    name="review_findings",
    row="something about a rule or category that a month's figures call to be decided",
    fields=(
        column("month", TEXT, "month, yyyy-MM", required=True),
        column("cluster", TEXT, "cluster; * for all together", required=True),
        column("ruleset_version", TEXT, "rule set that gave the verdicts; * for all together", required=True),
        column("track", TEXT, "live or shadow", required=True),
        column("level", TEXT, "rule or category", required=True),
        column("name", TEXT, "id of the rule, or category", required=True),
        column("other", TEXT, "the other rule of an overlap"),
        column("kind", TEXT, "precision_fell, recall_fell, precision_low, recall_low, noisy, overlap, never_fired",
               required=True),
        column("figure", DOUBLE, "the share that calls for it"),
        column("reference", DOUBLE, "what it is held against: the months before, or a bar"),
        column("low", DOUBLE, "lower end of the figure's Wilson interval (95 %)"),
        column("high", DOUBLE, "upper end"),
        column("n", LONG, "attempts that the figure is a share of", required=True),
        column("reference_n", LONG, "attempts that the reference is a share of"),
        column("discovery_rate", DOUBLE, "of a fall: share of false alarms among all that are as sure"),
        column("note", TEXT, "the same in words", required=True),
    ),
    keys=("month", "cluster", "ruleset_version", "track", "level", "name", "other", "kind"),
    partitions=("month",),
)  # fmt: skip


@dataclass(frozen=True)
class Drift:
    """When a figure is said to have fallen; see rules/review.yaml."""

    months: int
    min_n: int
    min_before: int
    false_discovery_rate: float
    least_fall: float


@dataclass(frozen=True)
class Bars:
    """What figures are held to.

    Attributes:
        months: Months that are counted together, this one included.
        min_n: Fewer attempts are held to nothing.
        rule_precision: Bar by status of the rule.
        category_precision: Bar of every category.
        category_recall: Bar of every category.
    """

    months: int
    min_n: int
    rule_precision: Mapping[str, float]
    category_precision: float
    category_recall: float


@dataclass(frozen=True)
class Firing:
    """When rules stand for nothing, together, or in the way.

    Attributes:
        months: Months that are counted together, this one included.
        min_attempts: Rules that never stood are told once so many attempts were seen.
        overlap_min: Fewer attempts with either rule tell no overlap.
        overlap_share: Share of them with both.
        noisy_min: A rule that stood less often is not called noisy.
        noisy_won: A noisy rule won at most this share.
        excused: Reasons of a loss that is no noise.
    """

    months: int
    min_attempts: int
    overlap_min: int
    overlap_share: float
    noisy_min: int
    noisy_won: float
    excused: tuple[str, ...]


def findings(rows: DataFrame, month: str, kind: Column | str, note: Column) -> DataFrame:
    """The rows as findings; columns of the contract that they lack are null.

    Args:
        rows: With cluster, ruleset_version, track, level, name, figure and n.
        month: The month.
        kind: What was found.
        note: The same in words.
    """
    named = rows.withColumns({"month": F.lit(month), "kind": F.lit(kind), "note": note})
    lacking = [f for f in REVIEW_FINDINGS.fields if f.name not in named.columns]
    full = named.withColumns({f.name: F.lit(None).cast(f.dataType) for f in lacking})
    return REVIEW_FINDINGS.conform(full.select(*REVIEW_FINDINGS.columns))


def percent(value: Column) -> Column:
    """A share as text."""
    return F.format_string("%.0f %%", value * 100)
