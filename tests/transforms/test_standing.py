"""What other attempts say of a candidate."""

import pytest

from firstfault.transforms.candidates import CANDIDATES
from firstfault.transforms.contract import column
from firstfault.transforms.standing import HEALTHY_PRIOR, Weights, with_standing
from firstfault.transforms.types import TEXT
from tests.frames import collected, frame

WEIGHTS = Weights(
    healthy_rule=3.0,
    healthy_place=1.0,
    same_place=1.0,
    same_code=1.0,
    place_categories=("gpu_hardware",),
    code_categories=("user_code",),
)
SCHEMA = type(CANDIDATES.schema)([*CANDIDATES.schema.fields, column("uid", TEXT, "attempt"), column("cid", TEXT, "c")])
PEERS = "uid string, cluster string, day date, start timestamp, end timestamp, workload_key string, is_healthy boolean"


def gpu(uid, **given) -> dict:
    """A candidate that blames a GPU of n1."""
    return {
        "uid": uid, "rule_id": "gpu", "category": "gpu_hardware", "origin": ["n1/g0"], "origin_nodes": ["n1"],
        "points": 4.0, "anchor_nodes": ["n1"], "t0": "03:10:00",
    } | given  # fmt: skip


def code(uid, node="n1", **given) -> dict:
    """A candidate that blames the code, seen on a node."""
    more = {"rule_id": "code", "category": "user_code", "origin": [], "origin_nodes": [], "anchor_code": "KeyError"}
    return gpu(uid, anchor_nodes=[node]) | more | given


# Case: the attempts that may speak, the first of which is asked, each with its candidates.
CASES = {
    "nobody else": [({}, [gpu])],
    "fires on healthy ones": [({}, [gpu])] + [({"is_healthy": True}, [lambda u: gpu(u, origin=["n7/g0"])])] * 10,
    "fires on few of many": [({}, [gpu])] + [({"is_healthy": True}, [])] * 30
    + [({"is_healthy": True}, [lambda u: gpu(u, origin=["n7/g0"])])],
    "blames it on healthy ones": [({}, [gpu]), ({"is_healthy": True}, [gpu])],
    "on healthy ones only after they ended": [({}, [gpu]), ({"is_healthy": True, "end": "03:05:00"}, [gpu])],
    "same node, other workload": [({}, [gpu]), ({"workload_key": "w2"}, [lambda u: gpu(u, origin=["n1/g3"])])],
    "same node, same workload": [({}, [gpu]), ({}, [gpu])],
    "same node, other category": [({}, [gpu]), ({"workload_key": "w2"}, [lambda u: gpu(u, category="storage")])],
    "other node, other workload": [({}, [gpu]), ({"workload_key": "w2"}, [lambda u: gpu(u, origin_nodes=["n2"])])],
    "same code, other nodes": [({}, [code]), ({}, [lambda u: code(u, "n2")])],
    "same code, same nodes": [({}, [code]), ({}, [code])],
    "same code, other error": [({}, [code]), ({}, [lambda u: code(u, "n2", anchor_code="OSError")])],
    "other code, same error": [({}, [code]), ({"workload_key": "w2"}, [lambda u: code(u, "n2")])],
    "a place is no code": [({}, [gpu]), ({}, [lambda u: gpu(u, anchor_nodes=["n2"], origin_nodes=["n2"])])],
    "a later day": [({}, [gpu]), ({"workload_key": "w2", "day": "2026-11-21"}, [gpu])],
    "too long ago": [({}, [gpu]), ({"workload_key": "w2", "day": "2026-11-01"}, [gpu])],
    "within the look-back": [({}, [gpu]), ({"workload_key": "w2", "day": "2026-11-15"}, [gpu])],
}  # fmt: skip


@pytest.fixture(scope="module")
def found(spark):
    """The candidate asked about, per case; every case is a cluster of its own."""
    peers, candidates = [], []
    for name, attempts in CASES.items():
        for n, (attempt, made) in enumerate(attempts):
            uid = f"{name} {n}"
            plain = {"day": "2026-11-20", "start": "03:00:00", "end": "03:30:00", "workload_key": "w1"}
            peers.append({"uid": uid, "cluster": name, "is_healthy": False} | plain | attempt)
            day = peers[-1]["day"]
            candidates += [
                make(uid) | {"cluster": name, "day": day, "cid": f"{uid} {k}"} for k, make in enumerate(made)
            ]
    every = frame(spark, SCHEMA, candidates)
    made = collected(with_standing(every, every, frame(spark, PEERS, peers), WEIGHTS, 7))
    assert len(made) == len(candidates)
    return {r["cluster"]: r for r in made if r["uid"] == f"{r['cluster']} 0"}


def said(found, name, *columns):
    return tuple(found[name][c] for c in columns)


def test_alone_a_candidate_keeps_its_points(found):
    assert said(found, "nobody else", "points", "healthy_share", "healthy_places", "same_place", "same_code") == (
        4.0, 0.0, 0, 0, 0,
    )  # fmt: skip


def test_a_rule_that_fires_on_healthy_attempts_explains_little(found):
    share = 10 / (10 + HEALTHY_PRIOR)
    assert said(found, "fires on healthy ones", "healthy_share", "points") == (share, 4.0 - 3.0 * share)
    (few,) = said(found, "fires on few of many", "points")
    assert 3.9 < few < 4.0


def test_the_same_blame_on_a_healthy_attempt_counts_against_it_while_that_ran(found):
    assert said(found, "blames it on healthy ones", "healthy_places") == (1,)
    assert said(found, "fires on healthy ones", "healthy_places") == (0,)
    assert said(found, "on healthy ones only after they ended", "healthy_places", "points") == (0, 4.0)


def test_the_same_node_under_another_workload_speaks_for_the_place(found):
    assert said(found, "same node, other workload", "same_place", "points") == (1, 4.5)
    for name in ("same node, same workload", "same node, other category", "other node, other workload"):
        assert said(found, name, "same_place", "points") == (0, 4.0), name


def test_the_same_failure_on_other_nodes_speaks_for_the_code(found):
    assert said(found, "same code, other nodes", "same_code", "points") == (1, 4.5)
    for name in ("same code, same nodes", "same code, other error", "other code, same error", "a place is no code"):
        assert said(found, name, "same_code", "points") == (0, 4.0), name


def test_only_the_days_before_speak(found):
    assert said(found, "within the look-back", "same_place") == (1,)
    assert said(found, "a later day", "same_place") == (0,)
    assert said(found, "too long ago", "same_place") == (0,)
