"""What later nights hint at, a kind at a time: what speaks for a verdict, what against it, and what says nothing."""

from functools import reduce

import pytest
from pyspark.sql import DataFrame

from firstfault.jobs.knowledge import RULES_ROOT
from firstfault.rules.engine.vocabulary import Vocabulary
from firstfault.rules.engine.weak_labels import load_weak_labels
from firstfault.transforms.attempts import ATTEMPTS
from firstfault.transforms.diagnoses import DIAGNOSES
from firstfault.transforms.events import EVENTS
from firstfault.transforms.inputs import INPUTS
from firstfault.transforms.repairs import REPAIRS
from firstfault.transforms.weak_cases import cases
from firstfault.transforms.weak_labels import (
    readiness_failed_after,
    repaired,
    same_node_failed_again,
    succeeded_elsewhere,
)
from tests.frames import collected, frame, pick

VOCABULARY = Vocabulary.load(RULES_ROOT / "vocabulary.yaml")
RULES = load_weak_labels(RULES_ROOT / "weak_labels.yaml", VOCABULARY)
AGAIN, REPAIRED, ELSEWHERE, READY = (
    f"weak:{name}"
    for name in ("same_node_failed_again", "repaired", "succeeded_elsewhere", "readiness_failed_after")
)  # fmt: skip


def ran(job, nodes, start="01:00:00", end="02:00:00", number=0, well=False, **more) -> dict:
    return {
        "cluster": "c", "source_cluster": "main", "job_id": job, "attempt": number, "nodes": nodes, "start": start,
        "end": end, "is_ended": True, "is_failure": not well, "workload_key": job, "scope_source": "scheduler",
    } | more  # fmt: skip


def said(job, category, origin=(), scope=None, number=0, **more) -> dict:
    return {
        "cluster": "c", "job_id": job, "attempt": number, "category": category, "origin": list(origin),
        "origin_scope": scope, "track": "live", "outcome": "failed", "confidence": 0.9,
    } | more  # fmt: skip


def gpu(job, node, number=0) -> dict:
    return said(job, "gpu_hardware", [f"{node}/0000:3b:00"], "gpu", number)


ATTEMPT_ROWS = [
    # again: node a1 fails under another job within a week, a2 only under the same one, a3 too late.
    ran("again", ["a1", "a9"]), ran("again other", ["a1", "a8"], "2d 01:00:00", "2d 02:00:00"),
    ran("same job", ["a2"]), ran("same job", ["a2"], "2d 01:00:00", "2d 02:00:00", number=1),
    ran("late", ["a3"]), ran("late other", ["a3"], "8d 01:00:00", "8d 02:00:00"),
    # calm: k1 runs two other jobs to the end, k2 was repaired meanwhile, k3 ran one only.
    *(ran(f"calm {n}", [f"k{n}"]) for n in (1, 2, 3)),
    *(ran(f"fine {n}", ["k1", "k2"] + ["k3"] * (n == 1), f"{n}d 01:00:00", f"{n}d 02:00:00", well=True)
      for n in (1, 2)),
    # elsewhere: the next attempt, or the workload's next job, ends well.
    ran("moved", ["e1", "e2"]), ran("moved", ["e2", "e3"], "03:00:00", "04:00:00", number=1, well=True),
    ran("stayed", ["e4"]), ran("stayed next", ["e4"], "03:00:00", "04:00:00", well=True, workload_key="stayed"),
    ran("swapped", ["e5"]), ran("swapped", ["e5"], "1d 03:00:00", "1d 04:00:00", number=1, well=True),
    ran("failed next", ["e6"]), ran("failed next", ["e7"], "03:00:00", "04:00:00", number=1),
    ran("failed next", ["e7"], "05:00:00", "06:00:00", number=2, well=True),
    ran("other work", ["e8"]), ran("no kin", ["e9"], "03:00:00", "04:00:00", well=True),
    ran("code", ["u1"]), ran("code", ["u2"], "03:00:00", "04:00:00", number=1),
    ran("code same node", ["u3"]), ran("code same node", ["u3", "u4"], "03:00:00", "04:00:00", number=1),
    # repairs and checks.
    ran("part", ["r1", "r2"]), ran("cable", ["r3"]), ran("word", ["r4"]), ran("open", ["r5", "r6"]),
    ran("long", ["r7"]),
    *(ran(f"check {n}", [f"c{n}"]) for n in range(1, 7)),
    # The lake knows of more than a week after all of it.
    ran("end of time", ["z"], "20d 01:00:00", "20d 02:00:00", well=True),
]  # fmt: skip
VERDICTS = [
    gpu("again", "a1"), said("again other", "host_hardware", ["a1"], "node"),
    gpu("same job", "a2"), gpu("same job", "a2", 1), gpu("late", "a3"), gpu("late other", "a3"),
    *(gpu(f"calm {n}", f"k{n}") for n in (1, 2, 3)),
    gpu("moved", "e1"), gpu("stayed", "e4"), gpu("swapped", "e5"), gpu("failed next", "e6"), gpu("other work", "e8"),
    said("failed next", "unknown", number=1),
    said("code", "user_code", scope="job"), said("code", "user_code", scope="job", number=1),
    said("code same node", "user_code", scope="job"), said("code same node", "user_code", scope="job", number=1),
    said("part", "user_code", ["r1"], "node"), said("cable", "network_link", ["r3/mlx5_0/1"], "port"),
    gpu("word", "r4"), said("open", "unknown"), said("long", "unknown"),
    *(gpu(f"check {n}", f"c{n}") for n in range(1, 6)), said("check 6", "user_code", ["c6"], "node"),
    gpu("again", "a1") | {"track": "shadow", "category": "storage"},
]  # fmt: skip
REPAIR_ROWS = [
    {"cluster": "main", "node": "k2", "part": "dust", "day": "2026-11-22"},
    {"cluster": "c", "node": "e5", "part": "riser", "day": "2026-11-21"},
    {"cluster": "main", "node": "r1", "device": "0000:3b:00", "serial": "165", "part": "h100 gpu", "day": "2026-11-25"},
    {"cluster": "main", "node": "r3", "device": "mlx5_0", "part": "aoc cable", "day": "2026-11-20"},
    {"cluster": "main", "node": "r4", "part": "sticker", "day": "2026-11-21"},
    {"cluster": "main", "node": "r6", "part": "dimm", "day": "2026-11-22"},
    {"cluster": "main", "node": "r7", "part": "dimm", "day": "2026-11-23"},
    {"cluster": "else", "node": "r4", "part": "gpu", "day": "2026-11-21"},
]
_EVENT = {"cluster": "main", "event_type": "diag.gpu_test", "job_id": "_node", "event_id": "e", "day": "2026-11-20"}
EVENT_ROWS = [
    _EVENT | {"node": "c1", "t": "05:00:00", "attrs": {"status": "FAIL"}, "device": "0000:3b:00"},
    _EVENT | {"node": "c2", "t": "05:00:00", "attrs": {"status": "FAIL"}, "device": "0000:5d:00"},
    _EVENT | {"node": "c3", "t": "01:30:00", "attrs": {"status": "FAIL"}},
    _EVENT | {"node": "c3", "t": "06:00:00", "event_type": "diag.bandwidth"},
    _EVENT | {"node": "c4", "t": "05:00:00", "event_type": "comm.async_error", "source": "app"},
    _EVENT | {"node": "c6", "t": "05:00:00", "attrs": {"status": "FAIL"}},
]
_CHECK = {"cluster": "main", "format": "dcgmi", "state": "landed", "stream_id": "s", "from_byte": 0}
INPUT_ROWS = [
    _CHECK | {"node": "c5", "file": "nodes/c5/readiness/dcgmi-diag.json", "file_time": "07:00:00"},
    _CHECK | {"node": "c1", "file": "nodes/c1/readiness/dcgmi-diag.json", "file_time": "07:00:00"},
    _CHECK | {"node": "c4", "file": "nodes/c4/dcgmi-dmon.txt", "file_time": "07:00:00"},
]


@pytest.fixture(scope="module")
def found(spark) -> list[dict]:
    attempts, repairs = frame(spark, ATTEMPTS, ATTEMPT_ROWS), frame(spark, REPAIRS, REPAIR_ROWS)
    judged = cases(frame(spark, DIAGNOSES, VERDICTS), attempts)
    judged = spark.createDataFrame(judged.toArrow(), judged.schema)
    parts = (
        same_node_failed_again(judged, judged, attempts, repairs, RULES),
        repaired(judged, repairs, RULES),
        succeeded_elsewhere(judged, judged, attempts, repairs, RULES),
        readiness_failed_after(judged, frame(spark, EVENTS, EVENT_ROWS), frame(spark, INPUTS, INPUT_ROWS), RULES),
    )
    return collected(reduce(DataFrame.unionByName, parts))


COLUMNS = ("job_id", "attempt", "category", "refutes", "labelled_at")


def test_a_node_that_fails_under_another_job_speaks_for_the_verdict_and_one_that_works_against_it(found):
    assert pick(found, *COLUMNS, source=AGAIN) == [
        ("again", 0, "gpu_hardware", False, "2026-11-22 02:00:00"),
        ("calm 1", 0, "gpu_hardware", True, "2026-11-27 02:00:00"),
    ]
    assert pick(found, "note", source=AGAIN) == [
        ("a1 failed again in job again other",),
        ("ran 2 other jobs to the end in 7 days without a repair",),
    ]


def test_a_part_that_was_replaced_names_the_category(found):
    assert pick(found, *COLUMNS, "origin_scope", "origin", "weight", source=REPAIRED) == [
        ("cable", 0, "network_link", False, "00:00:00", "port", ["r3/mlx5_0/1"], 0.9),
        ("open", 0, "host_hardware", False, "2026-11-22 00:00:00", "node", ["r6"], 0.4),
        ("part", 0, "gpu_hardware", False, "2026-11-25 00:00:00", "gpu", ["r1/0000:3b:00"], 0.9),
    ]
    assert pick(found, "note", source=REPAIRED, job_id="part") == [("h100 gpu of r1 replaced 165",)]


def test_the_next_attempt_and_the_same_code_elsewhere(found):
    assert pick(found, *COLUMNS, "weight", source=ELSEWHERE) == [
        ("code", 0, "user_code", False, "04:00:00", 0.5),
        ("moved", 0, "gpu_hardware", False, "04:00:00", 0.4),
        ("stayed", 0, "gpu_hardware", True, "04:00:00", 0.4),
    ]


def test_checks_after_the_attempt(found):
    assert pick(found, *COLUMNS, source=READY) == [
        ("check 1", 0, "gpu_hardware", False, "05:00:00"),
        ("check 3", 0, "gpu_hardware", True, "06:00:00"),
        ("check 5", 0, "gpu_hardware", True, "07:00:00"),
    ]


def test_all_are_weak_and_one_a_case_and_function(found):
    assert {(r["kind"], r["who"], r["withdrawn"]) for r in found} == {("weak", None, False)}
    keys = [(r["job_id"], r["attempt"], r["source"]) for r in found]
    assert len(keys) == len(set(keys))
    assert all(0 < r["weight"] < 1 and r["note"] for r in found)
