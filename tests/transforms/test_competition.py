"""Which explanation wins, why the others lost, and how sure the order is."""

import pytest
from pyspark.sql import functions as F

from firstfault.transforms.candidates import CANDIDATES
from firstfault.transforms.competition import Scoring, compete, with_coverage
from firstfault.transforms.contract import column
from firstfault.transforms.rule_tables import EXPLAINS
from firstfault.transforms.types import BOOL, TEXT, TEXTS
from tests.frames import collected, frame, rows, scoped

SCORING = Scoring(
    calibration=((5.0, 0.95), (3.0, 0.8), (1.0, 0.55), (0.0, 0.3)),
    undecidable_cap=0.69,
    unknown_below=0.5,
    independent_bar=3.0,
    poor_input_factor=0.8,
)
SCHEMA = type(CANDIDATES.schema)(
    [
        *CANDIDATES.schema.fields,
        column("uid", TEXT, "attempt"),
        column("cid", TEXT, "candidate"),
        column("explained", TEXTS, "symptoms"),
        column("link", TEXT, "link"),
        column("link_nodes", TEXTS, "nodes behind it"),
        column("_overcome", BOOL, "over before the attempt began"),
    ]
)
EXPLAINED = {
    "xid": ["gpu.xid", "comm.timeout"],
    "link": ["net.link_down", "comm.timeout"],
    "comm": ["comm.timeout"],
    "xid_or_link": ["gpu.xid", "net.link_down"],
    "link_or_xid": ["net.link_down", "gpu.xid"],
    "killed": ["proc.killed"],
    "end": ["sched.end"],
    "lost": ["app.raised", "comm.timeout"],
    "raised": ["comm.timeout"],
}
LOCAL = {"app.raised"}
"""Symptoms that a fault of other nodes does not cause."""


def explanation(rule, anchor, low, high=None, **given) -> dict:
    """A candidate of rule `rule` anchored at an event of type `anchor`."""
    node = given.pop("node", "n1")
    return {
        "rule_id": rule, "anchor_type": anchor, "t0_low": low, "t0_high": high or low, "t0": low, "anchor_node": node,
        "anchor_clock": node, "clock_shared_s": 0.0,
        "anchor_role": "initiating", "origin": [node], "origin_scope": "node", "specificity": 1, "points": 4.0,
        "coverage": 0.0, "clock_error_s": 0.0, "explained": [], "missing": [], "category": f"of {rule}",
        "base": 2.0, "cap": 1.0, "undecided": False,
    } | given  # fmt: skip


XID = explanation("xid", "gpu.xid", "03:00:00")
CASES = {
    "earlier explains later": [XID, explanation("comm", "comm.timeout", "03:00:05", node="n2", points=9.0)],
    "what explains is later": [
        explanation("xid", "gpu.xid", "03:00:09"),
        explanation("comm", "comm.timeout", "03:00:05", node="n2"),
    ],
    "maybe earlier": [
        explanation("xid", "gpu.xid", "03:00:00", "03:00:10"),
        explanation("comm", "comm.timeout", "03:00:05", node="n2", points=9.0),
    ],
    "each could explain the other": [
        explanation("xid_or_link", "gpu.xid", "03:00:00", "03:00:10", points=5.0),
        explanation("link_or_xid", "net.link_down", "03:00:05", "03:00:15", node="n2"),
    ],
    "each could, one was first": [
        explanation("xid_or_link", "gpu.xid", "03:00:00", "03:00:04"),
        explanation("link_or_xid", "net.link_down", "03:00:05", "03:00:15", node="n2", points=9.0),
    ],
    "each could, on one clock": [
        explanation("xid_or_link", "gpu.xid", "03:00:00", "03:00:10", clock_error_s=5.0),
        explanation("link_or_xid", "net.link_down", "03:00:06", "03:00:16", points=9.0, clock_error_s=5.0,
                    origin=["n1/mlx5_0/1"], origin_scope="port"),
    ],
    "each could, on clocks of one reference": [
        explanation("xid_or_link", "gpu.xid", "03:00:00", "03:00:10", clock_error_s=5.0, clock_shared_s=4.9,
                    clock_reference="ntp"),
        explanation("link_or_xid", "net.link_down", "03:00:06", "03:00:16", points=9.0, clock_error_s=5.0,
                    clock_shared_s=4.9, clock_reference="ntp", node="n2"),
    ],
    "two readings of one start that name nobody": [
        explanation("link", "comm.timeout", "03:00:00", "03:01:00", origin=[], origin_scope="job"),
        explanation("comm", "comm.timeout", "03:00:00", "03:01:00", origin=[], origin_scope="job", specificity=3),
    ],
    "two starts that name nobody": [
        explanation("link", "comm.timeout", "03:00:00", "03:01:00", origin=[], origin_scope="job"),
        explanation("comm", "comm.timeout", "03:00:20", "03:01:20", origin=[], origin_scope="job", specificity=3),
    ],
    "same place, more specific": [
        explanation("comm", "comm.timeout", "03:00:00", specificity=4, points=3.0),
        explanation("link", "net.link_down", "03:00:00", points=9.0),
    ],
    "a GPU of the node, same category": [
        explanation("xid", "gpu.xid", "03:00:05", origin=["n1/0000:3b:00"], origin_scope="gpu", category="x"),
        explanation("killed", "gpu.lost", "03:00:00", category="x", points=9.0),
    ],
    "teardown": [
        explanation("killed", "proc.killed", "03:00:00", anchor_role="teardown", points=9.0),
        explanation("comm", "comm.timeout", "03:00:30", node="n2", points=1.0),
    ],
    "only teardown": [explanation("killed", "proc.killed", "03:00:00", anchor_role="teardown", points=-1.0)],
    "two faults": [
        explanation("xid", "gpu.xid", "03:00:00", explained=["a"], points=6.0, coverage=0.5),
        explanation("killed", "proc.killed", "03:00:00", node="n2", explained=["b"], points=3.0, coverage=0.5),
        explanation("end", "sched.end", "03:00:00", node="n3", explained=["c"], points=2.9, coverage=0.1),
        explanation("link", "net.link_down", "03:00:00", node="n4", explained=["a"], points=3.5, coverage=0.5),
        explanation("comm", "data.error", "03:00:00", node="n5", explained=["d"], points=3.5, missing=["app_log"]),
    ],
    "tie": [
        explanation("killed", "proc.killed", "03:00:00", node="n2"),
        explanation("end", "sched.end", "03:00:00", node="n1"),
    ],
    "coverage counts twice": [
        explanation("killed", "proc.killed", "03:00:00", points=4.0, coverage=1.0),
        explanation("end", "sched.end", "03:00:00", node="n2", points=5.9),
    ],
    "a switch port and the nodes behind it": [
        explanation("link", "switch.port_down", "03:00:02", origin=["sw1:1"], origin_scope="port", category="net",
                    link="sw1:1", link_nodes=["n1", "n2"]),
        explanation("link_or_xid", "net.link_down", "03:00:00", points=9.0, category="net", node="n1"),
        explanation("comm", "net.link_down", "03:00:00", points=9.0, category="net", node="n2"),
    ],
    "a switch port and a node elsewhere": [
        explanation("link", "switch.port_down", "03:00:02", origin=["sw1:1"], origin_scope="port", category="net",
                    link="sw1:1", link_nodes=["n1", "n2"]),
        explanation("comm", "net.link_down", "03:00:00", points=9.0, category="net", node="n7"),
    ],
    "two ends of one link": [
        explanation("link_or_xid", "net.port_flap", "03:00:00", "03:00:10", origin=["n1/h/1"], origin_scope="port",
                    category="net", link="sw1:1", link_nodes=["n1", "n2"], points=5.0),
        explanation("xid_or_link", "net.link_down", "03:00:05", "03:00:15", origin=["sw1:1"], origin_scope="port",
                    category="net", link="sw1:1", link_nodes=["n1", "n2"], points=4.0),
    ],
    "a suspect of unknown cause on the winner's node": [
        XID | {"origin_nodes": ["n1"]},
        explanation("end", "x.y", "03:00:00", origin=["rank-3"], origin_scope="rank", origin_nodes=["n1"], points=3.9,
                    category="unknown"),
    ],
    "a suspect of unknown cause elsewhere": [
        XID | {"origin_nodes": ["n1"]},
        explanation("end", "x.y", "03:00:00", origin=["rank-9"], origin_scope="rank", origin_nodes=["n2"], points=3.9,
                    category="unknown"),
    ],
    "two of one kind at once": [
        explanation("xid_or_link", "gpu.xid", "03:00:00", "03:00:10", points=5.0, category="x"),
        explanation("link_or_xid", "net.link_down", "03:00:05", "03:00:15", node="n2", category="x"),
    ],
    "same place and kind, more points": [
        explanation("comm", "comm.timeout", "03:00:00", specificity=1, points=5.0, category="x"),
        explanation("link", "net.link_down", "03:00:00", specificity=4, points=3.0, category="x"),
    ],
    "same place, began before": [
        explanation("xid", "gpu.xid", "03:00:00", specificity=1, points=4.0),
        explanation("comm", "comm.timeout", "03:00:30", specificity=9, points=9.0),
    ],
    "raised under a fault of another node": [
        explanation("lost", "gpu.lost", "03:00:00", origin_nodes=["n1"], points=5.0, explained=["a", "b"]),
        explanation("raised", "app.raised", "03:00:05", origin_nodes=["n2"], node="n2", explained=["b"]),
    ],
    "raised perhaps before a fault of another node": [
        explanation("lost", "gpu.lost", "03:00:03", origin_nodes=["n1"], points=5.0),
        explanation("raised", "app.raised", "03:00:02", "03:00:09", origin_nodes=["n2"], node="n2"),
    ],
    "raised under a fault of its node": [
        explanation("lost", "gpu.lost", "03:00:00", origin_nodes=["n1"], origin=["n1/0000:3b:00"]),
        explanation("raised", "app.raised", "03:00:05", origin_nodes=["n1"], origin=["rank-3"], points=9.0),
    ],
    "passed on under a fault of another node": [
        explanation("lost", "gpu.lost", "03:00:00", origin_nodes=["n1"]),
        explanation("raised", "app.raised", "03:00:05", origin_nodes=["n2"], node="n2", anchor_role="cascade"),
    ],
    "raised under a fault of nobody's node": [
        explanation("lost", "gpu.lost", "03:00:00", origin=["/scratch"]),
        explanation("raised", "app.raised", "03:00:05", origin_nodes=["n2"], node="n2"),
    ],
    "over before the attempt made steps": [
        explanation("xid", "gpu.xid", "03:00:00", _overcome=True),
        explanation("comm", "comm.timeout", "03:30:00", node="n2", points=4.5),
    ],
    "alone": [XID],
}  # fmt: skip


@pytest.fixture(scope="module")
def judged(spark):
    """Per case the candidates by rule."""
    given = [
        c | {"uid": name, "cid": f"{name} {n}", "job_id": name} for name, cs in CASES.items() for n, c in enumerate(cs)
    ]
    explains = [
        {"rule_id": r, "event_type": t, "is_local": t in LOCAL} for r, types in EXPLAINED.items() for t in types
    ]
    found = collected(compete(frame(spark, SCHEMA, given), frame(spark, EXPLAINS, explains), SCORING))
    return {name: {r["rule_id"]: r for r in found if r["uid"] == name} for name in CASES}


def verdict(judged, name):
    """The winner's rule, why each other lost, and whether the order is certain."""
    (winner,) = (r for r in judged[name].values() if r["is_winner"])
    others = {rule: r["why_lost"] for rule, r in judged[name].items() if not r["is_winner"]}
    return winner["rule_id"], others, winner["order_certain"]


def test_what_came_first_and_explains_the_other_wins_whatever_the_points(judged):
    assert verdict(judged, "earlier explains later") == ("xid", {"comm": "explained_by"}, True)


def test_what_came_later_explains_nothing(judged):
    rule, _, certain = verdict(judged, "what explains is later")
    assert (rule, certain) == ("comm", True)


def test_what_may_have_come_first_wins_over_what_explains_nothing(judged):
    assert verdict(judged, "maybe earlier") == ("xid", {"comm": "explained_by"}, True)


def test_when_each_could_explain_the_other_and_clocks_cannot_tell_the_verdict_says_so(judged):
    assert verdict(judged, "each could explain the other") == (
        "xid_or_link", {"link_or_xid": "undecidable_order"}, False,
    )  # fmt: skip


def test_when_each_could_explain_the_other_the_first_wins(judged):
    assert verdict(judged, "each could, one was first") == ("xid_or_link", {"link_or_xid": "later"}, True)
    assert verdict(judged, "each could, on one clock") == ("xid_or_link", {"link_or_xid": "later"}, True)
    assert verdict(judged, "each could, on clocks of one reference") == ("xid_or_link", {"link_or_xid": "later"}, True)


def test_of_one_place_the_more_specific_wins(judged):
    assert verdict(judged, "two readings of one start that name nobody") == ("comm", {"link": "less_specific"}, True)
    assert verdict(judged, "two starts that name nobody") == ("comm", {"link": "undecidable_order"}, False)
    assert verdict(judged, "same place, more specific") == ("comm", {"link": "less_specific"}, True)
    assert verdict(judged, "a GPU of the node, same category") == ("xid", {"killed": "less_specific"}, True)


def test_a_port_names_more_than_the_nodes_it_serves(judged):
    served = {"link_or_xid": "less_specific", "comm": "less_specific"}
    assert verdict(judged, "a switch port and the nodes behind it") == ("link", served, True)
    assert verdict(judged, "a switch port and a node elsewhere")[0] == "comm"


def test_of_two_ends_of_one_link_the_one_with_more_evidence_is_named_and_neither_doubts_the_other(judged):
    assert verdict(judged, "two ends of one link") == ("link_or_xid", {"xid_or_link": "less_specific"}, True)


def test_a_suspect_of_unknown_cause_is_no_rival_on_the_same_node(judged):
    here, elsewhere = (
        judged[f"a suspect of unknown cause {x}"]["xid"]["margin"] for x in ("on the winner's node", "elsewhere")
    )
    assert (here, round(elsewhere, 3)) == (4.0, 0.1)


def test_of_one_place_and_kind_the_one_with_more_evidence_wins(judged):
    assert verdict(judged, "same place and kind, more points") == ("comm", {"link": "less_specific"}, True)


def test_asking_for_more_does_not_undo_what_began_it(judged):
    assert verdict(judged, "same place, began before") == ("xid", {"comm": "explained_by"}, True)


def test_two_of_one_kind_leave_no_doubt_of_what_only_of_where(judged):
    rule, _, order_certain = verdict(judged, "two of one kind at once")
    row = judged["two of one kind at once"][rule]
    assert (order_certain, row["margin"], row["origin_margin"], row["rival_origins"]) == (True, 5.0, 1.0, ["n2"])
    alone = judged["alone"]["xid"]
    assert (alone["margin"], alone["origin_margin"], alone["rival_origins"]) == (4.0, 4.0, [])


def test_a_teardown_wins_only_alone(judged):
    assert verdict(judged, "teardown") == ("comm", {"killed": "explained_by"}, True)
    assert verdict(judged, "only teardown") == ("killed", {}, True)


def test_a_second_fault_of_another_place_with_symptoms_of_its_own_is_a_finding(judged):
    rule, others, _ = verdict(judged, "two faults")
    assert rule == "xid"
    assert {r for r, row in judged["two faults"].items() if row["is_independent"]} == {"killed"}
    assert others == {"killed": None, "end": "covers_less", "link": "low_points", "comm": "source_missing"}


def test_a_fault_of_other_nodes_does_not_explain_what_arises_where_it_is_seen(judged):
    assert verdict(judged, "raised under a fault of another node") == ("lost", {"raised": None}, True)
    assert judged["raised under a fault of another node"]["lost"]["margin"] == 5.0
    assert verdict(judged, "raised perhaps before a fault of another node") == ("lost", {"raised": None}, False)


@pytest.mark.parametrize(
    "name",
    [
        "raised under a fault of its node",
        "passed on under a fault of another node",
        "raised under a fault of nobody's node",
    ],
)
def test_a_fault_explains_what_it_reaches(judged, name):
    assert verdict(judged, name) == ("lost", {"raised": "explained_by"}, True)


def test_what_the_attempt_overcame_explains_nothing_that_came_after(judged):
    assert verdict(judged, "over before the attempt made steps") == ("comm", {"xid": "low_points"}, True)
    assert judged["over before the attempt made steps"]["comm"]["margin"] == 4.5


def test_a_tie_is_broken_by_the_rules_name(judged):
    assert verdict(judged, "tie") == ("end", {"killed": "low_points"}, True)


def test_the_score_is_points_and_twice_the_coverage(judged):
    assert verdict(judged, "coverage counts twice") == ("killed", {"end": "covers_less"}, True)
    scores = {r: row["score"] for r, row in judged["coverage counts twice"].items()}
    assert scores == {"killed": 6.0, "end": 5.9}


def test_the_margin_is_to_the_best_rival_and_what_is_explained_is_none(judged):
    def margin(name):
        return next(round(r["margin"], 3) for r in judged[name].values() if r["is_winner"])

    assert margin("alone") == 4.0
    assert margin("earlier explains later") == 4.0
    assert margin("tie") == 0.0
    assert margin("coverage counts twice") == 0.1
    assert margin("each could explain the other") == 1.0
    # An independent finding is no rival, one over the same symptoms is.
    assert margin("two faults") == 7.0 - 4.5


def test_every_attempt_has_one_winner(judged):
    assert all(sum(r["is_winner"] for r in found.values()) == 1 for found in judged.values())


def test_confidence_is_the_share_at_the_margin(spark):
    margins = [-1.0, 0.0, 0.99, 1.0, 4.9, 5.0, 50.0]
    given = frame(spark, "m double", [{"m": m} for m in margins])
    found = dict(rows(given.select("m", SCORING.confidence(F.col("m")))))
    assert [found[m] for m in margins] == [0.0, 0.3, 0.3, 0.55, 0.8, 0.95, 0.95]


def test_coverage_is_the_share_of_symptoms_of_explained_types_that_do_not_come_before(spark):
    felt = [
        {"t": "03:00:05", "event_type": "comm.timeout"},
        {"t": "02:59:59", "t_high": "03:00:01", "event_type": "comm.timeout"},
        {"t": "02:59:59", "event_type": "comm.timeout"},
        {"t": "03:00:05", "event_type": "data.error"},
        {"t": "03:00:05", "event_type": "comm.timeout", "uid": "other"},
    ]
    given = [
        explanation("comm", "comm.timeout", "03:00:00", uid="u", cid="1"),
        explanation("end", "sched.end", "03:00:00", uid="u", cid="2"),
        explanation("comm", "comm.timeout", "03:00:00", uid="without symptoms", cid="3"),
    ]
    explains = frame(spark, EXPLAINS, [{"rule_id": "comm", "event_type": "comm.timeout"}])
    bare = frame(spark, SCHEMA, given).drop("explained", "coverage")
    assert rows(with_coverage(bare, scoped(spark, felt), explains), "cid", "explained", "coverage") == [
        ("1", ["e0", "e1"], 0.5),
        ("2", [], 0.0),
        ("3", [], 0.0),
    ]
