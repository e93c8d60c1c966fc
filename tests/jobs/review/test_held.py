"""Figures of a review read back from the lake, and their course over months."""

import pytest

from firstfault.jobs.clock_plot import figure_svg
from firstfault.jobs.review.held import held_figures, reviewed_months
from firstfault.jobs.review.month import Figures
from firstfault.jobs.review.months import UsageError
from firstfault.jobs.review.trends import gpu_hours_by_month, months_of, recall_by_month
from firstfault.transforms.review_findings import REVIEW_FINDINGS
from firstfault.transforms.rule_stats import RULE_STATS
from tests.jobs.test_clock_plot import texts
from tests.jobs.test_report import put


def stat(month, name="storage", level="category", support=10, recall=0.9, hours=5.0, **given) -> dict:
    return dict.fromkeys(RULE_STATS.columns) | {
        "level": level, "name": name, "month": month, "cluster": "*", "ruleset_version": "*", "track": "live",
        "label_kind": "operator", "verdicts": 12, "support": support, "recall": recall, "recall_low": recall - 0.2,
        "recall_high": min(recall + 0.1, 1.0), "gpu_hours_lost": hours,
    } | given  # fmt: skip


STATS = [
    stat("2026-08"), stat("2026-08", "all", "all"), stat("2026-10", recall=0.5), stat("2026-10", "all", "all"),
    stat("2026-10", "walltime", support=0, recall=0.0, hours=1.5), stat("2026-10", ruleset_version="0123456789ab"),
    *(stat("2026-10", f"c{n}", hours=2.0, support=1) for n in range(8)),
]  # fmt: skip


@pytest.fixture
def held(lake) -> Figures:
    fell = {"month": "2026-10", "level": "category", "name": "storage", "kind": "recall_fell", "figure": 0.5}
    put(lake, RULE_STATS, *STATS)
    put(
        lake,
        REVIEW_FINDINGS,
        dict.fromkeys(REVIEW_FINDINGS.columns) | fell,
        dict.fromkeys(REVIEW_FINDINGS.columns) | fell | {"month": "2026-08"},
    )
    return held_figures(str(lake), "2026-10")


def test_a_month_is_read_with_those_before_it(lake, held):
    assert reviewed_months(str(lake)) == ["2026-08", "2026-10"]
    assert (held.ruleset_version, len(held.stats), len(held.findings)) == ("0123456789ab", len(STATS), 1)
    assert held.confusion == held.calibration == []  # never written
    assert {r["month"] for r in held_figures(str(lake), "2026-10", months=2).stats} == {"2026-10"}


def test_a_month_without_a_review_is_refused(lake, held):
    with pytest.raises(
        LookupError, match=r"no review of 2026-09 \(reviewed: 2026-08, 2026-10\); run firstfault review"
    ):
        held_figures(str(lake), "2026-09")
    with pytest.raises(UsageError, match="is no month"):
        held_figures(str(lake), "October")
    assert reviewed_months(str(lake / "nowhere")) == []


def test_recall_has_a_panel_per_category_with_labels(held):
    figure = recall_by_month(held)
    assert figure is not None
    shown = texts(figure_svg(figure))
    assert {"storage  (n = 20)", "c0  (n = 1)", "2026-09"} <= {text.replace("\xa0", " ") for text in shown}
    assert not any(text.startswith("walltime") for text in shown)
    assert sum(axes.get_visible() for axes in figure.axes) == 9
    assert figure.axes[0].lines[0].get_color() == "#d95f02"  # the findings tell of it


def test_gpu_hours_are_stacked_and_a_month_without_review_says_so(held):
    assert months_of(held) == ["2026-08", "2026-09", "2026-10"]
    figure = gpu_hours_by_month(held)
    assert figure is not None
    shown = texts(figure_svg(figure))
    assert {"5 h in 12 attempts", "not reviewed", "22 h in 12 attempts", "2 others", "storage"} <= set(shown)


def test_without_figures_there_is_no_plot():
    nothing = Figures("2026-10", "", None, {})
    assert recall_by_month(nothing) is gpu_hours_by_month(nothing) is None
