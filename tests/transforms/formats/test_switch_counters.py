"""Counters of switches: SONiC's tables and gNMI notifications."""

import json

import pytest

from firstfault.transforms.formats.gnmi import metric_of
from tests.transforms.formats.reading import landed, read, read_table, reasons, units, utc

SONIC = """Last cached time was 2026-11-29T13:00:00.000000
      IFACE    STATE    RX_ERR    RX_DRP    TX_ERR
-----------  -------  --------  --------  --------
  Ethernet0        U     1,000         4       N/A
  Ethernet4        D         0         0         0
  Ethernet8        X         0         0         0
 Ethernet12        U         0
"""
FEC = "IFACE  STATE  FEC_CORR  FEC_UNCORR  FEC_PRE_BER\nEthernet0  U  1,048,576  12  1.2e-08\n"
STREAM = {
    "source": "Leaf-r07.site:57400",
    "subscription-name": "ports",
    "timestamp": 1795977000123456789,
    "updates": [
        {
            "Path": "interfaces/interface[name=Ethernet32]/state/counters",
            "values": {"interfaces/interface/state/counters/in-errors": "12", "x/out-discards": 3, "x/name": "text"},
        }
    ],
}
PREFIXED = {
    "source": "leaf-r07:57400",
    "timestamp": 1795977001000000000,
    "prefix": "openconfig-interfaces:interfaces/interface[name=Ethernet32]",
    "updates": [{"Path": "state/oper-status", "values": {"state/oper-status": "DOWN"}}],
}
EVENT = [
    {
        "name": "ports",
        "timestamp": 1795977002000000000,
        "tags": {"interface_name": "Ethernet32", "source": "leaf-r07:57400"},
        "values": {"/interfaces/interface/state/counters/in-errors": "13"},
    }
]
SYNC = {"sync-response": True}


def test_a_row_is_an_interface_of_the_folder_s_switch():
    rows = landed("sonic_counters", SONIC, node="leaf-r07")
    assert [(row["port"], row["metric"], row["value"]) for row in rows] == [
        ("leaf-r07:ethernet0", "switch.RX_ERR", 1000.0),
        ("leaf-r07:ethernet0", "switch.RX_DRP", 4.0),
        ("leaf-r07:ethernet0", "switch.oper_up", 1.0),
        *[("leaf-r07:ethernet4", f"switch.{name}", 0.0) for name in ("RX_ERR", "RX_DRP", "TX_ERR", "oper_up")],
        *[("leaf-r07:ethernet8", f"switch.{name}", 0.0) for name in ("RX_ERR", "RX_DRP", "TX_ERR")],  # disabled
    ]
    assert units(read_table("sonic_counters", SONIC.encode())) == SONIC.count("\n")
    assert reasons("sonic_counters", SONIC)[-1] == "field_count"


def test_fec_statistics_have_their_own_columns():
    values = {row["metric"]: row["value"] for row in landed("sonic_counters", FEC, node="leaf-r07")}
    assert values["switch.FEC_CORR"] == 1048576.0
    assert values["switch.FEC_UNCORR"] == 12.0


def test_without_header_a_row_cannot_be_used():
    assert reasons("sonic_counters", "Ethernet0  U  1\n") == ["no_header"]


def test_notifications_are_samples_on_the_device_s_time():
    text = "\n".join(json.dumps(part) for part in (STREAM, PREFIXED, EVENT, SYNC)) + "\n\n"
    rows = landed("gnmi", text)
    assert [(row["port"], row["metric"], row["value"], row["units"]) for row in rows] == [
        ("leaf-r07:ethernet32", "switch.in_errors", 12.0, 1),
        ("leaf-r07:ethernet32", "switch.out_discards", 3.0, 0),
        ("leaf-r07:ethernet32", "switch.oper_up", 0.0, 1),
        ("leaf-r07:ethernet32", "switch.in_errors", 13.0, 1),
    ]
    assert rows[0]["event_time"] == utc("2026-11-29T18:30:00.123456Z")
    assert reasons("gnmi", text)[-2:] == ["structure.sync", "structure.blank"]


def test_a_document_of_notifications_is_read_by_items():
    text = json.dumps(STREAM, indent=2) + "\n" + json.dumps(SYNC, indent=2)
    rows = read("gnmi", text, file="network/gnmi-leaf.json")
    assert [row["reason"] for row in rows] == [None, None, "structure.sync"]
    assert rows[0]["message"] is None


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "bad_json"),
        ("7", "bad_json"),
        ('{"source": "x"}', "no_update"),
        ('{"source": "x", "timestamp": 1, "deletes": ["a"]}', "structure.deletes"),
        ('{"source": "x", "timestamp": 1795977000, "updates": [{"values": {"a": "text"}}]}', "telemetry.blank"),
        ('{"source": "x", "updates": "none"}', "telemetry.blank"),
    ],
)
def test_other_notifications(line, reason):
    assert reasons("gnmi", line) == [reason]


@pytest.mark.parametrize(
    ("path", "metric"),
    [
        ("interfaces/interface/state/counters/in-errors", "switch.in_errors"),
        ("openconfig-interfaces:state/openconfig-interfaces:oper-status", "switch.oper_up"),
        ("in-fcs-errors", "switch.in_fcs_errors"),
    ],
)
def test_metric_of(path, metric):
    assert metric_of(path) == metric
