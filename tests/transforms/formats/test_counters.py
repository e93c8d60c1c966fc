import json

import pytest

from firstfault.transforms.formats.counters import counter_value
from tests.transforms.formats.reading import landed, read, read_table, reasons, samples, units, utc

PERFQUERY = """# Port extended counters: Lid 134 port 1 (CapMask: 0x5A00 CapMask2: 0x0000000)
PortSelect:......................1
CounterSelect:...................0x0000
SymbolErrorCounter:..............7
LinkDownedCounter:...............0xff
PortXmitWait:....................41864608

# Port extended counters: Lid 134 port 2 (CapMask: 0x5A00 CapMask2: 0x0000000)
PortSelect:......................2
SymbolErrorCounter:..............0
# Port extended counters: Lid 134 port ALL (CapMask: 0x5A00)
PortSelect:......................255
SymbolErrorCounter:..............7
"""


def test_perfquery_blocks_are_ports():
    rows = landed("perfquery", PERFQUERY)
    assert [(row["port"], row["metric"], row["value"]) for row in rows] == [
        ("lid134:1", "ib.SymbolErrorCounter", 7.0),
        ("lid134:1", "ib.LinkDownedCounter", 255.0),
        ("lid134:1", "ib.counter_saturated", 1.0),
        ("lid134:1", "ib.PortXmitWait", 41864608.0),
        ("lid134:2", "ib.SymbolErrorCounter", 0.0),
    ]
    assert {row["time_basis"] for row in rows} == {"file_time"}
    assert units(read_table("perfquery", PERFQUERY.encode())) == PERFQUERY.count("\n")
    assert reasons("perfquery", PERFQUERY)[-1] == "structure.port_sum"


def test_the_hca_of_the_file_name_names_the_port():
    rows = landed(
        "perfquery", PERFQUERY, node="gpu-r31-n03", file="nodes/gpu-r31-n03/perfquery-mlx5_3-20261129T133000.txt"
    )
    assert [row["port"] for row in (rows[0], rows[-1])] == ["gpu-r31-n03/mlx5_3/1", "gpu-r31-n03/mlx5_3/2"]
    assert rows[0]["node"] == "gpu-r31-n03"


def test_rdma_statistic_on_one_line_and_on_many():
    text = "link mlx5_0/1 rx_write_requests 10 local_ack_timeout_err 3\nlink mlx5_1/1\n    packet_seq_err 4\n"
    rows = landed("perfquery", text, node="n1")
    assert [(row["port"], row["metric"], row["value"], row["units"]) for row in rows] == [
        ("n1/mlx5_0/1", "ib.rx_write_requests", 10.0, 1),
        ("n1/mlx5_0/1", "ib.local_ack_timeout_err", 3.0, 0),
        ("n1/mlx5_1/1", "ib.packet_seq_err", 4.0, 1),
    ]


def test_sysfs_files_with_their_path():
    base = "/sys/class/infiniband/mlx5_2/ports/1"
    text = (
        f"{base}/counters/symbol_error:7\n{base}/hw_counters/out_of_sequence:2\n"
        f"{base}/counters/VL15_dropped:N/A (no PMA)\n"
    )
    rows = landed("perfquery", text, node="n1")
    assert [(row["metric"], row["port"]) for row in rows] == [
        ("ib.symbol_error", "n1/mlx5_2/1"),
        ("ib.out_of_sequence", "n1/mlx5_2/1"),
    ]
    assert reasons("perfquery", text)[-1] == "telemetry.blank"


def test_a_stamp_before_a_block_is_its_time():
    rows = landed("perfquery", f"2026-11-29T13:30:00Z\n{PERFQUERY}")
    assert (rows[0]["event_time"], rows[0]["time_basis"]) == (utc("2026-11-29T13:30:00Z"), "zoned")


ETHTOOL = "NIC statistics:\n     rx_crc_errors_phy: 5\n     rx_prio0_pause: 1\n     [0]: rx: 2\n     broken\n"


def test_ethtool():
    assert samples("ethtool", ETHTOOL) == {"ethtool.rx_crc_errors_phy": 5.0, "ethtool.rx_prio0_pause": 1.0}
    assert reasons("ethtool", ETHTOOL) == ["structure.header", None, None, "bad_value", "bad_value"]


@pytest.mark.parametrize(
    ("head", "file"), [("# ens1f0np0\n", ""), ("", "nodes/n1/ethtool-ens1f0np0-20261129T133000.txt")]
)
def test_the_interface_comes_from_the_dump_or_the_file(head, file):
    row = landed("ethtool", head + ETHTOOL, node="n1", file=file)[0]
    assert (row["labels"], row["port"]) == ({"interface": "ens1f0np0"}, "n1/ens1f0np0/1")


@pytest.mark.parametrize(
    ("text", "value"), [("1,000", 1000.0), ("0x1F", 31.0), ("12", 12.0), ("x", None), ("0xzz", None)]
)
def test_counter_value(text, value):
    assert counter_value(text) == value


LONG = """time,switch,port,counter,value
2026-11-29T13:30:00Z,Leaf-r31.site,35,SymbolErrorCounter,"1,000"
1795959000,leaf-r31,35,rx_crc_errors,3
2026-11-29T13:30:00Z,leaf-r31,35,PortRcvErrors,N/A
soon,leaf-r31,35,PortRcvErrors,1
2026-11-29T13:30:00Z,leaf-r31,35,PortRcvErrors,many
2026-11-29T13:30:00Z,leaf-r31,35
"""


def test_switch_counters_long():
    rows = landed("switch_counters", LONG)
    assert [(row["port"], row["metric"], row["value"]) for row in rows] == [
        ("leaf-r31:35", "ib.SymbolErrorCounter", 1000.0),
        ("leaf-r31:35", "switch.rx_crc_errors", 3.0),
    ]
    assert rows[0]["event_time"] == rows[1]["event_time"] == utc("2026-11-29T13:30:00Z")
    assert reasons("switch_counters", LONG)[3:] == ["telemetry.blank", "bad_value", "bad_value", "field_count"]


def test_switch_counters_wide():
    text = "time,switch,port,symbolerrorcounter,PortRcvErrors\n2026-11-29 13:30:00,leaf-r31,35,4,N/A\n"
    rows = landed("switch_counters", text, zone="Europe/Berlin")
    assert [(row["metric"], row["value"], row["units"]) for row in rows] == [("switch.symbolerrorcounter", 4.0, 1)]
    assert rows[0]["event_time"] == utc("2026-11-29T12:30:00Z")


STATISTICS = [
    {"ifindex": 0, "ifname": "mlx5_0", "port": 1, "rx_write_requests": 10, "local_ack_timeout_err": 3},
    {"ifname": "mlx5_1", "port": 1, "packet_seq_err": 18446744073709551615},
    {"ifname": "mlx5_2"},
]


def test_rdma_statistic_as_json():
    rows = read("perfquery", json.dumps(STATISTICS), node="n1", file="nodes/n1/rdma-20261129T133000.json")
    assert [(row["port"], row["metric"], row["value"], row["units"], row["reason"]) for row in rows] == [
        ("n1/mlx5_0/1", "ib.rx_write_requests", 10.0, 1, None),
        ("n1/mlx5_0/1", "ib.local_ack_timeout_err", 3.0, 0, None),
        ("n1/mlx5_1/1", "ib.packet_seq_err", float(2**64), 1, None),
        (None, None, None, 1, "bad_value"),
    ]


@pytest.mark.parametrize(
    ("name", "value", "marked"),
    [
        ("local_link_integrity_errors", 15, True),
        ("local_link_integrity_errors", 14, False),
        ("link_downed", 255, True),
        ("link_downed", 256, False),  # a wide counter went on
        ("symbol_error", 65535, True),
        ("port_xmit_wait", 65535, False),
        ("out_of_sequence", 255, False),
    ],
)
def test_a_counter_at_its_largest_value_is_marked(name, value, marked):
    rows = landed("perfquery", f"/sys/class/infiniband/mlx5_0/ports/1/counters/{name}:{value}\n", node="n1")
    assert [row["metric"] for row in rows] == [f"ib.{name}"] + ["ib.counter_saturated"] * marked
    assert sum(row["units"] for row in rows) == 1
    if marked:
        assert (rows[1]["labels"]["counter"], rows[1]["port"]) == (name, "n1/mlx5_0/1")
