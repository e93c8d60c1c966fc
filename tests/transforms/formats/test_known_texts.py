"""The pattern library understands the texts that readers make of records."""

import json
from pathlib import Path

import pyarrow as pa
import pytest

import firstfault.rules
from firstfault.rules.engine.patterns import load_patterns
from firstfault.rules.engine.vocabulary import Vocabulary
from firstfault.transforms.matching import match
from tests.transforms.formats.reading import landed
from tests.transforms.formats.test_scontrol import JOB, NODE, ONE_LINE, SINFO
from tests.transforms.formats.test_sel import SEL
from tests.transforms.formats.test_shipper import FLUENT_BIT, OTLP, VECTOR
from tests.transforms.formats.test_switch_log import SWITCH

XID = "NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
KMSG = f"""3,1042,501230123456,-;{XID}
 SUBSYSTEM=pci
6,1043,501230123999,-,caller=T7;Out of memory: Killed process 4242 (python3) total-vm:9912kB
"""
JOURNAL = "\n".join(
    json.dumps({"__REALTIME_TIMESTAMP": "1795977002000000", "MESSAGE": text})
    for text in (
        [*XID.encode()],
        "slurmd.service: Failed with result 'signal'.",
        "Suppressed 77 messages from x.service",
    )
)
PTP = "ptp4l[512.345]: port 1: UNCALIBRATED to SLAVE on MASTER_CLOCK_SELECTED\n"
RULES = Path(next(iter(firstfault.rules.__path__)))
LIBRARY = load_patterns(RULES / "patterns", Vocabulary.load(RULES / "vocabulary.yaml")).compiled


@pytest.mark.parametrize(
    ("source", "text", "family", "events"),
    [
        ("sel", SEL, "sel", ["power.psu", "power.thermal", None, "power.psu", "power.sel"]),
        ("scontrol", NODE + ONE_LINE + JOB, "slurmctld", ["sched.node_drain", "sched.node_drain", "sched.end"]),
        ("scontrol", SINFO, "slurmctld", ["sched.node_unresponsive", "sched.node_rebooted", "sched.node_drain"]),
        ("shipper", f"{OTLP}\n{FLUENT_BIT}\n{VECTOR}\n", "shipper", [None, "gpu.xid", None, "gpu.xid"]),
        (
            "switch_log",
            SWITCH,
            "switch",
            ["switch.port_down", "net.port_congestion", "switch.port_down", "fabric.ufm_event"],
        ),
        ("dmesg", KMSG, "dmesg", ["gpu.xid", None, "sys.oom_kill"]),
        ("journal", JOURNAL, "journal", ["gpu.xid", "sys.unit_failed", "sys.log_gap"]),
        ("ptp", PTP, "ptp", ["clock.source_change"]),
    ],
)
def test_records_give_events(source, text, family, events):
    texts = pa.array([row["text"] for row in landed(source, text)], pa.string())
    hits = match(texts, None, family, LIBRARY).to_pylist()
    assert [found[0]["event_type"] if found else None for found in hits] == events


def test_a_json_dump_of_nodes_gives_the_events_of_the_text():
    node = {"name": "n3", "state": ["DOWN", "NOT_RESPONDING"], "reason": "Not responding"}
    rows = landed("scontrol", json.dumps({"nodes": [node]}), file="scheduler/scontrol.json")
    hits = match(pa.array([row["text"] for row in rows]), None, "scontrol", LIBRARY).to_pylist()
    assert [found[0]["event_type"] for found in hits] == ["sched.node_unresponsive"]


def test_a_ring_that_wrapped_is_a_gap_beside_the_first_line_s_event():
    rows = landed("dmesg", KMSG)
    hits = match(pa.array([row["text"] for row in rows]), None, "dmesg", LIBRARY).to_pylist()
    assert [hit["event_type"] for hit in hits[0]] == ["gpu.xid", "sys.log_gap"]
    assert dict(hits[0][1]["attrs"])["count"] == "1042"


def kube_event(reason, message):
    return {"kind": "Event", "reason": reason, "message": message}


def with_condition(kind, condition, status="True", reason=None):
    return {"kind": kind, "status": {"conditions": [{"type": condition, "status": status, "reason": reason}]}}


def eviction(stage):
    reference = {"resource": "pods", "subresource": "eviction", "namespace": "ml", "name": "p"}
    told = {"verb": "create", "stage": stage, "user": {"username": "drainer"}, "objectRef": reference}
    return {"kind": "Event", "apiVersion": "audit.k8s.io/v1"} | told


@pytest.mark.parametrize(
    ("item", "events"),
    [
        (kube_event("TaintManagerEviction", "Marking for deletion Pod ml/p"), ["k8s.pod_evicted"]),
        (kube_event("TaintManagerEviction", "Cancelling deletion of Pod ml/p"), []),
        (kube_event("FailedScheduling", "0/9 nodes are available"), ["k8s.sched_failed"]),
        (with_condition("PyTorchJob", "Restarting", reason="PyTorchJobRestarting"), ["sched.requeue"]),
        (with_condition("PyTorchJob", "Restarting", "False"), []),
        (with_condition("Workload", "Evicted", reason="NodeFailures"), ["k8s.pod_evicted"]),
        (with_condition("Workload", "Evicted", reason="Preempted"), ["k8s.pod_preempted"]),
        ({"kind": "Job", "status": {"state": {"phase": "Aborted"}}}, ["sched.end"]),
        (with_condition("Node", "Ready", "Unknown"), ["k8s.node_not_ready"]),
        (with_condition("Node", "MemoryPressure"), ["k8s.node_pressure"]),
        (eviction("ResponseComplete"), ["k8s.pod_evicted"]),
        (eviction("RequestReceived"), []),
    ],
)
def test_objects_give_events(item, events):
    about = {"kind": "Pod", "name": "p", "namespace": "ml"}
    item = {"involvedObject": about, "metadata": {"name": "p", "namespace": "ml"}} | item
    texts = [row["text"] for row in landed("kube", json.dumps(item))]
    hits = match(pa.array(texts), None, "kube", LIBRARY).to_pylist()
    assert [hit["event_type"] for hit in hits[0] or []] == events
