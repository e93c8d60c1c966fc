"""Accounting rows: `sacct -P -D` with a header; a row an attempt, a row a step."""

from datetime import datetime

from firstfault.jobs.fleet.hostlist import compress
from firstfault.jobs.fleet.model import Attempt, after, stream
from firstfault.jobs.fleet.world import World
from firstfault.jobs.fleet.writers.sacct_json import document
from firstfault.jobs.fleet.writers.sink import Sink
from firstfault.jobs.fleet.writers.stamps import slurm

HEADER = (
    "Cluster|JobID|JobIDRaw|JobName|User|Account|Partition|State|ExitCode|DerivedExitCode|Submit|Start|End|ElapsedRaw|"
    "Timelimit|NNodes|AllocTRES|NodeList|Reason|Restarts"
)
CPUS = 96


def write(world: World, sink: Sink) -> None:
    """Writes one sacct export of the day, taken when it is over."""
    ended = sorted((a for a in world.attempts if world.holds(a.end)), key=lambda a: (a.submit, a.key))
    path = f"scheduler/sacct-{world.profile.day:%Y%m%d}"
    kinds = world.profile.accounting
    if stream(world.profile.seed, "accounting").choices(list(kinds), list(kinds.values()))[0] == "json":
        sink.add(f"{path}.json", world.close, document(ended))
        return
    path += ".txt"
    sink.add(path, world.close, HEADER)
    for attempt in ended:
        for row in rows(attempt):
            sink.add(path, world.close, row)


def rows(attempt: Attempt) -> list[str]:
    """The rows of one attempt: itself, its step, its batch script.

    Args:
        attempt: The attempt with its real end.

    Returns:
        Rows under `HEADER`.
    """
    batch = ("COMPLETED", "0:0") if attempt.state == "COMPLETED" else (attempt.step_state.split()[0], attempt.step_exit)
    worst = "0:0" if attempt.state == "COMPLETED" else attempt.step_exit
    codes = (attempt.state, attempt.exit_code, worst)
    return [
        _row(attempt, "", (attempt.name, attempt.user), codes, "None"),
        _row(attempt, ".batch", ("batch", ""), (*batch, ""), ""),
        _row(attempt, ".0", ("train.sh", ""), (attempt.step_state, attempt.step_exit, ""), ""),
    ]


def _row(attempt: Attempt, step: str, names: tuple[str, str], codes: tuple[str, str, str], reason: str) -> str:
    end = _second(attempt.end)
    count = len(attempt.nodes)
    cpus = CPUS * count
    tres = f"billing={cpus},cpu={cpus},gres/gpu={len(attempt.ranks)},node={count}"
    elapsed = int((end - attempt.start).total_seconds())
    job = f"{attempt.job_id}{step}"
    limit = "" if step else _limit(attempt.time_limit_s)
    fields = (
        attempt.cluster,
        job,
        job,
        *names,
        "research",
        "" if step else "train",
        *codes,
        slurm(attempt.submit),
        slurm(attempt.start),
        slurm(end),
        elapsed,
        limit,
        count,
        tres,
        compress(attempt.nodes),
        reason,
        attempt.attempt,
    )
    return "|".join(map(str, fields))


def _second(t: datetime) -> datetime:
    """Slurm keeps whole seconds."""
    return after(t, -t.microsecond / 1e6)


def _limit(seconds: int) -> str:
    return f"{seconds // 3600:02d}:{seconds % 3600 // 60:02d}:{seconds % 60:02d}"
