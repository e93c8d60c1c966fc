"""Readers by format name of sources.yaml."""

from collections.abc import Callable
from typing import TypeAlias

import pyarrow as pa

from firstfault.transforms.formats import (
    chrony,
    counters,
    dcgmi,
    dmesg,
    exposition,
    fabric_dumps,
    flight_recorder,
    gnmi,
    journald,
    kube,
    locust,
    loglines,
    metrics_parquet,
    nccl_ras,
    ntpq,
    nvidia_smi,
    nvidia_text,
    nvidia_xml,
    prometheus,
    ptp,
    pyspy,
    sacct,
    sacct_json,
    scontrol,
    sel,
    shipper,
    sonic,
    sysfs,
    tables,
    torch_error,
)
from firstfault.transforms.formats.context import StreamContext

Reader: TypeAlias = Callable[[bytes, StreamContext], pa.Table]

READERS: dict[str, Reader] = {
    "kernel": loglines.read,
    "dmesg": dmesg.read,
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
    "metrics_parquet": metrics_parquet.read,
    "nvidia_smi_xml": nvidia_xml.read,
    "nvidia_smi_q": nvidia_text.read,
    "perfquery": counters.read_ports,
    "ethtool": counters.read_interface,
    "sysfs": sysfs.read,
    "ibqueryerrors": fabric_dumps.read_errors,
    "ibnetdiscover": fabric_dumps.read_links,
    "sonic_counters": sonic.read,
    "gnmi": gnmi.read,
    "switch_counters": tables.read_switch_counters,
    "chrony": chrony.read,
    "ptp": ptp.read,
    "ntpq": ntpq.read,
    "scontrol": scontrol.read,
    "switch_log": loglines.read,
    "sel": sel.read,
    "shipper": shipper.read,
    "flight_recorder": flight_recorder.read,
    "dcgmi": dcgmi.read,
    "pyspy": pyspy.read,
    "nccl_ras": nccl_ras.read,
    "locust": locust.read,
    "torch_error": torch_error.read,
    "topology": tables.read,
    "labels": tables.read,
    "changes": tables.read,
    "repairs": tables.read,
}
"""Every format that can be read."""

SNAPSHOT_FORMATS = frozenset(
    {
        "sacct_json",
        "kube",
        "prometheus",
        "perfquery",
        "ethtool",
        "sysfs",
        "ibqueryerrors",
        "ibnetdiscover",
        "sonic_counters",
        "readiness",
        "topology",
        "labels",
        "changes",
        "repairs",
        "nvidia_smi_xml",
        "nvidia_smi_q",
        "dcgmi",
        "pyspy",
        "nccl_ras",
        "locust",
        "torch_error",
        "ntpq",
        "scontrol",
        "flight_recorder",
        "metrics_parquet",
    }
)
"""Formats whose file is one whole: never split, never read before it stands still."""

BINARY_FORMATS = frozenset({"flight_recorder", "metrics_parquet"})
"""Formats whose bytes need not be text and whose books are kept in items, whatever the file is called."""

HEADED_FORMATS = frozenset({"sacct", "nvidia_smi_csv", "switch_counters"})
"""Growing tables whose later ranges need the stream's first line."""
