"""Hosts that fail on their own: a machine check and a reboot, a locked CPU, a local disk, a rank the disk holds."""

from datetime import datetime
from random import Random

from firstfault.jobs.fleet.cascade import Deaths, raises, watchdog
from firstfault.jobs.fleet.endings import nodes_lost
from firstfault.jobs.fleet.mechanisms.registry import mechanism
from firstfault.jobs.fleet.model import Attempt, Attrs, Role, Topology, after
from firstfault.jobs.fleet.scene import COMM, Scene
from firstfault.jobs.fleet.teardown import tear_down
from firstfault.jobs.fleet.truth import Incident

REBOOT_S = 380.0
PATIENT_S = 30
LOCAL = "/local/nvme"


@mechanism("mce_reboot", min_nodes=2, requeues=True)
def mce_reboot(rng: Random, topology: Topology, attempt: Attempt, onset: datetime) -> Incident:
    """An uncorrectable memory error resets a node without a panic: a few lines, silence, the boot messages."""
    scene = Scene(rng, topology, attempt)
    node = scene.pick_node(not_leader=True, keeps_log=True).name
    status = f"{rng.getrandbits(56) | 0xBE << 56:016x}"
    scene.host(onset, "kern.mce", "origin", node, cpu=rng.randrange(96), bank=rng.choice((7, 13)), status=status)
    scene.host(after(onset, 0.001), "kern.mce_processor", "origin", node, epoch=int(onset.timestamp()))
    if rng.random() < 0.5:
        scene.host(after(onset, 0.004), "kern.edac_ue", "origin", node, page=f"0x{rng.getrandbits(24):x}")
    else:
        scene.host(after(onset, 0.004), "kern.cper", "origin", node, severity="fatal")
    gone, booted = after(onset, 0.05), after(onset, REBOOT_S)
    scene.host(booted, "kern.boot", "context", node)
    said: Attrs = {"node": node, "boot": int(booted.timestamp()), "last": int(onset.timestamp()) - 20}
    scene.ctl(after(booted, 70.0), "ctl.rebooted", "context", **said)
    return nodes_lost(
        scene,
        "mce_reboot",
        "host_hardware",
        "node",
        [node],
        nodes=[node],
        t0=onset,
        gone=gone,
        back=after(booted, -1.0),
    )


def _unkillable(scene: Scene, end: datetime, node: str) -> None:
    """A process that cannot be killed: the node is drained when the controller gives up waiting for it."""
    t = scene.later(end, 65.0, 120.0)
    scene.ctl(t, "ctl.drain", "context", node=node, reason="Kill task failed")
    scene.ctl(after(t, 0.001), "ctl.draining", "context", node=node)


@mechanism("soft_lockup", min_nodes=2)
def soft_lockup(rng: Random, topology: Topology, attempt: Attempt, onset: datetime) -> Incident:
    """CPUs of a node lock up: its ranks stand still and say nothing, the ranks of the others time out."""
    scene = Scene(rng, topology, attempt)
    node = scene.pick_node(not_leader=True).name
    ranks = attempt.ranks_of(node)
    cpu = rng.randrange(96)
    began = after(onset, -22.0)
    for i in range(min(10, 2 + attempt.timeout_s // 28)):
        secs = 22 + 28 * i
        rank = ranks[i % 2]
        role: Role = "origin" if i == 0 else "context"
        t = after(onset, 28.0 * i)
        scene.host(t, "kern.soft_lockup", role, node, cpu=cpu + i % 2, secs=secs, comm=COMM, pid=rank.pid)
        if i == 1:
            scene.host(after(t, 3.0), "kern.rcu_stall", "context", node)
    waiting = began if attempt.timeout_s > PATIENT_S else onset
    deaths = watchdog(scene, [r for r in attempt.ranks if r.node != node], waiting)
    end = tear_down(scene, deaths, silent=[node])
    _unkillable(scene, end, node)
    return scene.close(
        "soft_lockup",
        "host_hardware",
        "node",
        [node],
        t0=began,
        end=end,
        outcome="hung",
        acceptable=("driver_software",),
    )


@mechanism("nvme_dead")
def nvme_dead(rng: Random, topology: Topology, attempt: Attempt, onset: datetime) -> Incident:
    """The local NVMe of a node dies: its file system shuts down, ranks that cache or log there fail."""
    scene = Scene(rng, topology, attempt)
    node = scene.pick_node().name
    ctrl = rng.randrange(4)
    for i in range(rng.randrange(1, 5)):
        tag, qid = rng.randrange(1024), rng.randrange(1, 64)
        scene.host(after(onset, 0.05 * i), "kern.nvme_timeout", "origin", node, ctrl=ctrl, tag=tag, qid=qid)
    scene.host(after(onset, 30.2), "kern.nvme_reset", "origin", node, ctrl=ctrl, tag=rng.randrange(1024), qid=3)
    dead = after(onset, 31.0)
    scene.host(dead, "kern.nvme_down", "origin", node, ctrl=ctrl)
    scene.host(after(dead, 1.2), "kern.nvme_disabled", "origin", node, ctrl=ctrl)
    for i in range(rng.randrange(3, 12)):
        t = after(dead, 1.21 + 0.004 * i)
        scene.host(t, "kern.io_error", "cascade", node, ctrl=ctrl, sector=rng.randrange(1 << 28))
    scene.host(after(dead, 1.4), "kern.buffer_error", "cascade", node, ctrl=ctrl, block=rng.randrange(1 << 20))
    number, word = (5, "Input/output error")
    if rng.random() < 0.5:
        scene.host(after(dead, 1.5), "kern.xfs_shutdown", "cascade", node, ctrl=ctrl)
    else:
        scene.host(after(dead, 1.5), "kern.ext4_error", "cascade", node, ctrl=ctrl, inode=rng.randrange(1 << 20))
        scene.host(after(dead, 1.6), "kern.ext4_readonly", "cascade", node, ctrl=ctrl)
        number, word = (30, "Read-only file system")
    deaths: Deaths = {}
    for rank in rng.sample(attempt.ranks_of(node), max(1, len(attempt.ranks_of(node)) // 2)):
        error = f"OSError: [Errno {number}] {word}: '{LOCAL}/cache/{attempt.name}/rank{rank.rank}.idx'"
        t = scene.later(dead, 1.8, 6.0)
        deaths |= raises(scene, t, rank, error, role="cascade", frame="fetch")
    end = tear_down(scene, deaths)
    return scene.close("nvme_dead", "storage", "node", [node], t0=onset, end=end, stalled=dead)


@mechanism("rank_in_dstate", min_nodes=2)
def rank_in_dstate(rng: Random, topology: Topology, attempt: Attempt, onset: datetime) -> Incident:
    """One client loses a Lustre target: a rank hangs in a read that cannot be killed, the others wait for it."""
    scene = Scene(rng, topology, attempt)
    rank = scene.pick_rank()
    said: Attrs = {"target": "scr-OST0011", "nid": "10.20.1.21@o2ib", "mount": f"ffff{rng.getrandbits(48):012x}"}
    sent = int(onset.timestamp())
    expired = after(onset, 7.0)
    times: Attrs = {"sent": sent, "deadline": sent + 7, "job": attempt.job_id}
    scene.host(expired, "kern.lustre_rpc", "origin", rank.node, **said, **times)
    scene.host(after(expired, 0.001), "kern.lustre_lost", "origin", rank.node, **said)
    for i in range(min(3, attempt.timeout_s // 123)):
        t, secs = after(onset, 123.0 * (i + 1)), 122 * (i + 1)
        scene.host(t, "kern.hung_task", "cascade", rank.node, comm=COMM, pid=rank.pid, secs=secs)
    deaths = watchdog(scene, scene.others(rank), scene.later(onset, 0.5, 4.0))
    end = tear_down(scene, deaths)
    _unkillable(scene, end, rank.node)
    return scene.close("rank_in_dstate", "storage", "node", [rank.node], t0=onset, end=end, outcome="hung")
