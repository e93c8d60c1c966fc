from tests.transforms.formats.reading import landed, read, read_table, reasons, samples, units, utc

DMON = """# gpu    pwr  gtemp  mtemp     sm   mclk   pclk
# Idx      W      C      C      %    MHz    MHz
    0    438     55     61      -   2619   1980
    1   ERR!   ERR!      -      -      -      -
# gpu    pwr  gtemp  mtemp     sm   mclk   pclk
# Idx      W      C      C      %    MHz    MHz
    0     70     42     48      0   2619    345
    0     70     42
"""
STAMPED = """#Date       Time        gpu    pwr
#YYYYMMDD   HH:MM:SS    Idx      W
 20261129   13:30:00      0    438
"""
PMON = """# gpu         pid   type     sm    mem    command
# Idx           #    C/G      %      %    name
    0      21180     C     97     12    pt main thread
    0          -     -      -      -    -
"""
LINKS = """GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0)
\t Link 0: 26.562 GB/s
\t Link 1: <inactive>
\t Link 2: Replay Errors: 4
\t Link 2, CRC Errors: 1
GPU 1: NVIDIA H100 80GB HBM3 (UUID: GPU-1f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0)
Nvlink queries are not supported for Devices in MIG mode
"""


def test_rows_take_the_columns_of_the_header_and_headers_repeat():
    rows = landed("nvidia_smi_q", DMON, node="n1")
    assert [(row["labels"]["index"], row["metric"], row["value"]) for row in rows[:5]] == [
        ("0", "nvidia_smi.dmon.pwr", 438.0),
        ("0", "nvidia_smi.dmon.gtemp", 55.0),
        ("0", "nvidia_smi.dmon.mtemp", 61.0),
        ("0", "nvidia_smi.dmon.mclk", 2619.0),
        ("0", "nvidia_smi.dmon.pclk", 1980.0),
    ]
    assert {row["time_basis"] for row in rows} == {"file_time"}
    assert units(read_table("nvidia_smi_q", DMON.encode())) == DMON.count("\n")
    assert reasons("nvidia_smi_q", DMON)[-1] == "field_count"


def test_an_error_cell_is_a_sample_of_its_own():
    row = next(row for row in landed("nvidia_smi_q", DMON) if row["labels"]["index"] == "1")
    assert (row["metric"], row["labels"]) == (
        "nvidia_smi.error_cell",
        {"index": "1", "column": "pwr", "text": "ERR!"},
    )


def test_rows_may_carry_date_and_time():
    row = landed("nvidia_smi_q", STAMPED, zone="America/New_York")[0]
    assert (row["event_time"], row["time_basis"]) == (utc("2026-11-29T18:30:00Z"), "assumed_zone")
    assert (row["metric"], row["value"]) == ("nvidia_smi.dmon.pwr", 438.0)


def test_processes_are_labels_and_names_may_hold_spaces():
    rows = read("nvidia_smi_q", PMON)
    assert rows[2]["labels"] == {"index": "0", "pid": "21180", "type": "C", "command": "pt main thread"}
    assert rows[-1]["reason"] == "telemetry.blank"


def test_links_below_their_gpu():
    rows = landed("nvidia_smi_q", LINKS)
    told = [(row["metric"], row["value"], row["labels"]["nvlink"]) for row in rows if row["metric"]]
    assert told == [
        ("nvidia_smi.nvlink.speed_gbs", 26.562, "0"),
        ("nvidia_smi.nvlink.speed_gbs", 0.0, "1"),
        ("nvidia_smi.nvlink.replay", 4.0, "2"),
        ("nvidia_smi.nvlink.crc_errors", 1.0, "2"),
    ]
    assert rows[1]["labels"]["uuid"] == "GPU-0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0"
    assert rows[-1]["text"].startswith("Nvlink queries are not supported")
    assert units(read_table("nvidia_smi_q", LINKS.encode())) == LINKS.count("\n")


def test_a_healthy_table_and_a_topology_are_dropped_by_name():
    table = "| NVIDIA-SMI 590.48.01  Driver Version: 590.48.01 |\n|   0  H100  On | 00000000:00:09.0 Off |\n"
    matrix = "\x1b[4mGPU0\tGPU1\tCPU Affinity\x1b[0m\nGPU0\t X \tNV18\t0-19\n"
    for text in (table, matrix):
        assert reasons("nvidia_smi_q", text) == ["structure.table"]
        assert units(read_table("nvidia_smi_q", text.encode())) == 2


def test_a_process_s_name_may_hold_commas():
    head = "timestamp, gpu_uuid, pid, process_name, used_gpu_memory [MiB]\n"
    text = f"{head}2026/11/29 13:30:00.123, GPU-1, 4242, python train.py --a=1, --b=2, 512 MiB\n"
    row = landed("nvidia_smi_csv", text)[0]
    assert row["labels"]["process_name"] == "python train.py --a=1, --b=2"
    assert samples("nvidia_smi_csv", text) == {"nvidia_smi.used_gpu_memory": 512.0}
    assert row["labels"]["pid"] == "4242"
    assert reasons("nvidia_smi_csv", f"{head}2026/11/29 13:30:00.123, GPU-1, 4242\n")[1] == "field_count"


def test_what_identifies_is_no_sample():
    text = "timestamp, gpu_bus_id, gpu_serial, retired_pages.cause\n2026/11/29 13:30:00.0, 00000000:3B:00.0, 165, ECC\n"
    assert samples("nvidia_smi_csv", text) == {}
