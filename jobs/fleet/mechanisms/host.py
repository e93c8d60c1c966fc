"""Hosts: memory exhausted, a node that goes silent, a machine check that ends in a panic."""

from datetime import datetime
from random import Random

from firstfault.jobs.fleet.cascade import Deaths, raises
from firstfault.jobs.fleet.mechanisms.registry import mechanism
from firstfault.jobs.fleet.model import Attempt, Attrs, Topology, after
from firstfault.jobs.fleet.scene import Scene
from firstfault.jobs.fleet.teardown import nodes_fail, tear_down
from firstfault.jobs.fleet.truth import Incident

REBOOT_S = 380.0
REPAIR_S = 3 * 3600.0


@mechanism("host_oom")
def host_oom(rng: Random, topology: Topology, attempt: Attempt, onset: datetime) -> Incident:
    """The job's memory limit is hit on one node: the kernel kills a loader, its rank raises."""
    scene = Scene(rng, topology, attempt)
    rank = scene.pick_rank()
    worker = rank.pid + 31
    memcg = f"/slurm/uid_{attempt.uid}/job_{attempt.job_id}"
    said: Attrs = {
        "pid": worker,
        "uid": attempt.uid,
        "memcg": memcg,
        "task": f"{memcg}/step_0/task_{rank.local}",
        "rss": rng.randrange(60_000_000, 99_000_000),
        "comm": "pt_data_worker",
    }
    for i, kind in enumerate(("kern.oom_invoked", "kern.oom_kill", "kern.oom_killed", "kern.oom_reaped")):
        scene.host(after(onset, 0.02 * i), kind, "origin", rank.node, **said)
    error = f"RuntimeError: DataLoader worker (pid {worker}) is killed by signal: Killed. "
    deaths: Deaths = raises(scene, scene.later(onset, 0.4, 1.5), rank, error, role="cascade", frame="_try_get_data")
    scene.launcher(scene.later(onset, 1.6, 2.0), "step.oom", "verdict", rank.node)
    end = tear_down(scene, deaths)
    return scene.close(
        "host_oom",
        "host_memory",
        "node",
        [rank.node],
        t0=onset,
        end=end,
        outcome="out_of_memory",
        state="OUT_OF_MEMORY",
        exit_code="0:125",
        step=("OUT_OF_MEMORY", "0:125"),
    )


@mechanism("node_down", min_nodes=2, requeues=True)
def node_down(rng: Random, topology: Topology, attempt: Attempt, onset: datetime) -> Incident:
    """A node goes silent; the controller finds out minutes later; the cancel line names the step leader."""
    scene = Scene(rng, topology, attempt)
    node = scene.pick_node(not_leader=True).name
    end = nodes_fail(scene, [node], onset, role="origin")
    return scene.close(
        "node_down",
        "host_hardware",
        "node",
        [node],
        t0=onset,
        end=end,
        outcome="node_unavailable",
        state="NODE_FAIL",
        step=("CANCELLED", "0:15"),
        muted={node: (onset, after(end, REPAIR_S))},
    )


@mechanism("kernel_panic", min_nodes=2, requeues=True)
def kernel_panic(rng: Random, topology: Topology, attempt: Attempt, onset: datetime) -> Incident:
    """A machine check ends in a panic; the node reboots and the job fails with it."""
    scene = Scene(rng, topology, attempt)
    node = scene.pick_node(not_leader=True, keeps_log=True).name
    said: Attrs = {"cpu": rng.randrange(96), "bank": 7, "status": f"{rng.getrandbits(64) | 1 << 63:016x}"}
    scene.host(onset, "kern.mce", "origin", node, **said)
    scene.host(after(onset, 0.01), "kern.panic", "origin", node)
    muted = (after(onset, 0.05), after(onset, REBOOT_S - 1.0))
    end = nodes_fail(scene, [node], onset, role="verdict")
    booted = after(onset, REBOOT_S)
    scene.host(booted, "kern.boot", "context", node)
    scene.ctl(
        after(end, 60.0),
        "ctl.rebooted",
        "context",
        node=node,
        boot=int(booted.timestamp()),
        last=int(onset.timestamp()) - 20,
    )
    return scene.close(
        "kernel_panic",
        "host_hardware",
        "node",
        [node],
        t0=onset,
        end=end,
        state="NODE_FAIL",
        outcome="node_unavailable",
        step=("CANCELLED", "0:15"),
        muted={node: muted},
    )
