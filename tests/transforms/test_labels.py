"""Operators' verdicts."""

from firstfault.transforms.labels import build_labels
from firstfault.transforms.staged import STAGED
from tests.frames import frame, rows


def label(offset, **fields) -> dict:
    return {
        "source": "labels", "cluster": "main", "file": "labels.csv", "file_time": "05:00:00", "byte_offset": offset,
        "fields": fields,
    }  # fmt: skip


def test_a_verdict_of_the_file(spark):
    given = [
        label(0, cluster="alpha", job_id="1", attempt="2", category="gpu_hardware", origin_scope="gpu",
              origin="n2/0000:3b:00 ;n1/0000:3b:00;"),
        label(50, job_id="2", category="storage"),
        label(60, job_id="3", category="storage", origin="x"),
        label(70, job_id="3", category="walltime", attempt="0"),
        label(80, job_id="4", attempt="first", category="walltime"),
        label(90, job_id="5", category=""),
        label(95, category="storage"),
        label(99, job_id="6", category="storage") | {"source": "topology"},
    ]  # fmt: skip
    columns = ("cluster", "job_id", "attempt", "category", "origin_scope", "origin", "kind", "source", "labelled_at")
    assert rows(build_labels(frame(spark, STAGED, given)), *columns) == [
        ("alpha", "1", 2, "gpu_hardware", "gpu", ["n1/0000:3b:00", "n2/0000:3b:00"], "operator", "labels.csv",
         "05:00:00"),
        ("main", "2", 0, "storage", None, [], "operator", "labels.csv", "05:00:00"),
        ("main", "3", 0, "walltime", None, [], "operator", "labels.csv", "05:00:00"),
        ("main", "4", 0, "walltime", None, [], "operator", "labels.csv", "05:00:00"),
    ]  # fmt: skip


def test_who_when_and_why_are_kept_and_a_line_may_take_back(spark):
    plain = {"job_id": "1", "category": "storage"}
    given = [
        label(0, **plain, who="ann", note="full disk") | {"event_time": "04:00:00"},
        label(9, **plain, who="bob", withdrawn="Yes"),
        label(18, **plain, who="bob", withdrawn="no") | {"event_time": "03:00:00"},
    ]
    assert rows(build_labels(frame(spark, STAGED, given)), "who", "labelled_at", "withdrawn", "note", "weight") == [
        ("ann", "04:00:00", False, "full disk", 1.0),
        ("bob", "03:00:00", False, None, 1.0),
        ("bob", "05:00:00", True, None, 1.0),
    ]
