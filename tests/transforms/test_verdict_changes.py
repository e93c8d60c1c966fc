"""What a candidate rule set changes, and whether the labels call it better."""

import pytest

from firstfault.transforms.diagnoses import DIAGNOSES
from firstfault.transforms.label_verdicts import LABEL_VERDICTS
from firstfault.transforms.verdict_changes import GAIN, LOSS, NO_LABEL, NO_MATTER, changes, compare, tally
from tests.frames import DAY, collected, frame

GPU, HOST, UNKNOWN = "gpu_hardware", "host_hardware", "unknown"
CASES = {
    # job: (live, candidate, label), each (category, origin, confidence) or None
    "better": ((UNKNOWN, [], 0.4), (GPU, ["n1"], 0.9), (GPU, ["n1"])),
    "worse": ((GPU, ["n1"], 0.9), (HOST, ["n1"], 0.8), (GPU, ["n1"])),
    "worse, unsurely": ((GPU, ["n1"], 0.9), (HOST, ["n1"], 0.6), (GPU, ["n1"])),
    "falls silent": ((GPU, ["n1"], 0.9), (UNKNOWN, [], 0.3), (GPU, ["n1"])),
    "other origin": ((GPU, ["n1"], 0.9), (GPU, ["n2"], 0.9), (GPU, ["n1"])),
    "names no origin": ((GPU, ["n1"], 0.9), (GPU, [], 0.9), (GPU, ["n1"])),
    "label names no origin": ((GPU, ["n1"], 0.9), (GPU, ["n2"], 0.9), (GPU, None)),
    "wrong both times": ((HOST, ["n1"], 0.9), ("storage", [], 0.9), (GPU, ["n1"])),
    "surely wrong before": ((HOST, ["n1"], 0.9), (UNKNOWN, [], 0.4), (GPU, ["n1"])),
    "no label": ((GPU, ["n1"], 0.9), (HOST, ["n1"], 0.9), None),
    "operators differ": ((GPU, ["n1"], 0.9), (HOST, ["n1"], 0.9), (None, None)),
    "surer only": ((GPU, ["n1"], 0.7), (GPU, ["n1"], 0.9), (GPU, ["n1"])),
    "no verdict now": ((GPU, ["n1"], 0.9), None, (GPU, ["n1"])),
    "a verdict now": (None, (GPU, ["n1"], 0.9), (GPU, ["n1"])),
}  # fmt: skip


def _verdicts(side: int) -> list[dict]:
    return [
        {"cluster": "c", "job_id": job, "attempt": 0, "day": DAY, "category": said[0], "origin": said[1],
         "confidence": said[2], "rule_id": "a_rule"}
        for job, case in CASES.items() if (said := case[side])
    ]  # fmt: skip


@pytest.fixture(scope="module")
def compared(spark):
    labels = [
        {
            "cluster": "c",
            "job_id": job,
            "attempt": 0,
            "category": label[0],
            "origin": label[1],
            "is_conflict": not label[0],
        }
        for job, (_, _, label) in CASES.items()
        if label
    ]
    return compare(
        frame(spark, DIAGNOSES, _verdicts(0)),
        frame(spark, DIAGNOSES, _verdicts(1)),
        frame(spark, LABEL_VERDICTS, labels),
    ).cache()


@pytest.fixture(scope="module")
def rows(compared):
    return {r["job_id"]: r for r in collected(compared)}


@pytest.mark.parametrize(
    ("job", "effect"),
    [
        ("better", GAIN), ("a verdict now", GAIN),
        ("worse", LOSS), ("worse, unsurely", LOSS), ("falls silent", LOSS), ("other origin", LOSS),
        ("no verdict now", LOSS),
        ("names no origin", NO_MATTER), ("label names no origin", NO_MATTER), ("wrong both times", NO_MATTER),
        ("surely wrong before", NO_MATTER), ("surer only", NO_MATTER),
        ("no label", NO_LABEL), ("operators differ", NO_LABEL),
    ],
)  # fmt: skip
def test_effect(rows, job, effect):
    assert rows[job]["effect"] == effect


def test_only_a_new_wrong_verdict_that_is_acted_on_is_surely_wrong_now(rows):
    assert {job for job, r in rows.items() if r["surely_wrong_now"]} == {"worse", "other origin"}


def test_a_change_is_another_category_or_origin(spark, compared, rows):
    found = collected(changes(compared, "aaa", "bbb"))
    assert {r["job_id"] for r in found} == CASES.keys() - {"surer only"}
    assert {(r["live_version"], r["candidate_version"]) for r in found} == {("aaa", "bbb")}
    assert not rows["surer only"]["is_changed"]


def test_the_tally_counts_labelled_attempts_only_where_rightness_matters(compared):
    [row] = collected(tally(compared))
    assert row == {
        "attempts": 14, "changed": 13, "labelled": 12, "gains": 2, "losses": 5, "live_right": 8, "candidate_right": 5,
        "live_surely_wrong": 2, "candidate_surely_wrong": 3, "surely_wrong_now": 2,
    }  # fmt: skip
