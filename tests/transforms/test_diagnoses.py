"""The verdict in one row: what is said, how sure, and what is not said."""

import pytest
from pyspark.sql import functions as F

from firstfault.transforms.attempts import ATTEMPTS
from firstfault.transforms.coverage import COVERAGE
from firstfault.transforms.crosscheck import REASONS
from firstfault.transforms.diagnoses import EXPECTED_SOURCES, build_diagnoses
from firstfault.transforms.rule_tables import RULES
from tests.frames import collected, frame, moment
from tests.transforms.test_competition import SCORING

RANKED = (
    "uid string, rule_id string, category string, outcome string, origin_scope string, origin array<string>,"
    "origin_nodes array<string>, t0 timestamp, points double, coverage double, score double, margin double, cap double,"
    "origin_margin double, rival_origins array<string>,"
    "undecided boolean, missing array<string>, order_certain boolean, is_winner boolean, is_independent boolean,"
    "why_lost string, anchor_node string, anchor_device string, anchor_code string, anchor_count bigint,"
    "anchor_nodes array<string>, anchor_type string"
)
SYMPTOMS = "uid string, node string, event_type string, code string, n bigint"
SENTENCE = "Xid {code} on {device} of {node}: {origin}, {count} times on {nodes} nodes ({event})."
TEXTS = [
    {
        "rule_id": "xid",
        "rule_version": 3,
        "conclusion_en": SENTENCE,
        "action_en": "Drain {node}.",
        "settle": "dcgmi diag of the node",
    },
    {"rule_id": "job", "conclusion_en": "{origin} failed.", "action_en": "Look at {origin} and {device}."},
]


def candidate(rule="xid", **given) -> dict:
    return {
        "rule_id": rule, "category": f"of {rule}", "origin_scope": "gpu", "origin": ["n1/0000:3b:00"],
        "origin_nodes": ["n1"], "t0": "03:00:00", "score": 6.0, "margin": 6.0,
        "origin_margin": 6.0, "rival_origins": [], "cap": 1.0, "undecided": False,
        "missing": [], "order_certain": True, "is_winner": True, "is_independent": False, "anchor_node": "n1",
        "anchor_device": "0000:3b:00", "anchor_code": "79", "anchor_count": 2, "anchor_nodes": ["n1"],
        "anchor_type": "gpu.xid",
    } | given  # fmt: skip


def lost(rule="job", why="low_points", **given) -> dict:
    return candidate(rule, is_winner=False, why_lost=why, **given)


SERIALS = [{"device": "n1/0000:3b:00", "serial": "165"}, {"device": "n2/0000:3b:00", "serial": "166"}]
FAILED = {"state": "FAILED", "outcome_hint": "failed", "is_ended": True, "is_failure": True}
TIMEOUT = {"state": "TIMEOUT", "outcome_hint": "timeout", "is_ended": True, "is_failure": True}
COMPLETED = {"state": "COMPLETED", "is_ended": True, "is_failure": False}
RUNNING = {"state": "RUNNING", "is_ended": False, "is_failure": False, "is_hung": True, "end": None}
GUESSED = {"state": None, "is_ended": True, "is_failure": False}
# Attempt and candidates by the name of the case.
CASES = {
    "sure": (FAILED, [candidate(), lost(score=2.0), lost("xid", "covers_less", score=5.5, origin=["n2"])]),
    "capped by its rule": (FAILED, [candidate(cap=0.62)]),
    "order undecidable": (FAILED, [candidate(order_certain=False)]),
    "clause undecided": (FAILED, [candidate(undecided=True)]),
    "source missing": (FAILED, [candidate(missing=["app_log"])]),
    "on poor input": (FAILED, [candidate()]),
    "hardly sure on poor input": (FAILED, [candidate(margin=1.0)]),
    "just sure enough": (FAILED, [candidate(margin=1.0)]),
    "not sure enough": (FAILED, [candidate(margin=0.9), lost(score=5.0, why="covers_less")]),
    "nothing found": (FAILED, []),
    "without a name": (FAILED, [candidate("job", origin=[], origin_scope="job", origin_nodes=[], anchor_device=None,
                                          anchor_node=None, anchor_code=None)]),
    "two of its kind": (FAILED, [candidate(origin_margin=0.2, rival_origins=["n2/0000:5d:00"])]),
    "two findings": (FAILED, [candidate(), lost("job", None, is_independent=True, origin=["n9"], t0="03:00:07")]),
    "rule knows better": (TIMEOUT, [candidate(outcome="hung")]),
    "rule not sure": (TIMEOUT, [candidate(outcome="hung", margin=0.0)]),
    "timeout": (TIMEOUT, [candidate()]),
    "succeeded": (COMPLETED | {"succeeded": True}, [candidate(outcome="failed")]),
    "completed with a fault": (COMPLETED, [candidate()]),
    "hung": (RUNNING, [candidate()]),
    "no scheduler": (GUESSED, [candidate()]),
    "its own logs say": (GUESSED | {"said_outcome": "out_of_memory"}, [candidate()]),
    "scheduler and logs say": (TIMEOUT | {"said_outcome": "out_of_memory"}, [candidate()]),
    "no serial known": (FAILED | {"serials": None}, [candidate()]),
    "just ended": (FAILED | {"end": "08:00:01"}, [candidate()]),
    "saved before": (FAILED | {"last_checkpoint": "03:15:00"}, [candidate()]),
    "saved before it started": (FAILED | {"last_checkpoint": "01:00:00"}, [candidate()]),
    "GPUs unknown": (FAILED | {"gpus": None}, [candidate()]),
    "many lost": (FAILED, [candidate(), *(lost(score=float(s)) for s in range(12))]),
}  # fmt: skip


WHY = [{"reason_no": 0, "says": "timeout", "outcome": "hung", "category": [], "why": "it stood still before"}]
POOR = [
    {"uid": "on poor input", "poor_inputs": ["kernel of n1: silent for 2400 s"], "poor_factor": 0.8},
    {"uid": "hardly sure on poor input", "poor_inputs": ["kernel: late"], "poor_factor": 0.8},
]


@pytest.fixture(scope="module")
def verdicts(spark):
    attempts, ranked, symptoms, coverage = [], [], [], []
    for name, (attempt, candidates) in CASES.items():
        attempts.append(
            {
                "uid": name, "cluster": "c", "job_id": name, "attempt": 0, "day": "2026-11-20", "start": "03:00:00",
                "end": "03:30:00", "nodes": ["n1", "n2", "n3"], "gpus": 8, "succeeded": False, "is_hung": False,
                "ruleset_version": "v1", "catalogue_version": "c1", "serials": SERIALS, "scope_source": "scheduler",
            } | attempt
        )  # fmt: skip
        attempts[-1]["scheduler_state"] = attempts[-1].pop("state")
        ranked += [c | {"uid": name} for c in candidates]
        symptoms += [
            {"uid": name, "node": "n1", "event_type": "gpu.xid", "code": "79", "n": 1},
            {"uid": name, "node": "n2", "event_type": "comm.timeout", "n": 3},
            {"uid": name, "node": "n3", "event_type": "comm.timeout", "n": 2},
            {"uid": name, "node": "n8", "event_type": "comm.timeout", "n": 1},
            {"uid": name, "node": None, "event_type": "sched.end", "n": 1},
        ]
        if name != "nothing found":
            seen = EXPECTED_SOURCES if name == "sure" else ("app_log", "scheduler")
            coverage += [{"uid": name, "kind": k} for k in seen]
    kept = [f for f in ATTEMPTS.fields if f.name != "state"]
    more = type(ATTEMPTS.schema).fromDDL(
        "uid string, succeeded boolean, is_hung boolean, ruleset_version string, catalogue_version string,"
        "last_checkpoint timestamp,"
        "serials array<struct<device:string,serial:string>>, scheduler_state string, said_outcome string"
    )
    by_uid = type(ATTEMPTS.schema)([*COVERAGE.schema.fields, more["uid"]])
    made = build_diagnoses(
        frame(spark, type(more)([*kept, *more.fields]), attempts),
        frame(spark, RANKED, ranked),
        frame(spark, RULES, TEXTS),
        frame(spark, SYMPTOMS, symptoms),
        frame(spark, by_uid, coverage),
        frame(spark, "uid string, poor_inputs array<string>, poor_factor double", POOR),
        frame(spark, REASONS, WHY),
        SCORING,
        F.lit(moment("14:00:00")),
        6 * 3600,
    )
    return {r["job_id"]: r for r in collected(made)}


def said(verdicts, name, *columns):
    return tuple(verdicts[name][c] for c in columns)


def test_every_attempt_has_one_verdict(verdicts):
    assert set(verdicts) == set(CASES)


def test_a_sure_verdict_says_what_where_and_who_only_suffered(verdicts):
    columns = ("category", "origin_scope", "origin", "affected_nodes", "t0", "confidence", "rule_id", "missing")
    assert said(verdicts, "sure", *columns) == (
        "of xid", "gpu", ["n1/0000:3b:00"], ["n2", "n3"], "03:00:00", 0.95, "xid", [],
    )  # fmt: skip
    assert said(verdicts, "sure", "ruleset_version", "track") == ("v1", "live")


def test_serial_numbers_are_those_of_the_origin(verdicts):
    names = ("sure", "without a name", "not sure enough", "no serial known")
    assert [verdicts[n]["device_serials"] for n in names] == [["165"], [], [], []]


def test_symptoms_are_figures_by_type_and_code(verdicts):
    assert verdicts["sure"]["symptoms"] == {
        "gpu.xid 79": "1 on 1 nodes", "comm.timeout": "6 on 3 nodes", "sched.end": "1 on 0 nodes",
    }  # fmt: skip


def test_sentences_are_filled_in(verdicts):
    assert verdicts["sure"]["conclusion"] == (
        "Xid 79 on 0000:3b:00 of n1: n1/0000:3b:00, 2 times on 1 nodes (gpu.xid)."
    )
    assert verdicts["sure"]["action"] == "Drain n1."
    assert said(verdicts, "without a name", "conclusion", "action", "origin", "origin_scope") == (
        "the job failed.", "Look at the job and an unnamed device.", [], "job",
    )  # fmt: skip


def test_alternatives_are_best_first_and_bounded(verdicts):
    found = [(a[0], a[3], a[4], a[5]) for a in verdicts["sure"]["alternatives"]]
    assert found == [("xid", ["n2"], 0.95, "covers_less"), ("job", ["n1/0000:3b:00"], 0.55, "low_points")]
    assert [a[4] for a in verdicts["many lost"]["alternatives"]] == [0.95] * 7 + [0.8]


def test_a_verdict_that_rests_on_poor_input_is_less_sure_and_says_on_what(verdicts):
    sure, doubted = verdicts["on poor input"], verdicts["hardly sure on poor input"]
    assert (sure["confidence"], sure["category"]) == (round(0.95 * 0.8, 4), verdicts["sure"]["category"])
    assert sure["poor_inputs"] == ["kernel of n1: silent for 2400 s"]
    assert (doubted["confidence"], doubted["category"]) == (round(0.55 * 0.8, 4), "unknown")
    assert verdicts["sure"]["poor_inputs"] == []


def test_confidence_is_capped_by_the_rule_and_by_doubt(verdicts):
    names = ("capped by its rule", "order undecidable", "clause undecided", "source missing", "just sure enough")
    assert [verdicts[n]["confidence"] for n in names] == [0.62, 0.69, 0.69, 0.69, 0.55]
    for name in ("order undecidable", "clause undecided"):
        assert said(verdicts, name, "category", "order_certain") == ("of xid", False)
        assert verdicts[name]["conclusion"].endswith(" The clocks cannot decide the order this rests on.")
    assert verdicts["source missing"]["missing"] == ["app_log"]


def test_below_the_bar_the_cause_is_unknown_and_the_best_guess_is_the_first_alternative(verdicts):
    columns = ("category", "origin_scope", "origin", "t0", "confidence", "also", "missing")
    assert said(verdicts, "not sure enough", *columns) == (
        "unknown", None, [], None, 0.3, [], ["kernel_log", "port_counters", "telemetry"],
    )  # fmt: skip
    alternatives = verdicts["not sure enough"]["alternatives"]
    assert [(a[0], a[5]) for a in alternatives] == [("xid", "low_points"), ("job", "covers_less")]
    conclusion = verdicts["not sure enough"]["conclusion"]
    assert conclusion.startswith("The cause is not known. Best guess, not sure enough: Xid 79 on 0000:3b:00 of n1")
    assert conclusion.endswith(
        " Missing: kernel_log, port_counters, telemetry. Would settle it: dcgmi diag of the node"
    )
    assert verdicts["not sure enough"]["affected_nodes"] == ["n1", "n2", "n3"]


def test_without_a_candidate_it_is_unknown_and_names_every_source_that_is_missing(verdicts):
    columns = ("category", "origin", "confidence", "alternatives", "missing", "rule_id", "order_certain")
    assert said(verdicts, "nothing found", *columns) == (
        "unknown", [], 0.0, [], sorted(EXPECTED_SOURCES), None, True,
    )  # fmt: skip
    assert verdicts["nothing found"]["conclusion"] == (
        "The cause is not known. Missing: app_log, kernel_log, port_counters, scheduler, telemetry."
    )
    assert verdicts["nothing found"]["action"].startswith("Collect the missing sources")


def test_an_independent_finding_stands_beside_the_verdict(verdicts):
    assert verdicts["two findings"]["also"] == [("of job", "gpu", ["n9"], 0.95, "03:00:07")]
    assert verdicts["two findings"]["alternatives"] == []


def test_outcomes(verdicts):
    names = (
        "sure", "timeout", "rule knows better", "rule not sure", "succeeded", "completed with a fault", "hung",
        "no scheduler", "nothing found", "its own logs say", "scheduler and logs say",
    )  # fmt: skip
    assert [verdicts[n]["outcome"] for n in names] == [
        "failed", "timeout", "hung", "timeout", "completed_with_errors", "failed", "hung", "failed", "failed",
        "out_of_memory", "timeout",
    ]  # fmt: skip


def test_agreement_with_the_scheduler_is_on_the_outcome(verdicts):
    names = ("sure", "rule knows better", "hung", "no scheduler")
    columns = ("scheduler_state", "agrees_with_scheduler")
    assert [said(verdicts, n, *columns) for n in names] == [
        ("FAILED", True), ("TIMEOUT", False), ("RUNNING", None), (None, None),
    ]  # fmt: skip


def test_a_verdict_is_final_six_hours_after_the_end(verdicts):
    assert [verdicts[n]["state"] for n in ("sure", "just ended", "hung")] == ["final", "provisional", "provisional"]


def test_lost_hours_count_from_the_last_checkpoint_else_from_the_start(verdicts):
    names = ("sure", "saved before", "saved before it started")
    assert [verdicts[n]["gpu_hours_lost"] for n in names] == [4.0, 2.0, 4.0]


def test_lost_hours_are_not_nothing_when_they_are_not_known(verdicts):
    assert [verdicts[n]["gpu_hours_lost"] for n in ("hung", "GPUs unknown")] == [None, None]


def test_a_verdict_names_the_text_of_its_rule_and_the_catalogues_it_was_read_with(verdicts):
    assert said(verdicts, "sure", "rule_version", "ruleset_version", "catalogue_version") == (3, "v1", "c1")
    assert said(verdicts, "nothing found", "rule_version", "catalogue_version") == (None, "c1")


def test_a_difference_from_the_scheduler_is_explained(verdicts):
    (note,) = said(verdicts, "rule knows better", "scheduler_note")
    assert note == "The scheduler says TIMEOUT (timeout); we say hung: it stood still before."
    assert said(verdicts, "no scheduler", "scheduler_note") == (None,)


def test_what_may_have_begun_at_either_of_two_is_known_by_kind_and_not_by_place(verdicts):
    columns = ("category", "origin_scope", "origin", "confidence", "affected_nodes", "device_serials")
    assert said(verdicts, "two of its kind", *columns) == ("of xid", None, [], 0.95, ["n1", "n2", "n3"], [])
    (sentence,) = said(verdicts, "two of its kind", "conclusion")
    assert "one of n1/0000:3b:00, n2/0000:5d:00" in sentence
