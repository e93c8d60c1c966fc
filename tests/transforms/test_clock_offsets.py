"""How far each clock was off, and by which witness."""

import pytest

from firstfault.transforms.clock_offsets import CLOCK_OFFSETS, arrival_offsets, best_offsets, telemetry_offsets
from firstfault.transforms.raw_telemetry import RAW_TELEMETRY
from tests.frames import collected, frame, pick, rows

WINDOW = ("node", "t_from", "t_to")


def sample(node, time, value, metric="clock.offset_s") -> dict:
    return {"cluster": "c", "node": node, "event_time": time, "value": value, "metric": metric}


@pytest.fixture(scope="module")
def telemetry(spark):
    given = [
        # Median, not mean; half the spread is the error.
        *(sample("n1", f"03:{m}0:00", v) for m, v in enumerate([0.01, 0.02, 0.05, 0.02, 0.015])),
        # The bound that the node claims is larger than the spread.
        sample("n2", "03:00:00", -30.0),
        sample("n2", "03:10:00", -30.002),
        sample("n2", "03:10:00", 0.25, "clock.max_error_s"),
        # Each hour on its own.
        sample("n3", "03:59:59.9", 1.0),
        sample("n3", "04:00:00", 2.0),
        # A bound without an offset says nothing of the offset.
        sample("n4", "03:00:00", 0.25, "clock.max_error_s"),
        sample("n5", None, 0.25),
        sample("n6", "03:00:00", 5.0, "node_load1"),
    ]
    return collected(telemetry_offsets(frame(spark, RAW_TELEMETRY, given)))


def test_telemetry_gives_the_median_and_the_larger_of_spread_and_bound_per_hour(telemetry):
    columns = (*WINDOW, "offset_s", "error_s", "n", "method")
    assert pick(telemetry, *columns, node={"n1", "n2"}) == [
        ("n1", "03:00:00", "04:00:00", 0.02, 0.02, 5, "telemetry"),
        ("n2", "03:00:00", "04:00:00", -30.001, 0.25, 2, "telemetry"),
    ]
    assert pick(telemetry, *WINDOW, "offset_s", "error_s", node="n3") == [
        ("n3", "03:00:00", "04:00:00", 1.0, 0.001),
        ("n3", "04:00:00", "05:00:00", 2.0, 0.001),
    ]


def test_samples_without_offset_or_time_give_no_row(telemetry):
    assert {r["node"] for r in telemetry} == {"n1", "n2", "n3"}


def test_a_sample_that_names_no_node_is_left_out_and_does_not_end_the_night(spark):
    given = [sample(None, "03:00:00", 5.0), sample("n1", "03:00:00", 0.5)]
    assert rows(telemetry_offsets(frame(spark, RAW_TELEMETRY, given)), "node", "offset_s") == [("n1", 0.5)]


def test_arrival_gives_the_lower_envelope_as_local_minus_true(spark):
    def line(node, written, seen):
        return {"cluster": "c", "node": node, "event_time": written, "collected_at": seen}

    given = [
        # 30 s behind: the fastest line arrives 30.2 s after it says it was written.
        line("behind", "03:00:00", "03:00:35"),
        line("behind", "03:10:00", "03:10:30.2"),
        line("behind", "03:20:00", "03:40:00"),
        # 60 s ahead: lines seem to arrive before they were written.
        line("ahead", "03:01:00", "03:00:01"),
        line("ahead", "03:02:00", "03:01:10"),
        # Within what a delivery may take: no error of the clock is shown.
        line("right", "03:00:00", "03:00:00.9"),
        line("right", "03:10:00", "03:12:00"),
        line("slow", "03:00:00", "03:00:01"),
        line(None, "03:00:00", "04:00:00"),
        line("untimed", None, "04:00:00"),
        line("uncollected", "03:00:00", None),
    ]
    made = arrival_offsets(frame(spark, "cluster string, node string, event_time timestamp, collected_at timestamp",
                                 given))  # fmt: skip
    columns = (*WINDOW, "offset_s", "error_s", "n", "method", "reference")
    day = ("00:00:00", "2026-11-21 00:00:00")
    assert rows(made, *columns) == [
        ("ahead", *day, 59.0, 1.0, 2, "arrival", "collector"),
        ("behind", *day, -30.2, 1.0, 3, "arrival", "collector"),
        ("right", *day, 0.0, 1.0, 2, "arrival", "collector"),
        ("slow", *day, 0.0, 1.0, 1, "arrival", "collector"),
    ]


def test_events_are_corrected_by_telemetry_where_there_is_any_and_intervals_have_no_gaps(spark):
    def offset(node, start, end, offset_s, method, cluster="c"):
        return {
            "cluster": cluster, "node": node, "source": "*", "t_from": start, "t_to": end, "offset_s": offset_s,
            "error_s": 0.1, "method": method,
        }  # fmt: skip

    given = [
        offset("both", "03:00:00", "04:00:00", 1.0, "telemetry"),
        offset("both", "07:00:00", "08:00:00", 2.0, "telemetry"),
        offset("both", "00:00:00", "1d 00:00:00", 9.0, "arrival"),
        offset("both", "00:00:00", "1d 00:00:00", 7.0, "arrival", cluster="d"),
        offset("one", "00:00:00", "1d 00:00:00", 5.0, "arrival"),
    ]
    made = best_offsets(frame(spark, CLOCK_OFFSETS, given))
    assert rows(made, "cluster", *WINDOW, "offset_s", "error_s") == [
        ("c", "both", "07:00:00", "2026-11-21 08:00:00", 2.0, 0.1),
        ("c", "both", "2026-11-19 03:00:00", "07:00:00", 1.0, 0.1),
        ("c", "one", "2026-11-19 00:00:00", "2026-11-22 00:00:00", 5.0, 0.1),
        ("d", "both", "2026-11-19 00:00:00", "2026-11-22 00:00:00", 7.0, 0.1),
    ]
