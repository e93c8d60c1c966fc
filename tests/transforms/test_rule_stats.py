"""Figures of rules and categories, recomputed by hand on a tiny fleet."""

import pytest

from firstfault.transforms.diagnoses import DIAGNOSES
from firstfault.transforms.judged import judged
from firstfault.transforms.rule_calibration import build_rule_calibration
from firstfault.transforms.rule_confusion import build_rule_confusion
from firstfault.transforms.rule_stats import build_rule_stats
from tests.frames import collected, frame, pick
from tests.transforms.fleet_of_eleven import DIAGNOSED, GPU, LABEL_VERDICTS, LABELLED, STORAGE, WAITED, WAITS, verdict

OURS = {"month": "2026-11", "cluster": "*", "ruleset_version": "*", "track": "live", "label_kind": "operator"}
COUNTS = ("name", "verdicts", "tp", "fp", "fn", "abstained", "support")
OLD = verdict("1", "gpu_a", STORAGE, 0.9, day="2026-10-31")
SHADOW = verdict("1", "gpu_a", STORAGE, 0.9, track="shadow", ruleset_version="v2")


@pytest.fixture(scope="module")
def known(spark):
    said = frame(spark, DIAGNOSES, [*DIAGNOSED, OLD, SHADOW])
    return judged(said, frame(spark, LABEL_VERDICTS, LABELLED), frame(spark, WAITS, WAITED)).persist()


@pytest.fixture(scope="module")
def stats(known):
    return collected(build_rule_stats(known))


def one(stats, **equal) -> dict:
    (found,) = [r for r in stats if all(r[k] == v for k, v in (OURS | equal).items())]
    return found


def test_counts_of_categories(stats):
    assert pick(stats, *COUNTS, **OURS, level="category") == [
        (GPU, 5, 3, 1, 1, 1, 4),
        (STORAGE, 4, 1, 0, 2, 1, 3),
        ("unknown", 2, 0, 0, 0, 0, 0),
    ]


def test_counts_of_rules(stats):
    assert pick(stats, *COUNTS, **OURS, level="rule") == [
        ("gpu_a", 4, 2, 1, 1, 1, 3),
        ("gpu_c", 1, 1, 0, 1, 0, 2),
        ("sto_b", 4, 1, 0, 1, 0, 2),
    ]


def test_counts_of_all(stats):
    assert pick(stats, *COUNTS, **OURS, level="all") == [("all", 11, 4, 1, 3, 2, 7)]
    assert one(stats, level="all")["conflicts"] == 1


def test_ratios_and_their_intervals(stats):
    gpu = one(stats, level="category", name=GPU)
    assert (gpu["precision"], gpu["recall"], gpu["f1"]) == (0.75, 0.75, 0.75)
    # Wilson of 3 of 4, by hand: (0.75 + z²/8 -+ z √(0.1875/4 + z²/64)) / (1 + z²/4) with z² = 3.8415
    assert (gpu["precision_low"], gpu["precision_high"]) == (
        pytest.approx(0.3006, abs=1e-4),
        pytest.approx(0.9544, abs=1e-4),
    )
    storage = one(stats, level="category", name=STORAGE)
    assert (storage["precision"], storage["recall"], storage["f1"]) == (1.0, pytest.approx(1 / 3, abs=1e-6), 0.5)


def test_nothing_is_divided_by_nothing(stats):
    nothing = one(stats, level="category", name="unknown")
    assert [nothing[c] for c in ("precision", "recall", "f1", "brier", "origin_recall", "recall_low")] == [None] * 6


def test_means_are_over_categories_with_support(stats):
    mean = one(stats, level="mean")
    assert (mean["support"], mean["precision"], mean["recall"], mean["f1"]) == (
        7,
        0.875,
        pytest.approx(13 / 24, abs=1e-5),
        0.625,
    )


def test_origins(stats):
    columns = ("origin_support", "origin_named", "origin_right", "origin_precision", "origin_recall")
    # 1 is right, 2 names another GPU, 3 has no located label; 4 names nothing where the label does.
    assert tuple(one(stats, level="category", name=GPU)[c] for c in columns) == (2, 2, 1, 0.5, 0.5)
    assert tuple(one(stats, level="category", name=STORAGE)[c] for c in columns) == (1, 0, 0, None, 0.0)
    assert tuple(one(stats, level="all")[c] for c in columns) == (3, 2, 1, 0.5, pytest.approx(1 / 3, abs=1e-6))


def test_calibration_of_a_rule(stats):
    rule = one(stats, level="rule", name="gpu_a")
    assert rule["mean_confidence"] == pytest.approx(0.8)
    assert rule["brier"] == pytest.approx((0.1**2 + 0.1**2 + 0.6**2) / 3, abs=1e-6)


def test_time_and_hours_count_every_verdict(stats):
    gpu, every = one(stats, level="category", name=GPU), one(stats, level="all")
    assert (gpu["median_hours_to_diagnosis"], gpu["gpu_hours_lost"]) == (2.0, 50.0)
    assert every["gpu_hours_lost"] == 100.0


def test_weak_labels_stand_apart(stats):
    weak = one(stats, level="all", label_kind="weak")
    assert (weak["verdicts"], weak["tp"], weak["fp"], weak["support"], weak["conflicts"]) == (11, 1, 0, 1, 0)


def test_clusters_months_and_rule_sets_stand_apart(stats):
    assert one(stats, level="all", cluster="beta")["tp"] == 1
    assert one(stats, level="all", cluster="alpha")["tp"] == 3
    assert one(stats, level="all", month="2026-10")["fp"] == 1
    shadow = [r for r in stats if r["track"] == "shadow" and r["level"] == "all" and r["label_kind"] == "operator"]
    assert {(r["cluster"], r["ruleset_version"], r["fp"]) for r in shadow} == {
        (c, v, 1) for c in ("alpha", "*") for v in ("v2", "*")
    }


def test_confusion(known):
    found = collected(build_rule_confusion(known))
    assert pick(found, "label_category", "said_category", "n", **OURS) == [
        (GPU, GPU, 3), (GPU, "unknown", 1), (STORAGE, GPU, 1), (STORAGE, STORAGE, 1), (STORAGE, "unknown", 1),
    ]  # fmt: skip


def test_calibration_bins(known):
    found = collected(build_rule_calibration(known, (0.0, 0.5, 0.8, 0.9, 1.0)))
    # 0.6 wrong, 0.7 right | 0.8 right | 0.9 right twice
    assert pick(found, "bin_low", "bin_high", "n", "right", "mean_confidence", "share_right", **OURS) == [
        (0.5, 0.8, 2, 1, 0.65, 0.5), (0.8, 0.9, 1, 1, 0.8, 1.0), (0.9, 1.0, 2, 2, 0.9, 1.0),
    ]  # fmt: skip
