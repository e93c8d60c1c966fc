"""Memory of a host: shared memory that is full, a node that runs out altogether."""

from datetime import datetime
from random import Random

from firstfault.jobs.fleet.cascade import Deaths, peers_closed, raises
from firstfault.jobs.fleet.mechanisms.registry import mechanism
from firstfault.jobs.fleet.model import Attempt, Attrs, Topology, after
from firstfault.jobs.fleet.scene import COMM, Scene
from firstfault.jobs.fleet.teardown import tear_down
from firstfault.jobs.fleet.truth import Incident

KILL = -9
BUS_ERROR = (
    "is killed by signal: Bus error. It is possible that dataloader's workers are out of shared memory. Please try "
    "to raise your shared memory limit."
)


@mechanism("shm_full")
def shm_full(rng: Random, topology: Topology, attempt: Attempt, onset: datetime) -> Incident:
    """The shared memory of a node is full: its loaders die of a bus error, or NCCL cannot extend its segments."""
    scene = Scene(rng, topology, attempt)
    node = scene.pick_node().name
    ranks = attempt.ranks_of(node)
    deaths: Deaths = {}
    if rng.random() < 0.5:
        for rank in rng.sample(ranks, max(1, len(ranks) // 3)):
            error = f"RuntimeError: DataLoader worker (pid {rank.pid + 31}) {BUS_ERROR}"
            t = scene.later(onset, 0.0, 2.0)
            deaths |= raises(scene, t, rank, error, role="origin", frame="_try_get_data")
    else:
        for rank in rng.sample(ranks, max(1, len(ranks) // 2)):
            path = f"/dev/shm/nccl-{rng.getrandbits(30):06x}"  # noqa: S108 - what NCCL prints
            text = f"Error: failed to extend {path} to 33030532 bytes, error: No space left on device (28)"
            t = scene.later(onset, 0.0, 0.6)
            scene.app(t, "nccl.warn", "origin", rank, src="misc/shmutils.cc:72", msg=text)
            error = (
                "torch.distributed.DistBackendError: NCCL error in: "
                "/opt/torch/csrc/distributed/c10d/NCCLUtils.hpp:317, unhandled system error (run with "
                "NCCL_DEBUG=INFO for details)\nncclSystemError: System call (e.g. socket, malloc) or external "
                f"library call failed or device error. \nLast error:\n{text}"
            )
            deaths |= raises(scene, after(t, 0.7), rank, error, role="cascade", frame="new_group")
    end = tear_down(scene, deaths)
    return scene.close("shm_full", "host_memory", "node", [node], t0=onset, end=end)


@mechanism("node_oom")
def node_oom(rng: Random, topology: Topology, attempt: Attempt, onset: datetime) -> Incident:
    """A node runs out of memory, not the job's cgroup: the kernel kills a rank, peers lose it."""
    scene = Scene(rng, topology, attempt)
    rank = scene.pick_rank()
    task = f"/slurm/uid_{attempt.uid}/job_{attempt.job_id}/step_0/task_{rank.local}"
    rss = rng.randrange(160_000_000, 390_000_000)
    said: Attrs = {"pid": rank.pid, "uid": attempt.uid, "task": task, "rss": rss, "comm": COMM}
    asker = rng.choice((COMM, "nv-hostengine", "kworker/u192:3"))
    scene.host(onset, "kern.oom_invoked", "origin", rank.node, **{**said, "comm": asker})
    kinds = ("kern.oom_global", "kern.oom_killed_global", "kern.oom_reaped")
    for i, kind in enumerate(kinds, start=1):
        scene.host(after(onset, 0.03 * i), kind, "origin", rank.node, **said)
    deaths: Deaths = {rank.rank: (after(onset, 0.12), KILL)}
    deaths |= peers_closed(scene, rank, after(onset, 0.15))
    end = tear_down(scene, deaths)
    return scene.close("node_oom", "host_memory", "node", [rank.node], t0=onset, end=end, outcome="out_of_memory")
