"""What a month's figures call to be decided: falls, bars, rules that stand for nothing, together, or in the way."""

import pytest
from pyspark.sql import functions as F

from firstfault.transforms.diagnoses import DIAGNOSES
from firstfault.transforms.review_drift import below_bar, fallen
from firstfault.transforms.review_findings import Bars, Drift, Firing
from firstfault.transforms.review_fired import fired, never_fired, noisy, overlapping
from firstfault.transforms.rule_stats import RULE_STATS
from firstfault.transforms.rules import RULES
from tests.frames import collected, frame, pick, rows
from tests.transforms.fleet_of_eleven import GPU, STORAGE, stood, verdict

MONTH, BEFORE = "2026-11", ("2026-10", "2026-09")
DRIFT = Drift(months=2, min_n=5, min_before=10, false_discovery_rate=0.1, least_fall=0.1)
BARS = Bars(2, 4, {"stable": 0.9, "test": 0.8, "experimental": 0.6}, category_precision=0.8, category_recall=0.6)
FIRING = Firing(
    2, min_attempts=5, overlap_min=3, overlap_share=0.9, noisy_min=3, noisy_won=0.1, excused=("explained_by",)
)


def figures(name: str, tp: int, fp: int, fn: int = 0, month: str = MONTH, **given) -> dict:
    plain = {
        "level": "rule", "name": name, "month": month, "cluster": "*", "ruleset_version": "*", "track": "live",
        "label_kind": "operator", "tp": tp, "fp": fp, "fn": fn, "support": tp + fn,
    }  # fmt: skip
    return plain | given


STATS = [
    figures("broken", 2, 8), figures("broken", 10, 0, month="2026-10"), figures("broken", 9, 1, month="2026-09"),
    figures("steady", 9, 1), figures("steady", 18, 2, month="2026-10"),
    figures("rare", 0, 4), figures("rare", 20, 0, month="2026-10"),
    figures("young", 0, 8), figures("young", 9, 0, month="2026-10"),
    figures("missed", 5, 0, 15), figures("missed", 20, 0, 1, month="2026-10"),
    figures("of_old", 0, 9), figures("of_old", 30, 0, month="2026-07"),
    figures("weak", 0, 9, label_kind="weak"), figures("weak", 30, 0, month="2026-10", label_kind="weak"),
    figures("one_set", 0, 9, ruleset_version="v1"), figures("one_set", 30, 0, month="2026-10", ruleset_version="v1"),
]  # fmt: skip


def test_a_broken_rule_is_seen_to_fall_and_chance_is_not(spark):
    found = collected(fallen(frame(spark, RULE_STATS, STATS), MONTH, BEFORE, DRIFT))
    assert pick(found, "name", "kind", "figure", "reference", "n", "reference_n") == [
        ("broken", "precision_fell", 0.2, 0.95, 10, 20),
        ("missed", "recall_fell", 0.25, pytest.approx(20 / 21, abs=1e-6), 20, 21),
    ]
    (broken,) = [r for r in found if r["name"] == "broken"]
    assert broken["note"] == "precision 2 of 10, in the months before 19 of 20 (20 % after 95 %)"
    assert broken["discovery_rate"] < 0.01


def test_a_fall_that_changes_nothing_is_not_told(spark):
    stats = [figures("big", 900, 100), figures("big", 19_200, 800, month="2026-10")]
    assert rows(fallen(frame(spark, RULE_STATS, stats), MONTH, BEFORE, DRIFT)) == []


def test_many_rules_at_the_edge_of_chance_raise_no_alarm(spark):
    # Each alone has p = 0.05 or so; of twenty such, one is expected.
    edge = [figures(f"r{n}", 7, 3, month=MONTH) for n in range(2)] + [
        figures(f"r{n}", 19, 1, month="2026-10") for n in range(2)
    ]
    fine = [figures(f"s{n}", 9, 1, month=m) for n in range(18) for m in (MONTH, "2026-10", "2026-09")]
    assert rows(fallen(frame(spark, RULE_STATS, edge + fine), MONTH, BEFORE, DRIFT)) == []


def test_bars_by_status(spark):
    stats = [
        figures("bad", 3, 7), figures("bad", 0, 2, month="2026-10"), figures("unlucky", 2, 1), figures("few", 0, 3),
        figures("young", 6, 4), figures(GPU, 9, 1, 30, level="category"), figures("bad", 90, 0, month="2026-01"),
    ]  # fmt: skip
    status = {"bad": "stable", "unlucky": "stable", "few": "stable", "young": "experimental"}
    rules = frame(spark, RULES, [{"rule_id": r, "status": s} for r, s in status.items()])
    found = collected(below_bar(frame(spark, RULE_STATS, stats), rules, MONTH, (MONTH, "2026-10"), BARS))
    assert pick(found, "level", "name", "kind", "figure", "reference", "n") == [
        ("category", GPU, "recall_low", pytest.approx(9 / 39, abs=1e-6), 0.6, 39),
        ("rule", "bad", "precision_low", 0.25, 0.9, 12),
    ]
    assert [r["note"] for r in found if r["name"] == "bad"] == [
        "precision 3 of 12 in 2 months, bar 90 % for status stable"
    ]


@pytest.fixture(scope="module")
def standing(spark):
    loses = [stood("loud", GPU)]
    said = [
        verdict("1", "a", GPU, 0.9, alternatives=[stood("b", GPU), *loses]),
        verdict("2", "a", GPU, 0.9, alternatives=[stood("b", GPU), stood("b", GPU), *loses]),
        verdict(
            "3",
            "unsure",
            "unknown",
            0.4,
            alternatives=[stood("unsure", STORAGE), stood("a", GPU), stood("b", GPU), *loses],
        ),
        verdict("4", "c", GPU, 0.9, alternatives=[stood("cascade", GPU, "explained_by")]),
        verdict("5", "c", GPU, 0.9, alternatives=[stood("cascade", GPU, "explained_by")]),
        verdict("6", "c", GPU, 0.9, alternatives=[stood("cascade", GPU, "explained_by")]),
    ]
    return fired(frame(spark, DIAGNOSES, said)).persist()


def test_where_rules_stood(standing):
    counts = standing.groupBy("rule_id").agg(F.count("*").alias("n"), F.count_if("won").alias("won"))
    assert rows(counts, "rule_id", "n", "won") == [
        ("a", 3, 2), ("b", 3, 0), ("c", 3, 3), ("cascade", 3, 0), ("loud", 3, 0), ("unsure", 1, 0),
    ]  # fmt: skip


def test_rules_that_never_fired(spark, standing):
    status = {"a": "stable", "silent": "test", "gone": "deprecated"}
    rules = frame(spark, RULES, [{"rule_id": r, "status": s} for r, s in status.items()])
    assert rows(never_fired(standing, rules, MONTH, 6, FIRING), "name", "kind", "n", "note") == [
        ("silent", "never_fired", 6, "stood in none of 6 attempts in 2 months; status test")
    ]
    assert rows(never_fired(standing, rules, MONTH, 4, FIRING)) == []


def test_rules_that_stand_together(standing):
    assert rows(overlapping(standing, MONTH, FIRING), "name", "other", "figure", "n") == [
        ("a", "b", 1.0, 3), ("a", "loud", 1.0, 3), ("b", "loud", 1.0, 3),
    ]  # fmt: skip


def test_noise_is_not_what_is_explained(standing):
    assert rows(noisy(standing, MONTH, FIRING), "name", "figure", "n") == [("b", 0.0, 3), ("loud", 0.0, 3)]
