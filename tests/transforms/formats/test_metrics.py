"""Prometheus answers and exposition text."""

import json

import pytest

from firstfault.transforms.formats.exposition import parse_labels
from firstfault.transforms.formats.series import is_blank
from tests.transforms.formats.reading import landed, read, read_table, reasons, units, utc

GPU = {
    "__name__": "DCGM_FI_DEV_GPU_TEMP",
    "gpu": "3",
    "pci_bus_id": "00000000:3B:00.0",
    "Hostname": "GPU-r31-n03.site",
}
LINK = {
    "__name__": "node_infiniband_link_downed_total",
    "device": "mlx5_0",
    "port": "1",
    "instance": "gpu-r31-n04.site:9100",
}


def matrix(*series):
    result = [{"metric": metric, "values": values} for metric, values in series]
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}})


def test_samples_know_node_device_and_port():
    rows = landed("prometheus", matrix((GPU, [[1795977000.123, "79"]]), (LINK, [[1795977000, "1"], [1795977060, "2"]])))
    assert rows[0]["metric"] == "DCGM_FI_DEV_GPU_TEMP"
    assert (rows[0]["node"], rows[0]["device"], rows[0]["port"]) == ("gpu-r31-n03", "0000:3b:00", None)
    assert (rows[0]["event_time"], rows[0]["time_basis"]) == (utc("2026-11-29T18:30:00.123Z"), "epoch")
    assert rows[0]["labels"] == {key: value for key, value in GPU.items() if key != "__name__"}
    assert [row["value"] for row in rows[1:]] == [1.0, 2.0]
    assert (rows[1]["node"], rows[1]["port"]) == ("gpu-r31-n04", "gpu-r31-n04/mlx5_0/1")


def test_a_unit_is_a_sample():
    text = matrix((GPU, [[1, "NaN"], [2, "9223372036854775794"], ["x", "1"], [3, "1"], [4], [-5, "1"]]))
    assert reasons("prometheus", text) == [
        "telemetry.blank",
        "telemetry.blank",
        "bad_value",
        None,
        "bad_value",
        "bad_value",
    ]
    assert units(read_table("prometheus", text.encode())) == 6


@pytest.mark.parametrize(
    ("metric", "value", "blank"),
    [
        ("DCGM_FI_DEV_GPU_TEMP", 2147483632.0, True),
        ("DCGM_FI_DEV_POWER_USAGE", 140737488355328.0, True),
        ("DCGM_FI_DEV_XID_ERRORS", 9223372036854775792.0, True),
        ("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", 140737488355000.0, False),
        ("node_network_receive_bytes_total", 2147483632.0, False),
        ("node_network_receive_bytes_total", float("nan"), True),
        ("DCGM_FI_DEV_XID_ERRORS", 79.0, False),
    ],
)
def test_blanks(metric, value, blank):
    assert is_blank(metric, value) is blank


def test_instant_vectors_histograms_and_refusals():
    vector = {"data": {"result": [{"metric": GPU, "value": [1795977000, "5"]}, {"metric": GPU, "histogram": [1, {}]}]}}
    assert reasons("prometheus", json.dumps(vector)) == ["native_histogram", None]
    assert reasons("prometheus", '{"status":"error","errorType":"timeout","error":"x"}') == ["query_failed"]
    assert reasons("prometheus", '{"data": {"result": []}}') == []
    assert reasons("prometheus", matrix((GPU, [[1, "1"]]))[:-30]) == ["bad_json"]


def test_half_a_surrogate_pair_in_a_label_lands():
    text = matrix((GPU | {"pod": "x"}, [[1, "1"]])).replace('"x"', '"\\ud800"')
    assert landed("prometheus", text)[0]["labels"]["pod"] == "?"


EXPOSITION = """# HELP up x
# TYPE up gauge
up{instance="gpu-r31-n03:9400"} 1 1795977000123
up{instance="gpu-r31-n03:9400"} 0 1795977000.5
DCGM_FI_DEV_XID_ERRORS{pci_bus_id="00000000:3B:00.0",Hostname="n1",err_msg="a \\"b\\" {c}, d\\n"} 79 1795977000123
{__name__="up", instance="n2:1"} 1 1795977000123
node_load1 0.5
node_boot NaN
bad{x=1} 2
worse
up{instance="n2"} twelve

# EOF
"""


def test_exposition():
    rows = read("exposition", EXPOSITION)
    assert [row["reason"] for row in rows] == [
        "structure.comment",
        "structure.comment",
        None,
        None,
        None,
        None,
        None,
        "telemetry.blank",
        "bad_sample",
        "bad_sample",
        "bad_value",
        "structure.blank",
        "structure.comment",
    ]
    assert rows[2]["event_time"] == utc("2026-11-29T18:30:00.123Z")
    assert rows[3]["event_time"] == utc("2026-11-29T18:30:00.5Z")
    assert (rows[4]["node"], rows[4]["device"], rows[4]["value"]) == ("n1", "0000:3b:00", 79.0)
    assert rows[4]["labels"]["err_msg"] == 'a "b" {c}, d\n'
    assert (rows[5]["metric"], rows[5]["node"]) == ("up", "n2")
    assert rows[6]["time_basis"] == "file_time"


def test_a_numa_node_is_no_host():
    assert landed("exposition", 'node_memory_numa_free{node="1"} 5\n')[0]["node"] is None


@pytest.mark.parametrize(
    ("text", "labels"), [("", {}), ('a="1",', {"a": "1"}), ("a=1", None), ('a="1" ; b="2"', None), ('a="', None)]
)
def test_parse_labels(text, labels):
    assert parse_labels(text) == labels


def test_a_dump_of_the_database_names_the_metric_in_its_labels():
    line = '{__name__="up", instance="gpu-r07-n03:9100"} 1 1795977000123\n'
    row = landed("exposition", line)[0]
    assert (row["metric"], row["node"], row["event_time"]) == ("up", "gpu-r07-n03", utc("2026-11-29T18:30:00.123Z"))


def test_the_exporter_s_labels_are_taken_in_every_spelling():
    for host in ("Hostname", "hostname"):
        labels = f'gpu="3",pci_bus_id="00000000:3B:00.0",{host}="GPU-r07-n03",exported_pod="p"'
        row = landed("exposition", f"DCGM_FI_DEV_XID_ERRORS{{{labels}}} 79\n")[0]
        assert (row["node"], row["device"], row["labels"]["exported_pod"]) == ("gpu-r07-n03", "0000:3b:00", "p")
