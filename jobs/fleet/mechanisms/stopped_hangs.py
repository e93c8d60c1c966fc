"""Hangs that no watchdog ends: an operator or the time limit does, and is not the cause."""

from dataclasses import dataclass
from datetime import datetime
from random import Random

from firstfault.jobs.fleet.endings import by_cancel, by_limit
from firstfault.jobs.fleet.mechanisms.gpu import off_bus
from firstfault.jobs.fleet.mechanisms.gpu_faults import gsp_timeouts
from firstfault.jobs.fleet.mechanisms.registry import mechanism
from firstfault.jobs.fleet.mechanisms.storage import DATA, NFS_SERVER
from firstfault.jobs.fleet.model import Attempt, Topology, after
from firstfault.jobs.fleet.scene import COMM, Scene
from firstfault.jobs.fleet.truth import Incident

HUNG_S = (260.0, 900.0)


@dataclass(frozen=True, slots=True)
class Cause:
    """What a hang comes from."""

    category: str
    scope: str
    origin: tuple[str, ...]


def _gpu_lost(scene: Scene, t: datetime) -> Cause:
    rank = scene.pick_rank()
    off_bus(scene, t, rank)
    return Cause("gpu_hardware", "gpu", (f"{rank.node}/{rank.device}",))


def _gsp(scene: Scene, t: datetime) -> Cause:
    rank = scene.pick_rank()
    gsp_timeouts(scene, t, rank, scene.rng.randrange(3, 6))
    return Cause("driver_software", "gpu", (f"{rank.node}/{rank.device}",))


def _nfs(scene: Scene, t: datetime) -> Cause:
    for i, name in enumerate(scene.attempt.nodes):
        at = t if i == 0 else scene.later(t, 0.0, 4.0)
        scene.host(at, "kern.nfs_stall", "origin", name, server=NFS_SERVER)
    for rank in scene.attempt.ranks[::8]:
        at = after(t, 123.0 + scene.rng.uniform(0.0, 4.0))
        scene.host(at, "kern.hung_task", "cascade", rank.node, comm=COMM, pid=rank.pid, secs=122)
    return Cause("storage", "filesystem", (DATA,))


CAUSES = (_gpu_lost, _gsp, _nfs)


@mechanism("cancel_after_hang", min_nodes=2)
def cancel_after_hang(rng: Random, topology: Topology, attempt: Attempt, onset: datetime) -> Incident:
    """A job hangs without a watchdog; minutes later somebody cancels it."""
    scene = Scene(rng, topology, attempt)
    cause = rng.choice(CAUSES)(scene, onset)
    at = scene.later(onset, *HUNG_S)
    hit = attempt.nodes if cause.scope == "filesystem" else None
    return by_cancel(
        scene,
        "cancel_after_hang",
        cause.category,
        cause.scope,
        cause.origin,
        t0=onset,
        at=at,
        outcome="hung",
        affected=hit,
    )


@mechanism("walltime_after_hang", phase="limit", min_nodes=2)
def walltime_after_hang(rng: Random, topology: Topology, attempt: Attempt, onset: datetime) -> Incident:
    """A job hangs without a watchdog until its time is up."""
    scene = Scene(rng, topology, attempt)
    began = after(attempt.train_at, (onset - attempt.train_at).total_seconds() * rng.uniform(0.3, 0.6))
    cause = rng.choice(CAUSES)(scene, began)
    hit = attempt.nodes if cause.scope == "filesystem" else None
    return by_limit(
        scene,
        "walltime_after_hang",
        cause.category,
        cause.scope,
        cause.origin,
        t0=began,
        limit=onset,
        outcome="hung",
        affected=hit,
    )
