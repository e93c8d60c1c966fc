"""Cases of the tables that carry verdicts, and of the runs that made them."""

from firstfault.expectations.rules import SUITE as RULES_SUITE
from tests.expectations.cases import Case, Group, Reference

_KEY = {"cluster": "c", "job_id": "7", "attempt": 0, "day": "2026-11-20"}
_KEY_SCHEMA = "cluster string, job_id string, attempt int"
_KNOWN = {"cluster": "c", "attempt": 0}
_ATTEMPTS = {"attempts": Reference(_KEY_SCHEMA, _KNOWN, "job_id")}

_CANDIDATE = _KEY | {
    "ruleset_version": "v1", "rule_id": "gpu_off_bus", "category": "gpu_hardware", "outcome": None,
    "origin_scope": "gpu", "origin": ["n1/0000:3b:00"], "t0": "03:00:00", "t0_low": "02:59:59", "t0_high": "03:00:01",
    "anchor_type": "gpu.xid", "anchor_role": "initiating", "event_ids": ["e1"], "cap": 1.0, "coverage": 0.5,
    "is_winner": True, "why_lost": None,
}  # fmt: skip
CANDIDATES = Case(
    table="candidates",
    mark="job_id",
    good=[_CANDIDATE, _CANDIDATE | {"rule_id": "other", "is_winner": False, "why_lost": "later", "origin": []}],
    bad={
        "category_in_vocabulary": {"category": "gremlins"},
        "outcome_in_vocabulary": {"outcome": "sad"},
        "origin_scope_in_vocabulary": {"origin_scope": "moon"},
        "anchor_type_in_vocabulary": {"anchor_type": "gpu.sad"},
        "anchor_role_in_vocabulary": {"anchor_role": "hero"},
        "why_lost_in_set": {"why_lost": "ugly"},
        "origin_has_no_null": {"origin": [None]},
        "origin_has_scope": {"origin_scope": None},
        "rests_on_events": {"event_ids": []},
        "t0_within_interval": {"t0": "04:00:00"},
        "winner_did_not_lose": {"why_lost": "later"},
        "coverage_in_range": {"coverage": 1.5},
        "cap_in_range": {"cap": -0.1},
        "attempt_exists": {},
    },
    groups={
        "one_winner": Group(
            [{"job_id": "two", "rule_id": r} for r in "ab"], None, "two", 2, "2 winners of two attempt 0"
        )
    },
    references=_ATTEMPTS,
)

_VERDICT = _KEY | {
    "outcome": "failed", "category": "gpu_hardware", "origin_scope": "gpu", "origin": ["n1/0000:3b:00"],
    "also": [{"category": "unknown"}], "alternatives": [{"category": "gpu_hardware"}], "t0": "03:00:00",
    "confidence": 0.9, "order_certain": True, "state": "final", "conclusion": "It fell off.", "rule_id": "gpu_off_bus",
    "gpu_hours_lost": 1.5, "ruleset_version": "v1",
}  # fmt: skip
_UNKNOWN = {
    "category": "unknown", "origin_scope": None, "origin": [], "also": None, "alternatives": None, "t0": None,
    "confidence": 0.0, "rule_id": None, "gpu_hours_lost": None,
}  # fmt: skip
_ANSWER_BAD = {
    "category_in_vocabulary": {"category": "gremlins"},
    "outcome_in_vocabulary": {"outcome": "sad"},
    "origin_scope_in_vocabulary": {"origin_scope": "moon"},
    "also_category_in_vocabulary": {"also": [{"category": "gremlins"}]},
    "alternatives_category_in_vocabulary": {"alternatives": [{"category": "gremlins"}]},
    "state_in_set": {"state": "drunk"},
    "origin_has_no_null": {"origin": ["n1", None]},
    "origin_has_scope": {"origin_scope": None},
    "confidence_in_range": {"confidence": 1.1},
    "unsure_is_unknown": {"confidence": 0.4},
    "undecided_is_unsure": {"order_certain": False},
    "known_says_why": {"rule_id": None},
    "gpu_hours_lost_in_range": {"gpu_hours_lost": -1.0},
    "attempt_exists": {},
}
DIAGNOSES = Case(
    table="diagnoses",
    mark="job_id",
    good=[_VERDICT | {"track": "live"}, _VERDICT | _UNKNOWN | {"job_id": "8", "track": "live"}],
    bad=_ANSWER_BAD | {"track_in_set": {"track": "side"}},
    references=_ATTEMPTS,
)
RESULTS = Case(
    table="results",
    mark="job_id",
    good=[
        _VERDICT | {"label_category": "gpu_hardware", "label_agrees": True, "label_conflict": False},
        _VERDICT | {"job_id": "8"},
        _VERDICT | {"job_id": "9", "label_conflict": True},
    ],
    bad=_ANSWER_BAD
    | {
        "label_category_in_vocabulary": {
            "label_category": "gremlins", "label_agrees": False, "label_conflict": False,
        },
        "label_is_compared": {"label_agrees": False},
        "label_conflict_is_told": {"label_conflict": None},
        "diagnosis_exists": {},
    },
    references=_ATTEMPTS
    | {
        "diagnoses": Reference(
            f"{_KEY_SCHEMA}, category string", _KNOWN | {"category": "gpu_hardware"}, "job_id"
        )
    },
)  # fmt: skip

_STEP = _KEY | {
    "ruleset_version": "v1", "finding": "gpu_off_bus", "position": 0, "t": "03:00:00", "t_low": "02:59:59",
    "t_high": "03:00:01", "part": "origin", "role": "initiating", "event_type": "gpu.xid", "count": 1, "event_id": "e1",
    "stream_id": "s1", "byte_offset": 0,
}  # fmt: skip
EVIDENCE = Case(
    table="evidence",
    mark="job_id",
    good=[_STEP, _STEP | {"position": 1, "part": "cascade"}],
    bad={
        "part_in_set": {"part": "rumour"},
        "event_type_in_vocabulary": {"event_type": "gpu.sad"},
        "role_in_vocabulary": {"role": "hero"},
        "position_in_range": {"position": -1},
        "count_in_range": {"count": 0},
        "t_within_interval": {"t": "04:00:00"},
        "stream_id_not_null": {"stream_id": None},
        "byte_offset_not_null": {"byte_offset": None},
        "event_exists": {},
        "verdict_exists": {},
    },
    groups={
        "chain_is_complete": Group(
            [{"job_id": "hole", "position": p} for p in (0, 2)], None, "hole", 1,
            "chain of hole attempt 0 has 2 steps up to position 2",
        )
    },
    references={
        "scoped_events": Reference(f"{_KEY_SCHEMA}, event_id string", _KNOWN | {"event_id": "e1"}, "job_id"),
        "diagnoses": Reference(_KEY_SCHEMA, _KNOWN, "job_id"),
    },
)  # fmt: skip

_RUN = {
    "run_id": "r1", "job": "nightly", "status": "done", "started_at": "01:00:00", "ended_at": "02:00:00",
    "lines_read": 10, "lines_landed": 8, "lines_quarantined": 1, "lines_dropped": 1, "attempts": 3, "diagnosed": 2,
    "durations_s": {"land": 1.0},
}  # fmt: skip
RUNS = Case(
    table="runs",
    mark="run_id",
    good=[
        _RUN,
        _RUN | {"run_id": "r2", "status": "failed", "error": "no such file", "lines_read": None, "durations_s": None},
        _RUN | {"run_id": "r3", "status": "running", "ended_at": None},
    ],
    bad={
        "status_in_set": {"status": "asleep"},
        "ended_has_an_end": {"ended_at": None},
        "start_before_end": {"started_at": "03:00:00"},
        "failed_says_why": {"status": "failed"},
        "books_balance": {"lines_read": 11},
        "counts_not_negative": {"attempts": -1, "diagnosed": -2},
        "verdicts_have_attempts": {"diagnosed": 4},
        "durations_not_negative": {"durations_s": {"land": -1.0}},
    },
)

_RULE = {
    "rule_id": "gpu_off_bus", "ruleset_version": "0123456789ab", "version": 1, "status": "stable",
    "category": "gpu_hardware", "title": "A GPU fell off the bus", "sha256": "ab" * 32,
    "text": "\n".join(f"id: {name}" for name in ("gpu_off_bus", *(c.name for c in RULES_SUITE.checks))),
}  # fmt: skip
RULES = Case(
    table="rules",
    mark="rule_id",
    good=[
        _RULE,
        _RULE | {"ruleset_version": "ba9876543210", "version": 0, "catalogue_version": "abcdefabcdef"},
    ],
    bad={
        "ruleset_version_has_form": {"ruleset_version": "v1"},
        "catalogue_version_has_form": {"catalogue_version": "new"},
        "sha256_has_form": {"sha256": "abc"},
        "version_in_range": {"version": -1},
        "status_in_set": {"status": "removed"},
        "category_in_vocabulary": {"category": "gremlins"},
        "text_is_of_the_rule": {"text": "id: another"},
    },
)
