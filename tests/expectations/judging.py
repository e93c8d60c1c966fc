"""Cases of the tables that a review writes."""

from tests.expectations.cases import Case
from tests.frames import DAY

_SCOPE = {"month": "2026-11", "cluster": "*", "ruleset_version": "*", "track": "live", "label_kind": "operator"}
_SCOPE_BAD = {
    "month_has_form": {"month": "2026-13"},
    "track_in_set": {"track": "side"},
    "label_kind_in_set": {"label_kind": "rumour"},
}
_FIGURES = _SCOPE | {
    "level": "rule", "name": "gpu_a", "verdicts": 9, "conflicts": 1, "tp": 3, "fp": 1, "fn": 1, "abstained": 1,
    "support": 4, "precision": 0.75, "recall": 0.75, "f1": 0.75, "precision_low": 0.3, "precision_high": 0.95,
    "recall_low": 0.3, "recall_high": 0.95, "origin_support": 2, "origin_named": 2, "origin_right": 1,
    "origin_precision": 0.5, "origin_recall": 0.5, "brier": 0.1, "mean_confidence": 0.8, "gpu_hours_lost": 5.0,
}  # fmt: skip
_NONE = dict.fromkeys(
    ("precision", "recall", "f1", "precision_low", "precision_high", "recall_low", "recall_high", "brier")
) | dict.fromkeys(("tp", "fp", "fn", "abstained", "support"), 0)
RULE_STATS = Case(
    table="rule_stats",
    mark="name",
    good=[_FIGURES, _FIGURES | _NONE | {"name": "silent"}],
    bad=_SCOPE_BAD
    | {"level_in_set": {"level": "mood"}}
    | {f"{c}_in_range": {c: 1.5} for c in ("f1", "origin_precision", "origin_recall", "brier", "mean_confidence")}
    | {
        "precision_in_range": {"precision": 1.5, "precision_high": 2.0},
        "recall_in_range": {"recall": 1.5, "recall_high": 2.0},
        "gpu_hours_lost_in_range": {"gpu_hours_lost": -1.0},
        "counts_not_negative": {"conflicts": -1},
        "support_adds_up": {"support": 5},
        "abstained_is_missed": {"abstained": 2},
        "precision_has_verdicts": {"precision": None},
        "recall_has_support": {"recall": None},
        "ratio_in_its_interval": {"precision_low": 0.8},
        "right_origins_are_named": {"origin_right": 3},
    },
)
_PAIR = _SCOPE | {"label_category": "gpu_hardware", "said_category": "unknown", "n": 3}
RULE_CONFUSION = Case(
    table="rule_confusion",
    mark="cluster",
    good=[_PAIR, _PAIR | {"cluster": "alpha"}],
    bad=_SCOPE_BAD
    | {
        "label_category_in_vocabulary": {"label_category": "gremlins"},
        "said_category_in_vocabulary": {"said_category": "gremlins"},
        "n_in_range": {"n": 0},
    },
)
_BIN = _SCOPE | {
    "bin_low": 0.8, "bin_high": 0.9, "n": 4, "right": 3, "mean_confidence": 0.85, "share_right": 0.75, "low": 0.3,
    "high": 0.95,
}  # fmt: skip
RULE_CALIBRATION = Case(
    table="rule_calibration",
    mark="cluster",
    good=[_BIN, _BIN | {"cluster": "alpha"}],
    bad=_SCOPE_BAD
    | {
        "n_in_range": {"n": 0},
        "right_is_a_part": {"right": 5},
        "bin_has_width": {"bin_low": 0.9, "mean_confidence": 0.9},
        "confidence_in_bin": {"mean_confidence": 0.95},
        "share_in_interval": {"share_right": 0.2},
    },
)
_FINDING = {c: v for c, v in _SCOPE.items() if c != "label_kind"} | {
    "level": "rule", "name": "gpu_a", "kind": "precision_fell", "figure": 0.2, "reference": 0.9, "low": 0.1,
    "high": 0.4,
    "n": 10, "reference_n": 30, "discovery_rate": 0.01, "note": "precision 2 of 10",
}  # fmt: skip
REVIEW_FINDINGS = Case(
    table="review_findings",
    mark="name",
    good=[_FINDING, _FINDING | {"name": "b", "other": "c", "kind": "overlap"}],
    bad={
        "month_has_form": {"month": "November"},
        "track_in_set": {"track": "side"},
        "level_in_set": {"level": "mood"},
        "kind_in_set": {"kind": "sad"},
        "figure_in_range": {"figure": -0.1},
        "reference_in_range": {"reference": 1.1},
        "discovery_rate_in_range": {"discovery_rate": 1.1},
        "n_in_range": {"n": 0},
        "pair_is_an_overlap": {"other": "c"},
        "fall_is_a_fall": {"figure": 0.95},
    },
)
_CHANGE = {
    "cluster": "c", "job_id": "1", "attempt": 0, "day": DAY, "live_version": "aaa", "candidate_version": "bbb",
    "live_category": "unknown", "live_origin": [], "live_confidence": 0.4,
    "candidate_category": "gpu_hardware", "candidate_origin": ["n1"], "candidate_confidence": 0.9,
    "label_category": "gpu_hardware", "label_origin": ["n1"], "effect": "gain", "surely_wrong_now": False,
}  # fmt: skip
VERDICT_CHANGES = Case(
    table="verdict_changes",
    mark="job_id",
    good=[
        _CHANGE,
        _CHANGE | {"job_id": "2", "candidate_category": "unknown"},
        _CHANGE | {"job_id": "3", "live_category": None, "live_origin": None, "live_confidence": None},
        _CHANGE | {"job_id": "4", "label_category": None, "label_origin": None, "effect": "no label"},
    ],
    bad={
        "effect_in_set": {"effect": "joy"},
        "live_confidence_in_range": {"live_confidence": 1.1},
        "candidate_confidence_in_range": {"candidate_confidence": -0.1},
        "rule_sets_differ": {"candidate_version": "aaa"},
        "verdicts_differ": {"candidate_category": "unknown", "candidate_origin": []},
        "effect_has_a_label": {"label_category": None},
    },
)
