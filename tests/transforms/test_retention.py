"""What is dropped, what stays whatever a rule says, and how what is gone is counted."""

import pickle
import tracemalloc
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstfault.transforms.retention import ChatterRule, Retention, counted
from firstfault.transforms.staged import HIT_TYPE, READ_SCHEMA

RULES = (
    ChatterRule("chatter.ping", frozenset({"app"}), r"ping \d+"),
    ChatterRule("chatter.any", frozenset({"app", "kernel"}), r"p[io]ng [^T\n]*"),
)
AROUND = {"gpu.xid": (3, 2), "train.step": (0, 0)}
VARIABLE = ((r"^[\n ]+", ""), (r"(?s)\n.*", " <redraws>"), (r"\b0x[0-9a-f]+", "<hex>"))
BARE = Retention(RULES, AROUND, (3, 2), 0, 0, 1000, VARIABLE)
KEEPING = Retention(RULES, AROUND, (3, 2), 2, 3, 1000, VARIABLE)


def hits(*types: str | None) -> pa.ListArray:
    """Events of lines; None where a line has none."""
    rows = [None if t is None else [{"event_type": name} for name in t.split()] for t in types]
    return pa.array(rows, pa.list_(HIT_TYPE))


def dropped(lines: list[str | None], events: dict[int, str] | None = None, how: Retention = BARE) -> list[int]:
    types = [(events or {}).get(row) for row in range(len(lines))]
    return how.dropped(pa.array(lines, pa.string()), hits(*types), "app").rows.tolist()


def test_a_line_is_dropped_only_when_a_rule_accounts_for_all_of_it():
    lines = ["ping 1", "ping 1Traceback (most recent call last):", "x ping 1", None, "", "pong a", "ping 1\nping 2"]
    assert dropped(lines) == [0, 5]


def test_the_first_rule_that_fits_is_named_and_a_source_has_its_own_rules():
    texts = pa.array(["ping 7", "ping x", "ping 8"])
    found = BARE.dropped(texts, hits(None, None, None), "app")
    assert found.rules.to_pylist() == ["chatter.ping", "chatter.any", "chatter.ping"]
    assert found.templates.to_pylist() == ["ping #", "ping x", "ping #"]
    assert BARE.dropped(texts, hits(None, None, None), "journal").rules.to_pylist() == ["chatter.any"] * 3
    assert len(BARE.dropped(texts, hits(None, None, None), "sel").rows) == 0


def test_a_line_with_an_event_stays_and_so_do_its_neighbours():
    lines = [f"ping {k}" for k in range(12)]
    assert dropped(lines, {5: "gpu.xid"}) == [0, 1, 8, 9, 10, 11]
    assert dropped(lines, {5: "train.step"}) == [0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11]
    assert dropped(lines, {5: "train.step gpu.xid"}) == [0, 1, 8, 9, 10, 11]
    assert dropped(lines, {5: "never.heard_of"}) == [0, 1, 8, 9, 10, 11]
    assert dropped(lines, {0: "gpu.xid", 11: "gpu.xid"}) == [3, 4, 5, 6, 7]


def test_an_event_without_a_type_protects_as_an_unknown_one():
    texts = pa.array([f"ping {k}" for k in range(8)])
    nameless = pa.array([None] * 4 + [[{"event_type": None}]] + [None] * 3, pa.list_(HIT_TYPE))
    assert BARE.dropped(texts, nameless, "app").rows.tolist() == [0, 7]


def test_the_first_and_last_lines_of_a_segment_stay():
    assert dropped([f"ping {k}" for k in range(8)], how=KEEPING) == [2, 3, 4]
    assert dropped([f"ping {k}" for k in range(5)], how=KEEPING) == []


def test_slices_of_larger_arrays_are_read_where_they_begin():
    lines = pa.array(["ping 0", "x", *(f"ping {k}" for k in range(9))])
    events = hits("gpu.xid", None, None, None, "gpu.xid", *[None] * 6)
    found = BARE.dropped(lines.slice(2), events.slice(2), "app")
    assert found.rows.tolist() == [5, 6, 7, 8]
    assert found.kept(9).to_pylist() == [0, 1, 2, 3, 4]


TEXTS = st.one_of(st.none(), st.sampled_from(["ping 1", "pong \0 2", "ping 3x", "step", "p", "", "ping \ud7ff"]))
EVENTS = st.sampled_from([None, None, None, "gpu.xid", "train.step", "other.type"])
LINES = st.lists(st.tuples(TEXTS, EVENTS), max_size=40)


@given(LINES)
def test_every_row_is_kept_or_dropped_once_and_evidence_is_kept(rows):
    lines, types = [r[0] for r in rows], [r[1] for r in rows]
    found = KEEPING.dropped(pa.array(lines, pa.string()), hits(*types), "app")
    kept = found.kept(len(rows)).to_pylist()
    assert sorted(found.rows.tolist() + kept) == list(range(len(rows)))
    assert len(found.rows) == len(found.rules) == len(found.templates)
    assert not found.rules.null_count
    assert not found.templates.null_count
    for row in found.rows.tolist():
        assert types[row] is None
        assert lines[row] is not None
        assert all(t in (None, "train.step") for t in types[max(0, row - 2) : row + 4])


@given(LINES, st.lists(st.integers(0, 40), max_size=4))
def test_a_cut_can_only_keep_more(rows, cuts):
    whole = set(dropped([r[0] for r in rows], dict(enumerate(r[1] for r in rows)), KEEPING))
    edges = sorted({0, len(rows), *(min(c, len(rows)) for c in cuts)})
    parts = set()
    for start, end in pairwise(edges):
        piece = rows[start:end]
        found = dropped([r[0] for r in piece], dict(enumerate(r[1] for r in piece)), KEEPING)
        parts |= {start + row for row in found}
    assert parts <= whole


def test_a_template_holds_no_figures_no_bars_and_at_most_200_characters():
    lines = [
        "ping 12 of 0x7f3a10 at 1.30s",
        "ping\t\t3  of\x00\x00 ██▌   ###|",
        "\r\rping 1%\rping 2%\rping 3%",
        "ping " + "ab1" * 400,
    ]
    told = KEEPING.templates(pa.array(lines)).to_pylist()
    assert told[:3] == ["ping # of <hex> at #.#s", "ping # of~ ~ ~|", "ping #% <redraws>"]
    assert told[3] == ("ping " + "ab#" * 100)[:200]


def test_hostile_lines_cost_no_more_than_their_length():
    huge = "ping " + "\0é" * 5_000_000
    lines = [huge, huge[:600], "ping 1", "p" * 10_000_000, "\0" * 10_000_000, "ping " + "1" * 990]
    texts, quiet = pa.array(lines), hits(*[None] * len(lines))
    tracemalloc.start()
    assert BARE.dropped(texts, quiet, "app").rows.tolist() == [1, 2, 5]
    assert tracemalloc.get_traced_memory()[1] < 1e6
    tracemalloc.stop()


def test_more_lines_than_a_block_keep_their_places():
    many = 150_000
    quiet = np.arange(many) % 3 == 0
    texts = pa.array(np.where(quiet, "step", "ping 1"))
    found = BARE.dropped(texts, pa.nulls(many, pa.list_(HIT_TYPE)), "app")
    assert np.array_equal(found.rows, np.flatnonzero(~quiet))
    assert found.templates.unique().to_pylist() == ["ping #"]


def test_it_travels():
    again = pickle.loads(pickle.dumps(KEEPING))  # noqa: S301
    assert dropped([f"ping {k}" for k in range(8)], how=again) == [2, 3, 4]


def read(*rows: dict) -> pa.Table:
    whole = [dict.fromkeys(READ_SCHEMA.names) | row for row in rows]
    return pa.Table.from_pylist(whole, schema=READ_SCHEMA)


@pytest.mark.parametrize("chunks", [1, 2])
def test_dropped_rows_are_counted_by_hour_rule_and_template(chunks):
    times = [np.datetime64(f"2026-11-20T{t}", "us").item() for t in ("03:10:00", "03:59:59", "04:00:00")]
    rows = read(
        {"units": 1, "length": 7, "byte_offset": 0, "event_time": times[0], "message": "ping 1", "rank": 3},
        {"units": 1, "length": 8, "byte_offset": 7, "event_time": times[1], "message": "ping 10"},
        {"units": 1, "length": 5, "byte_offset": 15, "event_time": times[2], "message": "step"},
        {"units": 1, "length": 7, "byte_offset": 20, "event_time": times[2], "message": "ping 2"},
        {"units": 2, "length": 7, "byte_offset": 27, "message": "ping 3"},
    )
    found = BARE.dropped(rows["message"].combine_chunks(), hits(*[None] * 5), "app")
    if chunks == 2:
        rows = pa.concat_tables([rows.slice(0, 3), rows.slice(3)])
    told = counted(rows, found)
    assert told.schema == READ_SCHEMA
    columns = ("disposition", "reason", "message", "units", "length", "byte_offset", "rank")
    assert [tuple(r[c] for c in columns) for r in told.to_pylist()] == [
        ("dropped", "chatter.ping", "ping #", 2, 15, 0, None),
        ("dropped", "chatter.ping", "ping #", 1, 7, 20, None),
        ("dropped", "chatter.ping", "ping #", 2, 7, 27, None),
    ]
    assert [t and f"{t:%H:%M}" for t in told["event_time"].to_pylist()] == ["03:00", "04:00", None]
    assert counted(rows, BARE.dropped(pa.array([], pa.string()), hits(), "app")).num_rows == 0
