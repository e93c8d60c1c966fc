"""What statements on an attempt come to: agreement, conflict, and weak labels apart."""

import pytest

from firstfault.transforms.attempts import ATTEMPTS
from firstfault.transforms.label_verdicts import of_attempts, resolve
from firstfault.transforms.labels import LABELS
from tests.frames import collected, frame, pick

_SAID = {"cluster": "c", "attempt": 0, "kind": "operator", "source": "labels.csv", "labelled_at": "05:00:00"}
_WEAK = _SAID | {"kind": "weak", "source": "weak:repaired", "weight": 0.6}


def said(job: str, category: str, who: str | None = None, **more) -> dict:
    return _SAID | {"job_id": job, "category": category, "who": who} | more


def weak(job: str, category: str, **more) -> dict:
    return _WEAK | {"job_id": job, "category": category} | more


AT_N1 = {"origin_scope": "node", "origin": ["n1"]}
STATEMENTS = [
    said("one", "storage", **AT_N1),
    said("agree", "storage", "ann", **AT_N1),
    said("agree", "storage", "bob", source="command", labelled_at="06:00:00"),
    said("differ", "storage", "ann", **AT_N1),
    said("differ", "walltime", "bob", labelled_at="06:00:00", **AT_N1),
    said("places", "storage", "ann", **AT_N1),
    said("places", "storage", "bob", origin_scope="node", origin=["n2"]),
    said("changed", "storage", "ann"),
    said("changed", "walltime", "ann", labelled_at="06:00:00", origin_scope="job"),
    said("two sources", "storage", "ann"),
    said("two sources", "walltime", "ann", source="jira", labelled_at="06:00:00"),
    said("taken back", "storage", "ann"),
    said("taken back", "storage", "ann", labelled_at="06:00:00", withdrawn=True),
    said("back again", "storage", "ann", withdrawn=True),
    said("back again", "storage", "ann", labelled_at="06:00:00"),
    said("one left", "storage", "ann"),
    said("one left", "walltime", "bob", withdrawn=True, labelled_at="06:00:00"),
    said("same time", "storage", "ann"),
    said("same time", "walltime", "ann"),
    weak("weak", "storage", refutes=False),
    weak("weak", "storage", source="weak:readiness", weight=0.3, refutes=False),
    weak("weak", "walltime", source="weak:elsewhere", weight=0.8, refutes=False),
    weak("tie", "storage"),
    weak("tie", "walltime", source="weak:elsewhere"),
    weak("refuted", "storage", refutes=True),
    weak("both", "walltime"),
    said("both", "storage", "ann"),
]
"""Also read by the twin without Spark (tests/jobs/test_label_words.py)."""


@pytest.fixture(scope="module")
def found(spark) -> list[dict]:
    return collected(resolve(frame(spark, LABELS, STATEMENTS)))


@pytest.mark.parametrize(
    ("job", "category", "scope", "origin", "conflict", "voices"),
    [
        ("one", "storage", "node", ["n1"], False, 1),
        ("agree", "storage", "node", ["n1"], False, 2),
        ("differ", None, "node", ["n1"], True, 2),
        ("places", "storage", None, None, True, 2),
        ("changed", "walltime", "job", None, False, 1),
        ("two sources", None, None, None, True, 2),
        ("back again", "storage", None, None, False, 1),
        ("one left", "storage", None, None, False, 1),
        ("same time", "walltime", None, None, False, 1),
        ("weak", None, None, None, False, 0),
        ("both", "storage", None, None, False, 1),
    ],
)
def test_operators(found, job, category, scope, origin, conflict, voices):
    [row] = [r for r in found if r["job_id"] == job]
    told = (row["category"], row["origin_scope"], row["origin"], row["is_conflict"], len(row["statements"]))
    assert told == (category, scope, origin, conflict, voices)


def test_a_statement_that_was_taken_back_leaves_nothing(found):
    assert pick(found, "category", job_id="taken back") == []


def test_statements_are_sorted_and_the_newest_dates_the_verdict(found):
    [row] = [r for r in found if r["job_id"] == "differ"]
    assert row["statements"] == [
        ("storage", "node", ["n1"], "ann", "labels.csv", "05:00:00"),
        ("walltime", "node", ["n1"], "bob", "labels.csv", "06:00:00"),
    ]
    assert row["labelled_at"] == "06:00:00"


@pytest.mark.parametrize(
    ("job", "category", "weight", "hints"),
    [("weak", "storage", 0.9, 3), ("tie", None, None, 2), ("refuted", None, None, 1), ("both", "walltime", 0.6, 1),
     ("one", None, None, 0)],
)  # fmt: skip
def test_weak_labels_are_weighed_apart(found, job, category, weight, hints):
    [row] = [r for r in found if r["job_id"] == job]
    assert (row["weak_category"], row["weak_weight"], len(row["weak"])) == (category, weight, hints)


def test_a_label_is_of_the_attempt_whose_cluster_or_whose_files_cluster_it_names(spark):
    attempts = frame(spark, ATTEMPTS, [
        {"cluster": "alpha", "source_cluster": "main", "job_id": "1", "attempt": 0},
        {"cluster": "alpha", "source_cluster": "alpha", "job_id": "2", "attempt": 0},
        {"cluster": "beta", "job_id": "3", "attempt": 0},
    ])  # fmt: skip
    labels = frame(spark, LABELS, [
        said("1", "storage", cluster="main"), said("1", "walltime", "ann", cluster="alpha"),
        said("2", "storage", cluster="alpha"), said("2", "walltime", cluster="main"),
        said("3", "storage", cluster="beta"), said("4", "storage", cluster="alpha"),
    ])  # fmt: skip
    found = collected(of_attempts(labels, attempts))
    assert sorted((r["cluster"], r["job_id"], r["category"]) for r in found) == [
        ("alpha", "1", "storage"), ("alpha", "1", "walltime"), ("alpha", "2", "storage"), ("beta", "3", "storage"),
    ]  # fmt: skip
