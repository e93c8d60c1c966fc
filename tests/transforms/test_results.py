"""Verdicts for light readers, with what operators found."""

import pytest

from firstfault.transforms.diagnoses import DIAGNOSES
from firstfault.transforms.label_verdicts import resolve
from firstfault.transforms.labels import LABELS
from firstfault.transforms.results import build_results
from tests.frames import collected, frame, pick

COLUMNS = ("job_id", "attempt", "category", "label_category", "label_origin", "label_agrees", "label_conflict")


@pytest.fixture(scope="module")
def results(spark):
    verdict = {
        "outcome": "failed", "origin": [], "confidence": 0.9, "ruleset_version": "v", "track": "live", "attempt": 0,
        "cluster": "alpha", "category": "storage",
    }  # fmt: skip
    said = {"attempt": 0, "kind": "operator", "source": "labels.csv", "labelled_at": "05:00:00", "cluster": "alpha"}
    diagnoses = [
        verdict | {"job_id": "1"},
        verdict | {"job_id": "1", "track": "shadow"},
        verdict | {"job_id": "2"},
        verdict | {"job_id": "3"},
        verdict | {"job_id": "3", "attempt": 1},
        verdict | {"job_id": "4", "cluster": "beta"},
    ]
    labels = [
        said | {"job_id": "1", "category": "storage", "origin": ["/scratch"]},
        said | {"job_id": "1", "category": "walltime", "labelled_at": "04:00:00"},
        said | {"job_id": "1", "category": "walltime", "kind": "weak", "labelled_at": "06:00:00"},
        said | {"job_id": "2", "category": "walltime", "kind": "weak", "source": "weak:f"},
        said | {"job_id": "3", "category": "walltime"},
        said | {"job_id": "3", "attempt": 1, "category": "walltime", "who": "ann"},
        said | {"job_id": "3", "attempt": 1, "category": "storage", "who": "bob"},
        said | {"job_id": "4", "category": "walltime"},
    ]
    verdicts = resolve(frame(spark, LABELS, labels))
    return collected(build_results(frame(spark, DIAGNOSES, diagnoses), verdicts))


def test_live_verdicts_carry_what_operators_agree_on(results):
    assert pick(results, *COLUMNS, cluster="alpha") == [
        ("1", 0, "storage", "storage", ["/scratch"], True, False),
        ("2", 0, "storage", None, None, None, None),
        ("3", 0, "storage", "walltime", None, False, False),
        ("3", 1, "storage", None, None, None, True),
    ]


def test_a_label_of_another_cluster_is_of_another_job(results):
    assert pick(results, *COLUMNS, cluster="beta") == [("4", 0, "storage", None, None, None, None)]
