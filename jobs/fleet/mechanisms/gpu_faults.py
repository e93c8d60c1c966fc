"""GPUs by other ways: page faults of code and of silicon, GSP, PCIe before the fall, a GPU that is not there."""

from datetime import datetime
from random import Random

from firstfault.jobs.fleet.cascade import Deaths, cuda_aftermath, cuda_error, peers_closed, raises
from firstfault.jobs.fleet.mechanisms.gpu import off_bus
from firstfault.jobs.fleet.mechanisms.registry import mechanism
from firstfault.jobs.fleet.model import Attempt, Attrs, Rank, Topology, after, stream
from firstfault.jobs.fleet.scene import COMM, Scene
from firstfault.jobs.fleet.teardown import tear_down
from firstfault.jobs.fleet.truth import Incident

ILLEGAL = "an illegal memory access was encountered"
BRIDGES = {"19": "0000:15:01.0", "3b": "0000:3a:00.0", "4c": "0000:48:01.0", "5d": "0000:59:01.0"}
RPC_WAITS_S = (6, 45)
HEARTBEAT_S = 480


def _mmu_text(rng: Random) -> str:
    client = f"GPCCLIENT_T1_{rng.randrange(8)}"
    fault, access = rng.choice((("FAULT_PDE", "READ"), ("FAULT_PTE", "WRITE"), ("FAULT_PTE", "READ")))
    address = f"0x7e{rng.randrange(256):02x}_{rng.getrandbits(20):05x}000"
    return (
        f"Ch {rng.randrange(1, 24):08x}, intr 00000000. MMU Fault: ENGINE GRAPHICS {client} faulted @ {address}. "
        f"Fault is of type {fault} ACCESS_TYPE_VIRT_{access}"
    )


def page_fault(scene: Scene, t: datetime, rank: Rank) -> Deaths:
    """A rank's GPU faults on an address: Xid 31, its channel stops, the rank raises."""
    scene.xid(t, 31, "origin", rank, _mmu_text(scene.rng), named=True)
    scene.xid(after(t, 0.02), 43, "origin", rank, f"Ch {scene.rng.randrange(1, 24):08x}", named=True)
    return raises(scene, scene.later(t, 0.3, 1.2), rank, cuda_error(ILLEGAL), role="cascade", frame="backward")


@mechanism("gpu_page_fault_code")
def gpu_page_fault_code(rng: Random, topology: Topology, attempt: Attempt, onset: datetime) -> Incident:
    """A kernel of the user reads past its buffer: GPUs of several ranks fault within the same step."""
    scene = Scene(rng, topology, attempt)
    ranks = rng.sample(attempt.ranks, max(2, len(attempt.ranks) // 4))
    deaths: Deaths = {}
    for i, rank in enumerate(ranks):
        deaths |= page_fault(scene, onset if i == 0 else scene.later(onset, 0.0, 0.25), rank)
    end = tear_down(scene, deaths)
    return scene.close("gpu_page_fault_code", "user_code", "job", [], t0=onset, end=end, affected=attempt.nodes)


@mechanism("gpu_page_fault_hardware", times=2)
def gpu_page_fault_hardware(rng: Random, topology: Topology, attempt: Attempt, onset: datetime) -> Incident:
    """The same GPU faults under unrelated jobs: Xid 31, or Xid 13 at the same unit; the first time looks like code."""
    scene = Scene(rng, topology, attempt)
    rank = scene.pick_rank()
    unit = stream(0, "unit", rank.node, rank.device)
    where = f"(GPC {unit.randrange(7)}, TPC {unit.randrange(9)}, SM {unit.randrange(2)})"
    if unit.random() < 0.5:
        deaths = page_fault(scene, onset, rank)
    else:
        scene.xid(onset, 13, "origin", rank, f"Graphics SM Warp Exception on {where}: Out Of Range Address", bare=True)
        t = scene.later(onset, 0.3, 1.2)
        deaths = raises(scene, t, rank, cuda_error(ILLEGAL), role="cascade", frame="backward")
    deaths |= peers_closed(scene, rank, deaths[rank.rank][0])
    end = tear_down(scene, deaths)
    first = attempt.weak is None or attempt.weak.earlier == 0
    origin = [f"{rank.node}/{rank.device}"]
    allowed = ("user_code",) if first else ()
    return scene.close("gpu_page_fault_hardware", "gpu_hardware", "gpu", origin, t0=onset, end=end, acceptable=allowed)


def gsp_timeouts(scene: Scene, t: datetime, rank: Rank, count: int) -> None:
    """RPCs to the GPU's own processor time out, one after the other, against whoever asks."""
    wait_s, number = scene.rng.choice(RPC_WAITS_S), rank.local
    for i in range(count):
        at = after(t, i * (wait_s + 0.4))
        name, pid = (COMM, rank.pid) if i == 0 else scene.rng.choice((("nvidia-smi", 990 + i), ("nv-hostengine", 871)))
        text = (
            f"Timeout after {wait_s}s of waiting for RPC response from GPU{number} GSP! Expected function 76 "
            "(GSP_RM_CONTROL) (0x20803001 0x10)."
        )
        who = f"pid={pid}, name={name}, "
        said: Attrs = {"pci": rank.device, "code": 119, "who": who, "text": text}
        scene.host(at, "kern.xid", "origin" if i == 0 else "cascade", rank.node, **said)
        scene.host(after(at, 0.0002), "kern.nvrm", "context", rank.node, text=f"GPU{number} RPC history (CPU -> GSP):")
    scene.signal(after(t, 0.001), "set.xid", "origin", rank.node, 119, device=rank.device)
    limited = f"Rate limiting GSP RPC error prints for GPU at PCI:{rank.device} (printing 1 of every 30)."
    scene.host(after(t, count * (wait_s + 0.4)), "kern.nvrm", "context", rank.node, text=limited)


def _watchdog_stuck(scene: Scene, t: datetime, rank: Rank) -> None:
    """The rank's own watchdog hangs in a CUDA call; its monitor says so before the peers time out."""
    text = (
        f"[PG ID 0 PG GUID 0(default_pg) Rank {rank.rank}] ProcessGroupNCCL's watchdog got stuck for {HEARTBEAT_S} "
        "seconds without making progress in monitoring enqueued collectives. This typically indicates a NCCL/CUDA "
        "API (e.g., CudaEventDestroy) hang blocking the watchdog, and could be triggered by another thread holding "
        "the GIL inside a CUDA api (for example, CudaEventDestroy), or other deadlock-prone behaviors."
    )
    scene.app(t, "c10d.line", "cascade", rank, level="E", source="ProcessGroupNCCL.cpp:1314", ranked=1, text=text)


@mechanism("gpu_gsp_timeout", requeues=True)
def gpu_gsp_timeout(rng: Random, topology: Topology, attempt: Attempt, onset: datetime) -> Incident:
    """The GPU's system processor stops to answer the driver; the rank hangs in CUDA or fails."""
    scene = Scene(rng, topology, attempt)
    rank = scene.pick_rank()
    gsp_timeouts(scene, onset, rank, rng.randrange(2, 6))
    hang = rng.random() < 0.6
    deaths = cuda_aftermath(scene, after(onset, 0.5), rank, "unknown error", hang=hang)
    if hang and attempt.timeout_s > HEARTBEAT_S and attempt.style.torch != "2.1":
        _watchdog_stuck(scene, after(onset, HEARTBEAT_S + rng.uniform(2.0, 60.0)), rank)
    end = tear_down(scene, deaths)
    origin = [f"{rank.node}/{rank.device}"]
    return scene.close("gpu_gsp_timeout", "driver_software", "gpu", origin, t0=onset, end=end)


@mechanism("gpu_pcie_fatal", requeues=True)
def gpu_pcie_fatal(rng: Random, topology: Topology, attempt: Attempt, onset: datetime) -> Incident:
    """The PCIe link to a GPU fails: a fatal error or the slot's link first, then the fall off the bus."""
    scene = Scene(rng, topology, attempt)
    rank = scene.pick_rank()
    bridge = BRIDGES.get(rank.device.split(":")[1], "0000:97:01.0")
    replays = rng.randrange(30, 400)
    scene.signal(after(onset, -240.0), "add.pcie_replay", "context", rank.node, replays, device=rank.device)
    agent, status, bit, name = rng.choice(
        (("Requester ID", "00004000", 14, "CmpltTO"), ("Receiver ID", "00000020", 5, "SDES"))
    )
    said: Attrs = {"pci": rank.device, "bridge": bridge, "agent": agent, "status": status, "bit": bit, "name": name}
    scene.host(onset, "kern.aer_fatal", "origin", rank.node, **said)
    if rng.random() < 0.5:
        scene.host(after(onset, 0.02), "kern.slot_down", "origin", rank.node, bridge=bridge, slot=12)
    fallen = scene.later(onset, 0.05, 0.8)
    off_bus(scene, fallen, rank)
    deaths = cuda_aftermath(scene, fallen, rank, "unspecified launch failure", hang=rng.random() < 0.5)
    where = f"{rank.node}/{rank.device}"
    end = tear_down(scene, deaths, lost_gpus=[where])
    return scene.close("gpu_pcie_fatal", "gpu_hardware", "gpu", [where], t0=onset, end=end)


@mechanism("gpu_missing", phase="init")
def gpu_missing(rng: Random, topology: Topology, attempt: Attempt, onset: datetime) -> Incident:
    """A node has one GPU less when the job starts: its last local rank finds no device, whichever GPU is gone."""
    scene = Scene(rng, topology, attempt)
    lost = scene.pick_rank()
    began = after(attempt.start, -rng.uniform(5.0, 40.0))
    scene.host(began, "kern.probe_lost", "origin", lost.node, pci=lost.device)
    scene.host(after(began, 0.01), "kern.init_failed", "origin", lost.node, pci=lost.device)
    scene.host(after(began, 0.4), "sys.persistenced", "origin", lost.node, pci=lost.device)
    scene.signal(after(began, 0.001), "set.gpu_absent", "origin", lost.node, 1, device=lost.device)
    victim = attempt.ranks_of(lost.node)[-1]
    error = rng.choice((cuda_error("invalid device ordinal"), "RuntimeError: No CUDA GPUs are available"))
    deaths = raises(scene, onset, victim, error, role="cascade", frame="set_device", early=True)
    where = f"{lost.node}/{lost.device}"
    end = tear_down(scene, deaths, lost_gpus=[where])
    return scene.close("gpu_missing", "gpu_hardware", "gpu", [where], t0=began, end=end, stalled=onset)
