"""Shared moments on the lines of a segment: which are found, with which key and time, and which are kept."""

import pyarrow as pa
import pytest

from firstfault.transforms.marks_in_flight import MarkKind, find_marks
from firstfault.transforms.staged import HIT_TYPE
from tests.frames import clock, moment
from tests.transforms.test_raw_rows import line, read

STEP = MarkKind("step", 0.1, events=("train.step",), key=("step",), per_slot=4, thin_by="step")
EVERY_STEP = MarkKind("step", 0.1, events=("train.step",), key=("step",))
READY = MarkKind("communicator", 0.3, events=("comm.init_complete",), key=("comm_id",))
TERM = MarkKind("term_wave", 1.0, events=("proc.term",), first=True)
KILL = MarkKind(
    "kill", 1.0, events=("sched.cancel", "sched.timeout"), key=("job",), first=True, within="cluster", sources=("app",)
)
COLLECTIVE = MarkKind(
    "collective", 0.05, source="flight_recorder", time_field="done_ns", key=("pg", "seq", "op"),
    where={"state": ("completed",), "op": ("all_reduce", "barrier")},
)  # fmt: skip


def hit(event: str, **attrs: object) -> dict:
    return {"ordinal": 0, "pattern_id": "p", "event_type": event, "attrs": [(k, str(v)) for k, v in attrs.items()]}


def found(lines: list[tuple[dict, list[dict]]], *kinds: MarkKind, source: str = "app") -> list[tuple]:
    """(place of the line, kind, key, time) of every moment."""
    rows = read(*(row for row, _ in lines))
    hits = pa.array([h or None for _, h in lines], pa.list_(HIT_TYPE))
    marks = find_marks(hits, rows, source, kinds)
    assert len(marks) == rows.num_rows
    return [
        (place, m["kind"], m["key"], clock(m["t"])) for place, told in enumerate(marks.to_pylist()) for m in told or ()
    ]


def test_lines_of_the_kinds_are_found_with_their_key_at_the_time_they_were_written():
    lines = [
        (line(0, "03:00:00.25", time_basis="zoned"), [hit("gpu.xid", code=79)]),
        (
            line(1, "03:00:01.5", time_basis="zoned"),
            [hit("train.step", step=7), hit("comm.init_complete", comm_id="0x7")],
        ),
        (line(2, "03:00:02", time_basis="no_year"), [hit("train.step", step=8)]),
    ]
    assert found(lines, EVERY_STEP, READY) == [
        (1, "step", "7", "03:00:01.5"),
        (1, "communicator", "0x7", "03:00:01.5"),
        (2, "step", "8", "03:00:02"),
    ]


def test_a_line_without_a_key_or_a_reading_of_a_clock_shares_no_moment():
    lines = [
        (line(0, "03:00:00", time_basis="zoned"), [hit("train.step")]),
        (line(1, None, time_basis="none"), [hit("train.step", step=1)]),
        (line(2, "03:00:00", time_basis="boot_relative"), [hit("train.step", step=2)]),
        (line(3, "03:00:00", time_basis="boot_wall"), [hit("train.step", step=3)]),
        (line(4, "03:00:00", time_basis="file_time"), [hit("train.step", step=4)]),
        (line(5, "03:00:00", time_basis="zoned"), []),
    ]
    assert found(lines, EVERY_STEP) == []
    assert found([], EVERY_STEP) == []


def test_a_kind_without_a_key_can_be_the_first_such_line():
    lines = [(line(n, f"03:00:0{n}", time_basis="zoned"), [hit("proc.term")]) for n in range(3)]
    assert found(lines, TERM) == [(0, "term_wave", "", "03:00:00")]


def test_of_one_key_only_the_first_line_counts_whatever_event_it_is():
    told = [
        ("sched.timeout", "7"),
        ("sched.cancel", "7"),
        ("sched.cancel", "8"),
        ("sched.end", "9"),
        ("sched.cancel", "8"),
    ]
    lines = [(line(n, f"03:00:0{n}", time_basis="zoned"), [hit(event, job=job)]) for n, (event, job) in enumerate(told)]
    assert found(lines, KILL) == [(0, "kill", "7", "03:00:00"), (2, "kill", "8", "03:00:02")]
    assert found(lines, KILL, source="sacct") == []


def test_records_have_the_time_of_a_field_and_say_what_the_kind_asks_for():
    ns = int(moment("03:00:00.000123").timestamp() * 1e6) * 1000
    good = {"pg": "0", "seq": "12", "op": "all_reduce", "state": "completed", "done_ns": str(ns)}
    records = [
        good,
        good | {"op": "broadcast"},
        good | {"state": "started"},
        good | {"done_ns": "0"},
        good | {"done_ns": "soon"},
        {k: v for k, v in good.items() if k != "seq"},
    ]
    lines = [(line(n, fields=list(r.items())), []) for n, r in enumerate(records)]
    one = (0, "collective", "0|12|all_reduce", "03:00:00.000123")
    assert found(lines, COLLECTIVE, source="flight_recorder") == [one]
    assert found(lines, COLLECTIVE) == []


@pytest.mark.parametrize("stride", [1, 10, 64])
def test_every_rank_keeps_the_same_few_of_frequent_moments(stride):
    def rank(late_s: float, steps: int) -> set[str]:
        lines = [
            (
                line(n, f"03:{n // 60:02d}:{n % 60 + late_s:05.2f}", time_basis="zoned"),
                [hit("train.step", step=n * stride)],
            )
            for n in range(steps)
        ]
        return {key for _, _, key, _ in found(lines, STEP)}

    one, other, shorter = rank(0.0, 1200), rank(0.2, 1200), rank(0.0, 900)
    assert one == other
    assert 8 <= len(one) <= 40
    assert shorter <= one


def test_rare_moments_are_all_kept_and_a_number_that_is_none_is_not():
    lines = [(line(n, f"03:{n:02d}:00", time_basis="zoned"), [hit("train.step", step=n)]) for n in range(0, 60, 5)]
    assert len(found(lines, STEP)) == 12
    assert found([(line(0, "03:00:00", time_basis="zoned"), [hit("train.step", step="seven")])], STEP) == []
