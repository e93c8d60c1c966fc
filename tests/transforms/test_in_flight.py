"""Which rows go on to Spark, and what a segment's report says."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from firstfault.transforms.in_flight import files_row, report, report_row, rows_to_go_on, staged_rows
from firstfault.transforms.staged import FOLDED_TYPE, MARK_TYPE, READ_SCHEMA, STAGED_SCHEMA
from tests.frames import moment
from tests.transforms.test_raw_rows import FILE_TIME, STREAM, line, read

HIT = {"ordinal": 0, "pattern_id": "p", "event_type": "gpu.xid", "attrs": [], "count": 1}


def going_on(rows: pa.Table, source: str = "app", hits: list[Any] | None = None) -> list[int]:
    """Places of the rows that go on."""
    given = pa.array(hits or [None] * rows.num_rows, pa.list_(FOLDED_TYPE))
    return np.flatnonzero(rows_to_go_on(rows, given, no_marks(rows), source)).tolist()


def no_marks(rows: pa.Table) -> pa.ListArray:
    """Lines that share no moment with others."""
    return pa.nulls(rows.num_rows, pa.list_(MARK_TYPE))


def test_lines_without_an_event_stay_behind_and_refused_and_dropped_ones_go_on():
    rows = read(line(0), line(1), line(2, disposition="quarantined"), line(3, disposition="dropped"), line(4))
    assert going_on(rows, hits=[None, [HIT], None, None, None]) == [1, 2, 3]


@pytest.mark.parametrize("source", ["sacct", "kube", "topology", "labels", "repairs"])
def test_records_go_on_whole(source):
    assert going_on(read(line(0), line(1)), source) == [0, 1]


def test_of_samples_only_those_of_clocks_go_on():
    names = ("clock.offset_s", "DCGM_FI_DEV_GPU_TEMP", "clock.max_error_s", None)
    rows = read(*(line(n, disposition="landed_sample", metric=m) for n, m in enumerate(names)))
    assert going_on(rows, "chrony") == [0, 2]


def test_the_last_line_of_a_node_with_both_times_ties_its_boot_to_the_clock():
    boot = [("boot_s", "5.0")]
    rows = read(
        line(0, "03:00:00", node="n1", fields=boot, time_basis="zoned"),
        line(1, "03:00:09", node="n1", fields=boot, time_basis="zoned"),
        line(2, "03:00:05", node="n1", fields=boot, time_basis="zoned"),
        line(3, "03:00:07", node="n2", fields=boot, time_basis="no_year"),
        line(4, "04:00:00", node="n2", fields=boot, time_basis="boot_relative"),
        line(5, "04:00:00", node="n2", fields=[("tod_s", "1.0")], time_basis="zoned"),
        line(6, "04:00:00", node="n2", time_basis="zoned"),
        line(7, None, node="n3", fields=boot, time_basis="none"),
    )
    for source in ("kernel", "journal"):
        assert going_on(rows, source) == [1, 3]
    assert going_on(rows, "app") == []


def test_the_fastest_delivery_of_each_node_and_span_is_a_witness_of_its_clock():
    rows = read(
        line(0, "03:00:00", node="n1", collected_at="03:00:04"),
        line(1, "03:00:10", node="n1", collected_at="03:00:11"),
        line(2, "03:00:20", node="n1", collected_at="03:00:21"),
        line(3, "03:00:20", node="n2", collected_at="03:00:50"),
        line(4, "03:05:00", node="n1", collected_at="03:05:09"),
        line(5, "03:00:20", node="n1"),
        line(6, None, node="n1", collected_at="03:00:50"),
        line(7, "03:00:20", collected_at="03:00:20"),
    )
    assert going_on(rows, "journal") == [1, 3, 4]


def test_a_report_adds_up_units_and_spans_plausible_times():
    rows = read(
        line(0, "03:00:00", node="n2"),
        line(1, "2099-01-01 00:00:00", node="n1", units=2),
        line(2, "04:00:00", node="n2", disposition="landed_sample"),
        line(3, "01:00:00", disposition="quarantined", units=5),
        line(4, disposition="dropped"),
    )
    assert report(rows, 10, FILE_TIME) == {
        "read": 10, "landed_log": 3, "landed_sample": 1, "quarantined": 5, "dropped": 1,
        "first_time": moment("03:00:00"), "last_time": moment("04:00:00"), "nodes": ["n1", "n2"],
    }  # fmt: skip
    nothing = report(READ_SCHEMA.empty_table(), 0, FILE_TIME)
    assert (nothing["landed_log"], nothing["first_time"], nothing["nodes"]) == (0, None, [])


def test_rows_in_flight_carry_the_constants_of_their_stream():
    stream = STREAM | {"batch_id": "b", "attempt_hint": 2, "zone": "UTC", "from_byte": 70}
    rows = read(line(0, message="x", text="x"))
    hits = pa.array([[HIT]], pa.list_(FOLDED_TYPE))
    figures = report(rows, 1, FILE_TIME)
    told = [staged_rows(rows, hits, no_marks(rows), stream), report_row(figures, stream, 70), files_row(["{}"], "b")]
    assert all(table.schema.equals(STAGED_SCHEMA) for table in told)
    own, reported, files = (table.to_pylist()[0] for table in told)
    columns = ("batch_id", "job_id", "attempt_hint", "source", "range_from", "file_time")
    for row in (own, reported):
        assert [row[c] for c in columns] == ["b", "_node", 2, "kernel", 70, FILE_TIME]
    assert (own["message"], own["hits"][0]["event_type"], own["report"]) == ("x", "gpu.xid", None)
    assert (reported["report"], reported["byte_offset"], reported["hits"]) == (figures, 70, None)
    assert (files["files"], files["batch_id"], files["stream_id"]) == (["{}"], "b", None)
