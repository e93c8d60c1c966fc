"""File systems as their clients see them: Spectrum Scale, BeeGFS, NFS handles, quotas."""

from datetime import datetime
from random import Random

from firstfault.jobs.fleet.cascade import Deaths, raises, watchdog
from firstfault.jobs.fleet.mechanisms.registry import mechanism
from firstfault.jobs.fleet.model import Attempt, Attrs, Role, Topology, after
from firstfault.jobs.fleet.scene import Scene
from firstfault.jobs.fleet.teardown import tear_down
from firstfault.jobs.fleet.truth import Incident

SCALE, BEEGFS, HOME = "/gpfs/scratch", "/beegfs", "/home"
BEEGFS_SERVER = "storage-3 @ 10.20.2.3:8003"


def _scale(scene: Scene, t: datetime, role: Role, node: str, level: str, text: str) -> None:
    """A line of the daemon, in its own log and, mostly, in the node's syslog."""
    said: Attrs = {"level": level, "text": text}
    scene.host(t, "mmfs.line", role, node, **said)
    if scene.rng.random() < 0.7:
        scene.host(after(t, 0.003), "sys.mmfs", role, node, **said)


@mechanism("gpfs_expelled")
def gpfs_expelled(rng: Random, topology: Topology, attempt: Attempt, onset: datetime) -> Incident:
    """Clients lose their disk lease and the cluster: the file system is unmounted under the ranks, or hangs."""
    scene = Scene(rng, topology, attempt)
    hang = rng.random() < 0.5
    for i, node in enumerate(attempt.nodes):
        t = onset if i == 0 else scene.later(onset, 0.0, 3.0)
        lease = "Disk lease period expired 0.030 seconds ago in cluster scratch.cl. Attempting to reacquire the lease."
        _scale(scene, t, "origin", node, "N", lease)
        if not hang:
            lost = "Lost membership in cluster scratch.cl. Unmounting file systems."
            _scale(scene, after(t, 30.0 + rng.uniform(0.0, 2.0)), "origin", node, "E", lost)
    deaths: Deaths = {}
    if hang:
        stuck = rng.sample(attempt.ranks, max(1, len(attempt.ranks) // 4))
        deaths = watchdog(scene, scene.others(*stuck), scene.later(onset, 1.0, 5.0))
    else:
        number, word = rng.choice(((116, "Stale file handle"), (5, "Input/output error")))
        for rank in rng.sample(attempt.ranks, max(1, len(attempt.ranks) // 2)):
            error = f"OSError: [Errno {number}] {word}: '{SCALE}/data/{attempt.name}/part-{rank.rank:05d}.bin'"
            t = after(onset, 34.0 + rng.uniform(0.0, 3.0))
            deaths |= raises(scene, t, rank, error, role="cascade", frame="read_block")
    end = tear_down(scene, deaths)
    outcome = "hung" if hang else "failed"
    origin = [SCALE]
    return scene.close(
        "gpfs_expelled", "storage", "filesystem", origin, t0=onset, end=end, outcome=outcome, affected=attempt.nodes
    )


@mechanism("beegfs_stall")
def beegfs_stall(rng: Random, topology: Topology, attempt: Attempt, onset: datetime) -> Incident:
    """A BeeGFS storage server stops to answer: clients retry, ranks that read hang, the others time out."""
    scene = Scene(rng, topology, attempt)
    for node in attempt.nodes:
        who = f"pt_data_worker({rng.randrange(4000, 60000)}) [Remoting (read file)]"
        t = scene.later(onset, 0.0, 4.0)
        role: Role = "origin"
        texts = [f"Receive timed out from {BEEGFS_SERVER}", f"Retrying communication with node: {BEEGFS_SERVER}"]
        texts += [f"Connect failed: {BEEGFS_SERVER}"] * rng.randrange(3)
        for i, text in enumerate(texts):
            scene.host(after(t, 2.5 * i), "kern.beegfs", role, node, who=who, text=text)
            role = "context"
    stuck = rng.sample(attempt.ranks, max(1, len(attempt.ranks) // 4))
    deaths = watchdog(scene, scene.others(*stuck), scene.later(onset, 5.0, 8.0))
    end = tear_down(scene, deaths)
    return scene.close(
        "beegfs_stall",
        "storage",
        "filesystem",
        [BEEGFS],
        t0=onset,
        end=end,
        outcome="hung",
        affected=attempt.nodes,
    )


@mechanism("nfs_stale")
def nfs_stale(rng: Random, topology: Topology, attempt: Attempt, onset: datetime) -> Incident:
    """An export is replaced under its clients: all handles on it are stale."""
    scene = Scene(rng, topology, attempt)
    deaths: Deaths = {}
    for rank in rng.sample(attempt.ranks, max(1, len(attempt.ranks) // 2)):
        path = f"/data/tokens/shard-{rng.randrange(2048):05d}.bin"
        error = f"OSError: [Errno 116] Stale file handle: '{path}'"
        if rng.random() < 0.4:
            error = (
                f"OSError: Caught OSError in DataLoader worker process {rng.randrange(4)}.\n"
                "Original Traceback (most recent call last):\n"
                '  File "/opt/app/data.py", line 131, in __getitem__\n    return self.read(index)\n' + error
            )
        deaths |= raises(scene, scene.later(onset, 0.0, 2.5), rank, error, role="origin", frame="_next_data")
    end = tear_down(scene, deaths)
    return scene.close("nfs_stale", "storage", "filesystem", ["/data"], t0=onset, end=end, affected=attempt.nodes)


@mechanism("quota_exceeded")
def quota_exceeded(rng: Random, topology: Topology, attempt: Attempt, onset: datetime) -> Incident:
    """The user's quota is used up: checkpoints, or logs, cannot be written any more."""
    scene = Scene(rng, topology, attempt)
    step = attempt.step_at(onset)
    mount = rng.choice((HOME, "/scratch"))
    folder = f"{mount}/{attempt.user}/ckpt/iter_{step:07d}"
    scene.app(after(onset, -1.0), "app.ckpt_begin", "context", attempt.ranks[0], step=step, path=folder)
    writers = [r for r in attempt.ranks if rng.random() < 0.6] or [attempt.ranks[0]]
    deaths: Deaths = {}
    for rank in writers:
        error = f"OSError: [Errno 122] Disk quota exceeded: '{folder}/rank{rank.rank}.pt'"
        deaths |= raises(scene, scene.later(onset, 0.0, 1.5), rank, error, role="origin", frame="save")
    end = tear_down(scene, deaths)
    return scene.close("quota_exceeded", "storage", "filesystem", [mount], t0=onset, end=end, affected=attempt.nodes)
