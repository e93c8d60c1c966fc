"""NCCL RAS, text, monitor and JSON."""

import json

import pytest

from tests.transforms.formats.reading import landed, read_table, reasons, units, utc

TEXT = """Job summary
===========

#0-0 (9c5182fae01b3d77) MISMATCH
  Communicator ranks have different AllReduce operation counts
  Rank 17 has launched up to operation 2398577 -- GPU 1 managed by process 41201 on node 10.7.3.23
 Warning: negative travel times were observed across 1 connections:
  From node 10.7.3.21 process 41233 to node 10.7.3.25 process 40988: observed travel time of -0.412s
[2026-11-29 16:10:22] PEER_UNRESPONSIVE: 10.7.3.23<28028> peer not responding for 5s (connect timeout)
"""
RANK = {"rank": 17, "host": "GPU-r31-n03.site", "pid": 41201, "status": {"abort_flag": False}}
DOCUMENT = {
    "nccl_version": "2.28.7",
    "timestamp": "2026-11-29 16:10:22",
    "communicators": [
        {
            "hash": "0x9c51",
            "ranks": [RANK | {"collective_counts": {"AllReduce": 2398577}}],
            "missing_ranks": [{"rank": 18, "host": "n4", "status": {"considered_dead": True}}],
        }
    ],
}


def test_text_and_monitor():
    rows = landed("nccl_ras", TEXT, zone="America/New_York")
    travel = next(row for row in rows if row["metric"])
    assert (travel["metric"], travel["value"]) == ("clock.ras_travel_s", -0.412)
    assert (travel["labels"]["from"], travel["labels"]["to"]) == ("10.7.3.21", "10.7.3.25")
    laggard = next(row for row in rows if row["text"] and row["text"].startswith("Rank 17"))
    assert (laggard["rank"], laggard["time_basis"]) == (None, "file_time")  # 17 is its rank inside the communicator
    assert rows[-1]["text"] == "PEER_UNRESPONSIVE: 10.7.3.23<28028> peer not responding for 5s (connect timeout)"
    assert rows[-1]["event_time"] == utc("2026-11-29T21:10:22Z")
    assert units(read_table("nccl_ras", TEXT.encode())) == 9


@pytest.mark.parametrize("indent", [None, 2])
def test_json_is_a_row_a_rank(indent):
    text = json.dumps(DOCUMENT, indent=indent) + "\n"
    rows = landed("nccl_ras", text)
    assert [row["text"] for row in rows] == [
        "ras comm=0x9c51 rank=17 host=GPU-r31-n03.site pid=41201 state=ok AllReduce=2398577 abort_flag=False",
        "ras comm=0x9c51 rank=18 host=n4 state=missing considered_dead=True",
    ]
    assert [(row["rank"], row["node"]) for row in rows] == [(None, "gpu-r31-n03"), (None, "n4")]
    assert rows[0]["event_time"] == utc("2026-11-29T16:10:22Z")
    assert units(read_table("nccl_ras", text.encode())) == text.count("\n")


def test_a_minority_that_launched_fewer_is_marked():
    ranks = [RANK | {"rank": n, "collective_counts": {"AllReduce": 578 - (n == 2), "Bcast": n}} for n in range(4)]
    text = json.dumps({"communicators": [{"hash": "0x9c51", "ranks": ranks}]})
    marked = [row["text"].partition(" lags=")[2] for row in landed("nccl_ras", text)]
    assert marked == ["", "", "AllReduce seq=577 lead=578", ""]
    equal = json.dumps({"communicators": [{"hash": "0x9c51", "ranks": ranks[:2]}]})
    assert not any(" lags=AllReduce" in row["text"] for row in landed("nccl_ras", equal))


def test_a_cut_document_shows_it():
    assert reasons("nccl_ras", json.dumps(DOCUMENT, indent=1)[:-40])[-1] == "bad_json"
