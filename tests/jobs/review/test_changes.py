"""What changed since last month: figures that moved, in words that claim no more than they know."""

import pytest

from firstfault.jobs.review.changes import changes, counted, edited_rules
from firstfault.jobs.review.month import Figures

PLAIN = {
    "level": "rule", "cluster": "*", "ruleset_version": "*", "track": "live", "label_kind": "operator", "fp": 0,
    "fn": 0, "gpu_hours_lost": None,
}  # fmt: skip


def row(name: str, month: str, tp: int, fp: int = 0, fn: int = 0, **given) -> dict:
    return PLAIN | {"name": name, "month": month, "tp": tp, "fp": fp, "fn": fn, "support": tp + fn} | given


def of(*stats: dict) -> list:
    return changes(Figures("2026-11", "v", None, {}, stats=list(stats)))


@pytest.mark.parametrize(
    ("part", "whole", "said"), [(3, 4, "3 of 4"), (9, 12, "9 of 12 (75 %)"), (0, 0, "-"), (0, 40, "0 of 40 (0 %)")]
)
def test_few_attempts_are_counted(part, whole, said):
    assert counted(part, whole) == said


def test_a_figure_that_moved_is_told_with_its_counts():
    [moved] = of(row("a", "2026-10", 20), row("a", "2026-11", 10, fp=10))
    assert (moved.figure, moved.before, moved.now, moved.change) == (
        "precision",
        "20 of 20 (100 %)",
        "10 of 20 (50 %)",
        -0.5,
    )
    assert not moved.is_small


def test_few_attempts_come_last_and_are_marked():
    told = of(
        row("few", "2026-10", 2), row("few", "2026-11", 0, fp=2),
        row("many", "2026-10", 20), row("many", "2026-11", 18, fp=2),
    )  # fmt: skip
    assert [(c.name, c.figure, c.is_small) for c in told] == [("many", "precision", False), ("few", "precision", True)]


def test_what_cannot_be_compared_is_left_out():
    assert (
        of(row("new", "2026-11", 5), row("old", "2026-09", 5), row("same", "2026-10", 5), row("same", "2026-11", 9))
        == []
    )


def test_hours_are_compared_by_category_only():
    given = {"level": "category", "gpu_hours_lost": 10.0}
    told = of(row("c", "2026-10", 1, **given), row("c", "2026-11", 1, **given | {"gpu_hours_lost": 30.0}))
    assert [(c.figure, c.before, c.now, c.change) for c in told] == [("GPU hours lost", "10", "30", 20.0)]


def test_edited_rules():
    def rule(name: str, sha: str = "x", status: str = "test", version: int = 1) -> dict:
        return {"rule_id": name, "sha256": sha, "status": status, "version": version}

    now = [rule("a", "y", version=2), rule("b", status="stable"), rule("new"), rule("same")]
    then = [rule("a"), rule("b"), rule("gone"), rule("same")]
    assert edited_rules((now, then)) == [
        ("a", "edited", "version 1 to 2"), ("gone", "gone", "test"), ("new", "new", "test"),
        ("b", "status", "test to stable"),
    ]  # fmt: skip
