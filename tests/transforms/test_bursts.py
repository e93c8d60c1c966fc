"""Repeats folded in flight are those that `events.fold_bursts` would fold, wherever a segment is cut."""

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firstfault.transforms.bursts import PROGRESS_BURST_S, Fold, fold_hits
from firstfault.transforms.events import extract_events
from firstfault.transforms.staged import HIT_TYPE, READ_SCHEMA, STAGED
from tests.frames import collected, frame, moment, pick

FOLDING = {
    "comm.timeout": Fold(10, None, progress=False),
    "gpu.xid": Fold(10, "code", progress=False),
    "train.step": Fold(600, None, progress=True),
    "sched.node_down": Fold(60, None, progress=False),
}


def line(seconds: float | None, event_type: str = "comm.timeout", hits: list[dict] | None = None, **given: Any) -> dict:
    """A line with one hit (or these); `hit_` names columns of the hit."""
    own = {k.removeprefix("hit_"): v for k, v in given.items() if k.startswith("hit_")}
    hit = {"ordinal": 0, "pattern_id": "p", "event_type": event_type, "attrs": []} | own
    plain = {k: v for k, v in given.items() if not k.startswith("hit_")}
    time = None if seconds is None else moment("03:00:00").timestamp() + seconds
    return {"event_time": time, "time_basis": "zoned", "hits": [hit] if hits is None else hits} | plain


def fold(lines: list[dict]) -> list[tuple]:
    """(line, count, seconds of the last) of every hit that is left."""
    rows = {name: [line.get(name) for line in lines] for name in READ_SCHEMA.names}
    for name in ("event_time", "t_prev"):
        rows[name] = [None if t is None else round(t * 1e6) for t in rows[name]]
    table = pa.table([pa.array(rows[f.name], f.type) for f in READ_SCHEMA], schema=READ_SCHEMA)
    hits = pa.array([line["hits"] for line in lines], pa.list_(HIT_TYPE))
    folded = fold_hits(hits, table, FOLDING)
    folded.validate(full=True)
    zero = moment("03:00:00")
    return [
        (at, hit["count"], hit["t_last"] and (hit["t_last"] - zero).total_seconds())
        for at, left in enumerate(folded.to_pylist())
        for hit in left or ()
    ]


def test_repeats_within_the_gap_leave_the_first_with_count_and_last_time():
    assert fold([line(s) for s in (0, 5, 15, 26, 36)]) == [(0, 3, 15.0), (3, 2, 36.0)]


def test_a_line_without_a_time_stays_in_the_burst_at_the_time_before_it():
    assert fold([line(0), line(None, t_prev=moment("03:00:07").timestamp()), line(16)]) == [(0, 3, 16.0)]
    assert fold([line(None), line(None)]) == [(0, 2, None)]


def test_a_clock_that_jumps_back_begins_no_burst():
    assert fold([line(0), line(100), line(50), line(105)]) == [(0, 1, 0.0), (1, 3, 105.0)]


@pytest.mark.parametrize(
    "other",
    [
        {"hit_device": "0000:5d:00"}, {"hit_node": "n2"}, {"hit_rank": 1}, {"hit_port": "sw1:4"}, {"hit_ordinal": 1},
        {"hit_attrs": [("hca", "mlx5_3")]}, {"node": "n2"}, {"rank": 2}, {"device": "d"}, {"port": "sw2:1"},
    ],
)  # fmt: skip
def test_other_places_do_not_fold(other):
    assert fold([line(0), line(1, **other), line(2), line(3, **other)]) == [(0, 2, 2.0), (1, 2, 3.0)]


def test_other_codes_do_not_fold_and_other_attributes_do():
    codes = [line(n, "gpu.xid", hit_attrs=[("code", code), ("pid", str(n))]) for n, code in enumerate("7997")]
    assert fold(codes) == [(0, 2, 3.0), (1, 2, 2.0)]


def test_progress_folds_within_its_slot_only():
    marks = [line(s, "train.step") for s in range(0, 2 * PROGRESS_BURST_S, 100)]
    assert fold(marks) == [(0, 3, 200.0), (3, 3, 500.0)]


@pytest.mark.parametrize(
    "alone", [{"event_type": "no.such_word"}, {"hit_attrs": [("nodes", "n[1-2]")]}, {"time_basis": "boot_relative"}]
)
def test_what_later_stages_still_move_or_spread_is_left_alone(alone):
    assert fold([line(0, **alone), line(0, **alone)]) == [(0, 1, 0.0), (1, 1, 0.0)]


def test_hits_of_one_line_stay_in_their_line():
    two = [{"ordinal": n, "pattern_id": "p", "event_type": "comm.timeout", "attrs": []} for n in range(2)]
    assert fold([line(0, hits=two), line(1, hits=[]), line(2, hits=two)]) == [(0, 2, 2.0), (0, 2, 2.0)]


def test_nothing_found_is_nothing():
    assert fold([line(0, hits=[]), {"hits": None}]) == []
    assert fold([]) == []


def series(lines: list[dict]) -> list[tuple]:
    """What one fold over all lines means, said record by record."""
    state: dict[tuple, list] = {}
    for at, one in enumerate(lines):
        [hit] = one["hits"]
        key = (hit["event_type"], one.get("node"), hit.get("device"))
        rule, seconds = FOLDING[hit["event_type"]], one["event_time"] - moment("03:00:00").timestamp()
        bursts = state.setdefault(key, [])
        latest = max((b[2] for b in bursts), default=None)
        slot_of = lambda t: t // PROGRESS_BURST_S  # noqa: E731
        if latest is None or seconds - latest > rule.gap_s or (rule.progress and slot_of(seconds) > slot_of(latest)):
            bursts.append([at, 0, seconds])
        bursts[-1][1] += 1
        bursts[-1][2] = max(bursts[-1][2], seconds)
    return sorted((tuple(b) for bursts in state.values() for b in bursts), key=lambda b: b[0])


RECORDS = st.lists(
    st.builds(
        line,
        st.integers(0, 900),
        st.sampled_from(["comm.timeout", "train.step"]),
        node=st.sampled_from([None, "n1", "n2"]),
        hit_device=st.sampled_from([None, "d1"]),
    ),
    max_size=30,
)


@settings(max_examples=60, deadline=None)
@given(RECORDS)
def test_any_series_folds_as_its_definition_says(lines):
    assert fold(lines) == series(lines)


def test_a_stream_cut_into_segments_gives_the_events_of_the_whole(spark):
    words = frame(
        spark,
        "event_type string, scope string, role string, category string, gap_s int, key string, catalogue string",
        [
            {"event_type": name, "category": "unknown", "gap_s": fold.gap_s}
            | {"role": "progress" if fold.progress else "cascade"}
            for name, fold in FOLDING.items()
        ],
    )  # fmt: skip
    codes = frame(spark, "catalogue string, code string, class string, role string, category string")
    seconds = [0, 4, 30, 10, 38, 39, 60, 58, 69, 200, 310, 299, 305, 620]
    lines = [line(s, kind) for s in seconds for kind in ("comm.timeout", "train.step")]
    found = []
    for cut in (len(lines), 0, 1, 5, 9, 13, 20):
        parts = [(start, part) for start, part in ((0, lines[:cut]), (cut, lines[cut:])) if part]
        given = [
            {
                "stream_id": f"s{cut}", "byte_offset": start + at, "cluster": "c", "job_id": "1",
                "event_time": clock_of(lines[start + at]), "time_basis": "zoned", "file_time": "09:00:00",
                "hits": [{**lines[start + at]["hits"][0], "attrs": {}, "count": n, "t_last": moment_of(last)}],
            }
            for start, part in parts
            for at, n, last in fold(part)
        ]  # fmt: skip
        found += collected(extract_events(frame(spark, STAGED, given), words, codes))
    columns = ("byte_offset", "event_type", "count", "t_raw", "t_raw_last")
    whole = pick(found, *columns, stream_id=f"s{len(lines)}")
    assert len(whole) > 6
    for cut in (0, 1, 5, 9, 13, 20):
        assert pick(found, *columns, stream_id=f"s{cut}") == whole, cut


def clock_of(one: dict) -> str:
    return moment_of(one["event_time"] - moment("03:00:00").timestamp())


def moment_of(seconds: float) -> str:
    return f"03:{int(seconds) // 60:02d}:{int(seconds) % 60:02d}"
