"""GPU memory: contained errors, a storm of uncontained ones, a row that cannot be remapped."""

from datetime import datetime
from random import Random

from firstfault.jobs.fleet.cascade import cuda_aftermath
from firstfault.jobs.fleet.mechanisms.registry import mechanism
from firstfault.jobs.fleet.model import Attempt, Rank, Topology, after
from firstfault.jobs.fleet.scene import Scene
from firstfault.jobs.fleet.teardown import tear_down
from firstfault.jobs.fleet.truth import Incident

ECC = "uncorrectable ECC error encountered"
UNITS = ("SM (0x1)", "LTC TAG (0x2, 0x1)", "FB LTC (0x5, 0x1)", "MMU (0x0)")


def _address(rng: Random) -> int:
    return rng.randrange(1 << 30, 1 << 36)


def _double_bit(scene: Scene, t: datetime, rank: Rank, address: int) -> None:
    where = f"partition {scene.rng.randrange(12)}, subpartition {scene.rng.randrange(2)}"
    text = (
        "An uncorrectable double bit error (DBE) has been detected on GPU in the framebuffer at physAddr "
        f"0x{address:x} {where}."
    )
    scene.xid(t, 48, "origin", rank, text)
    scene.signal(t, "add.ecc_dbe", "origin", rank.node, 1, device=rank.device)


def _recovery(scene: Scene, t: datetime, rank: Rank, action: str) -> None:
    scene.xid(t, 154, "context", rank, f"GPU recovery action changed from 0x0 (None) to {action}", bare=True)


def _raise(scene: Scene, name: str, onset: datetime, rank: Rank, *, drained: str | None = None) -> Incident:
    deaths = cuda_aftermath(scene, onset, rank, ECC, hang=False)
    end = tear_down(scene, deaths)
    if drained is not None:
        scene.ctl(after(end, 20.0), "ctl.drain", "context", node=rank.node, reason=drained)
        scene.ctl(after(end, 20.001), "ctl.draining", "context", node=rank.node)
    return scene.close(name, "gpu_hardware", "gpu", [f"{rank.node}/{rank.device}"], t0=onset, end=end)


@mechanism("gpu_ecc_contained")
def gpu_ecc_contained(rng: Random, topology: Topology, attempt: Attempt, onset: datetime) -> Incident:
    """A memory error is contained: it ends one process, the GPU stays usable; a row may be marked afterwards."""
    scene = Scene(rng, topology, attempt)
    rank = scene.pick_rank()
    text = f"Contained: {rng.choice(UNITS)}. RST: No, D-RST: No"
    scene.xid(onset, 94, "origin", rank, text, named=True)
    scene.signal(onset, "add.ecc_dbe", "origin", rank.node, 1, device=rank.device)
    if rng.random() < 0.5:
        row = f"Row Remapper: New row (0x{_address(rng):016x}) marked for remapping, reset gpu to activate."
        scene.xid(after(onset, 0.2), 63, "origin", rank, row, named=True)
        scene.signal(after(onset, 0.2), "set.row_remap_pending", "origin", rank.node, 1, device=rank.device)
    return _raise(scene, "gpu_ecc_contained", onset, rank)


@mechanism("gpu_ecc_storm", requeues=True)
def gpu_ecc_storm(rng: Random, topology: Topology, attempt: Attempt, onset: datetime) -> Incident:
    """Uncontained memory errors flood the kernel log; the GPU must be drained and reset."""
    scene = Scene(rng, topology, attempt)
    rank = scene.pick_rank()
    if rng.random() < 0.5:
        _double_bit(scene, onset, rank, _address(rng))
    text = f"Uncontained: {rng.choice(UNITS)}. RST: Yes, D-RST: No"
    scene.xid(after(onset, 0.01), 95, "origin", rank, text, bare=True)
    t = after(onset, 0.02)
    for _ in range(rng.choice((40, 120, 300))):
        t = scene.later(t, 0.0005, 0.03)
        scene.host(t, "kern.xid", "origin", rank.node, pci=rank.device, code=95, who="", text=text)
    scene.signal(after(onset, 0.5), "add.ecc_dbe", "origin", rank.node, rng.randrange(20, 400), device=rank.device)
    _recovery(scene, scene.later(t, 0.1, 0.5), rank, "0x4 (Drain and Reset)")
    return _raise(scene, "gpu_ecc_storm", onset, rank, drained="GPU ECC uncontained")


@mechanism("gpu_row_remap_failed")
def gpu_row_remap_failed(rng: Random, topology: Topology, attempt: Attempt, onset: datetime) -> Incident:
    """A double-bit error whose row has no spare left: the GPU is at the end of its life."""
    scene = Scene(rng, topology, attempt)
    rank = scene.pick_rank()
    address = _address(rng)
    _double_bit(scene, onset, rank, address)
    text = f"Row Remapper: Failed to remap row (0x{address:016x}), no spare row available."
    scene.xid(after(onset, 0.06), 64, "origin", rank, text, named=rng.random() < 0.5)
    scene.signal(after(onset, 0.06), "set.row_remap_failure", "origin", rank.node, 1, device=rank.device)
    _recovery(scene, after(onset, 0.4), rank, "0x1 (GPU Reset Required)")
    return _raise(scene, "gpu_row_remap_failed", onset, rank)
