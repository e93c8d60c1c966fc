"""What a metric's labels say of node, device and port; which values are no values."""

import math
import re
from collections.abc import Mapping
from typing import Any

from firstfault.transforms.formats.context import StreamContext
from firstfault.transforms.formats.hosts import instance_host, short_host
from firstfault.transforms.formats.pci import normalise_pci_text

_NODE_LABELS = ("Hostname", "hostname", "nodename", "node", "kubernetes_node")
_PCI_LABELS = ("pci_bus_id", "pci.bus_id", "pci_bus", "bus_id")
_HCA = re.compile(r"(?:mlx|bnxt_re|hfi|irdma|ibp|roce|rocep|efa)\w*$")
_DCGM = "DCGM_"
_BLANK_INT32 = range(2_147_483_632, 2_147_483_648)
_BLANK_DOUBLE = range(140_737_488_355_328, 140_737_488_355_344)
_BLANK_INT64 = 9_223_372_036_854_775_792


def identity(metric: str, labels: Mapping[str, str], ctx: StreamContext) -> dict[str, Any]:
    """Node, device and port of a series."""
    names = (labels.get(name, "") for name in _NODE_LABELS)
    named = next((name for name in names if name and not name.isdecimal()), None)  # a number is a NUMA node
    node = ctx.node or short_host(named) or instance_host(labels.get("instance"))
    address = next((labels[name] for name in _PCI_LABELS if labels.get(name)), None)
    return {"node": node, "device": normalise_pci_text(address), "port": _port(metric, labels, node)}


def _port(metric: str, labels: Mapping[str, str], node: str | None) -> str | None:
    """`node/mlx5_0/1` of an RDMA series, `switch:port` of a switch's."""
    switch, port = labels.get("switch"), labels.get("port")
    if switch and port:
        return f"{short_host(switch)}:{port}"
    device = labels.get("device") or labels.get("hca") or ""
    if node and port and ("infiniband" in metric or _HCA.match(device)):
        return f"{node}/{device}/{port}"
    return None


def is_blank(metric: str, value: float) -> bool:
    """Whether a sample holds no value: NaN, a stale mark, or one of DCGM's blanks."""
    if math.isnan(value):
        return True
    if not metric.startswith(_DCGM) or value < _BLANK_INT32.start:
        return False
    return value >= _BLANK_INT64 or (value.is_integer() and (int(value) in _BLANK_INT32 or int(value) in _BLANK_DOUBLE))
