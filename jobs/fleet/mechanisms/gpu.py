"""GPUs: off the bus, uncorrectable memory, NVLink, heat."""

from datetime import datetime
from random import Random

from firstfault.jobs.fleet.cascade import cuda_aftermath, cuda_error, peers_closed, raises
from firstfault.jobs.fleet.mechanisms.registry import mechanism
from firstfault.jobs.fleet.model import Attempt, Rank, Topology, after
from firstfault.jobs.fleet.scene import Scene
from firstfault.jobs.fleet.teardown import tear_down
from firstfault.jobs.fleet.truth import Incident

HW_THERMAL = 0x48
HW_THERMAL_C = 90


def off_bus(scene: Scene, t: datetime, rank: Rank) -> None:
    """A rank's GPU leaves the bus."""
    gpu = scene.gpu_of(rank)
    scene.xid(t, 79, "origin", rank, "GPU has fallen off the bus.")
    scene.host(after(t, 0.0002), "kern.off_bus", "origin", rank.node, pci=gpu.pci)
    scene.host(after(t, 0.0003), "kern.serial", "origin", rank.node, pci=gpu.pci, serial=gpu.serial)
    scene.signal(after(t, 0.001), "set.gpu_lost", "origin", rank.node, 1, device=gpu.pci)


@mechanism("gpu_off_bus", requeues=True)
def gpu_off_bus(rng: Random, topology: Topology, attempt: Attempt, onset: datetime) -> Incident:
    """A GPU leaves the bus; its rank hangs or raises, peers wait or lose it, the launcher kills the rest."""
    scene = Scene(rng, topology, attempt)
    rank = scene.pick_rank()
    off_bus(scene, onset, rank)
    deaths = cuda_aftermath(scene, onset, rank, "unspecified launch failure", hang=rng.random() < 0.5)
    where = f"{rank.node}/{rank.device}"
    end = tear_down(scene, deaths, lost_gpus=[where])
    return scene.close("gpu_off_bus", "gpu_hardware", "gpu", [where], t0=onset, end=end)


@mechanism("gpu_ecc_uncorrectable")
def gpu_ecc_uncorrectable(rng: Random, topology: Topology, attempt: Attempt, onset: datetime) -> Incident:
    """A double-bit error, contained and remapped; the rank that held the page raises."""
    scene = Scene(rng, topology, attempt)
    rank = scene.pick_rank()
    address = f"0x{rng.randrange(1 << 30, 1 << 36):x}"
    dbe = (
        "An uncorrectable double bit error (DBE) has been detected on GPU in the framebuffer at physAddr "
        f"{address} partition {rng.randrange(12)}, subpartition {rng.randrange(2)}."
    )
    row = f"Row Remapper: New row (0x{int(address, 16):016x}) marked for remapping, reset gpu to activate."
    scene.xid(onset, 48, "origin", rank, dbe)
    scene.xid(after(onset, 0.05), 63, "origin", rank, row, named=True)
    scene.xid(after(onset, 0.3), 94, "origin", rank, "Contained: SM (0x1). RST: No, D-RST: No", named=True)
    scene.signal(onset, "add.ecc_dbe", "origin", rank.node, 1, device=rank.device)
    scene.signal(after(onset, 0.05), "set.row_remap_pending", "origin", rank.node, 1, device=rank.device)
    deaths = cuda_aftermath(scene, onset, rank, "uncorrectable ECC error encountered", hang=False)
    end = tear_down(scene, deaths)
    return scene.close(
        "gpu_ecc_uncorrectable", "gpu_hardware", "gpu", [f"{rank.node}/{rank.device}"], t0=onset, end=end
    )


@mechanism("nvlink_error")
def nvlink_error(rng: Random, topology: Topology, attempt: Attempt, onset: datetime) -> Incident:
    """One GPU's link fails; GPUs of the same NVLink domain say so in the same second."""
    scene = Scene(rng, topology, attempt)
    rank = scene.pick_rank()
    link = rng.randrange(18)
    text = "NVLink: fatal error detected on link {}(0x0, 0x0, 0x{:x}, 0x0, 0x0, 0x0, 0x0)"
    scene.signal(after(onset, -180.0), "add.nvlink_crc", "origin", rank.node, rng.randrange(40, 90), device=rank.device)
    scene.signal(
        after(onset, -20.0),
        "add.nvlink_crc",
        "origin",
        rank.node,
        rng.randrange(300, 900),
        device=rank.device,
    )
    scene.xid(onset, 74, "origin", rank, text.format(link, 0x20000))
    near = [r for r in attempt.ranks_of(rank.node) if r != rank]
    for peer in rng.sample(near, min(2, len(near))):
        t = scene.later(onset, 0.01, 0.6)
        scene.xid(t, 74, "cascade", peer, text.format(rng.randrange(18), 0x1000))
    raised = scene.later(onset, 0.8, 3.0)
    said = "uncorrectable NVLink error detected during the execution"
    deaths = raises(scene, raised, rank, cuda_error(said), role="cascade", frame="all_reduce")
    deaths |= peers_closed(scene, rank, deaths[rank.rank][0])
    end = tear_down(scene, deaths)
    return scene.close("nvlink_error", "nvlink_fabric", "gpu", [f"{rank.node}/{rank.device}"], t0=onset, end=end)


@mechanism("thermal_off_bus")
def thermal_off_bus(rng: Random, topology: Topology, attempt: Attempt, onset: datetime) -> Incident:
    """A GPU heats for minutes, is slowed down by hardware and then leaves the bus."""
    scene = Scene(rng, topology, attempt)
    rank = scene.pick_rank()
    heat = [after(onset, 60.0 * minute) for minute in range(9)]
    for minute, t in enumerate(heat):
        celsius = 72 + round(24 * (minute + 1) / len(heat))
        scene.signal(t, "set.gpu_temp", "origin", rank.node, celsius, device=rank.device)
        if celsius >= HW_THERMAL_C:
            scene.signal(t, "set.throttle", "origin", rank.node, HW_THERMAL, device=rank.device)
    fallen = after(heat[-1], 130.0)
    off_bus(scene, fallen, rank)
    deaths = cuda_aftermath(scene, fallen, rank, "unspecified launch failure", hang=rng.random() < 0.5)
    where = f"{rank.node}/{rank.device}"
    end = tear_down(scene, deaths, lost_gpus=[where])
    return scene.close("thermal_off_bus", "power_cooling", "gpu", [where], t0=onset, end=end, stalled=fallen)
