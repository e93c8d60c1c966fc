"""The scheduler's word beside ours."""

import pytest

from firstfault.transforms.crosscheck import REASONS, with_crosscheck
from tests.frames import collected, frame

GIVEN = [
    {"reason_no": 0, "says": "failed", "outcome": "hung", "category": ["storage"], "why": "a file server stood still"},
    {"reason_no": 1, "says": "failed", "outcome": "hung", "category": [], "why": "it stood still"},
    {"reason_no": 2, "says": "none", "outcome": None, "category": [], "why": "exit codes only"},
    {"reason_no": 3, "says": "timeout", "outcome": "timeout", "category": ["scheduler"], "why": "its clock was wrong"},
]
ROWS = "uid string, outcome string, category string, scheduler_state string, outcome_hint string"
ANYWAY = "its state tells how the attempt was ended, the evidence how it began."
CASES = {
    "equal": ("failed", "user_code", "FAILED", "failed"),
    "first fitting reason": ("hung", "storage", "FAILED", "failed"),
    "reason for any category": ("hung", "unknown", "FAILED", "failed"),
    "no reason known": ("preempted", "preemption", "FAILED", "failed"),
    "claims nothing": ("failed", "user_code", "COMPLETED", None),
    "no scheduler": ("failed", "user_code", None, None),
    "agrees for another reason": ("timeout", "scheduler", "TIMEOUT", "timeout"),
}


@pytest.fixture(scope="module")
def found(spark):
    names = ("outcome", "category", "scheduler_state", "outcome_hint")
    given = [{"uid": uid, **dict(zip(names, case, strict=True))} for uid, case in CASES.items()]
    made = collected(with_crosscheck(frame(spark, ROWS, given), frame(spark, REASONS, GIVEN)))
    return {r["uid"]: (r["agrees_with_scheduler"], r["scheduler_note"]) for r in made}


@pytest.mark.parametrize(
    ("name", "agrees", "note"),
    [
        ("equal", True, "The scheduler says FAILED, and so do we."),
        (
            "first fitting reason",
            False,
            "The scheduler says FAILED (failed); we say hung: a file server stood still.",
        ),
        ("reason for any category", False, "The scheduler says FAILED (failed); we say hung: it stood still."),
        (
            "no reason known",
            False,
            "The scheduler says FAILED (failed); we say preempted: " + ANYWAY,
        ),
        ("claims nothing", None, "The scheduler says COMPLETED; we say failed: exit codes only."),
        ("no scheduler", None, None),
        (
            "agrees for another reason",
            True,
            "The scheduler says TIMEOUT, and so do we, but its clock was wrong.",
        ),
    ],
)
def test_each_word_of_the_scheduler_is_answered(found, name, agrees, note):
    assert found[name] == (agrees, note)


def test_every_attempt_stays_one_row(found):
    assert set(found) == set(CASES)
