"""Slurm's node and job dumps, and that the pattern library understands what is made of them."""

import pytest

from firstfault.transforms.formats.scontrol import node_state, parse_record
from tests.transforms.formats.reading import landed, read, read_table, reasons, units, utc

NODE = """NodeName=gpu-r31-n03 Arch=x86_64 CoresPerSocket=48
   CPUAlloc=0 CPUEfctv=192 CPUTot=192 CPULoad=0.01
   OS=Linux 5.15.0-94 #104-Ubuntu SMP Tue Jan 9 15:25:40 UTC 2026
   RealMemory=2000000 AllocMem=0 FreeMem=1999999 Sockets=2 Boards=1
   State=DOWN*+DRAIN ThreadsPerCore=2 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A
   BootTime=2026-11-20T08:00:00 SlurmdStartTime=2026-11-20T08:01:00
   Reason=Low RealMemory (reported:1 < 100.00% of Configured=2) [root@2026-11-29T13:34:10]

"""
ONE_LINE = (
    "NodeName=gpu-r31-n04 Arch=x86_64 OS=Linux 5.15.0 #104 SMP State=IDLE+DRAIN BootTime=2026-11-20T08:00:00 "
    "Reason=Kill task failed [slurm@2026-11-29T13:34:10]\n"
)
JOB = """JobId=90517 ArrayJobId=90310 ArrayTaskId=7 JobName=my train=1 run
   UserId=u5047(5047) GroupId=g(1) MCS_label=N/A
   JobState=NODE_FAIL Reason=NodeDown Dependency=(null)
   Requeue=1 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=1:0
   StartTime=2026-11-29T09:00:04 EndTime=2026-11-29T13:34:10 Deadline=N/A
   NodeList=gpu-r31-n[01-04]
"""
SINFO = """REASON               USER      TIMESTAMP           NODELIST
Not responding       root      2026-11-29T13:34:10 gpu-r31-n[03-04]
Node unexpectedly re root      2026-11-29T13:40:00 gpu-r31-n05
health: GPU3 ECC     healthd(0 Unknown             gpu-r31-n06
"""


def test_a_node_is_one_record_of_several_lines():
    row = landed("scontrol", NODE, zone="Europe/Berlin")[0]
    reason = "Low RealMemory (reported:1 < 100.00% of Configured=2)"
    assert row["text"] == f"scontrol node gpu-r31-n03 state=DOWN+DRAIN+NOT_RESPONDING reason={reason}"
    assert (row["node"], row["units"], row["line_no"]) == ("gpu-r31-n03", 7, 1)
    assert (row["event_time"], row["time_basis"]) == (utc("2026-11-29T12:34:10Z"), "assumed_zone")
    assert row["fields"]["OS"] == "Linux 5.15.0-94 #104-Ubuntu SMP Tue Jan 9 15:25:40 UTC 2026"
    assert row["fields"]["BootTime"] == "2026-11-20T08:00:00"
    assert row["message"] == NODE.rstrip("\n")


def test_one_line_a_record():
    row = landed("scontrol", ONE_LINE)[0]
    assert row["text"] == "scontrol node gpu-r31-n04 state=IDLE+DRAIN reason=Kill task failed"
    assert row["fields"]["OS"] == "Linux 5.15.0 #104 SMP"


def test_a_job_ends_when_it_says():
    row = landed("scontrol", JOB)[0]
    assert row["text"] == "scontrol job 90310_7 state=NODE_FAIL exit=1:0 nodes=gpu-r31-n[01-04] reason=NodeDown"
    assert row["event_time"] == utc("2026-11-29T13:34:10Z")


def test_a_running_job_s_end_is_only_foretold():
    text = JOB.replace("EndTime=2026-11-29", "EndTime=2027-11-29").replace("NODE_FAIL", "RUNNING")
    assert landed("scontrol", text)[0]["time_basis"] == "file_time"


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("IDLE", "IDLE"),
        ("IDLE*", "IDLE+NOT_RESPONDING"),
        ("DOWN*+DRAIN+NOT_RESPONDING", "DOWN+DRAIN+NOT_RESPONDING"),
        ("DRAINED$", "DRAINED+MAINTENANCE"),
        ("IDLE~", "IDLE"),
        ("MIXED#@^-%!", "MIXED"),
        ("", "UNKNOWN"),
    ],
)
def test_suffixes_of_states(text, state):
    assert node_state(text) == state


def test_rows_of_sinfo():
    rows = landed("scontrol", SINFO)
    assert [row["text"] for row in rows] == [
        "sinfo node gpu-r31-n[03-04] reason=Not responding",
        "sinfo node gpu-r31-n05 reason=Node unexpectedly re",
        "sinfo node gpu-r31-n06 reason=health: GPU3 ECC",
    ]
    assert [row["node"] for row in rows] == [None, "gpu-r31-n05", "gpu-r31-n06"]
    assert [row["time_basis"] for row in rows] == ["assumed_zone", "assumed_zone", "file_time"]
    piped = "REASON|USER|TIMESTAMP|NODELIST\na | b c|root|2026-11-29T13:34:10|n[1-2,5]\n"
    assert landed("scontrol", piped)[0]["text"] == "sinfo node n[1-2,5] reason=a | b c"


def test_books_and_damage():
    text = f"{NODE}{NODE}{JOB}\n   stray\nslurm_load_node error: Unable to contact slurm controller\n"
    table = read_table("scontrol", text.encode())
    assert units(table) == text.count("\n")
    assert [reason for reason in reasons("scontrol", text) if reason] == ["structure.blank"] * 3 + ["no_record"] * 2
    assert read("scontrol", "") == []


def test_free_text_may_hold_keys():
    assert parse_record("Reason=bad State=x y")["Reason"] == "bad State=x y"
    assert parse_record("JobId=1 JobName=a b") == {"JobId": "1", "JobName": "a b"}
    assert parse_record("NodeName=n1\n   no key here") == {"NodeName": "n1"}
