"""Samples in Parquet."""

import io
import json
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.transforms.formats.reading import landed, read, read_table, reasons, units, utc

T0 = datetime(2026, 11, 29, 18, 30, tzinfo=UTC)
NANOS = 1_795_977_000_000_000_000
LABELS = {"Hostname": "GPU-r31-n03.site", "pci_bus_id": "00000000:3B:00.0", "gpu": "3"}


def parquet(columns, **types):
    arrays = {name: pa.array(cells, types.get(name)) for name, cells in columns.items()}
    sink = io.BytesIO()
    pq.write_table(pa.table(arrays), sink)
    return sink.getvalue()


def one(**columns):
    return parquet({"time": [T0], "metric": ["DCGM_FI_DEV_GPU_TEMP"], "value": [69.0]} | columns)


def test_a_row_is_a_sample():
    data = parquet(
        {
            "timestamp": [T0, T0, T0],
            "name": ["DCGM_FI_DEV_GPU_TEMP", "node_load1", "node_load1"],
            "value": [69, 1, 2],
            "node": ["GPU-r31-n03.site", "n1", "n2"],
            "gpu": [3, None, None],
        }
    )
    rows = landed("metrics_parquet", data)
    assert [(row["metric"], row["value"], row["node"], row["units"]) for row in rows] == [
        ("DCGM_FI_DEV_GPU_TEMP", 69.0, "gpu-r31-n03", 1),
        ("node_load1", 1.0, "n1", 1),
        ("node_load1", 2.0, "n2", 1),
    ]
    assert {(row["event_time"], row["time_basis"]) for row in rows} == {(utc("2026-11-29T18:30:00Z"), "epoch")}
    assert [row["byte_offset"] for row in rows] == [0, 1, 2]
    assert rows[0]["labels"] == {"node": "GPU-r31-n03.site", "gpu": "3"}
    assert rows[1]["labels"] == {"node": "n1"}


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        ([list(LABELS.items())], pa.map_(pa.string(), pa.string())),
        ([LABELS], None),
        ([json.dumps(LABELS)], None),
        ([json.dumps(LABELS).encode()], None),
        ([[{"key": name, "value": text} for name, text in LABELS.items()]], None),
    ],
)
def test_labels_are_a_map_a_struct_pairs_or_json(cells, kind):
    data = parquet({"ts": [T0], "__name__": ["DCGM_FI_DEV_GPU_TEMP"], "value": [69.0], "labels": cells}, labels=kind)
    row = landed("metrics_parquet", data)[0]
    assert row["labels"] == LABELS
    assert (row["node"], row["device"]) == ("gpu-r31-n03", "0000:3b:00")


@pytest.mark.parametrize(
    ("cell", "kind"),
    [
        (T0, pa.timestamp("ns", "UTC")),
        (T0, pa.timestamp("s", "America/New_York")),
        (datetime(2026, 11, 29, 19, 30), pa.timestamp("ms")),  # noqa: DTZ001
        (NANOS, pa.int64()),
        (NANOS // 1000, pa.int64()),
        (NANOS // 1_000_000, pa.int64()),
        (NANOS // 10**9, pa.int32()),
        (NANOS / 10**9, pa.float64()),
        ("2026-11-29T18:30:00Z", pa.string()),
        ("2026-11-29 19:30:00", pa.string()),
    ],
)
def test_times_of_any_kind(cell, kind):
    data = parquet({"time": [cell], "metric": ["up"], "value": [1]}, time=kind)
    assert landed("metrics_parquet", data, zone="Europe/Berlin")[0]["event_time"] == utc("2026-11-29T18:30:00Z")


def test_blanks_and_bad_rows_are_told_apart():
    data = parquet(
        {
            "time": [NANOS, NANOS, None, NANOS, NANOS],
            "metric": ["DCGM_FI_DEV_XID_ERRORS", "up", "up", None, "up"],
            "value": [9223372036854775792.0, float("nan"), 1.0, 1.0, None],
        }
    )
    assert reasons("metrics_parquet", data) == [
        "telemetry.blank",
        "telemetry.blank",
        "bad_value",
        "bad_value",
        "telemetry.blank",
    ]
    assert units(read_table("metrics_parquet", data)) == 5


def test_values_may_be_text_or_decimal():
    assert [r["value"] for r in landed("metrics_parquet", one(value=["69.5"]))] == [69.5]
    assert reasons("metrics_parquet", one(value=["n/a"])) == ["telemetry.blank"]


def test_what_is_no_such_table_is_one_unit():
    for data, reason in (
        (b"PAR1", "bad_parquet"),
        (b"", "bad_parquet"),
        (one()[:-9], "bad_parquet"),
        (parquet({"time": [T0], "value": [1]}), "no_columns"),
    ):
        assert [(row["reason"], row["units"]) for row in read("metrics_parquet", data)] == [(reason, 1)]


def test_many_series_are_told_apart():
    n = 70_000
    data = parquet(
        {
            "time": [NANOS] * n,
            "metric": [f"m{at % 7}" for at in range(n)],
            "value": list(range(n)),
            "node": [f"n{at % 1000}" for at in range(n)],
        }
    )
    table = read_table("metrics_parquet", data)
    assert units(table) == n
    assert table["node"].to_pylist() == [f"n{at % 1000}" for at in range(n)]
    assert table["metric"].to_pylist() == [f"m{at % 7}" for at in range(n)]


@given(at=st.integers(0, 2000), byte=st.binary(min_size=1, max_size=4))
def test_damage_never_raises(at, byte):
    data = one(node=["n1"])
    at %= len(data)
    assert units(read_table("metrics_parquet", data[:at] + byte + data[at + len(byte) :])) >= 0
