"""Logs of the jobs: a file a rank or one labelled file for all; the launcher's lines in the job's output."""

from firstfault.jobs.fleet.model import Attempt, Occurrence
from firstfault.jobs.fleet.world import World
from firstfault.jobs.fleet.writers import launcher, training
from firstfault.jobs.fleet.writers.sink import Sink


def write(world: World, sink: Sink) -> None:
    """Writes what ranks and launchers print."""
    attempts = {a.key: a for a in world.attempts}
    for line in world.occurrences:
        if line.job is None or line.kind.startswith(("ctl.", "fr.")):
            continue
        attempt = attempts[line.job]
        if line.rank is not None:
            _rank_line(world, sink, attempt, line)
        else:
            _launcher_line(world, sink, attempt, line)


def folder(attempt: Attempt) -> str:
    """The folder of an attempt inside the landing zone."""
    return f"jobs/{attempt.job_id}" + (f"/attempt-{attempt.attempt}" if attempt.requeued or attempt.retried else "")


def output(attempt: Attempt) -> str:
    """The job's own output file."""
    return f"{folder(attempt)}/slurm-{attempt.job_id}.out"


def label(text: str, task: int, tasks: int) -> str:
    """Puts the task number before every physical line, as `srun -l` does."""
    width = len(str(max(tasks - 1, 0)))
    return "\n".join(f"{task:{width}d}: {part}" for part in text.split("\n"))


def _rank_line(world: World, sink: Sink, attempt: Attempt, line: Occurrence) -> None:
    rank = attempt.ranks[line.rank or 0]
    node = world.topology.by_name[rank.node]
    text = training.text(attempt, rank, node, line, world.written(line))
    if attempt.style.layout == "ranks":
        sink.add(f"{folder(attempt)}/{rank.node}/rank-{rank.rank}.worker.log", line.t, text)
    else:
        sink.add(output(attempt), line.t, label(text, rank.rank, len(attempt.ranks)))


def _launcher_line(world: World, sink: Sink, attempt: Attempt, line: Occurrence) -> None:
    text = launcher.text(attempt, line, world.written(line))
    if line.kind.startswith("agent."):
        text = label(text, attempt.nodes.index(line.node or ""), len(attempt.nodes))
    sink.add(output(attempt), line.t, text)
