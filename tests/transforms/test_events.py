"""Events: spread, judged and folded."""

import pytest

from firstfault.transforms.events import extract_events
from firstfault.transforms.keys import digest
from firstfault.transforms.staged import STAGED
from tests.frames import collected, frame, pick

VOCABULARY = "event_type string, scope string, role string, category string, gap_s int, key string, catalogue string"
CODES = "catalogue string, code string, class string, role string, category string"
WORDS = [
    {"event_type": "gpu.xid", "role": "context", "category": "unknown", "gap_s": 10, "key": "code", "catalogue": "xid"},
    {"event_type": "sched.node_down", "role": "initiating", "category": "host_hardware", "gap_s": 60},
    {"event_type": "comm.timeout", "role": "cascade", "category": "unknown", "gap_s": 10},
    {"event_type": "train.step", "role": "progress", "category": "unknown", "gap_s": 600},
]
KNOWN = [
    {"catalogue": "xid", "code": "79", "class": "bus", "role": "initiating", "category": "gpu_hardware"},
    {"catalogue": "nccl", "code": "13", "class": "nccl", "role": "cascade", "category": "network_link"},
]


def line(stream, offset, event_type, time=None, *, hits=None, **given) -> dict:
    """A line in flight; `attrs`, `device`, `rank` ... of its hit are given with a leading `hit_`."""
    hit = {"ordinal": 0, "pattern_id": "p", "event_type": event_type}
    hit |= {k.removeprefix("hit_"): v for k, v in given.items() if k.startswith("hit_")}
    plain = {k: v for k, v in given.items() if not k.startswith("hit_")}
    return {
        "stream_id": stream, "byte_offset": offset, "line_no": offset + 1, "event_time": time, "cluster": "c",
        "job_id": "_node", "source": "kernel", "file": "f", "file_time": "09:00:00", "time_basis": "zoned",
        "message": "x" * 500, "hits": [hit] if hits is None else hits, "disposition": "landed_log",
    } | plain  # fmt: skip


LINES = [
    # One record names three nodes, another nobody that can be expanded.
    line("spread", 0, "sched.node_down", "03:00:00", hit_attrs={"nodes": "n[1-3]"}),
    line("spread", 1, "sched.node_down", "03:00:00", hit_attrs={"nodes": "n[1-"}),
    line("spread", 2, "sched.node_down", "03:00:00", hit_attrs={"nodes": "n[8-9]"}, hit_node="n7"),
    # Codes: known, unknown, known in another catalogue, none.
    line("codes", 0, "gpu.xid", "03:00:00", node="n1", hit_attrs={"code": "79"}),
    line("codes", 1, "gpu.xid", "03:00:00", node="n1", hit_attrs={"code": "999"}),
    line("codes", 2, "gpu.xid", "03:00:00", node="n1", hit_attrs={"code": "13"}),
    line("codes", 3, "gpu.xid", "03:00:00", node="n1", hit_attrs={}),
    line("codes", 4, "no.such_word", "03:00:00", node="n1"),
    line("codes", 5, "gpu.xid", "03:00:00", hits=[]),
    line("codes", 6, "gpu.xid", "03:00:00") | {"hits": None},
    # Gaps of 5, 10 and 11 s where 10 may be folded; one line has no time of its own.
    line("gap", 0, "comm.timeout", "03:00:00"),
    line("gap", 1, "comm.timeout", "03:00:05"),
    line("gap", 2, "comm.timeout", None, t_prev="03:00:07"),
    line("gap", 3, "comm.timeout", "03:00:15"),
    line("gap", 4, "comm.timeout", "03:00:26"),
    # The same second, but other devices, ranks, nodes and codes.
    line("places", 0, "comm.timeout", "03:00:00", hit_device="0000:3b:00", rank=0),
    line("places", 1, "comm.timeout", "03:00:00", hit_device="0000:5d:00", rank=0),
    line("places", 2, "comm.timeout", "03:00:01", hit_device="0000:3b:00", rank=0),
    line("places", 3, "comm.timeout", "03:00:01", hit_device="0000:3b:00", hit_rank=1, rank=0),
    line("places", 4, "comm.timeout", "03:00:01", node="n1", hit_node="n2", hit_device="0000:3b:00", rank=0),
    line("others", 0, "comm.timeout", "03:00:00", hit_device="0000:3b:00", rank=0),
    # Progress every 20 s for seven minutes, a mark on each side of a five-minute border.
    *(line("steps", i, "train.step", f"03:{(1 + i // 3):02d}:{20 * (i % 3):02d}") for i in range(21)),
    # Two hits of one record.
    line("two", 0, None, "03:00:00", node="n0", hits=[
        {"ordinal": 0, "event_type": "sched.node_down", "node": None, "attrs": {"nodes": "n[1-2]"}},
        {"ordinal": 1, "event_type": "comm.timeout", "node": "n5"},
    ]) | {"node": None},
    line("same", 0, None, "03:00:00", hits=[
        {"ordinal": 0, "event_type": "sched.node_down", "node": None, "attrs": {"nodes": "n[1-2]"}},
        {"ordinal": 1, "event_type": "sched.node_down", "node": "n9"},
    ]),
    # Ports.
    line("ports", 0, "comm.timeout", "03:00:00", node="n1", hit_attrs={"hca": "mlx5_3"}),
    line("ports", 1, "comm.timeout", "03:00:00", hit_port="sw1:4"),
    line("ports", 2, "comm.timeout", "03:00:00", node="n1"),
]  # fmt: skip


@pytest.fixture(scope="module")
def words(spark):
    return frame(spark, VOCABULARY, WORDS), frame(spark, CODES, KNOWN)


@pytest.fixture(scope="module")
def found(spark, words):
    return collected(extract_events(frame(spark, STAGED, LINES), *words))


def test_a_record_that_names_several_nodes_is_an_event_of_each(found):
    assert pick(found, "byte_offset", "node", "count", stream_id="spread") == [
        (0, "n1", 1), (0, "n2", 1), (0, "n3", 1), (1, None, 1), (2, "n7", 1),
    ]  # fmt: skip
    assert len({r["event_id"] for r in found if r["stream_id"] == "spread"}) == 5


def test_the_catalogue_judges_a_code_and_an_unknown_code_keeps_the_words_default(found):
    columns = ("byte_offset", "code", "class", "role", "category")
    assert pick(found, *columns, stream_id="codes") == [
        (0, "79", "bus", "initiating", "gpu_hardware"),
        (1, "999", None, "context", "unknown"),
        (2, "13", None, "context", "unknown"),
        (3, None, None, "context", "unknown"),
    ]


def test_repeats_within_the_gap_fold_and_keep_count_first_and_last(found):
    columns = ("byte_offset", "count", "t_raw", "t_raw_last")
    assert pick(found, *columns, stream_id="gap") == [
        (0, 4, "03:00:00", "03:00:15"),
        (4, 1, "03:00:26", "03:00:26"),
    ]


def test_other_places_never_fold_and_what_the_line_names_beats_what_the_path_does(found):
    columns = ("byte_offset", "device", "rank", "node", "count")
    assert pick(found, *columns, stream_id={"places", "others"}) == [
        (0, "0000:3b:00", 0, None, 1),
        (0, "0000:3b:00", 0, None, 2),
        (1, "0000:5d:00", 0, None, 1),
        (3, "0000:3b:00", 1, None, 1),
        (4, "0000:3b:00", 0, "n2", 1),
    ]


def test_progress_is_cut_every_five_minutes(found):
    assert pick(found, "t_raw", "t_raw_last", "count", stream_id="steps") == [
        ("03:01:00", "03:04:40", 12),
        ("03:05:00", "03:07:40", 9),
    ]


def test_every_hit_of_a_record_is_an_event(found):
    assert pick(found, "event_type", "node", stream_id="two") == [
        ("comm.timeout", "n5"), ("sched.node_down", "n1"), ("sched.node_down", "n2"),
    ]  # fmt: skip


def test_a_port_is_named_by_the_line_or_by_node_and_hca(found):
    assert pick(found, "byte_offset", "port", stream_id="ports") == [(0, "n1/mlx5_3/1"), (1, "sw1:4"), (2, None)]


def test_an_id_is_that_of_the_first_record_and_the_text_is_bounded(found):
    got = pick(found, "event_id", "text", stream_id="gap", byte_offset=0)
    assert got == [(digest("gap", 0, "comm.timeout", 0), "x" * 400)]


def test_two_hits_of_one_record_never_share_an_id(found):
    assert len({r["event_id"] for r in found if r["stream_id"] == "same"}) == 3


def test_the_same_records_give_the_same_events_whatever_their_order(spark, words, found):
    streams = {"spread", "places", "gap"}
    again = [r for r in LINES if r["stream_id"] in streams]
    later = collected(extract_events(frame(spark, STAGED, reversed(again)), *words))
    columns = ("event_id", "node", "count", "t_raw_last")
    assert pick(later, *columns, stream_id=streams) == pick(found, *columns, stream_id=streams)
