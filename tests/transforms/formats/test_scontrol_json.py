"""Slurm's JSON on nodes, controllers and jobs, as releases write it."""

import json

import pytest

from tests.transforms.formats.reading import landed, read, utc

NUMBER = {"set": True, "infinite": False, "number": 1795976000}
NEW = {
    "name": "gpu-r07-n03",
    "hostname": "x",
    "state": ["IDLE", "DRAIN"],
    "reason": "ECC  error",
    "reason_changed_at": NUMBER,
}
OLD = {"name": "gpu-r07-n04", "state": "DOWN", "reason": "", "reason_changed_at": 0}
PING = {"hostname": "Admin.site", "pinged": "DOWN", "mode": "primary", "responding": False}
JOB = {
    "job_id": 84213,
    "job_state": ["NODE_FAIL"],
    "state_reason": "NodeDown",
    "nodes": "gpu-r07-n03",
    "exit_code": {"status": ["ERROR"], "return_code": {"set": True, "infinite": False, "number": 1}, "signal": {}},
    "end_time": NUMBER,
}
FILE = "scheduler/scontrol-20261129T133000.json"


def test_nodes_have_their_state_and_reason():
    rows = landed("scontrol", json.dumps({"nodes": [NEW, OLD], "errors": []}), file=FILE)
    assert [(row["text"], row["node"]) for row in rows] == [
        ("scontrol node gpu-r07-n03 state=IDLE+DRAIN reason=ECC error", "gpu-r07-n03"),
        ("scontrol node gpu-r07-n04 state=DOWN", "gpu-r07-n04"),
    ]
    assert (rows[0]["event_time"], rows[0]["time_basis"]) == (utc("2026-11-29T18:13:20Z"), "epoch")
    assert rows[1]["time_basis"] == "file_time"
    assert rows[0]["fields"]["state.1"] == "DRAIN"


def test_controllers_and_jobs():
    texts = [landed("scontrol", json.dumps(d), file=FILE)[0]["text"] for d in ({"pings": [PING]}, {"jobs": [JOB]})]
    assert texts == [
        "scontrol controller Admin.site mode=primary ping=DOWN",
        "scontrol job 84213 state=NODE_FAIL exit=1:0 nodes=gpu-r07-n03 reason=NodeDown",
    ]


def test_partitions_by_name():
    assert landed("scontrol", '{"partitions": [{"name": "train"}]}', file=FILE)[0]["text"] == "scontrol partition train"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"nodes": [], "errors": [{"error": "x"}]}', []),
        ('{"meta": {}}', ["no_record"]),
        ('{"nodes": [{"name": "n1", "state": ["IDLE"]}, {"na', [None, "bad_json"]),
        ('{"nodes": [7, {}]}', ["no_record", "no_record"]),
    ],
)
def test_empty_answers_and_damage(text, told):
    assert [row["reason"] for row in read("scontrol", text, file=FILE)] == told


def test_the_configuration_lands_and_a_table_without_header_does_not():
    text = (
        "Configuration data as of 2026-11-29T13:30:00\nSlurmdTimeout           = 300 sec\nPowerPlugin             =\n\n"
    )
    rows = read("scontrol", text)
    assert [row["text"] for row in rows] == [
        "scontrol config Configuration data as of 2026-11-29T13:30:00",
        "scontrol config SlurmdTimeout = 300 sec",
        "scontrol config PowerPlugin =",
        None,
    ]
    assert read("scontrol", "n1   |gpu:8  |idle  |train\n")[0]["reason"] == "no_header"
