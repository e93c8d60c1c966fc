"""Ends that mechanisms of several domains share: nodes lost, the time limit, an operator's cancel."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from firstfault.jobs.fleet.model import Role, after
from firstfault.jobs.fleet.scene import Scene
from firstfault.jobs.fleet.teardown import killed_by_scheduler, nodes_fail
from firstfault.jobs.fleet.truth import Incident

DARK_S = 3 * 3600.0
LOST = "node_unavailable"


def nodes_lost(
    scene: Scene,
    name: str,
    category: str,
    scope: str,
    origin: Sequence[str],
    *,
    nodes: Sequence[str],
    t0: datetime,
    gone: datetime,
    role: Role = "verdict",
    back: datetime | None = None,
    affected: Iterable[str] | None = None,
    acceptable: Sequence[str] = (),
) -> Incident:
    """Nodes fall silent, the controller finds out minutes later and ends the job.

    Args:
        scene: The incident.
        name: Mechanism.
        category: Root-cause category.
        scope: Origin scope.
        origin: Where it began.
        nodes: Nodes that are gone.
        t0: When it began.
        gone: When they fell silent.
        role: Role of the controller's first line.
        back: When they write again; hours later by default.
        affected: Nodes that suffered.
        acceptable: Other categories that the evidence allows.

    Returns:
        The incident.
    """
    end = nodes_fail(scene, nodes, gone, role=role)
    return scene.close(
        name,
        category,
        scope,
        origin,
        t0=t0,
        end=end,
        stalled=gone,
        outcome=LOST,
        state="NODE_FAIL",
        step=("CANCELLED", "0:15"),
        muted={node: (gone, back or after(end, DARK_S)) for node in nodes},
        affected=affected,
        acceptable=acceptable,
    )


def by_limit(
    scene: Scene,
    name: str,
    category: str,
    scope: str | None,
    origin: Sequence[str],
    *,
    t0: datetime,
    limit: datetime,
    outcome: str,
    affected: Iterable[str] | None = None,
    acceptable: Sequence[str] = (),
) -> Incident:
    """The time limit ends a job that hangs or is slow.

    Args:
        scene: The incident.
        name: Mechanism.
        category: Root-cause category.
        scope: Origin scope.
        origin: Where it began.
        t0: When it began.
        limit: When the time is up.
        outcome: hung or degraded.
        affected: Nodes that suffered.
        acceptable: Other categories that the evidence allows.

    Returns:
        The incident.
    """
    scene.ctl(limit, "ctl.time_limit", "verdict")
    end = killed_by_scheduler(scene, after(limit, 0.4), "DUE TO TIME LIMIT")
    return scene.close(
        name,
        category,
        scope,
        origin,
        t0=t0,
        end=end,
        outcome=outcome,
        state="TIMEOUT",
        exit_code="0:0",
        step=("CANCELLED", "0:15"),
        affected=affected,
        acceptable=acceptable,
    )


def by_cancel(
    scene: Scene,
    name: str,
    category: str,
    scope: str | None,
    origin: Sequence[str],
    *,
    t0: datetime,
    at: datetime,
    outcome: str,
    affected: Iterable[str] | None = None,
    acceptable: Sequence[str] = (),
) -> Incident:
    """The owner or an operator cancels a job that hangs or is slow.

    Args:
        scene: The incident.
        name: Mechanism.
        category: Root-cause category.
        scope: Origin scope.
        origin: Where it began.
        t0: When it began.
        at: When the cancel arrives.
        outcome: hung or degraded.
        affected: Nodes that suffered.
        acceptable: Other categories that the evidence allows.

    Returns:
        The incident.
    """
    uid = scene.rng.choice((0, scene.attempt.uid))
    scene.ctl(at, "ctl.cancel", "verdict", uid=uid)
    end = killed_by_scheduler(scene, after(at, 0.1), "DUE to SIGNAL Terminated", whole_job=False)
    who = f"CANCELLED by {uid}"
    return scene.close(
        name,
        category,
        scope,
        origin,
        t0=t0,
        end=end,
        outcome=outcome,
        state=who,
        exit_code="0:0",
        step=(who, "0:15"),
        affected=affected,
        acceptable=acceptable,
    )
