"""Launches that fail, and a controller that takes healthy nodes for dead."""

from datetime import datetime
from random import Random

from firstfault.jobs.fleet.mechanisms.registry import mechanism
from firstfault.jobs.fleet.model import Attempt, Topology, after
from firstfault.jobs.fleet.scene import Scene
from firstfault.jobs.fleet.teardown import cancel_step, finished, nodes_fail
from firstfault.jobs.fleet.truth import Incident

REGISTRY_ERRORS = (
    "[ERROR] URL https://registry.cl/v2/train/base/manifests/24.05 returned error code: 401 Unauthorized",
    "[ERROR] URL https://registry.cl/v2/train/base/manifests/24.05 returned error code: 404 Not Found",
    "[ERROR] Could not connect to registry.cl port 443 after 130021 ms: Connection timed out",
)
NO_SPACE = "[ERROR] /run/enroot/cache/layer.tar.zst: write error: No space left on device"
CREDENTIALS = ("Expired credential", "Invalid credential", "Rewound credential")


def _never_started(scene: Scene, t: datetime) -> datetime:
    kill = scene.later(t, 1.0, 3.0)
    cancel_step(scene, kill, "DUE TO TASK FAILURE")
    end = scene.later(kill, 2.0, 9.0)
    finished(scene, end, status=1)
    return end


@mechanism("image_pull_failed", phase="init")
def image_pull_failed(rng: Random, topology: Topology, attempt: Attempt, onset: datetime) -> Incident:
    """The container image cannot be imported: the registry refuses all nodes, or one has no space for it."""
    scene = Scene(rng, topology, attempt)
    full = rng.random() < 0.4
    nodes = [scene.pick_node().name] if full else list(attempt.nodes)
    for i, node in enumerate(nodes):
        text = (
            f"pyxis: child {rng.randrange(4000, 90000)} failed with error code: 1\n"
            "pyxis: failed to import docker image\n"
            "pyxis: printing enroot log file:\n"
            "pyxis:     [INFO] Querying registry for permission grant\n"
            f"pyxis:     {NO_SPACE if full else rng.choice(REGISTRY_ERRORS)}\n"
            "pyxis: couldn't start container\n"
            "spank: required plugin spank_pyxis.so: task_init() failed with rc=-1\n"
            "Failed to invoke spank plugin stack"
        )
        t = onset if i == 0 else scene.later(onset, 0.0, 0.8)
        scene.launcher(t, "step.said", "origin", node, text=text)
        task = attempt.nodes.index(node)
        scene.launcher(after(t, 0.9), "srun.exit", "cascade", node, task=task, code=1)
    end = _never_started(scene, after(onset, 1.0))
    scope, origin = ("node", nodes) if full else ("job", [])
    return scene.close(
        "image_pull_failed",
        "scheduler",
        scope,
        origin,
        t0=onset,
        end=end,
        stalled=attempt.start,
    )


@mechanism("prolog_failed", phase="init")
def prolog_failed(rng: Random, topology: Topology, attempt: Attempt, onset: datetime) -> Incident:
    """The prolog of one node fails: the controller gives the job up and drains the node."""
    scene = Scene(rng, topology, attempt)
    node = scene.pick_node().name
    text = f"error: [job {attempt.job_id}] prolog failed status=1:0"
    scene.host(onset, "slurmd.line", "origin", node, text=text)
    if rng.random() < 0.5:
        wait = f"error: Waiting for JobId={attempt.job_id} prolog has failed, giving up after 50 sec"
        scene.host(after(onset, 0.05), "slurmd.line", "origin", node, text=wait)
    said = f"error: slurmd error running JobId={attempt.job_id} on node(s)={node}: Prolog failed"
    scene.ctl(after(onset, 0.2), "ctl.said", "cascade", text=said)
    scene.ctl(after(onset, 0.21), "ctl.drain", "cascade", node=node, reason="Prolog error")
    scene.ctl(after(onset, 0.22), "ctl.draining", "cascade", node=node)
    end = scene.later(onset, 1.0, 4.0)
    finished(scene, end, status=1)
    return scene.close("prolog_failed", "scheduler", "node", [node], t0=onset, end=end, stalled=attempt.start)


@mechanism("controller_auth", min_nodes=2, requeues=True)
def controller_auth(rng: Random, topology: Topology, attempt: Attempt, onset: datetime) -> Incident:
    """The controller cannot verify credentials and takes a node for dead that trains on until it is stopped."""
    scene = Scene(rng, topology, attempt)
    node = scene.pick_node(not_leader=True).name
    why = rng.choice(CREDENTIALS)
    t = onset
    for _ in range(rng.randrange(6, 14)):
        peer = f"[[{node}]:{rng.randrange(33000, 60000)}]"
        message = "auth_g_verify: MESSAGE_NODE_REGISTRATION_STATUS has authentication error: Unspecified error"
        scene.ctl(t, "ctl.said", "origin", text=f"error: Munge decode failed: {why}")
        scene.ctl(after(t, 0.001), "ctl.said", "origin", text=f"error: slurm_unpack_received_msg: {peer} {message}")
        final = f"error: slurm_unpack_received_msg: {peer} Protocol authentication error"
        scene.ctl(after(t, 0.002), "ctl.said", "origin", text=final)
        t = scene.later(t, 8.0, 25.0)
    end = nodes_fail(scene, [node], onset, role="verdict")
    down = next(line.t for line in scene.lines if line.kind == "ctl.set_down")
    for rank in attempt.ranks_of(node)[:4]:
        other = next(name for name in attempt.nodes if name != node)
        text = f"socketProgress: Connection closed by remote peer {other}<{rng.randrange(33000, 60000)}>"
        t = scene.later(down, 0.6, 1.6)
        scene.app(t, "nccl.warn", "cascade", rank, src="misc/socket.cc:49", msg=text)
    scene.ctl(after(end, 200.0), "ctl.returned", "context", node=node)
    return scene.close(
        "controller_auth",
        "scheduler",
        "scheduler",
        [],
        t0=onset,
        end=end,
        outcome="node_unavailable",
        state="NODE_FAIL",
        step=("CANCELLED", "0:15"),
        stalled=down,
    )
