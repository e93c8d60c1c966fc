"""A month's figures as a review left them in the lake, read without Spark."""

from typing import Any

import pyarrow.compute as pc

from firstfault.jobs.light import in_lake
from firstfault.jobs.review.month import Figures, Rows
from firstfault.jobs.review.months import back, checked
from firstfault.transforms.contract import Table
from firstfault.transforms.review_findings import REVIEW_FINDINGS
from firstfault.transforms.rule_calibration import RULE_CALIBRATION
from firstfault.transforms.rule_confusion import RULE_CONFUSION
from firstfault.transforms.rule_stats import RULE_STATS


def reviewed_months(lake: str) -> list[str]:
    """The months that were reviewed, the oldest first."""
    dataset = in_lake(lake, RULE_STATS).dataset()
    months = [] if dataset is None else pc.unique(dataset.to_table(columns=["month"])["month"]).to_pylist()
    return sorted(months)


def held_figures(lake: str, month: str, months: int = 12) -> Figures:
    """The figures of a month, and `rule_stats` of those before it.

    Args:
        lake: Root of the lake.
        month: The month, as 2026-11.
        months: Months of `rule_stats` to read, this one included.

    Raises:
        UsageError: `month` is no month.
        LookupError: It was not reviewed; the message says what to run.
    """
    since = back(checked(month), months - 1)
    stats = _rows(lake, RULE_STATS, (pc.field("month") >= since) & (pc.field("month") <= month))
    if month not in {row["month"] for row in stats}:
        known = ", ".join(reviewed_months(lake)) or "none"
        raise LookupError(
            f"{lake} has no review of {month} (reviewed: {known}); run firstfault review --month {month}."
        )
    of_month = pc.field("month") == month
    confusion, calibration, findings = (
        _rows(lake, table, of_month) for table in (RULE_CONFUSION, RULE_CALIBRATION, REVIEW_FINDINGS)
    )
    sets = sorted({row["ruleset_version"] for row in stats if row["month"] == month} - {"*"})
    return Figures(
        month, ", ".join(sets), None, {}, stats=stats, confusion=confusion, calibration=calibration, findings=findings
    )


def _rows(lake: str, table: Table, where: Any) -> Rows:  # noqa: ANN401
    dataset = in_lake(lake, table).dataset()
    return [] if dataset is None else list(dataset.to_table(filter=where).to_pylist())
