"""What is known of the clocks of an attempt's nodes."""

import pytest

from firstfault.transforms.attempt_clocks import clocks_of
from firstfault.transforms.attempts import ATTEMPTS
from firstfault.transforms.clock_faults import CLOCK_FAULTS
from firstfault.transforms.clock_offsets import CLOCK_OFFSETS
from tests.frames import collected, frame, pick


def attempt(job, start, end, *nodes) -> dict:
    return {
        "cluster": "alpha", "source_cluster": "c", "job_id": job, "attempt": 0, "start": start, "end": end,
        "nodes": list(nodes),
    }  # fmt: skip


def known(node, t_from, t_to, offset, error, **given) -> dict:
    return {
        "cluster": "c", "node": node, "source": "*", "t_from": t_from, "t_to": t_to, "offset_s": offset,
        "error_s": error, "drift_ppm": 0.0, "method": "marks",
    } | given  # fmt: skip


def fault(node, word, t_from, t_to=None, **given) -> dict:
    return {
        "day": "2026-11-20", "cluster": "c", "node": node, "source": "*", "fault": word, "t_from": t_from, "t_to": t_to,
        "text": word,
    } | given  # fmt: skip


OFFSETS = [
    # Wide before the start, poor in the middle, stepped before the end; drifting at 100 ppm at the end.
    known("n1", "01:00:00", "02:00:00", 9.0, 9.0),
    known("n1", "02:00:00", "03:00:00", 0.5, 0.8),
    known("n1", "03:00:00", "05:00:00", 2.0, 0.1, drift_ppm=100.0),
    # An hour ahead: on its own clock the attempt lies an hour later.
    known("n2", "02:00:00", "03:40:00", 3600.0, 1.0),
    known("n2", "03:40:00", "06:00:00", 3600.0, 0.2),
    # Of one source only: not the node's clock.
    known("n3", "01:00:00", "06:00:00", 5.0, 0.2, source="slurmd"),
    known("n4", "01:00:00", "06:00:00", 5.0, 0.2, cluster="d"),
]
FAULTS = [
    fault("n1", "step", "03:00:00"), fault("n1", "off", "01:00:00", "01:30:00"),
    fault("n1", "drift", "03:00:00", "09:00:00"),
    fault("n2", "whole_hour", "05:10:00", "05:20:00"), fault("n2", "unsure", "03:20:00", "03:30:00"),
    fault("n3", "frozen_collector", "04:00:00", source="journal"), fault("n4", "off", "03:00:00", cluster="d"),
]  # fmt: skip


@pytest.fixture(scope="module")
def found(spark):
    attempts = [
        attempt("1", "02:50:00", "04:10:00", "n1", "n2", "n3", "n4", "n1"),
        attempt("2", "02:50:00", None, "n1"),
        attempt("3", None, None, "n4"),
    ]
    offsets, faults = frame(spark, CLOCK_OFFSETS, OFFSETS), frame(spark, CLOCK_FAULTS, FAULTS)
    return collected(clocks_of(frame(spark, ATTEMPTS, attempts), offsets, faults))


def test_the_offset_is_that_at_the_end_and_the_error_the_largest_within(found):
    # 4,202 s after 03:00:00 on its own clock, which drifts by 100 ppm.
    assert pick(found, "clock_offset_s", "clock_error_s", job_id="1", node="n1") == [(2.4202, 0.8)]


def test_intervals_and_faults_are_read_on_the_node_s_own_clock(found):
    assert pick(found, "clock_offset_s", "clock_error_s", "faults", job_id="1", node="n2") == [
        (3600.0, 0.2, [("*", "whole_hour")])
    ]


def test_faults_within_the_attempt_are_named(found):
    assert pick(found, "faults", job_id="1", node="n1") == [([("*", "drift"), ("*", "step")],)]


def test_of_an_attempt_that_runs_the_last_interval_speaks(found):
    assert pick(found, "clock_error_s", "faults", job_id="2") == [(0.8, [("*", "drift"), ("*", "step")])]


def test_where_nothing_says_anything_there_is_nothing(found):
    assert pick(found, "clock_offset_s", "clock_error_s", "faults", node="n4") == [(None, None, [])] * 2
    assert pick(found, "clock_offset_s", "faults", node="n3") == [(None, [("journal", "frozen_collector")])]
