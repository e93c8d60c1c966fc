import pytest

from firstfault.transforms.formats.nvidia_smi import cell_value
from tests.transforms.formats.reading import landed, read, read_table, reasons, units, utc

HEADER = (
    "timestamp, index, uuid, pci.bus_id, temperature.gpu, power.draw [W], utilization.gpu [%], "
    "clocks_event_reasons.active, clocks_event_reasons.hw_slowdown, name"
)
FINE = (
    "2026/11/29 13:30:00.123, 1, GPU-5f2c, 00000000:AF:00.0, 69, 290.07 W, 100 %, "
    "0x0000000000000004, Not Active, H100 80GB"
)
LOST = (
    "2026/11/29 13:31:00.123, 1, GPU-5f2c, 00000000:AF:00.0, [GPU is lost], [Unknown Error], [N/A], "
    "[N/A], N/A, H100 80GB"
)
EMPTY = "2026/11/29 13:31:00.123, 1, GPU-5f2c, 00000000:AF:00.0, [N/A], N/A, [Not Supported], [N/A], N/A, H100 80GB"


def test_cells_become_samples_of_one_unit():
    rows = landed("nvidia_smi_csv", f"{HEADER}\n{FINE}\n", node="gpu-r31-n01")
    assert {row["metric"]: row["value"] for row in rows} == {
        "nvidia_smi.temperature.gpu": 69.0,
        "nvidia_smi.power.draw": 290.07,
        "nvidia_smi.utilization.gpu": 100.0,
        "nvidia_smi.clocks_event_reasons.active": 4.0,
        "nvidia_smi.clocks_event_reasons.hw_slowdown": 0.0,
    }
    assert [row["units"] for row in rows] == [1, 0, 0, 0, 0]
    assert {(row["node"], row["device"]) for row in rows} == {("gpu-r31-n01", "0000:af:00")}
    assert rows[0]["labels"] == {"index": "1", "uuid": "GPU-5f2c", "name": "H100 80GB"}


def test_time_is_local_without_zone():
    row = landed("nvidia_smi_csv", f"{HEADER}\n{FINE}\n", zone="Europe/Berlin")[0]
    assert (row["event_time"], row["time_basis"]) == (utc("2026-11-29T12:30:00.123Z"), "assumed_zone")


def test_error_cells_are_samples_of_their_own():
    rows = landed("nvidia_smi_csv", f"{HEADER}\n{LOST}\n")
    assert [(row["metric"], row["value"], row["units"]) for row in rows] == [
        ("nvidia_smi.error_cell", 1.0, 1),
        ("nvidia_smi.error_cell", 1.0, 0),
    ]
    assert rows[0]["labels"]["text"] == "[GPU is lost]"
    assert rows[0]["labels"]["column"] == "temperature.gpu"


def test_structure_and_damage():
    text = f"{HEADER}\n{EMPTY}\n{HEADER}\n\n{FINE[:40]}\nNo devices were found\n"
    assert reasons("nvidia_smi_csv", text) == [
        "structure.header",
        "telemetry.blank",
        "structure.header",
        "structure.blank",
        "field_count",
        "field_count",
    ]
    assert units(read_table("nvidia_smi_csv", text.encode())) == 6


def test_a_lost_handle_between_rows_names_the_gpu():
    text = "Unable to determine the device handle for GPU0000:3B:00.0: Unknown Error\n"
    row = read("nvidia_smi_csv", text)[0]
    assert (row["metric"], row["device"]) == ("nvidia_smi.error_cell", "0000:3b:00")
    assert (row["labels"], row["time_basis"]) == ({"text": "Unknown Error"}, "file_time")


def test_a_later_range_takes_the_stream_s_header():
    assert len(landed("nvidia_smi_csv", FINE, header=HEADER.encode(), byte_from=99)) == 5
    assert reasons("nvidia_smi_csv", FINE) == ["no_header"]


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ("629.12 W", 629.12),
        ("0 %", 0.0),
        ("0x0000000000000040", 64.0),
        ("Active", 1.0),
        ("Not Active", 0.0),
        ("-1", -1.0),
        ("96.00.A5.00.01", None),
        ("P0", None),
        ("[N/A]", None),
        ("", None),
    ],
)
def test_cell_value(cell, value):
    assert cell_value(cell) == value
