"""Which sources an attempt could be seen by, whether they were there to the end, and what they lost."""

import pytest

from firstfault.transforms.attempts import ATTEMPTS
from firstfault.transforms.coverage import build_coverage
from firstfault.transforms.inputs import INPUTS
from firstfault.transforms.scoped_events import SCOPED_EVENTS
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


def notice(job, node, t, *, source="kernel", last=None, number=0, **attrs) -> dict:
    """A notice of lost lines as scoping gives it."""
    return {
        "cluster": "alpha", "job_id": job, "attempt": number, "event_type": "sys.log_gap", "relation": "node",
        "node": node, "source": source, "t": t, "t_low": t, "t_high": t, "t_last": last or t,
        "attrs": {k: str(v) for k, v in attrs.items()},
    }  # fmt: skip


NOTICES = [
    # NFS hours before the end, another node's loss, another source's: none of them concerns the end of g1.
    notice("3", "g1", "03:10:00", count=40), notice("3", "g1", "03:20:00", count=2, last="03:25:00"),
    notice("3", "g2", "03:59:00", count=12),
    # A fabric manager's loss is not one of the kernel's log; a repeated message loses nothing.
    notice("3", "g3", "03:59:00", source="fabricmanager"),
    notice("3", "g4", "03:59:00", count=3, lost="none"),
    # A burst that goes on into the last quarter of an hour, a notice that counts what was lost just before the end.
    notice("3", "g5", "03:30:00", last="03:46:00"), notice("3", "g6", "04:00:20", count=7),
    notice("3", "g7", "04:00:40", count=7), notice("1", "g7", "03:59:00"),
    # Of an attempt that still runs nothing is the end.
    notice("2", None, "03:00:10", source="app", count=1),
]  # fmt: skip
CLOCKS = "cluster string, job_id string, attempt int, node string, clock_offset_s double, clock_error_s double, \
faults array<struct<source: string, fault: string>>"


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
        *(landed("kernel", "_node", "02:00:00", "04:00:00", node=f"g{n}") for n in range(1, 8)),
        landed("fabricmanager", "_node", "02:00:00", "04:00:00", node="g2"),
    ]
    attempts = [
        attempt("1", "04:00:00", "n1", "n2", "n3"),
        attempt("2", None, "n3"),
        attempt("3", "04:00:00", *(f"g{n}" for n in range(1, 8))),
    ]
    clocks = [
        {"cluster": "alpha", "job_id": "3", "attempt": 0, "node": "g1", "clock_offset_s": 2.5, "clock_error_s": 0.1,
         "faults": [("*", "step"), ("dmesg", "whole_hour"), ("kernel", "whole_hour"), ("app", "off"), ("sel", "off")]},
    ]  # fmt: skip
    made = build_coverage(
        frame(spark, INPUTS, inputs), frame(spark, ATTEMPTS, attempts), 86_400, frame(spark, SCOPED_EVENTS, NOTICES),
        frame(spark, CLOCKS, clocks),
    )  # fmt: skip
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
        ("3", None, True),
    ]
    assert {r["kind"] for r in found} == {"app_log", "kernel_log", "port_counters", "scheduler", "fabric_manager"}


def test_what_a_running_attempt_has_is_taken_as_whole(found):
    assert pick(found, "last", "delivered_throughout", job_id="2", kind="app_log") == [("03:00:10", True)]


def test_a_loss_near_the_end_leaves_no_certain_absence_there(found):
    columns = ("node", "gaps", "lost_lines", "gap_from", "gap_to", "delivered_throughout")
    assert pick(found, *columns, job_id="3", kind="kernel_log") == [
        ("g1", 2, 42, "03:10:00", "03:25:00", True),
        ("g2", 1, 12, "03:59:00", "03:59:00", False),
        ("g3", 0, None, None, None, True),
        ("g4", 0, None, None, None, True),
        ("g5", 1, None, "03:30:00", "03:46:00", False),
        ("g6", 1, 7, "04:00:20", "04:00:20", False),
        ("g7", 1, 7, "04:00:40", "04:00:40", True),
    ]
    assert pick(found, "node", "gaps", "delivered_throughout", kind="fabric_manager") == [("g2", 0, True)]


def test_a_source_of_the_whole_job_has_the_losses_of_any_node(found):
    assert pick(found, "gaps", "lost_lines", "delivered_throughout", job_id="2", kind="app_log") == [(1, 1, True)]


def test_each_source_of_a_node_says_how_its_clock_was(found):
    columns = ("node", "clock_offset_s", "clock_error_s", "clock_faults")
    assert pick(found, *columns, job_id="3", node={"g1", "g2"}, kind="kernel_log") == [
        ("g1", 2.5, 0.1, ["step", "whole_hour"]),
        ("g2", None, None, []),
    ]
    assert pick(found, *columns, job_id="3", node=None) == [(None, None, None, [])]
