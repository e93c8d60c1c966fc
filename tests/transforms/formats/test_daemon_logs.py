"""Logs of the cluster's daemons in every time format that they can be set to."""

import pyarrow as pa
import pytest

from firstfault.transforms.matching import match
from tests.transforms.formats.reading import landed, read, utc
from tests.transforms.formats.test_known_texts import LIBRARY

TEXT = "error: Nodes gpu-r07-n03 not responding, setting DOWN"


def events(source, rows):
    hits = match(pa.array([row["text"] for row in rows], pa.string()), None, source, LIBRARY).to_pylist()
    return [found[0]["event_type"] if found else None for found in hits]


@pytest.mark.parametrize(
    ("head", "expected", "basis"),
    [
        ("[2026-11-29T13:34:10.123] ", "2026-11-29T18:34:10.123Z", "assumed_zone"),
        ("[2026-11-29T13:34:10] ", "2026-11-29T18:34:10Z", "assumed_zone"),
        ("[2026-11-29T13:34:10.123-05:00] ", "2026-11-29T18:34:10.123Z", "zoned"),
        ("[2026-11-29T13:34:10-05:00] ", "2026-11-29T18:34:10Z", "zoned"),
        ("[Nov 29 13:34:10] ", "2026-11-29T18:34:10Z", "no_year"),
        ("[Nov 29 13:34:10.250000  4242 slurmctld    0x7f12ab00c700] ", "2026-11-29T18:34:10.25Z", "no_year"),
        ("[1834] ", None, "none"),  # processor time
        ("", None, "none"),
    ],
)
def test_slurmctld_in_every_time_format(head, expected, basis):
    rows = landed("slurmctld", f"{head}{TEXT}\n", zone="America/New_York")
    assert (rows[0]["event_time"], rows[0]["time_basis"]) == (utc(expected) if expected else None, basis)
    assert events("slurmctld", rows) == ["sched.node_fail"]


def test_slurmctld_as_json_lines():
    line = f'{{"log":"{TEXT}\\n","stream":"stderr","time":"2026-11-29T18:34:10.5Z"}}\n'
    rows = landed("slurmctld", line)
    assert (rows[0]["event_time"], rows[0]["time_basis"]) == (utc("2026-11-29T18:34:10.5Z"), "zoned")
    assert events("slurmctld", rows) == ["sched.node_fail"]


def test_payloads_of_the_fabric_manager_take_the_time_before_them():
    text = (
        "[Nov 29 2026 13:30:00] [INFO] [tid 2207] Received an inband message:  Message header details: Id:adbc\r\n"
        "Message payload details:Team release request: Team Handle:99c9f23d49236386 Flags:0\r\n"
        "\r\n"
        "[Nov 29 2026 13:30:05] [ERROR] [tid 2207] detected NVSwitch non-fatal error 12028 on fid 0 on NVSwitch pci "
        "bus id 00000000:c6:00.0 physical id 2 port 61\r\n"
    )
    rows = landed("fabricmanager", text, zone="America/New_York")
    assert [row["time_basis"] for row in rows] == ["assumed_zone", "neighbour", "neighbour", "assumed_zone"]
    assert rows[1]["t_prev"] == utc("2026-11-29T18:30:00Z")
    assert events("fabricmanager", rows) == [None, None, None, "fabric.manager_error"]


def test_the_host_engine_s_log_is_local_time_with_a_padded_severity():
    text = (
        "2026-11-29 13:30:00.123 INFO  [900:912] started [main.cpp:1] [main]\n"
        "2026-11-29 13:30:01.123 ERROR [900:912] GPU 3 is lost [DcgmCache.cpp:120] [DcgmCache::Watch]\n"
    )
    rows = landed("fabricmanager", text, zone="America/New_York")
    assert rows[1]["event_time"] == utc("2026-11-29T18:30:01.123Z")
    assert events("fabricmanager", rows) == [None, "fabric.manager_error"]


def test_kubelet_lines_and_their_tails():
    text = (
        'E1129 13:30:00.123456    4242 kubelet.go:2900] "SyncLoop failed" err="x"\n'
        "a tail without prefix\n"
        '{"ts":1795977000123.4,"v":0,"msg":"System OOM encountered, victim process: python3, pid: 4242"}\n'
    )
    rows = read("kubelet", text, zone="America/New_York")
    assert [row["time_basis"] for row in rows] == ["no_year", "neighbour", "epoch"]
    assert rows[0]["event_time"] == utc("2026-11-29T18:30:00.123456Z")
    assert rows[2]["event_time"] == utc("2026-11-29T18:30:00.1234Z")
    assert events("kubelet", rows) == [None, None, "sys.oom_kill"]


def test_a_log_of_the_parallel_file_system_names_its_zone():
    row = landed("kernel", "2026-11-29_13:30:00.123-0500: [E] Disk lease period expired 4.2 seconds ago\n", node="n1")[
        0
    ]
    assert (row["event_time"], row["time_basis"]) == (utc("2026-11-29T18:30:00.123Z"), "zoned")
    assert events("kernel", [row]) == ["storage.client_stall"]


@pytest.mark.parametrize(
    "pid",
    ["", ", pid=1896", ", pid='<unknown>', name=<unknown>", ", pid=<n/a>, name=<n/a>", ", pid=7, name=nvc:[driver]"],
)
@pytest.mark.parametrize(
    ("place", "device"),
    [
        ("PCI:0000:3b:00", "0000:3b:00"),
        ("PCI:0000:3B:00.0", "0000:3b:00"),
        ("0000:3b:00", "0000:3b:00"),
        ("PCI:0008:01:00", "0008:01:00"),
        ("PCI:00010000:3b:00", "00010000:3b:00"),
        ("PCI:0000:3b:00 GPU-I:05", "0000:3b:00/5"),
        ("PCI:0000:3b:00 GPU-I:05 GPU-CI:02", "0000:3b:00/5/2"),
    ],
)
def test_driver_errors_of_every_driver(place, device, pid):
    for body in ("", ", Ch 00000008", ", channel 0x00000008, errorString CTX SWITCH TIMEOUT, Info 0x4c011"):
        line = f"[501230.123456] NVRM: Xid ({place}): 176{pid}{body}"
        rows = landed("dmesg", line)
        hit = match(pa.array([row["text"] for row in rows]), None, "dmesg", LIBRARY).to_pylist()[0][0]
        told = dict(hit["attrs"])
        assert (hit["event_type"], hit["device"], told["code"]) == ("gpu.xid", device, "176"), line
        assert told.get("pid") == (pid.split("=")[1].split(",")[0] if pid[6:7].isdecimal() else None)


def test_the_history_behind_a_timeout_is_no_event():
    text = (
        "[ 10.000001] NVRM: Xid (PCI:0000:3b:00): 119, pid=990, name=nvidia-smi, Timeout after 6s of waiting for RPC "
        "response from GPU4 GSP! Expected function 76 (GSP_RM_CONTROL) sequence 123 (0x20803001 0x10).\n"
        "[ 10.000002] NVRM: GPU4 RPC history (CPU -> GSP):\n"
        "[ 10.000003] NVRM:     entry function                   data0              data1\n"
        "[ 10.000004] NVRM:      0    76   GSP_RM_CONTROL        0x0000000020802a02 0x0000000000000008\n"
        "[ 10.000005] ****************************************************************\n"
        "[ 10.000006] NVRM: Rate limiting GSP RPC error prints for GPU at PCI:0000:3b:00 (printing 1 of every 30).\n"
    )
    assert events("dmesg", landed("dmesg", text)) == ["gpu.xid", None, None, None, None, "sys.log_gap"]
