"""py-spy dumps."""

import json

import pytest

from tests.transforms.formats.reading import landed, read, read_table, reasons, units

TEXT = """Process 4301: python train.py
Python v3.11.7 (/opt/py/bin/python3.11)

Thread 4301 (active+gil): "MainThread"
    all_reduce (torch/distributed/distributed_c10d.py:2696)
    step (train.py:88)
    <module> (train.py:120)
Thread 4377 (idle): "Thread-1 (pin)"
    wait (threading.py:331)
Thread 0x7F00 (idle)
"""
THREADS = [
    {
        "pid": 4301,
        "thread_id": 1,
        "thread_name": "MainThread",
        "os_thread_id": 4301,
        "active": True,
        "owns_gil": True,
        "frames": [
            {"name": "all_reduce", "filename": "/x/d.py", "short_filename": "torch/d.py", "line": 2696},
            {"name": "step", "filename": "train.py", "short_filename": None, "line": 88},
        ],
    },
    {"pid": 4301, "thread_name": None, "active": False, "owns_gil": False, "frames": []},
]
MAIN = "stack pid=4301 thread=MainThread state=active+gil top=all_reduce"


def test_a_thread_is_a_record():
    rows = landed("pyspy", TEXT, file="jobs/1/py-spy-rank7.txt", node="n1")
    assert [row["text"] for row in rows] == [
        f"{MAIN} (torch/distributed/distributed_c10d.py:2696) frames=all_reduce < step < <module>",
        "stack pid=4301 thread=Thread-1 (pin) state=idle top=wait (threading.py:331) frames=wait",
        "stack pid=4301 thread=0x7F00 state=idle",
    ]
    assert [row["units"] for row in rows] == [4, 2, 1]
    assert {(row["rank"], row["node"], row["time_basis"]) for row in rows} == {(7, "n1", "file_time")}
    assert units(read_table("pyspy", TEXT.encode())) == 10


@pytest.mark.parametrize("indent", [None, 1])
def test_json_says_the_same(indent):
    text = json.dumps(THREADS, indent=indent) + "\n"
    rows = landed("pyspy", text)
    assert [row["text"] for row in rows] == [
        f"{MAIN} (torch/d.py:2696) frames=all_reduce < step",
        "stack pid=4301 state=idle",
    ]
    assert units(read_table("pyspy", text.encode())) == text.count("\n")


def test_damage():
    assert reasons("pyspy", "Error: Permission Denied\n") == ["not_read"]
    assert reasons("pyspy", json.dumps(THREADS)[:-20])[-1] is None or reasons(
        "pyspy", json.dumps(THREADS, indent=1)[:-20]
    )
    assert reasons("pyspy", json.dumps(THREADS, indent=1)[:-20])[-1] == "bad_json"
    assert reasons("pyspy", "[1, 2]") == ["bad_json", "bad_json"]
    assert read("pyspy", "") == []
