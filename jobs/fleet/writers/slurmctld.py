"""The controller's log."""

from firstfault.jobs.fleet.world import World
from firstfault.jobs.fleet.writers.sink import Sink
from firstfault.jobs.fleet.writers.stamps import millis

CONTROLLER: dict[str, str] = {
    "ctl.submit": "_slurm_rpc_submit_batch_job: JobId={job} InitPrio=4294901759 usec={usec}",
    "ctl.allocate": "sched: Allocate JobId={job} NodeList={nodes} #CPUs={cpus} Partition=train",
    "ctl.exit": "_job_complete: JobId={job} WEXITSTATUS {status}",
    "ctl.done": "_job_complete: JobId={job} done",
    "ctl.not_responding": "error: Nodes {node} not responding",
    "ctl.set_down": "error: Nodes {node} not responding, setting DOWN",
    "ctl.kill_on_failed": "Killing JobId={job} on failed node {node}",
    "ctl.requeue_on_failed": "requeue job JobId={job} due to failure of node {node}",
    "ctl.rebooted": ("validate_node_specs: Node {node} unexpectedly rebooted boot_time={boot} last response={last}"),
    "ctl.requeue": "_slurm_rpc_requeue: Requeue of JobId={job} returned Success",
    "ctl.preempted": "preempted JobId={job} has been {fate} to reclaim resources for JobId={by}",
    "ctl.time_limit": "Time limit exhausted for JobId={job}",
    "ctl.cancel": "_slurm_rpc_kill_job: REQUEST_KILL_JOB JobId={job} uid {uid}",
    "ctl.drain": "update_node: node {node} reason set to: {reason}",
    "ctl.draining": "drain_nodes: node {node} state set to DRAIN",
    "ctl.returned": "node_did_resp: node {node} returned to service",
    "ctl.said": "{text}",
    "ctl.backfill": "sched/backfill: _attempt_backfill: completed testing {count}({count}) jobs, usec={usec}",
}


def write(world: World, sink: Sink) -> None:
    """Writes the controller's log of the day; the controller keeps true time and prints no zone."""
    for line in world.of("ctl"):
        text = CONTROLLER[line.kind].format_map(line.attrs)
        sink.add("scheduler/slurmctld.log", line.t, f"[{line.t:%Y-%m-%dT}{millis(line.t, '.')}] {text}")
