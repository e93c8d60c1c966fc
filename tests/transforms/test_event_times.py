"""Events on true time: by the clock that wrote them, with the interval that is left."""

import pytest

from firstfault.transforms.event_times import place_in_time
from firstfault.transforms.events import EVENTS, FOUND_COLUMNS
from tests.frames import collected, frame, pick

OFFSETS = (
    "cluster string, node string, source string, t_from timestamp, t_to timestamp, known_from timestamp,"
    "known_to timestamp, offset_s double, drift_ppm double, error_s double, shared_error_s double, reference string"
)
WINDOWS = "cluster string, job_id string, nodes array<string>, start timestamp, end timestamp"
RANKS = "cluster string, job_id string, attempt_hint int, rank int, node string"


def event(name, time=None, *, node="slow", job="_node", basis="zoned", **given) -> dict:
    """An event that the clock of its node wrote."""
    return {
        "event_id": name, "cluster": "c", "job_id": job, "event_type": "comm.timeout", "node": node, "clock": node,
        "source": "kernel", "t_raw": time, "t_raw_last": time or given.get("t_prev"), "time_basis": basis,
        "file_time": "09:00:00", "count": 1,
    } | given  # fmt: skip


def offset(node, start, end, offset_s, error_s, **given) -> dict:
    """An interval that reaches no further than it is known."""
    return {
        "cluster": "c", "node": node, "source": "*", "t_from": start, "t_to": end, "known_from": start,
        "known_to": end, "offset_s": offset_s, "error_s": error_s, "shared_error_s": 0.0, "reference": "NTP",
    } | given  # fmt: skip


@pytest.fixture(scope="module")
def placed(spark):
    given = [
        # The clock of `slow` is 30 s behind, known to 0.05 s.
        event("fraction", "03:00:00.5"),
        event("whole second", "03:00:00"),
        event("repeats", "03:00:00.5", t_raw_last="03:00:08.5"),
        event("before its clock is known", "01:00:00.5"),
        event("when its clock was put right", "05:00:00.5"),
        event("over midnight", "23:59:45.5", node="late"),
        event("no witness", "03:00:00.5", node="unseen"),
        event("no node", "03:00:00.5", node=None),
        event("other cluster", "03:00:00.5", cluster="d"),
        event("between", t_prev="03:00:00", t_next="03:00:10", basis="none"),
        event("at the end", t_prev="03:00:00", basis="none", job="7"),
        event("after its end", t_prev="04:30:00", basis="none", job="7"),
        event("at the end of the first attempt", t_prev="03:00:00", basis="none", job="8"),
        event("at the end of the second", t_prev="04:30:00", basis="none", job="8"),
        event("no neighbour", basis="none", job="7", node=None),
        event("no neighbour, no job", basis="none", node=None),
        event("before the first", t_next="03:00:10", basis="none", job="7"),
        event("sample", "03:05:00", t_prev="03:00:00", basis="sample_window"),
        event("first sample", "03:05:00", basis="sample_window"),
        event("snapshot", "03:05:00", basis="file_time"),
        event("drifted", "03:23:20.5", node="drifts"),
        event("long after", "07:33:20.5", node="drifts"),
        event("kernel of it", "03:00:00.5", node="zoned"),
        event("its container", "03:00:00.5", node="zoned", source="app"),
        event("of the controller", "03:00:00.5", clock="server:slurmctld", source="slurmctld"),
        event("of a rank", "03:00:00.5", node=None, rank=3, job="7", source="app"),
        event("of a rank of a retry", "03:00:00.5", node=None, rank=3, job="7", source="app", attempt_hint=1),
        event("of a rank nobody placed", "03:00:00.5", node=None, rank=9, job="7", source="app"),
        event(
            "between others",
            node=None,
            clock="slow",
            rank=3,
            job="7",
            source="app",
            basis="other_neighbour",
            t_prev="03:00:00",
            t_next="03:00:10",
        ),
        event(
            "between others on one node",
            node=None,
            clock="slow",
            rank=3,
            job="single",
            source="app",
            basis="other_neighbour",
            t_prev="03:00:00",
            t_next="03:00:10",
        ),
        event("of a job on one node", "03:00:00.5", node=None, rank=0, job="single", source="app"),
    ]
    offsets = [
        offset("slow", "02:00:00", "05:00:00", -30.0, 0.05),
        offset("slow", "05:00:00", "06:00:00", 0.0, 0.25),
        offset("late", "23:00:00", "1d 23:00:00", -30.0, 0.0),
        # Gains 0.1 s in 1000 s; beyond what is known the error grows by 20 ppm.
        offset("drifts", "02:00:00", "09:00:00", 1.0, 0.01, known_to="04:46:40", drift_ppm=100.0, shared_error_s=0.004),
        offset("zoned", "02:00:00", "05:00:00", 0.0, 0.01),
        offset("zoned", "02:00:00", "05:00:00", 3600.0, 0.01, source="app"),
    ]
    windows = [
        {"cluster": "c", "job_id": "7", "start": "02:00:00", "end": "04:00:00"},
        {"cluster": "c", "job_id": "8", "start": "02:00:00", "end": "04:00:00"},
        {"cluster": "c", "job_id": "8", "start": "04:10:00", "end": "07:00:00"},
        {"cluster": "c", "job_id": "single", "start": "02:00:00", "end": "04:00:00", "nodes": ["slow"]},
        {"cluster": "c", "job_id": "7", "start": "02:00:00", "end": "04:00:00", "nodes": ["slow", "late"]},
    ]
    ranks = [
        {"cluster": "c", "job_id": "7", "rank": 3, "node": "slow"},
        {"cluster": "c", "job_id": "7", "rank": 3, "attempt_hint": 1, "node": "unseen"},
        {"cluster": "d", "job_id": "7", "rank": 9, "node": "slow"},
    ]
    schema = EVENTS.schema
    columns = [f for f in schema.fields if f.name in FOUND_COLUMNS]
    return collected(
        place_in_time(
            frame(spark, type(schema)(columns), given),
            frame(spark, OFFSETS, offsets),
            frame(spark, WINDOWS, windows),
            frame(spark, RANKS, ranks),
            1.0,
        )
    )


def interval(placed, name):
    return pick(placed, "t_low", "t_high", event_id=name)[0]


def test_a_node_that_is_behind_gets_later_true_times(placed):
    assert interval(placed, "fraction") == ("03:00:30.45", "03:00:30.55")
    assert pick(placed, "t", "t_raw", "clock_error_s", event_id="fraction") == [("03:00:30.5", "03:00:00.5", 0.05)]
    assert pick(placed, "t", "t_last", event_id="repeats") == [("03:00:30.5", "03:00:38.5")]


def test_a_stamp_of_whole_seconds_may_be_a_second_later(placed):
    assert interval(placed, "whole second") == ("03:00:29.95", "03:00:31.05")
    assert pick(placed, "t", event_id="whole second") == [("03:00:30.5",)]


def test_an_offset_holds_in_its_interval_for_its_node_and_cluster_only(placed):
    names = {"before its clock is known", "when its clock was put right", "no witness", "no node", "other cluster"}
    assert pick(placed, "event_id", "t_low", "t_high", "clock_error_s", event_id=names) == [
        ("before its clock is known", "00:59:59.5", "01:00:01.5", 1.0),
        ("no node", "02:59:59.5", "03:00:01.5", 1.0),
        ("no witness", "02:59:59.5", "03:00:01.5", 1.0),
        ("other cluster", "02:59:59.5", "03:00:01.5", 1.0),
        ("when its clock was put right", "05:00:00.25", "05:00:00.75", 0.25),
    ]


def test_the_day_is_that_of_the_true_time(placed):
    assert pick(placed, "t", "day", event_id="over midnight") == [("2026-11-21 00:00:15.5", "2026-11-21")]


def test_an_untimed_line_lies_between_its_neighbours(placed):
    assert interval(placed, "between") == ("03:00:29.95", "03:00:40.05")


def test_an_untimed_line_at_the_end_is_bounded_by_the_end_of_its_job(placed):
    assert interval(placed, "at the end") == ("03:00:29.95", "04:00:00")
    assert interval(placed, "after its end") == ("04:30:29.95", "04:30:29.95")
    assert interval(placed, "at the end of the first attempt") == ("03:00:29.95", "04:00:00")
    assert interval(placed, "at the end of the second") == ("04:30:29.95", "07:00:00")


def test_an_untimed_line_before_the_first_timed_one_has_the_clock_of_that_time(placed):
    assert interval(placed, "before the first") == ("02:00:00", "03:00:40.05")


def test_without_neighbours_the_job_and_without_a_job_the_file_bounds_it(placed):
    assert interval(placed, "no neighbour") == ("02:00:00", "04:00:00")
    assert interval(placed, "no neighbour, no job") == ("09:00:00", "09:00:00")


def test_a_sample_reaches_back_to_the_one_before_and_a_snapshot_has_no_resolution(placed):
    assert interval(placed, "sample") == ("03:00:29.95", "03:05:30.05")
    assert interval(placed, "first sample") == ("03:05:29.95", "03:05:30.05")
    assert interval(placed, "snapshot") == ("03:05:29.95", "03:05:30.05")


def test_within_its_interval_a_clock_drifts_and_beyond_it_its_error_grows(placed):
    assert [time[:13] for time in interval(placed, "drifted")] == ["03:23:18.9899", "03:23:19.0099"]
    # 10,000 s after its last witness: offset as at the end, 2.0 s; 0.01 s + 0.2 s of error.
    assert [time[:11] for time in interval(placed, "long after")] == ["07:33:18.28", "07:33:18.71"]
    assert pick(placed, "clock_shared_s", "clock_reference", event_id="drifted") == [(0.004, "NTP")]


def test_a_source_of_another_zone_has_its_own_offset(placed):
    assert interval(placed, "kernel of it") == ("03:00:00.49", "03:00:00.51")
    assert interval(placed, "its container") == ("02:00:00.49", "02:00:00.51")


def test_a_line_about_a_node_is_in_the_time_of_who_wrote_it(placed):
    assert pick(placed, "t", "node", "clock", "clock_error_s", event_id="of the controller") == [
        ("03:00:00.5", "slow", "server:slurmctld", 1.0)
    ]


def test_a_line_that_names_only_its_rank_is_in_the_time_of_the_node_it_ran_on(placed):
    names = {"of a rank", "of a rank of a retry", "of a rank nobody placed", "of a job on one node"}
    assert pick(placed, "event_id", "t", "clock", "node", event_id=names) == [
        ("of a job on one node", "03:00:30.5", "slow", None),
        ("of a rank", "03:00:30.5", "slow", None),
        # By any node of the job: `slow` is 30 s behind or right, `late` 30 s behind.
        ("of a rank nobody placed", "03:00:15.4", None, None),
        ("of a rank of a retry", "03:00:00.5", "unseen", None),
    ]


def test_a_line_between_those_of_other_ranks_has_the_time_of_any_clock_of_its_job(placed):
    assert interval(placed, "between others") == ("02:59:59.75", "03:00:40.05")
    assert pick(placed, "clock", event_id="between others") == [(None,)]
    assert interval(placed, "between others on one node") == ("03:00:29.95", "03:00:40.05")
