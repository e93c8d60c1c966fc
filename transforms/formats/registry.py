"""Readers by format name of sources.yaml."""

from collections.abc import Callable
from typing import TypeAlias

import pyarrow as pa

from firstfault.transforms.formats import (
    chrony,
    counters,
    exposition,
    journald,
    kube,
    loglines,
    nvidia_smi,
    prometheus,
    sacct,
    sacct_json,
    tables,
)
from firstfault.transforms.formats.context import StreamContext

Reader: TypeAlias = Callable[[bytes, StreamContext], pa.Table]

READERS: dict[str, Reader] = {
    "kernel": loglines.read,
    "dmesg": loglines.read,
    "journal": journald.read,
    "app": loglines.read,
    "slurmctld": loglines.read,
    "slurmd": loglines.read,
    "fabricmanager": loglines.read,
    "kubelet": loglines.read,
    "readiness": loglines.read,
    "sacct": sacct.read,
    "sacct_json": sacct_json.read,
    "kube": kube.read,
    "prometheus": prometheus.read,
    "exposition": exposition.read,
    "nvidia_smi_csv": nvidia_smi.read,
    "perfquery": counters.read_ports,
    "ethtool": counters.read_interface,
    "switch_counters": tables.read_switch_counters,
    "chrony": chrony.read,
    "topology": tables.read,
    "labels": tables.read,
    "changes": tables.read,
}
"""Every format that can be read."""

SNAPSHOT_FORMATS = frozenset(
    {"sacct_json", "kube", "prometheus", "perfquery", "ethtool", "readiness", "topology", "labels", "changes"}
)
"""Formats whose file is one whole: never split, never read before it stands still."""

HEADED_FORMATS = frozenset({"sacct", "nvidia_smi_csv", "switch_counters"})
"""Growing tables whose later ranges need the stream's first line."""
