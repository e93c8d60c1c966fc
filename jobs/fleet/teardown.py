"""How an attempt is ended: the launcher after a death or the scheduler itself, and the Xid 45 both leave."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from firstfault.jobs.fleet.hostlist import compress
from firstfault.jobs.fleet.model import Rank, Role, after
from firstfault.jobs.fleet.scene import Scene

TERM = -15
SLURMD_TIMEOUT_S = 300.0
NODE_FAILURE = "DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS"
Deaths = Mapping[int, tuple[datetime, int]]


def tear_down(
    scene: Scene,
    deaths: Deaths,
    *,
    silent: Iterable[str] = (),
    lost_gpus: Iterable[str] = (),
    why: str = "DUE TO TASK FAILURE",
) -> datetime:
    """The launcher notices a death and kills the rest; the driver writes Xid 45 wherever a process dies.

    Args:
        scene: The incident.
        deaths: Ranks that died by themselves: when, with which exit code.
        silent: Nodes that write nothing any more.
        lost_gpus: GPUs (`node/pci`) that are gone and write no Xid 45.
        why: Words of the step's cancel line.

    Returns:
        When the scheduler ends the attempt.
    """
    first = min(t for t, _ in deaths.values())
    kill = scene.later(first, 1.2, 2.8)
    scene.lines = [o for o in scene.lines if o.rank is None or o.t <= after(kill, 0.5)]
    real = {rank: death for rank, death in deaths.items() if death[0] <= after(kill, 1.0)}
    alive = [node for node in scene.attempt.nodes if node not in set(silent)]
    if scene.attempt.style.layout == "ranks":
        for node in alive:
            _agent(scene, node, real, kill)
    else:
        _tasks(scene, alive, real, kill)
    cancel_step(scene, kill, why)
    _channels_removed(scene, alive, real, kill, set(lost_gpus))
    end = scene.later(kill, 4.0, 15.0)
    finished(scene, end, status=1)
    return end


def finished(scene: Scene, end: datetime, *, status: int) -> None:
    """The controller records the end of the attempt."""
    scene.ctl(end, "ctl.exit", "verdict", status=status)
    scene.ctl(after(end, 0.002), "ctl.done", "verdict")


def cancel_step(scene: Scene, kill: datetime, why: str) -> None:
    """The step is cancelled; the line names the node where its leader runs."""
    leader = scene.attempt.nodes[0]
    scene.launcher(after(kill, -0.03), "srun.aborted", "teardown", leader)
    scene.launcher(kill, "step.cancel", "teardown", leader, what="STEP", step=".0", why=why)


def killed_by_scheduler(scene: Scene, kill: datetime, why: str, *, whole_job: bool = True) -> datetime:
    """The scheduler itself ends a job in progress: cancel lines, SIGTERM, Xid 45.

    Args:
        scene: The incident.
        kill: When it signals.
        why: Words of the cancel line.
        whole_job: Whether the JOB line is written beside the STEP line.

    Returns:
        When the attempt ends.
    """
    leader = scene.attempt.nodes[0]
    cancel_step(scene, kill, why)
    if whole_job:
        scene.launcher(after(kill, 0.004), "step.cancel", "teardown", leader, what="JOB", step="", why=why)
    if scene.attempt.style.layout == "ranks":
        for node in scene.attempt.nodes:
            _agent(scene, node, {}, kill)
    _channels_removed(scene, scene.attempt.nodes, {}, kill, set())
    return scene.later(kill, 2.0, 12.0)


def _agent(scene: Scene, node: str, deaths: Deaths, kill: datetime) -> None:
    ranks = scene.attempt.ranks_of(node)
    died = sorted(((deaths[r.rank][0], r) for r in ranks if r.rank in deaths), key=lambda d: (d[0], d[1].rank))
    died_ids = {r.rank for _, r in died}
    if died:
        seen, culprit = scene.later(died[0][0], 0.05, 0.4), died[0][1]
        code = deaths[culprit.rank][1]
        _sigterm(scene, seen, [r for r in ranks if r.rank not in died_ids], role="cascade")
        scene.launcher(
            after(seen, 0.05),
            "agent.failed",
            "cascade",
            node,
            code=code,
            local=culprit.local,
            pid=culprit.pid,
        )
        scene.launcher(
            scene.later(seen, 0.3, 0.9),
            "agent.table",
            "cascade",
            node,
            rank=culprit.rank,
            local=culprit.local,
            pid=culprit.pid,
            code=code,
            died=died[0][0].isoformat(),
        )
        out = scene.later(seen, 1.0, 1.4)
    else:
        seen = scene.later(kill, 0.02, 0.3)
        scene.launcher(seen, "agent.signal", "teardown", node)
        _sigterm(scene, after(seen, 0.01), ranks, role="teardown")
        out = scene.later(seen, 0.4, 0.9)
    scene.launcher(out, "srun.exit", "teardown", node, task=scene.attempt.nodes.index(node), code=1)


def _sigterm(scene: Scene, t: datetime, ranks: Iterable[Rank], *, role: Role) -> None:
    for i, rank in enumerate(ranks):
        scene.launcher(after(t, 0.003 * i), "agent.sigterm", role, rank.node, pid=rank.pid)


def _tasks(scene: Scene, nodes: Iterable[str], deaths: Deaths, kill: datetime) -> None:
    for node in nodes:
        for rank in scene.attempt.ranks_of(node):
            t, code = deaths.get(rank.rank, (scene.later(kill, 0.1, 0.6), TERM))
            scene.launcher(scene.later(t, 0.05, 0.3), "srun.exit", "teardown", node, task=rank.rank, code=code)


def _channels_removed(
    scene: Scene,
    nodes: Iterable[str],
    deaths: Deaths,
    kill: datetime,
    gone: set[str],
) -> None:
    for node in nodes:
        for rank in scene.attempt.ranks_of(node):
            if f"{node}/{rank.device}" in gone:
                continue
            died = deaths[rank.rank][0] if rank.rank in deaths else kill
            t = scene.later(died, 0.05, 0.5)
            channel = f"Ch {scene.rng.randrange(1, 24):08x}"
            scene.xid(t, 45, "teardown", rank, channel, named=True)


def nodes_fail(scene: Scene, nodes: Sequence[str], onset: datetime, *, role: Role) -> datetime:
    """What the controller says of nodes that do not answer, and the end it makes of the job.

    Args:
        scene: The incident.
        nodes: Nodes of the attempt that are silent.
        onset: Since when.
        role: Role of the first line: the origin when nothing else is written of it.

    Returns:
        When the attempt ends.
    """
    names = compress(nodes)
    scene.ctl(scene.later(onset, 60.0, 100.0), "ctl.not_responding", role, node=names)
    down = scene.later(onset, SLURMD_TIMEOUT_S, SLURMD_TIMEOUT_S + 30.0)
    scene.ctl(down, "ctl.set_down", "verdict", node=names)
    fate = "ctl.requeue_on_failed" if scene.attempt.requeued else "ctl.kill_on_failed"
    scene.ctl(after(down, 0.003), fate, "verdict", node=nodes[0])
    leader = scene.attempt.nodes[0]
    if leader not in nodes:
        scene.launcher(after(down, 0.2), "srun.node_failure", "verdict", leader, failed=names)
        scene.launcher(after(down, 0.25), "srun.aborted", "teardown", leader)
        scene.launcher(after(down, 0.3), "step.cancel", "teardown", leader, what="STEP", step=".0", why=NODE_FAILURE)
    for name in (n for n in scene.attempt.nodes if n not in nodes):
        for rank in scene.attempt.ranks_of(name):
            channel = f"Ch {scene.rng.randrange(1, 24):08x}"
            scene.xid(scene.later(down, 0.4, 1.2), 45, "teardown", rank, channel, named=True)
    end = scene.later(down, 3.0, 9.0)
    finished(scene, end, status=1)
    return end
