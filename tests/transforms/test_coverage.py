"""Which sources an attempt could be seen by, and whether they were there to the end."""

import pytest

from firstfault.transforms.attempts import ATTEMPTS
from firstfault.transforms.coverage import build_coverage
from firstfault.transforms.inputs import INPUTS
from tests.frames import collected, frame, pick


def landed(fmt, home, first, last, *, node=None, lines=10, cluster="c", **given) -> dict:
    return {
        "format": fmt, "job_id": home, "first_time": first, "last_time": last, "node": node, "lines_landed": lines,
        "cluster": cluster, "state": "landed", "file_time": "04:00:00",
    } | given  # fmt: skip


def attempt(job, end, *nodes, number=0) -> dict:
    return {
        "cluster": "alpha", "source_cluster": "c", "job_id": job, "attempt": number, "start": "03:00:00", "end": end,
        "nodes": list(nodes), "day": "2026-11-20",
    }  # fmt: skip


@pytest.fixture(scope="module")
def found(spark):
    inputs = [
        landed("app", "1", "03:00:00", "03:20:00"),
        landed("app", "1", "03:20:00", "03:55:00", node="n1"),
        landed("app", "1", "03:20:00", "03:30:00", node="n1"),
        landed("app", "1", "03:00:00", "03:40:00", node="n2", attempt_hint=0),
        landed("app", "1", "03:00:00", "03:40:00", node="n2", attempt_hint=1, lines=7),
        # 45 minutes before the end is no longer the end; a quarter of an hour is.
        landed("kernel", "_node", "02:00:00", "03:15:00", node="n1"),
        landed("dmesg", "_node", "02:00:00", "03:45:00", node="n2"),
        landed("kernel", "_node", "01:00:00", "02:00:00", node="n3"),
        landed("kernel", "_node", "1d 05:00:00", "1d 06:00:00", node="n3"),
        landed("kernel", "_node", "03:00:00", "04:00:00", node="n1", cluster="d"),
        # Without times the file's time speaks.
        landed("perfquery", "_node", None, None, node="n1"),
        landed("topology", "_cluster", "03:00:00", "04:00:00"),
        landed("sacct", "_cluster", "03:00:00", "1d 00:00:00"),
        landed("app", "2", "03:00:00", "03:00:10"),
    ]
    attempts = [attempt("1", "04:00:00", "n1", "n2", "n3"), attempt("2", None, "n3")]
    made = build_coverage(frame(spark, INPUTS, inputs), frame(spark, ATTEMPTS, attempts), 86_400)
    return collected(made)


def test_own_logs_per_node_with_their_lines_and_span(found):
    columns = ("node", "first", "last", "lines", "delivered_throughout")
    assert pick(found, *columns, job_id="1", kind="app_log") == [
        ("n1", "03:20:00", "03:55:00", 20, True),
        ("n2", "03:00:00", "03:40:00", 10, False),
        (None, "03:00:00", "03:20:00", 10, False),
    ]


def test_logs_of_its_nodes_count_when_they_touch_the_window_and_are_whole_when_they_reach_its_end(found):
    assert pick(found, "node", "lines", "delivered_throughout", job_id="1", kind="kernel_log") == [
        ("n1", 10, False),
        ("n2", 10, True),
    ]
    assert pick(found, "node", "first", "delivered_throughout", job_id="1", kind="port_counters") == [
        ("n1", "04:00:00", True)
    ]


def test_sources_of_the_cluster_count_for_every_attempt_and_other_formats_for_none(found):
    assert pick(found, "job_id", "node", "delivered_throughout", kind="scheduler") == [
        ("1", None, True),
        ("2", None, True),
    ]
    assert {r["kind"] for r in found} == {"app_log", "kernel_log", "port_counters", "scheduler"}


def test_what_a_running_attempt_has_is_taken_as_whole(found):
    assert pick(found, "last", "delivered_throughout", job_id="2", kind="app_log") == [("03:00:10", True)]
