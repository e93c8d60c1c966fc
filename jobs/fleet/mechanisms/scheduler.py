"""Ends that the scheduler or an operator decides while the job is well: time limit, preemption, cancel."""

from datetime import datetime
from random import Random

from firstfault.jobs.fleet.mechanisms.registry import mechanism
from firstfault.jobs.fleet.model import Attempt, Topology, after
from firstfault.jobs.fleet.scene import Scene
from firstfault.jobs.fleet.teardown import killed_by_scheduler
from firstfault.jobs.fleet.truth import Incident


@mechanism("walltime", phase="limit")
def walltime(rng: Random, topology: Topology, attempt: Attempt, onset: datetime) -> Incident:
    """The time limit ends a job in healthy progress."""
    scene = Scene(rng, topology, attempt)
    scene.ctl(onset, "ctl.time_limit", "origin")
    end = killed_by_scheduler(scene, after(onset, 0.4), "DUE TO TIME LIMIT")
    return scene.close(
        "walltime",
        "walltime",
        "job",
        [],
        t0=onset,
        end=end,
        outcome="timeout",
        state="TIMEOUT",
        exit_code="0:0",
        step=("CANCELLED", "0:15"),
    )


@mechanism("preempted", requeues=True)
def preempted(rng: Random, topology: Topology, attempt: Attempt, onset: datetime) -> Incident:
    """A job of higher priority takes the nodes."""
    scene = Scene(rng, topology, attempt)
    other = str(int(attempt.job_id) + rng.randrange(20, 60))
    scene.ctl(onset, "ctl.preempted", "origin", by=other, fate="requeued" if attempt.requeued else "killed")
    end = killed_by_scheduler(scene, after(onset, 0.3), "DUE TO PREEMPTION")
    return scene.close(
        "preempted",
        "preemption",
        "job",
        [],
        t0=onset,
        end=end,
        outcome="preempted",
        state="PREEMPTED",
        exit_code="0:0",
        step=("CANCELLED", "0:15"),
    )


@mechanism("operator_cancel")
def operator_cancel(rng: Random, topology: Topology, attempt: Attempt, onset: datetime) -> Incident:
    """An operator cancels a job in healthy progress."""
    scene = Scene(rng, topology, attempt)
    scene.ctl(onset, "ctl.cancel", "origin", uid=0)
    end = killed_by_scheduler(scene, after(onset, 0.1), "DUE to SIGNAL Terminated", whole_job=False)
    return scene.close(
        "operator_cancel",
        "scheduler",
        "job",
        [],
        t0=onset,
        end=end,
        outcome="cancelled",
        state="CANCELLED by 0",
        exit_code="0:0",
        step=("CANCELLED by 0", "0:15"),
    )
