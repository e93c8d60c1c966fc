"""What counters did in windows of corrected time, and how far a node is from its peers."""

import pytest
from pyspark.sql.types import StructType

from firstfault.transforms.attempts import ATTEMPTS
from firstfault.transforms.contract import column
from firstfault.transforms.event_windows import EVENT_WINDOWS, Shapes, build_event_windows, mark_everywhere
from firstfault.transforms.peers import Peers
from firstfault.transforms.raw_telemetry import RAW_TELEMETRY
from firstfault.transforms.scoped_events import SCOPED_EVENTS
from firstfault.transforms.signal_events import SIGNALS
from firstfault.transforms.types import TIME
from tests.frames import collected, frame, pick

SHAPES = Shapes(
    ((300, 300), (900, 300)), Peers(least=3, share=0.5, comparable=0.5, far=3.0, floor=1.0, floor_share=0.1)
)
PADDED = StructType([*ATTEMPTS.fields, column("window_from", TIME, "start"), column("window_to", TIME, "end")])
OFFSETS = "cluster string, node string, t_from timestamp, t_to timestamp, offset_s double, error_s double"
SIGNAL_ROWS = [
    {"signal_id": "s.grow", "event_type": "net.retrans", "metric": m, "kind": "counter", "delta_gte": 10.0,
     "window_s": 300, "min_samples": 2} for m in ("grow", "ib.symbol_error")
] + [
    {"signal_id": "s.hot", "event_type": "gpu.hot", "metric": "temp", "kind": "gauge", "gte": 90.0},
    {"signal_id": "s.hotter", "event_type": "gpu.hot", "metric": "temp", "kind": "gauge", "gte": 95.0},
    {"signal_id": "s.state", "event_type": "net.down", "metric": "state", "kind": "change"},
    {"signal_id": "s.bits", "event_type": "gpu.slow", "metric": "reasons", "kind": "bitmask", "bits": 0b100},
    {"signal_id": "s.other", "event_type": "gpu.brake", "metric": "reasons", "kind": "bitmask", "bits": 0b1000},
]  # fmt: skip


def series(node, metric, *samples, **given):
    """Samples of a scraper, given as (time, value)."""
    return [
        {
            "cluster": "c", "job_id": "_node", "node": node, "metric": metric, "event_time": time, "value": value,
            "stream_id": node, "byte_offset": 0, "source": "prometheus",
        } | given
        for time, value in samples
    ]  # fmt: skip


def attempt(job, nodes, start="03:00:00", end="04:00:00", **given):
    return {
        "cluster": "alpha", "source_cluster": "c", "job_id": job, "attempt": 0, "day": "2026-11-20", "nodes": nodes,
        "window_from": start, "window_to": end,
    } | given  # fmt: skip


def names(job, count):
    return [f"{job}-{n}" for n in range(count)]


def rising(job, *growths, metric="grow", at="03:02:00"):
    """A node per growth, which its counter takes from 100 between 03:00 and `at`."""
    samples = [
        series(f"{job}-{n}", metric, ("03:00:00", 100.0), (at, 100.0 + g), device="0000:3b:00")
        for n, g in enumerate(growths)
    ]
    return [row for rows in samples for row in rows]


NAN, INFINITY = float("nan"), float("inf")
SAMPLES = [
    *series("plain", "grow", ("03:01:00", 100.0), ("03:02:00", 105.0), ("03:04:00", 112.0)),
    *series("border", "grow", ("03:04:30", 100.0), ("03:05:30", 106.0), ("03:06:00", 112.0)),
    *series("resets", "grow", ("03:01:00", 900.0), ("03:02:00", 20.0), ("03:03:00", 25.0), ("03:04:00", 1.0)),
    *series("rests", "grow", ("03:01:00", 100.0), ("03:02:00", 100.0)),
    *series("full", "ib.symbol_error", ("03:01:00", 65535.0), ("03:02:00", 65535.0)),
    *series("fills", "ib.symbol_error", ("03:01:00", 65000.0), ("03:02:00", 65534.0)),
    *series("wider", "grow", ("03:01:00", 65535.0), ("03:02:00", 65535.0)),
    *series("labelled", "grow", ("03:01:00", 0.0), ("03:02:00", 7.0), labels={"lane": "0", "gpu": "1"}),
    *series("labelled", "grow", ("03:01:30", 500.0), ("03:03:00", 501.0), labels={"lane": "1", "gpu": "1"}),
    *series("hostile", "grow", ("03:01:00", 1.0), ("03:01:10", NAN), ("03:01:20", INFINITY), ("03:01:30", -INFINITY)),
    *series("hostile", "grow", ("03:01:40", 1e308), ("03:01:50", None), (None, 9.0), ("03:02:00", 4.0)),
    *series("hostile", "reasons", ("03:01:00", 1e30), ("03:02:00", 4.5)),
    *series("hot", "temp", ("03:01:00", 91.0), ("03:02:00", 93.5)),
    *series("cool", "temp", ("03:01:00", 60.0), ("03:02:00", 89.9)),
    *series("flaps", "state", ("03:01:00", 4.0), ("03:02:00", 1.0)),
    *series("steady", "state", ("03:01:00", 1.0), ("03:02:00", 1.0)),
    *series("slowed", "reasons", ("03:01:00", 1.0), ("03:02:00", 9.0)),
    *series("idle", "reasons", ("03:01:00", 1.0), ("03:02:00", 3.0)),
    *series("elsewhere", "grow", ("03:01:00", 0.0), ("03:02:00", 99.0)),
    *series("plain", "nobody asks", ("03:01:00", 0.0), ("03:02:00", 99.0)),
    # A clock that is an hour ahead, and later a minute more.
    *series("ahead", "grow", ("04:02:00", 0.0), ("04:04:00", 30.0), ("04:10:00", 90.0), source="sysfs"),
    # What a scraper stamps is in its own time.
    *series("scraped", "grow", ("03:01:00", 0.0), ("03:02:00", 30.0)),
    *series("shared", "grow", ("03:01:00", 0.0), ("03:04:00", 10.0), ("03:21:00", 30.0), ("03:24:00", 60.0)),
    *rising("all", 100.0, 98.0, 103.0, 60.0, 101.0),
    *rising("one", 500.0, 0.0, 2.0, 0.0, 0.0),
    *rising("two", 50.0, 50.0, 0.0),
    *rising("far", 2000.0, 100.0, 98.0, 103.0, 101.0),
    *rising("few", 50.0, 50.0, 50.0, 0.0, 0.0, 0.0, 0.0),
    *[row for n in range(4) for row in series(f"heat-{n}", "temp", ("03:01:00", 91.0 + n))],
    *[row for n in range(4) for row in series(f"warm-{n}", "temp", ("03:01:00", 91.0 if n == 0 else 80.0 + n))],
    # Another device of the node rises more: a device is compared with other nodes, each by its worst.
    *rising("gpus", 10.0, 40.0, 41.0, 42.0),
    *series("gpus-0", "grow", ("03:00:00", 0.0), ("03:02:00", 41.5), device="0000:5d:00"),
]  # fmt: skip
MISSING_NODES = ["elsewhere"]
SINGLE = sorted({s["node"] for s in SAMPLES if "-" not in s["node"]} - {*MISSING_NODES, "shared"})
GROUPS = {"all": 5, "one": 5, "two": 3, "far": 5, "few": 7, "heat": 4, "warm": 4, "gpus": 4}
RUNS = [
    *(attempt(name, [name]) for name in SINGLE),
    *(attempt(name, names(name, count)) for name, count in GROUPS.items()),
    attempt("first", ["shared"], end="03:10:00"),
    attempt("second", ["shared"], start="03:20:00", end=None),
    attempt("waits", None, start=None, end=None),
    attempt("events", [f"e{n}" for n in range(4)]),
]
CLOCKS = [
    {"cluster": "c", "node": "ahead", "t_from": "00:00:00", "t_to": "04:05:00", "offset_s": 3600.0},
    {"cluster": "c", "node": "ahead", "t_from": "04:05:00", "t_to": "12:00:00", "offset_s": 3660.0},
    {"cluster": "c", "node": "scraped", "t_from": "00:00:00", "t_to": "12:00:00", "offset_s": 3600.0},
    {"cluster": "other", "node": "plain", "t_from": "00:00:00", "t_to": "12:00:00", "offset_s": 1e4},
]


def event(number, t, node, count=1, **given):
    return {
        "cluster": "alpha", "job_id": "events", "attempt": 0, "relation": "node", "event_id": f"e{number}", "t": t,
        "node": node, "event_type": "gpu.xid", "role": "initiating", "count": count, "byte_offset": number,
    } | given  # fmt: skip


EVENTS = [
    event(0, "03:01:00", "e0", 5),
    event(1, "03:04:00", "e0", 2),
    event(2, "03:06:00", "e0"),
    event(3, "03:06:00", None, port="sw:1"),
    event(4, "03:06:00", "e1", 400, role="progress", event_type="train.step"),
]


@pytest.fixture(scope="module")
def found(spark):
    return collected(
        build_event_windows(
            frame(spark, RAW_TELEMETRY, SAMPLES),
            frame(spark, SCOPED_EVENTS, EVENTS),
            frame(spark, PADDED, RUNS),
            frame(spark, SIGNALS, SIGNAL_ROWS),
            frame(spark, OFFSETS, CLOCKS),
            SHAPES,
        )
    )


def tumbling(found, *columns, **equal):
    return pick(found, *columns, window_s=300, **equal)


def test_a_window_holds_the_figures_of_its_samples(found):
    columns = ("t_from", "t_to", "n", "first", "last", "min", "max", "delta", "rate_per_s", "resets", "saturated")
    assert tumbling(found, *columns, job_id="plain") == [
        ("03:00:00", "03:05:00", 3, 100.0, 112.0, 100.0, 112.0, 12.0, 0.066667, 0, False)
    ]
    assert tumbling(found, "cluster", "day", "kind", "name", "count", "peers", "distance", job_id="plain") == [
        ("alpha", "2026-11-20", "metric", "grow", None, 0, None)
    ]


def test_growth_across_a_border_belongs_to_the_later_sample(found):
    columns = ("t_from", "n", "delta", "rate_per_s")
    assert tumbling(found, *columns, job_id="border") == [("03:05:00", 2, 12.0, 0.133333)]


def test_a_sliding_window_starts_at_every_slide(found):
    columns = ("t_from", "t_to", "n", "delta")
    assert pick(found, *columns, job_id="border", window_s=900) == [
        ("02:55:00", "03:10:00", 3, 12.0),
        ("03:00:00", "03:15:00", 3, 12.0),
        ("03:05:00", "03:20:00", 2, 12.0),
    ]


def test_a_decrease_is_a_reset_and_no_growth(found):
    assert tumbling(found, "delta", "resets", "last", job_id="resets") == [(5.0, 2, 1.0)]


def test_a_counter_at_its_largest_value_is_saturated_though_it_rests(found):
    assert tumbling(found, "delta", "saturated", job_id="full") == [(0.0, True)]
    assert tumbling(found, "delta", "saturated", job_id="fills") == [(534.0, False)]
    assert tumbling(found, "saturated", job_id="wider") == []


def test_series_of_one_place_grow_each_by_itself(found):
    assert tumbling(found, "n", "delta", "resets", job_id="labelled") == [(4, 8.0, 0)]


def test_values_that_are_no_numbers_are_left_out(found):
    columns = ("n", "first", "last", "max", "delta", "resets")
    assert tumbling(found, *columns, job_id="hostile", name="grow") == [(2, 1.0, 4.0, 4.0, 3.0, 0)]
    assert tumbling(found, "max", job_id="hostile", name="reasons") == [(1e30,)]


def test_readings_have_a_window_where_they_say_something(found):
    columns = ("max", "delta", "resets", "rate_per_s")
    assert tumbling(found, *columns, job_id="hot") == [(93.5, 2.5, None, None)]
    assert tumbling(found, "first", "last", "delta", "resets", job_id="flaps") == [(4.0, 1.0, None, None)]
    assert tumbling(found, "last", job_id="slowed") == [(9.0,)]


@pytest.mark.parametrize("job", ["rests", "cool", "steady", "idle", "waits"])
def test_what_only_rests_has_no_window(found, job):
    assert pick(found, "name", job_id=job) == []


def test_only_nodes_of_the_attempt_and_metrics_of_signals_are_looked_at(found):
    assert {r["node"] for r in found} & set(MISSING_NODES) == set()
    assert "nobody asks" not in {r["name"] for r in found}


def test_samples_lie_where_they_were_on_true_time(found):
    assert tumbling(found, "t_from", "delta", job_id="ahead") == [("03:00:00", 30.0), ("03:05:00", 60.0)]
    assert tumbling(found, "t_from", "delta", job_id="scraped") == [("03:00:00", 30.0)]


def test_two_attempts_on_a_node_have_their_own_samples(found):
    assert tumbling(found, "t_from", "delta", job_id="first") == [("03:00:00", 10.0)]
    assert tumbling(found, "t_from", "delta", job_id="second") == [("03:20:00", 30.0)]


def test_what_rises_on_all_nodes_is_everywhere(found):
    columns = ("node", "peers", "peer_median", "peer_mad", "everywhere")
    assert tumbling(found, *columns, job_id="all") == [
        ("all-0", 4, 99.5, 2.5, True),
        ("all-1", 4, 100.5, 1.5, True),
        ("all-2", 4, 99.0, 1.5, True),
        ("all-3", 4, 100.5, 1.5, True),
        ("all-4", 4, 99.0, 2.5, True),
    ]
    assert tumbling(found, "distance", job_id="all", node="all-0") == [(0.05,)]


def test_one_node_that_rises_alone_stands_out(found):
    columns = ("node", "peer_median", "peer_mad", "distance", "everywhere")
    assert tumbling(found, *columns, job_id="one") == [
        ("one-0", 0.0, 0.0, 500.0, False),
        ("one-2", 0.0, 0.0, 2.0, False),
    ]
    assert tumbling(found, "distance", "everywhere", job_id="far", node="far-0") == [(189.005, False)]
    assert tumbling(found, "everywhere", job_id="far", node="far-1") == [(True,)]


def test_two_peers_say_nothing(found):
    columns = ("peers", "peer_median", "distance", "everywhere")
    assert tumbling(found, *columns, job_id="two", node="two-0") == [(2, 25.0, None, False)]


def test_a_rise_of_a_minority_is_not_everywhere(found):
    assert {e for (e,) in tumbling(found, "everywhere", job_id="few")} == {False}


def test_a_reading_is_everywhere_when_the_others_are_over_the_threshold_too(found):
    assert {e for (e,) in tumbling(found, "everywhere", job_id="heat")} == {True}
    assert tumbling(found, "node", "distance", "everywhere", job_id="warm") == [("warm-0", 1.098, False)]


def test_a_device_is_compared_with_the_other_nodes_each_by_its_worst(found):
    columns = ("device", "peers", "peer_median", "peer_mad", "distance")
    assert tumbling(found, *columns, job_id="gpus", node="gpus-0") == [
        ("0000:3b:00", 3, 41.0, 1.0, -7.561),
        ("0000:5d:00", 3, 41.0, 1.0, 0.122),
    ]
    assert tumbling(found, "peer_median", job_id="gpus", node="gpus-1") == [(41.5,)]


def test_records_of_events_are_counted_and_a_silent_node_counts_none(found):
    columns = ("t_from", "node", "port", "count", "rate_per_s", "n", "peers", "peer_median", "distance", "everywhere")
    assert tumbling(found, *columns, job_id="events") == [
        ("03:00:00", "e0", None, 7, 0.023333, None, 3, 0.0, 7.0, False),
        ("03:05:00", "e0", None, 1, 0.003333, None, 3, 0.0, 1.0, False),
        ("03:05:00", None, "sw:1", 1, 0.003333, None, 4, None, None, False),
    ]


def test_no_two_rows_have_one_key(found):
    keys = [tuple(r[k] for k in EVENT_WINDOWS.keys) for r in found]
    assert len(keys) == len(set(keys))


def window(node, t_from, t_to, distance=0.5, **given):
    return {
        "cluster": "alpha", "job_id": "7", "attempt": 0, "node": node, "kind": "metric", "name": "grow",
        "window_s": 300, "slide_s": 300, "t_from": t_from, "t_to": t_to, "distance": distance, "everywhere": True,
        "saturated": False,
    } | given  # fmt: skip


WINDOWS = [
    window("a", "03:00:00", "03:05:00"),
    window("a", "02:55:00", "03:10:00", window_s=900, distance=9.0),
    window("b", "03:00:00", "03:05:00", distance=12.3456, everywhere=False),
    window("c", "03:00:00", "03:05:00", None, everywhere=False),
    window("d", "03:00:00", "03:05:00", device="0000:3b:00"),
    window("e", "03:00:00", "03:05:00", job_id="8"),
    window("f", "03:00:00", "03:05:00", name="other"),
    window("g", "03:00:00", "03:05:00", kind="event"),
]


def marked(number, node, **given):
    plain = event(number, "03:04:00", node, time_basis="sample_window", attrs={"counter": "grow"}, clock_error_s=1.0)
    return plain | {"job_id": "7", "t_low": "03:02:59", "t_high": "03:04:01"} | given


def test_events_of_metrics_are_marked_with_the_window_of_their_sample(spark):
    given = [
        marked(0, "a"),
        marked(1, "b"),
        marked(2, "c"),
        marked(3, "d"),
        marked(4, "d", device="0000:3b:00"),
        marked(5, "e"),
        marked(6, "f"),
        marked(7, "g"),
        # The sample lies in the next window, of which nothing is known; the middle of its interval does not.
        marked(8, "a", t_high="03:05:01"),
        marked(9, "a", time_basis="zoned"),
        marked(10, "a", attrs=None),
        # On the border, and an error that is no whole number of microseconds.
        marked(11, "a", t_high="03:05:00.012345", clock_error_s=0.0123456789),
        marked(12, "b", t_high="03:00:00.012345", clock_error_s=0.0123456789),
    ]
    found = collected(mark_everywhere(frame(spark, SCOPED_EVENTS, given), frame(spark, EVENT_WINDOWS, WINDOWS)))
    assert len(found) == len(given)
    said = {r["event_id"]: r["attrs"] for r in found}
    everywhere = {"counter": "grow", "peer_distance": "0.500", "everywhere": "true"}
    plain = {"counter": "grow"}
    apart = plain | {"peer_distance": "12.346"}
    assert [said[f"e{n}"] for n in range(5)] == [everywhere, apart, plain, plain, everywhere]
    assert [said[f"e{n}"] for n in range(5, 11)] == [plain, plain, plain, plain, plain, None]
    assert (said["e11"], said["e12"]) == (plain, apart)
