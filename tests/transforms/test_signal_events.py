"""Signals: when a metric is an event, and when its value says nothing."""

import pytest

from firstfault.transforms.raw_telemetry import RAW_TELEMETRY
from firstfault.transforms.signal_events import SIGNALS, signal_events
from tests.frames import collected, frame, pick
from tests.transforms.test_events import CODES, VOCABULARY

WORDS = [
    {"event_type": "net.retrans", "role": "cascade", "category": "network_link", "gap_s": 60},
    {"event_type": "gpu.hot", "role": "initiating", "category": "power_cooling", "gap_s": 120},
    {"event_type": "gpu.xid", "role": "context", "category": "unknown", "gap_s": 60, "key": "code", "catalogue": "xid"},
    {"event_type": "gpu.throttle", "role": "context", "category": "power_cooling", "gap_s": 60},
]
KNOWN = [{"catalogue": "xid", "code": "79", "class": "bus", "role": "initiating", "category": "gpu_hardware"}]
SIGNAL_ROWS = [
    {"signal_id": "s.grow", "event_type": "net.retrans", "metric": "retrans", "kind": "counter", "delta_gte": 10.0,
     "window_s": 300, "min_samples": 2, "attribute": "delta"},
    {"signal_id": "s.hot", "event_type": "gpu.hot", "metric": "temp", "kind": "gauge", "gte": 90.0, "for_s": 60},
    {"signal_id": "s.peak", "event_type": "gpu.hot", "metric": "peak", "kind": "gauge", "gte": 90.0},
    {"signal_id": "s.xid", "event_type": "gpu.xid", "metric": "xid", "kind": "change", "ignore": [0.0]},
    {"signal_id": "s.bits", "event_type": "gpu.throttle", "metric": "reasons", "kind": "bitmask", "bits": 0b1100},
]  # fmt: skip


def series(node, metric, *samples, **given) -> list[dict]:
    """Samples given as (time, value)."""
    return [
        {
            "cluster": "c", "job_id": "_node", "node": node, "metric": metric, "event_time": time, "value": value,
            "stream_id": node, "byte_offset": 0, "file": "f", "source": "prometheus",
        } | given
        for time, value in samples
    ]  # fmt: skip


SAMPLES = [
    *series("grows", "retrans", ("03:00:00", 100.0), ("03:01:00", 105.0), ("03:02:00", 112.0)),
    *series("grows little", "retrans", ("03:00:00", 100.0), ("03:01:00", 105.0), ("03:06:00", 109.0)),
    *series("jumps", "retrans", ("03:00:00", 100.0), ("03:30:00", 5000.5)),
    *series("resets", "retrans", ("03:00:00", 900.0), ("03:01:00", 20.0), ("03:02:00", 25.0)),
    *series("once", "retrans", ("03:00:00", 1e6)),
    *series("labelled", "retrans", ("03:00:00", 0.0), ("03:01:00", 0.0), labels={"port": "1", "ca": "a"}),
    *series("labelled", "retrans", ("03:00:30", 500.0), ("03:01:30", 500.0), labels={"port": "2", "ca": "a"}),
    *series("devices", "retrans", ("03:00:00", 0.0), ("03:01:00", 0.0), device="0000:3b:00"),
    *series("devices", "retrans", ("03:00:30", 500.0), ("03:01:30", 500.0), device="0000:5d:00"),
    *series("gaps", "retrans", ("03:00:00", 0.0), (None, 400.0), ("03:01:00", None), ("03:02:00", 11.0)),
    *series("holds", "temp", ("03:00:00", 95.0), ("03:00:30", 96.0), ("03:01:00", 97.5)),
    *series("dips", "temp", ("03:00:00", 95.0), ("03:00:30", 20.0), ("03:01:00", 97.0), ("03:01:20", 97.0)),
    *series("one sample", "temp", ("03:00:00", 20.0), ("03:01:00", 97.0), ("03:02:00", 20.0)),
    *series("storm", "peak", *((f"03:0{m}:00", 91.0 + m) for m in range(5)), ("03:05:00", 20.0), ("03:09:00", 95.0)),
    *series("sticky", "xid", ("03:00:00", 79.0), ("03:01:00", 79.0), ("03:02:00", 79.0)),
    *series("changes", "xid", ("03:00:00", 0.0), ("03:01:00", 79.0), ("03:02:00", 0.0), ("03:03:00", 79.0)),
    *series("masked", "reasons", ("03:00:00", 3.0), ("03:01:00", 4.0), ("03:02:00", 0.0)),
    *series("unknown", "nobody_asks", ("03:00:00", 1.0), ("03:01:00", 1e9)),
]


@pytest.fixture(scope="module")
def found(spark):
    return collected(
        signal_events(
            frame(spark, RAW_TELEMETRY, SAMPLES),
            frame(spark, SIGNALS, SIGNAL_ROWS),
            frame(spark, VOCABULARY, WORDS),
            frame(spark, CODES, KNOWN),
        )
    )


def test_growth_over_the_threshold_is_an_event_at_the_sample_that_shows_it(found):
    columns = ("event_type", "t_raw", "t_prev", "time_basis", "role", "pattern_id")
    assert pick(found, *columns, node="grows") == [
        ("net.retrans", "03:02:00", "03:01:00", "sample_window", "cascade", "s.grow")
    ]
    (attrs,) = pick(found, "attrs", node="grows")[0]
    assert attrs == {"delta": "12.0", "counter": "retrans", "code": "112"}
    assert pick(found, "t_raw", "t_prev", node="jumps") == [("03:30:00", "03:00:00")]


@pytest.mark.parametrize("node", ["grows little", "resets", "once", "labelled", "devices", "unknown"])
def test_little_growth_a_reset_one_sample_and_mixed_series_are_no_event(found, node):
    assert pick(found, "t_raw", "attrs", node=node) == []


def test_samples_without_time_or_value_are_left_out_of_the_series(found):
    assert pick(found, "t_raw", "t_prev", node="gaps") == [("03:02:00", "03:00:00")]


def test_a_gauge_must_hold_for_its_time(found):
    assert [(t, a["value"]) for t, a in pick(found, "t_raw", "attrs", node="holds")] == [("03:01:00", "97.5")]
    assert pick(found, "t_raw", node="dips") == []


def test_a_single_sample_over_the_threshold_does_not_hold_for_a_minute(found):
    assert pick(found, "t_raw", node="one sample") == []


def test_repeats_within_the_gap_fold_into_one_event(found):
    assert pick(found, "t_raw", "t_raw_last", "count", node="storm") == [
        ("03:00:00", "03:04:00", 5),
        ("03:09:00", "03:09:00", 1),
    ]


def test_the_value_of_a_sticky_gauge_is_never_an_event(found):
    assert pick(found, "t_raw", node="sticky") == []


def test_a_change_is_an_event_but_to_a_value_that_is_ignored(found):
    columns = ("t_raw", "t_prev", "code", "role", "category")
    assert pick(found, *columns, node="changes") == [
        ("03:01:00", "03:00:00", "79", "initiating", "gpu_hardware"),
        ("03:03:00", "03:02:00", "79", "initiating", "gpu_hardware"),
    ]


def test_any_bit_of_the_mask_is_an_event(found):
    assert [(t, a["code"]) for t, a in pick(found, "t_raw", "attrs", node="masked")] == [("03:01:00", "4")]


def test_ids_are_unique(found):
    assert len({r["event_id"] for r in found}) == len(found)
