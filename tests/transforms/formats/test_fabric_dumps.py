import pytest

from firstfault.transforms.formats.fabric_dumps import place
from tests.transforms.formats.reading import landed, read_table, reasons, units

ERRORS = """Errors for 0x506b4b0300aa1100 "leaf-r07"
   GUID 0x506b4b0300aa1100 port ALL: [LinkDownedCounter == 3] [PortXmitWait == 240]
   GUID 0x506b4b0300aa1100 port 35: [LinkDownedCounter == 1] [PortXmitWait == 120 (122.5KB)]
         Link info:    1719   35[  ] ==( 4X 25.78125 Gbps Active/  LinkUp)==>  0x7cfe 134 1[ ] "gpu-r07-n03 HCA-1" ( )
Errors for "GPU-r07-n03 mlx5_3"
   GUID 0x7cfe9003003b4bde port 1: [SymbolErrorCounter == 65535]
   no port at all

## Summary: 812 nodes checked, 2 bad nodes found
##          823 ports checked, 3 ports have errors beyond threshold
## Suppressed: PortRcvErrors
"""
PORTS = """CA   134  1 0x7cfe9003003b4bde 4x EDR - SW  1719 10 0x7cfe9003009ce5b0 ( 'gpu-r07-n03 HCA-1' - 'leaf-r07' )
SW  1719 10 0x7cfe9003009ce5b0 4x EDR - CA   134  1 0x7cfe9003003b4bde ( 'leaf-r07' - 'gpu-r07-n03 HCA-1' )
SW  1719 11 0x7cfe9003009ce5b0 4x HDR - CA    60  1 0x946dae0300630bfe ( ' leaf-r07 ' - 'Vendor Aggregation Node' )
SW  2052 37 0x506b4b03005c2740 4x ???                                    'leaf-r08'
SW    24  1 0x946dae0300618c82 4x SDR                                    leaf-r09
"""
TOPOLOGY = """# Topology file: generated on Sun Nov 29 13:30:00 2026
vendid=0x2c9
switchguid=0xff08c43213b3f30(ff08c43213b3f30)
Switch  41 "S-0ff08c43213b3f30"         # "MF0;leaf-r07:MCS8500/S01/U1" enhanced port 0 lid 387 lmc 0
[1]     "S-0ff08c432172aa1a"[21]                # "MF0;spine-1:MCS8500/L01/U1" lid 226 4xHDR s=4 w=2
[2]     "H-0ff08c43213b3f38"[1](ff08c43213b3f38)                # "gpu-r07-n03 mlx5_0" lid 2152 4xHDR
Ca      1 "H-0ff08c43213b3f38"          # "gpu-r07-n03 mlx5_0"
[1](ff08c43213b3f38)    "S-0ff08c43213b3f30"[2]         # lid 2152 lmc 0 "MF0;leaf-r07:MCS8500/S01/U1" lid 387 4xHDR
what is this
"""


def test_ports_over_their_threshold_are_samples_and_the_sum_is_none():
    rows = landed("ibqueryerrors", ERRORS)
    assert [(row["port"], row["node"], row["metric"], row["value"], row["units"]) for row in rows] == [
        ("leaf-r07:35", None, "ib.LinkDownedCounter", 1.0, 1),
        ("leaf-r07:35", None, "ib.PortXmitWait", 120.0, 0),
        ("gpu-r07-n03/mlx5_3/1", "gpu-r07-n03", "ib.SymbolErrorCounter", 65535.0, 1),
        ("gpu-r07-n03/mlx5_3/1", "gpu-r07-n03", "ib.counter_saturated", 1.0, 0),
    ]
    assert units(read_table("ibqueryerrors", ERRORS.encode())) == ERRORS.count("\n")
    told = reasons("ibqueryerrors", ERRORS)
    assert (told[1], told[4]) == ("structure.port_sum", "structure.context")
    assert told.count("bad_value") == 1
    assert told.count("structure.comment") == 3


def test_a_list_of_ports_says_what_is_wired_to_what():
    assert [(row["text"], row["node"], row["port"]) for row in landed("ibnetdiscover", PORTS)] == [
        ("ib link gpu-r07-n03/HCA-1/1 to leaf-r07:10 4x EDR", "gpu-r07-n03", "gpu-r07-n03/HCA-1/1"),
        ("ib link leaf-r07:10 to gpu-r07-n03/HCA-1/1 4x EDR", None, "leaf-r07:10"),
        ("ib link leaf-r07:11 to vendor_aggregation_node:1 4x HDR", None, "leaf-r07:11"),
        ("ib link leaf-r08:37 down", None, "leaf-r08:37"),
        ("ib link leaf-r09:1 down", None, "leaf-r09:1"),
    ]


def test_a_topology_says_the_same():
    rows = landed("ibnetdiscover", TOPOLOGY)
    assert [row["text"] for row in rows] == [
        "ib link leaf-r07:1 to spine-1:21 4xHDR",
        "ib link leaf-r07:2 to gpu-r07-n03/mlx5_0/1 4xHDR",
        "ib link gpu-r07-n03/mlx5_0/1 to leaf-r07:2 4xHDR",
    ]
    assert rows[0]["fields"] == {"port": "leaf-r07:1", "rate": "4xHDR", "peer": "spine-1:21"}
    assert units(read_table("ibnetdiscover", TOPOLOGY.encode())) == TOPOLOGY.count("\n")
    assert reasons("ibnetdiscover", TOPOLOGY)[-1] == "bad_value"


@pytest.mark.parametrize(
    ("name", "host", "expected"),
    [
        ("leaf-r07.site", False, (None, "leaf-r07:3")),
        ("N03.site mlx5_0", True, ("n03", "n03/mlx5_0/3")),
        ("", True, (None, "unknown:3")),
    ],
)
def test_place(name, host, expected):
    assert place(name, "3", host=host) == expected
