"""Whose clock wrote a time: a node's own, or that of a server that speaks of nodes."""

from pyspark.sql import Column
from pyspark.sql import functions as F

SERVER, SWITCH = "server:", "switch:"
SWITCH_CLOCKED = frozenset({"switch_log"})
"""Formats whose times a switch wrote; the node of such a line is the switch."""
NODE_CLOCKED = frozenset(
    {
        "app", "chrony", "dcgmi", "dmesg", "ethtool", "fabricmanager", "flight_recorder", "ibqueryerrors", "journal",
        "kernel", "kubelet", "nccl_ras", "ntpq", "nvidia_smi_csv", "nvidia_smi_q", "nvidia_smi_xml", "perfquery", "ptp",
        "pyspy", "readiness", "shipper", "slurmd", "sysfs", "torch_error",
    }
)  # fmt: skip
"""Formats whose times a node's own clock wrote. Controllers, scrapers, switches and BMCs have clocks of their own: a
line of slurmctld that names a node says nothing in that node's time."""


def clock(source: str = "source", node: str = "node") -> Column:
    """The clock that wrote the row's time: a node, `switch:<name>` or `server:<source>`; null where nobody says."""
    own = F.col(source).isin(*sorted(NODE_CLOCKED))
    switch = F.col(source).isin(*sorted(SWITCH_CLOCKED)) & F.col(node).isNotNull()
    return (
        F.when(own, F.col(node))
        .when(switch, F.concat(F.lit(SWITCH), F.col(node)))
        .otherwise(F.concat(F.lit(SERVER), F.col(source)))
    )


def clock_node(source: str = "source", node: str = "node") -> Column:
    """The node whose clock wrote the row's time; null where a server's clock did."""
    return F.when(F.col(source).isin(*sorted(NODE_CLOCKED)), F.col(node))
