"""Rules that can explain an attempt: what holds, what excludes, what counts half."""

import pytest

from firstfault.transforms.candidates import Doubts, evaluate
from firstfault.transforms.rule_tables import CLAUSES, RULES
from tests.frames import collected, frame

FIRST = (
    "struct<t:timestamp,t_low:timestamp,t_high:timestamp,clock_error_s:double,clock:string,clock_shared_s:double,clock_reference:string,node:string,event_type:string,"
    "role:string,code:string,device:string>"
)
ANCHORS = (
    "uid string, spec_id int, entity string, cluster string, job_id string, attempt int, day date, origin_scope string,"
    "origin array<string>, origin_nodes array<string>, n bigint, nodes array<string>, event_ids array<string>,"
    f"ranks array<int>, n_devices int, link string, link_nodes array<string>, "
    f"last_t timestamp, start timestamp, first_step timestamp, first {FIRST}"
)
FOUND = (
    "uid string, spec_id int, entity string, probe_id int, possible bigint, certain bigint, names array<string>,"
    "events array<struct<t:timestamp,event_id:string>>"
)
DOUBTS = Doubts(doubted_cap=0.6, overcome_penalty=3.0, teardown_penalty=2.5)


def clause(kind="support", **given) -> dict:
    plain = {"kind": kind, "min_events": 1, "min_distinct": 1, "required": False, "weight": 0.0}
    if kind in {"absence", "silence"}:
        plain["needs_coverage"] = "app_log"
    return plain | given


def hit(possible=1, certain=None, names=("n1",), events=("s1",)) -> dict:
    """What a probe found."""
    return {
        "possible": possible, "certain": possible if certain is None else certain, "names": list(names),
        "events": [{"t": "03:00:01", "event_id": e} for e in events],
    }  # fmt: skip


MUST = clause(required=True, weight=2.0)
UNLESS = clause("unless")
ABSENT = clause("absence", weight=1.0)
OVER = {"last_t": "02:50:00", "start": "03:00:00"}
SILENT = clause("silence", weight=1.0, required=True)
MUST_BE_ABSENT = clause("absence", weight=1.0, required=True)
# name: (anchor, rule, [(clause, what its probe found)], sources delivered)
CASES = {
    "no clause": ({}, {}, [], ()),
    "required, certain": ({}, {}, [(MUST, hit())], ()),
    "required, possible": ({}, {}, [(MUST, hit(1, 0))], ()),
    "required, not found": ({}, {}, [(MUST, None)], ()),
    "optional, certain": ({}, {}, [(clause(weight=2.0), hit())], ()),
    "optional, possible": ({}, {}, [(clause(weight=2.0), hit(3, 0))], ()),
    "optional, not found": ({}, {}, [(clause(weight=2.0), None)], ()),
    "enough records": ({}, {}, [(clause(weight=2.0, min_events=3, required=True), hit(3))], ()),
    "too few records": ({}, {}, [(clause(weight=2.0, min_events=3, required=True), hit(2))], ()),
    "too few certain records": ({}, {}, [(clause(weight=2.0, min_events=3, required=True), hit(4, 2))], ()),
    "enough nodes": ({}, {}, [(clause(weight=2.0, min_distinct=2, required=True), hit(2, names=("n1", "n2")))], ()),
    "too few nodes": ({}, {}, [(clause(weight=2.0, min_distinct=2, required=True), hit(9))], ()),
    "unless, certain": ({}, {}, [(UNLESS, hit())], ()),
    "unless, possible": ({}, {}, [(UNLESS, hit(1, 0))], ()),
    "unless, not found": ({}, {}, [(UNLESS, None)], ()),
    "absent and covered": ({}, {}, [(ABSENT, None)], ("app_log", "kernel_log")),
    "absent, not covered": ({}, {}, [(ABSENT, None)], ("kernel_log",)),
    "absent, nothing covered": ({}, {}, [(ABSENT, None)], None),
    "possibly there": ({}, {}, [(ABSENT, hit(1, 0))], ("app_log",)),
    "must be absent and is": ({}, {}, [(MUST_BE_ABSENT, None)], ("app_log",)),
    "must be absent, not covered": ({}, {}, [(MUST_BE_ABSENT, None)], ()),
    "must be absent, there": ({}, {}, [(MUST_BE_ABSENT, hit())], ("app_log",)),
    "several": ({}, {}, [(MUST, hit(events=("s2", "s1"))), (clause(weight=1.0), hit(1, 0, events=("s3",))),
                         (UNLESS, hit(1, 0, events=("s9",))), (ABSENT, None)], ("app_log",)),
    "teardown": ({"first": {"role": "teardown"}}, {}, [], ()),
    "enough anchors": ({"n": 5}, {"min_count": 5}, [], ()),
    "too few anchors": ({"n": 4}, {"min_count": 5}, [], ()),
    "anchors on enough nodes": ({"nodes": ["n1", "n2"]}, {"min_nodes": 2}, [], ()),
    "anchors of enough ranks": ({"ranks": [0, 1]}, {"min_ranks": 2}, [], ()),
    "anchors of too few ranks": ({"ranks": [0], "n": 9}, {"min_ranks": 2}, [], ()),
    "anchors on enough devices": ({"n_devices": 2}, {"min_devices": 2}, [], ()),
    "anchors on too few devices": ({"n_devices": 1, "n": 9}, {"min_devices": 2}, [], ()),
    "teardown by the rule's word": ({}, {"role": "teardown"}, [], ()),
    "over before the start, steps since": (OVER | {"first_step": "03:05:00"}, {}, [], ()),
    "over before the start, no steps": (OVER, {}, [], ()),
    "begun before the start, still there": (OVER | {"first_step": "03:05:00", "last_t": "03:04:00"}, {}, [], ()),
    "doubted": ({}, {}, [(clause("doubt"), hit())], ()),
    "possibly doubted": ({}, {}, [(clause("doubt"), hit(1, 0))], ()),
    "not doubted": ({}, {}, [(clause("doubt"), None)], ()),
    "silent": ({}, {}, [(SILENT, hit())], ("app_log",)),
    "possibly silent": ({}, {}, [(SILENT, hit(1, 0))], ("app_log",)),
    "silent, not covered": ({}, {}, [(SILENT, hit())], ()),
    "not silent": ({}, {}, [(SILENT, None)], ("app_log",)),
    "anchors on too few nodes": ({"nodes": ["n1"], "n": 9}, {"min_nodes": 2}, [], ()),
}  # fmt: skip


@pytest.fixture(scope="module")
def candidates(spark):
    anchors, rules, clauses, found, covered = [], [], [], [], []
    probe = 0
    for number, (name, (anchor, rule, asked, kinds)) in enumerate(CASES.items()):
        key = {"uid": name, "spec_id": number, "entity": "n1"}
        first = {"t": "03:00:00", "event_type": "gpu.xid", "node": "n1", "role": "initiating", "code": "79"}
        plain = {
            "cluster": "c", "job_id": name, "attempt": 0, "origin_scope": "node", "origin": ["n1"],
            "origin_nodes": ["n1"], "n": 1, "nodes": ["n1"], "ranks": [], "n_devices": 0, "event_ids": ["a"],
        }  # fmt: skip
        anchors.append(key | plain | anchor | {"first": first | anchor.get("first", {})})
        rules.append(
            {"rule_id": f"r{number}", "spec_id": number, "min_count": 1, "min_nodes": 1, "min_ranks": 0,
             "min_devices": 0, "base": 2.0, "cap": 0.9,
             "specificity": 1, "category": "gpu_hardware"} | rule
        )  # fmt: skip
        for n, (asked_clause, result) in enumerate(asked):
            clauses.append(asked_clause | {"rule_id": f"r{number}", "clause_no": n, "probe_id": probe})
            if result:
                found.append(key | {"probe_id": probe} | result)
            probe += 1
        if kinds is not None:
            covered.append({"uid": name, "kinds": list(kinds)})
    made = evaluate(
        frame(spark, ANCHORS, anchors),
        frame(spark, RULES, rules),
        frame(spark, CLAUSES, clauses),
        frame(spark, FOUND, found),
        frame(spark, "uid string, kinds array<string>", covered),
        DOUBTS,
    )
    return {r["uid"]: r for r in collected(made)}


def points(candidates, name):
    return candidates[name]["points"]


def test_a_rule_without_clauses_has_its_base(candidates):
    assert points(candidates, "no clause") == 2.0
    row = candidates["no clause"]
    assert (row["t0"], row["anchor_node"], row["anchor_type"], row["anchor_code"], row["anchor_count"]) == (
        "03:00:00", "n1", "gpu.xid", "79", 1,
    )  # fmt: skip


def test_a_required_clause_needs_possible_and_weighs_half_when_only_possible(candidates):
    assert points(candidates, "required, certain") == 4.0
    assert points(candidates, "required, possible") == 3.0
    assert "required, not found" not in candidates
    names = ("required, certain", "required, possible", "optional, possible")
    assert [candidates[n]["undecided"] for n in names] == [False, True, False]


def test_an_optional_clause_only_adds(candidates):
    assert points(candidates, "optional, certain") == 4.0
    assert points(candidates, "optional, possible") == 3.0
    assert points(candidates, "optional, not found") == 2.0


def test_a_clause_may_need_several_records_or_nodes(candidates):
    assert points(candidates, "enough records") == 4.0
    assert "too few records" not in candidates
    assert points(candidates, "too few certain records") == 3.0
    assert points(candidates, "enough nodes") == 4.0
    assert "too few nodes" not in candidates


def test_unless_excludes_only_when_it_is_certain(candidates):
    assert "unless, certain" not in candidates
    assert points(candidates, "unless, possible") == 2.0
    assert points(candidates, "unless, not found") == 2.0


def test_an_absence_counts_only_where_the_source_was_delivered(candidates):
    assert points(candidates, "absent and covered") == 3.0
    assert points(candidates, "absent, not covered") == 2.0
    assert points(candidates, "possibly there") == 2.0
    assert points(candidates, "must be absent and is") == 3.0
    assert "must be absent, not covered" not in candidates
    assert "must be absent, there" not in candidates


def test_a_source_that_an_absence_lacked_is_named(candidates):
    names = ("absent and covered", "absent, not covered", "absent, nothing covered", "possibly there")
    assert [candidates[n]["missing"] for n in names] == [[], ["app_log"], ["app_log"], []]


def test_clauses_add_up_and_name_the_events_they_rest_on(candidates):
    row = candidates["several"]
    assert (row["clause_points"], row["points"]) == (2.0 + 0.5 + 1.0, 5.5)
    assert row["event_ids"] == ["a", "s1", "s2", "s3"]
    assert row["specificity"] == 1 + 3


def test_a_silence_counts_only_where_the_source_was_delivered(candidates):
    assert points(candidates, "silent") == 3.0
    assert points(candidates, "possibly silent") == 2.5
    assert "silent, not covered" not in candidates
    assert "not silent" not in candidates


def test_a_rule_may_know_the_part_of_its_anchor_better(candidates):
    assert points(candidates, "teardown by the rule's word") == points(candidates, "teardown")
    assert candidates["teardown by the rule's word"]["anchor_role"] == "teardown"


def test_what_was_over_before_the_attempt_started_and_did_not_stop_its_steps_weighs_less(candidates):
    assert points(candidates, "over before the start, steps since") == 2.0 - DOUBTS.overcome_penalty
    assert points(candidates, "over before the start, no steps") == 2.0
    assert points(candidates, "begun before the start, still there") == 2.0
    caps = {name: candidates[name]["cap"] for name in candidates if "before the start" in name}
    assert caps == {
        "over before the start, steps since": DOUBTS.doubted_cap,
        "over before the start, no steps": DOUBTS.doubted_cap,
        "begun before the start, still there": 0.9,
    }


def test_a_doubt_that_is_certain_takes_no_points_and_caps_the_confidence(candidates):
    caps = {name: candidates[name]["cap"] for name in ("doubted", "possibly doubted", "not doubted")}
    assert caps == {"doubted": DOUBTS.doubted_cap, "possibly doubted": 0.9, "not doubted": 0.9}
    assert {points(candidates, name) for name in caps} == {2.0}


def test_anchors_may_need_several_ranks_or_devices(candidates):
    assert "anchors of enough ranks" in candidates
    assert "anchors of too few ranks" not in candidates
    assert "anchors on enough devices" in candidates
    assert "anchors on too few devices" not in candidates


def test_a_teardown_anchor_costs_points(candidates):
    assert points(candidates, "teardown") == 2.0 - DOUBTS.teardown_penalty


def test_an_anchor_may_need_several_records_or_nodes(candidates):
    assert {"enough anchors", "anchors on enough nodes"} <= set(candidates)
    assert not {"too few anchors", "anchors on too few nodes"} & set(candidates)
