"""Storage: a full file system, a Lustre target that evicts its clients, an NFS server that stalls."""

from datetime import datetime
from random import Random

from firstfault.jobs.fleet.cascade import Deaths, raises, watchdog
from firstfault.jobs.fleet.mechanisms.registry import mechanism
from firstfault.jobs.fleet.model import Attempt, Topology, after
from firstfault.jobs.fleet.scene import Scene
from firstfault.jobs.fleet.teardown import tear_down
from firstfault.jobs.fleet.truth import Incident

SCRATCH, DATA = "/scratch", "/data"
NFS_SERVER = "10.20.0.9"
TARGET, NID = "scr-OST0005", "10.20.1.15@o2ib"


@mechanism("storage_full")
def storage_full(rng: Random, topology: Topology, attempt: Attempt, onset: datetime) -> Incident:
    """The file system of the checkpoints is full: ranks of several nodes fail to write at the same step."""
    scene = Scene(rng, topology, attempt)
    step = attempt.step_at(onset)
    folder = f"{SCRATCH}/ckpt/{attempt.name}/iter_{step:07d}"
    scene.app(after(onset, -1.0), "app.ckpt_begin", "context", attempt.ranks[0], step=step, path=folder)
    writers = [r for r in attempt.ranks if rng.random() < 0.6] or [attempt.ranks[0]]
    deaths: Deaths = {}
    for rank in writers:
        error = f"OSError: [Errno 28] No space left on device: '{folder}/rank{rank.rank}.pt'"
        deaths |= raises(scene, scene.later(onset, 0.0, 1.5), rank, error, role="origin", frame="save")
    end = tear_down(scene, deaths)
    return scene.close("storage_full", "storage", "filesystem", [SCRATCH], t0=onset, end=end, affected=attempt.nodes)


@mechanism("lustre_evicted")
def lustre_evicted(rng: Random, topology: Topology, attempt: Attempt, onset: datetime) -> Incident:
    """A Lustre target is lost to all nodes of the job, then evicts some of them: their writes fail."""
    scene = Scene(rng, topology, attempt)
    for name in attempt.nodes:
        mount = f"ffff{rng.getrandbits(48):012x}"
        said = {"target": TARGET, "nid": NID, "mount": mount}
        lost = scene.later(onset, 0.0, 2.0)
        scene.host(lost, "kern.lustre_lost", "origin", name, **said)
        evicted = after(onset, 40.0 + rng.uniform(0.0, 4.0))
        scene.host(evicted, "kern.lustre_evicted", "origin", name, **said)
        scene.host(after(evicted, 0.4), "kern.lustre_restored", "context", name, **said)
    deaths: Deaths = {}
    folder = f"{SCRATCH}/ckpt/{attempt.name}"
    for rank in (r for r in attempt.ranks if r.local < 2):
        error = f"OSError: [Errno 5] Input/output error: '{folder}/rank{rank.rank}.pt'"
        deaths |= raises(scene, after(onset, 45.0 + rng.uniform(0.0, 3.0)), rank, error, role="cascade", frame="save")
    end = tear_down(scene, deaths)
    return scene.close("lustre_evicted", "storage", "filesystem", [SCRATCH], t0=onset, end=end, affected=attempt.nodes)


@mechanism("nfs_stall")
def nfs_stall(rng: Random, topology: Topology, attempt: Attempt, onset: datetime) -> Incident:
    """The NFS server of the data stops to answer; loaders hang, the ranks that wait for them time out."""
    scene = Scene(rng, topology, attempt)
    for name in attempt.nodes:
        scene.host(scene.later(onset, 0.0, 4.0), "kern.nfs_stall", "origin", name, server=NFS_SERVER)
    if attempt.timeout_s > 130:
        for rank in attempt.ranks[::8]:
            t = after(onset, 123.0 + rng.uniform(0.0, 4.0))
            scene.host(t, "kern.hung_task", "cascade", rank.node, comm="pt_data_worker", pid=rank.pid + 40, secs=122)
    stuck = {attempt.ranks[-1], rng.choice(attempt.ranks)}
    deaths = watchdog(scene, scene.others(*stuck), scene.later(onset, 5.0, 9.0))
    end = tear_down(scene, deaths)
    for name in attempt.nodes:
        scene.host(after(end, 240.0 + rng.uniform(0.0, 3.0)), "kern.nfs_ok", "context", name, server=NFS_SERVER)
    return scene.close(
        "nfs_stall",
        "storage",
        "filesystem",
        [DATA],
        t0=onset,
        end=end,
        outcome="hung",
        affected=attempt.nodes,
    )
