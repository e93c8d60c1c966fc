"""What an attempt felt, and whether it needs a verdict."""

import pytest
from pyspark.sql import functions as F

from firstfault.transforms.attempts import ATTEMPTS
from firstfault.transforms.symptoms import diagnosable, first_symptoms
from tests.frames import collected, frame, moment, rows, scoped


def test_the_first_event_per_node_and_type_and_how_many_there_were(spark):
    given = [
        {"t": "03:00:05", "node": "n1", "event_type": "comm.timeout", "rank": 1, "count": 3},
        {"t": "03:00:02", "t_high": "03:00:09", "node": "n1", "event_type": "comm.timeout", "rank": 2},
        {"t": "03:00:07", "node": "n2", "event_type": "comm.timeout", "role": "initiating"},
        {"t": "03:00:08", "node": None, "event_type": "comm.timeout"},
        {"t": "03:00:01", "node": "n1", "event_type": "gpu.xid", "role": "context"},
        {"t": "03:00:01", "node": "n1", "event_type": "train.step", "role": "progress"},
        {"t": "03:00:01", "node": "n1", "event_type": "proc.killed", "role": "teardown"},
        {"t": "03:00:09", "node": "n1", "event_type": "comm.timeout", "uid": "v"},
    ]
    assert rows(first_symptoms(scoped(spark, given)), "uid", "node", "event_type", "event_id", "t", "rank", "n") == [
        ("u", "n1", "comm.timeout", "e0", "03:00:05", 1, 4),
        ("u", "n2", "comm.timeout", "e2", "03:00:07", None, 1),
        ("u", None, "comm.timeout", "e3", "03:00:08", None, 1),
        ("v", "n1", "comm.timeout", "e7", "03:00:09", None, 1),
    ]


STEP = ("train.step", "progress")
DONE = ("train.done", "progress")
SAVED = ("train.ckpt_end", "progress")
FAULT = ("comm.timeout", "cascade")
KILLED = ("proc.killed", "teardown")
NOTE = ("gpu.identity", "context")
OK, FAILED, RUNNING, GUESSED = (True, False), (True, True), (False, False), (True, False)
CASES = {
    # name: (is_ended, is_failure), own events in order of the stream
    "failed": (FAILED, [STEP]),
    "failed without a line": (FAILED, []),
    "failed after it was done": (FAILED, [STEP, DONE, KILLED]),
    "completed": (OK, [STEP, DONE]),
    "completed without a line": (OK, []),
    "completed, fault at the end": (OK, [STEP, FAULT]),
    "completed, killed at the end": (OK, [STEP, KILLED]),
    "completed, fault overcome": (OK, [STEP, FAULT, STEP]),
    "completed, fault then saved": (OK, [STEP, FAULT, SAVED]),
    "completed, fault then success": (OK, [STEP, FAULT, DONE]),
    "completed, only a note": (OK, [STEP, NOTE]),
    "completed, success of an earlier part": (OK, [DONE, STEP, FAULT]),
    "running and silent": (RUNNING, [STEP]),
    "running with a fault and steps": (RUNNING, [FAULT, (*STEP, "03:59:00")]),
    "running": (RUNNING, [(*STEP, "03:50:00")]),
}


@pytest.fixture(scope="module")
def due(spark):
    attempts, events = [], []
    for name, ((is_ended, is_failure), own) in CASES.items():
        attempts.append({"cluster": "c", "job_id": name, "attempt": 0, "is_ended": is_ended, "is_failure": is_failure})
        for offset, (event_type, role, *time) in enumerate(own):
            events.append(
                {
                    "uid": name, "event_type": event_type, "role": role, "byte_offset": offset,
                    "t": time[0] if time else "03:00:00",
                }
            )  # fmt: skip
    # Another rank's stream ends well; an event that is not the job's own ends nothing.
    attempts += [
        {"cluster": "c", "job_id": n, "attempt": 0, "is_ended": True, "is_failure": False}
        for n in ("two ranks", "two ranks, one succeeded", "node's fault only")
    ]
    plain = {"t": "03:00:00", "role": "cascade", "event_type": "comm.timeout", "byte_offset": 5}
    for name in ("two ranks", "two ranks, one succeeded"):
        events += [plain | {"uid": name, "stream_id": "r0"}]
        last = "train.done" if "succeeded" in name else "train.step"
        events += [plain | {"uid": name, "stream_id": "r1", "event_type": last, "role": "progress", "byte_offset": 9}]
    events += [plain | {"uid": "node's fault only", "relation": "node"}]
    as_of = F.lit(moment("04:00:00"))
    found = diagnosable(frame(spark, ATTEMPTS, attempts), scoped(spark, events), as_of, 1800)
    return {r["job_id"]: (r["succeeded"], r["is_hung"]) for r in collected(found)}


def test_a_failure_of_the_scheduler_needs_a_verdict_whatever_the_logs_say(due):
    assert due["failed"] == (False, False)
    assert due["failed without a line"] == (False, False)
    assert due["failed after it was done"] == (True, False)


def test_a_completed_attempt_needs_one_when_a_fault_follows_its_last_progress(due):
    assert due["completed, fault at the end"] == (False, False)
    assert due["completed, killed at the end"] == (False, False)
    assert due["completed, success of an earlier part"] == (False, False)
    assert due["two ranks"] == (False, False)


def test_progress_or_success_after_the_fault_and_faults_of_others_need_none(due):
    others = {n for n in CASES if n.startswith("completed")} | {"two ranks, one succeeded", "node's fault only"}
    needed = {
        "completed, fault at the end", "completed, killed at the end", "completed, success of an earlier part",
    }  # fmt: skip
    assert others & set(due) == needed


def test_a_running_attempt_needs_one_after_half_an_hour_without_progress(due):
    assert due["running and silent"] == (False, True)
    assert "running" not in due
    assert "running with a fault and steps" not in due
