"""Where a landed row lies, and that it lands as it was written."""

from typing import Any

import pyarrow as pa
import pytest

from firstfault.transforms.raw_logs import RAW_LOGS
from firstfault.transforms.raw_rows import Partitioned, file_schema, raw_rows
from firstfault.transforms.raw_telemetry import RAW_TELEMETRY
from firstfault.transforms.staged import READ_SCHEMA
from tests.frames import clock, moment

FILE_TIME = moment("05:00:00")
STREAM = {
    "cluster": "c", "job_id": "_node", "format": "kernel", "stream_id": "s", "file": "nodes/n1/kern.log",
    "file_time": FILE_TIME,
}  # fmt: skip
TIMES = ("event_time", "collected_at")


def read(*given: dict[str, Any]) -> pa.Table:
    """Rows of a reader; columns that a row does not name are null."""
    cells = [{k: moment(v) if k in TIMES and v else v for k, v in row.items()} for row in given]
    return pa.Table.from_pylist([dict.fromkeys(READ_SCHEMA.names) | row for row in cells], schema=READ_SCHEMA)


def line(number: int, event_time: str | None = None, **given: Any) -> dict[str, Any]:
    return {
        "disposition": "landed_log", "units": 1, "byte_offset": number, "line_no": number, "event_time": event_time,
    } | given  # fmt: skip


def places(pieces: list[Partitioned]) -> list[tuple[str, int]]:
    """Hour and line number of every row."""
    found = [(piece.values[1], number) for piece in pieces for number in piece.rows["line_no"].to_pylist()]
    return sorted(found, key=lambda place: place[1])


def test_the_hour_is_that_of_the_written_time_if_plausible_else_of_collection_else_of_the_file():
    rows = read(
        line(1, "03:59:59.999", collected_at="04:30:00"),
        line(2, "1d 05:00:00"),
        line(3, "1d 05:00:01"),
        line(4, "2099-01-01 00:00:00", collected_at="04:30:00"),
        line(5, collected_at="04:30:00"),
        line(6),
        line(7, "2019-01-01 00:00:00"),
        line(8, "1960-01-01 00:30:00"),
    )
    assert places(raw_rows(rows, STREAM)) == [
        ("2026-11-20-03", 1),
        ("2026-11-21-05", 2),
        ("2026-11-20-05", 3),
        ("2026-11-20-04", 4),
        ("2026-11-20-04", 5),
        ("2026-11-20-05", 6),
        ("2019-01-01-00", 7),
        ("1960-01-01-00", 8),
    ]


@pytest.mark.parametrize("hours", [[3, 3, 4, 4, 5], [5, 4, 3, 4, 5], [3], []])
def test_every_row_lands_once_in_one_piece_an_hour(hours):
    pieces = raw_rows(read(*(line(n, f"{hour:02d}:00:00") for n, hour in enumerate(hours))), STREAM)
    assert places(pieces) == [(f"2026-11-20-{hour:02d}", n) for n, hour in enumerate(hours)]
    assert len(pieces) == len(set(hours))


def test_only_landed_lines_are_rows_and_they_are_verbatim():
    message = " \ttwo  spaces, ümlaut \x1b[31m and a tail \r"
    rows = read(
        line(0, "03:00:00", message=message, node="n1", rank=3, time_basis="zoned"),
        line(1, message=""),
        *(line(9, disposition=d) for d in ("quarantined", "dropped")),
    )
    first, second = raw_rows(rows, STREAM)
    assert [piece.table.name for piece in (first, second)] == [RAW_LOGS.name] * 2
    [row] = first.rows.to_pylist()
    assert row | {"event_time": clock(row["event_time"])} == {
        "cluster": "c", "node": "n1", "rank": 3, "source": "kernel", "stream_id": "s", "byte_offset": 0, "line_no": 0,
        "file": "nodes/n1/kern.log", "event_time": "03:00:00", "time_basis": "zoned", "collected_at": None,
        "message": message,
    }  # fmt: skip
    assert second.values == ("_node", "2026-11-20-05")
    assert second.rows["message"].to_pylist() == [""]


def test_samples_land_in_their_own_table_with_labels_value_and_units():
    sample = {"disposition": "landed_sample", "byte_offset": 7, "metric": "DCGM_FI_DEV_XID_ERRORS", "line_no": 1}
    rows = read(
        sample | {"units": 1, "value": 79.0, "labels": [("gpu", "0")], "device": "0000:3b:00"},
        sample | {"units": 0, "value": None, "labels": None, "device": "0000:5d:00"},
        line(2),
    )
    pieces = {piece.table.name: piece.rows for piece in raw_rows(rows, STREAM)}
    assert sorted(pieces) == ["raw_logs", "raw_telemetry"]
    columns = ("device", "units", "value", "labels")
    assert [tuple(r[c] for c in columns) for r in pieces["raw_telemetry"].to_pylist()] == [
        ("0000:3b:00", 1, 79.0, [("gpu", "0")]),
        ("0000:5d:00", 0, None, None),
    ]


@pytest.mark.parametrize("table", [RAW_LOGS, RAW_TELEMETRY])
def test_files_hold_every_column_but_those_of_the_partition(table):
    names = file_schema(table).names
    assert [*table.partitions, *names] == [*table.partitions, *(c for c in table.columns if c not in table.partitions)]


def test_rows_in_order_of_time_are_not_copied():
    rows = read(*(line(n, f"0{3 + n}:00:00", message="x" * 1000) for n in range(3)))
    held = {piece.rows["message"].chunk(0).buffers()[2].address for piece in raw_rows(rows, STREAM)}
    assert held == {rows["message"].chunk(0).buffers()[2].address}
