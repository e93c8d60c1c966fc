"""The NVLink fabric inside a node: a switch that fails, a switch that is not there."""

from datetime import datetime
from random import Random

from firstfault.jobs.fleet.cascade import Deaths, cuda_error, peers_closed, raises
from firstfault.jobs.fleet.mechanisms.registry import mechanism
from firstfault.jobs.fleet.model import Attempt, Attrs, Topology, after
from firstfault.jobs.fleet.scene import Scene
from firstfault.jobs.fleet.teardown import tear_down
from firstfault.jobs.fleet.truth import Incident

SWITCH_BUSES = ("c4", "c5", "c6", "c7")
NVLINK = "uncorrectable NVLink error detected during the execution"
FATAL = (
    (20034, "Link {link} LTSSM Fault Up"),
    (12020, "Link {link} egress sequence ID error"),
    (14017, "Link {link} ingress ECC DBE"),
)


@mechanism("nvswitch_fatal")
def nvswitch_fatal(rng: Random, topology: Topology, attempt: Attempt, onset: datetime) -> Incident:
    """An NVSwitch of a node fails: SXid, Fabric Manager, Xid 74 on GPUs behind it, all ranks of the node raise."""
    scene = Scene(rng, topology, attempt)
    node = scene.pick_node().name
    unit, link = rng.randrange(4), rng.randrange(36)
    code, words = rng.choice(FATAL)
    said: Attrs = {"unit": unit, "bus": f"0000:{SWITCH_BUSES[unit]}:00", "code": code}
    tails = (
        f"Fatal, {words.format(link=link)}",
        f"Severity 1 Engine instance {link:02d} Sub-engine instance 00",
        "Data {0x20000000, 0x00000001, 0x00000000}",
    )
    for i, tail in enumerate(tails[: rng.choice((2, 3))]):
        scene.host(after(onset, 0.0001 * i), "kern.sxid", "origin", node, **said, text=tail)
    manager = (
        f"detected NVSwitch fatal error {code} on fid 0 on NVSwitch pci bus id 0000{said['bus']}.0 "
        f"physical id {unit} port {link}"
    )
    scene.host(scene.later(onset, 0.2, 1.5), "fm.line", "cascade", node, level="ERROR", text=manager)
    ranks = attempt.ranks_of(node)
    for rank in rng.sample(ranks, max(1, len(ranks) // 2)):
        text = f"NVLink: fatal error detected on link {rng.randrange(18)}(0x0, 0x0, 0x1000, 0x0, 0x0, 0x0, 0x0)"
        scene.xid(scene.later(onset, 0.01, 0.6), 74, "cascade", rank, text)
    deaths: Deaths = {}
    for rank in ranks:
        t = scene.later(onset, 0.8, 3.0)
        deaths |= raises(scene, t, rank, cuda_error(NVLINK), role="cascade", frame="all_reduce")
    deaths |= peers_closed(scene, ranks[0], deaths[ranks[0].rank][0])
    end = tear_down(scene, deaths)
    return scene.close("nvswitch_fatal", "nvlink_fabric", "node", [node], t0=onset, end=end)


@mechanism("nvswitch_missing", phase="init")
def nvswitch_missing(rng: Random, topology: Topology, attempt: Attempt, onset: datetime) -> Incident:
    """A node boots with an NVSwitch less: Fabric Manager gives up, CUDA is not initialised there."""
    scene = Scene(rng, topology, attempt)
    node = scene.pick_node().name
    began = after(attempt.start, -rng.uniform(10.0, 50.0))
    text = "detected number of NVSwitches don't match with any supported system topology, aborting fabric manager"
    scene.host(began, "fm.line", "origin", node, level="ERROR", text=text)
    unit = {"unit": "nvidia-fabricmanager", "code": "exited", "status": "1/FAILURE"}
    scene.host(after(began, 0.2), "sys.unit_exited", "origin", node, **unit)
    scene.host(after(began, 0.21), "sys.unit_result", "origin", node, unit=unit["unit"], result="exit-code")
    error = (
        "RuntimeError: Unexpected error from cudaGetDeviceCount(). Did you run some cuda functions before calling "
        "NumCudaDevices() that might have already set an error? Error 802: system not yet initialized"
    )
    deaths: Deaths = {}
    for rank in attempt.ranks_of(node):
        deaths |= raises(
            scene, scene.later(onset, 0.0, 0.8), rank, error, role="cascade", frame="_lazy_init", early=True
        )
    end = tear_down(scene, deaths)
    return scene.close("nvswitch_missing", "nvlink_fabric", "node", [node], t0=began, end=end, stalled=onset)
