"""What a fault does to the ranks whatever it was: exceptions, peers that lose a rank, watchdogs."""

from collections.abc import Iterable
from datetime import datetime

from firstfault.jobs.fleet.model import Attrs, Rank, Role, after
from firstfault.jobs.fleet.scene import Scene

ABORT = -6
Deaths = dict[int, tuple[datetime, int]]

_CUDA_TAIL = (
    "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below "
    "might be incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1\n"
    "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions."
)

_DIST_ERROR = (
    "torch.distributed.DistBackendError: NCCL error in: /opt/torch/csrc/distributed/c10d/NCCLUtils.hpp:317, "
    "{short}, NCCL version {nccl}\n{long}\nLast error:\n{last}"
)
NCCL_VERSIONS = {"2.18": "2.18.6", "2.26": "2.26.2"}


def raises(
    scene: Scene, t: datetime, rank: Rank, error: str, *, role: Role, frame: str, code: int = 1, early: bool = False
) -> Deaths:
    """A rank raises a Python exception and exits.

    Args:
        scene: The incident.
        t: When it raises.
        rank: Who raises.
        error: Final line or lines of the traceback.
        role: origin or cascade.
        frame: Function of the innermost user frame.
        code: Exit code of the process.
        early: Whether it raises before there is a process group, so that no rank is named.

    Returns:
        The death, for the launcher.
    """
    told: Attrs = {"early": 1} if early else {}
    scene.app(t, "py.traceback", role, rank, error=error, frame=frame, **told)
    return {rank.rank: (scene.later(t, 0.3, 1.2), code)}


def nccl_error(scene: Scene, last: str) -> str:
    """The exception text of a failed collective, with NCCL's last error."""
    return _DIST_ERROR.format(
        short="remote process exited or there was a network error",
        long=(
            "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely."
        ),
        nccl=NCCL_VERSIONS[scene.attempt.style.nccl],
        last=last,
    )


def peers_closed(scene: Scene, dead: Rank, at: datetime, *, share: float = 0.7) -> Deaths:
    """Ranks of other nodes that see their connection to a dead rank close.

    Args:
        scene: The incident.
        dead: The rank that is gone.
        at: When its process ended.
        share: Share of the ranks whose line is not lost in a buffer.

    Returns:
        Their deaths.
    """
    deaths: Deaths = {}
    port = scene.rng.randrange(33000, 60000)
    for rank in (r for r in scene.attempt.ranks if r.node != dead.node):
        if scene.rng.random() > share:
            continue
        t = scene.later(at, 0.01, 0.9)
        last = f"socketProgress: Connection closed by remote peer {dead.node}<{port}>"
        scene.app(t, "nccl.warn", "cascade", rank, src="misc/socket.cc:49", msg=last)
        deaths |= raises(scene, after(t, 0.02), rank, nccl_error(scene, last), role="cascade", frame="backward")
    return deaths


def watchdog(
    scene: Scene,
    waiters: Iterable[Rank],
    enqueued: datetime,
    *,
    op: str = "ALLREDUCE",
    numel: int = 4194304,
    seq: int | None = None,
) -> Deaths:
    """Ranks that wait for a collective until their watchdog ends them.

    Args:
        scene: The incident.
        waiters: Ranks that have joined the collective.
        enqueued: When they joined it.
        op: The collective.
        numel: Elements in it.
        seq: Its sequence number; by default that of the step in progress.

    Returns:
        Their deaths, by abort.
    """
    limit = scene.attempt.timeout_s
    number = scene.attempt.seq_at(enqueued) if seq is None else seq
    deaths: Deaths = {}
    for rank in waiters:
        begun = scene.later(enqueued, 0.0, 0.05)
        ran_ms = limit * 1000 + scene.rng.randrange(8, 960)
        t = after(begun, ran_ms / 1e3)
        said: Attrs = {
            "seq": number,
            "op": op,
            "numel": numel,
            "timeout_ms": limit * 1000,
            "ran_ms": ran_ms,
            "enqueued": number + scene.rng.randrange(0, 3),
            "completed": number - 1,
        }
        scene.app(t, "torch.timeout", "cascade", rank, **said)
        scene.app(after(t, 0.004), "torch.status", "cascade", rank, **said)
        scene.app(after(t, 0.6), "torch.abort", "cascade", rank, **said)
        deaths[rank.rank] = (after(t, 0.9 + scene.rng.random()), ABORT)
    return deaths


def cuda_error(text: str) -> str:
    """The exception text of a failed CUDA call."""
    return f"RuntimeError: CUDA error: {text}\n{_CUDA_TAIL}"


def cuda_aftermath(scene: Scene, t: datetime, rank: Rank, text: str, *, hang: bool) -> Deaths:
    """Either the rank hangs in its CUDA call and the peers time out, or it raises and they lose it.

    Args:
        scene: The incident.
        t: When its GPU failed.
        rank: Whose GPU it is.
        text: The CUDA error it would raise.
        hang: Whether it hangs instead.

    Returns:
        The deaths that follow.
    """
    if hang:
        return watchdog(scene, scene.others(rank), scene.later(t, 0.1, scene.attempt.step_s))
    raised = scene.later(t, 1.5, 6.0)
    deaths = raises(scene, raised, rank, cuda_error(text), role="cascade", frame="backward")
    return deaths | peers_closed(scene, rank, deaths[rank.rank][0])
