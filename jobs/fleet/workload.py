"""The healthy timeline of an attempt: submit, start, communicators, steps, checkpoints, success, end."""

from collections.abc import Iterator
from datetime import datetime
from random import Random

from firstfault.jobs.fleet.hostlist import compress
from firstfault.jobs.fleet.model import Attempt, Attrs, Occurrence, Rank, Scalar, after
from firstfault.jobs.fleet.truth import Truth

CHECKPOINT_S = 480.0
CHECKPOINTS = "/scratch/ckpt"
TOTAL_STEPS = 500000


def healthy_truth(attempt: Attempt) -> Truth:
    """The truth of an attempt in which nothing went wrong."""
    return Truth(attempt.cluster, attempt.job_id, attempt.attempt, None, None, None, (), (), None, None)


def healthy_timeline(rng: Random, attempt: Attempt, *, stalled: datetime | None = None) -> list[Occurrence]:
    """What an attempt writes while it is well.

    Args:
        rng: Random stream of this attempt.
        attempt: The attempt with its final end.
        stalled: When training stops to progress; None for an attempt that ends well.

    Returns:
        Occurrences; the scheduler's end is among them only when the attempt ends well.
    """
    last = stalled or after(attempt.end, -12.0)
    lines = [*_launch(rng, attempt), *_steps(rng, attempt, last), *_checkpoints(rng, attempt, last)]
    if stalled is None:
        lines += _success(attempt, last)
    return [o for o in lines if stalled is None or o.t <= stalled or o.kind.startswith("ctl.")]


def log_steps(attempt: Attempt, last: datetime) -> Iterator[int]:
    """Numbers of the steps that are logged up to a true time."""
    step = attempt.log_every
    while after(attempt.train_at, step * attempt.step_s) <= last:
        yield step
        step += attempt.log_every


def _app(attempt: Attempt, t: datetime, kind: str, rank: Rank, **attrs: Scalar) -> Occurrence:
    return Occurrence(
        t, kind, "progress", node=rank.node, device=rank.device, rank=rank.rank, job=attempt.key, attrs=attrs
    )


def _launch(rng: Random, attempt: Attempt) -> Iterator[Occurrence]:
    said: Attrs = {"job": attempt.job_id}
    submit: Attrs = {**said, "uid": attempt.uid, "usec": rng.randrange(300, 1900)}
    allocate: Attrs = {**said, "nodes": compress(attempt.nodes), "cpus": 96 * len(attempt.nodes)}
    yield Occurrence(attempt.submit, "ctl.submit", "progress", job=attempt.key, attrs=submit)
    yield Occurrence(attempt.start, "ctl.allocate", "progress", job=attempt.key, attrs=allocate)
    comm_id = f"0x{rng.getrandbits(64):x}"
    for rank in attempt.ranks:
        yield _app(attempt, after(attempt.start, rng.uniform(8, 14)), "app.start", rank, world=len(attempt.ranks))
        done = after(attempt.init_at, rng.uniform(0.0, 0.2))
        if rank.rank == 0:
            yield _app(attempt, after(done, -6.0), "nccl.version", rank)
        yield _app(
            attempt,
            done,
            "nccl.init",
            rank,
            nranks=len(attempt.ranks),
            comm_id=comm_id,
            comm=f"0x{rng.getrandbits(40):x}",
            bus=rank.device.split(":", 1)[1].replace(":", "") + "0",
        )


def _steps(rng: Random, attempt: Attempt, last: datetime) -> Iterator[Occurrence]:
    for step in log_steps(attempt, last):
        common = after(attempt.train_at, step * attempt.step_s + rng.uniform(0.0, 0.05) * attempt.step_s)
        loss = 2.2 + 6.0 / (1.0 + step / 40.0) + rng.uniform(-0.02, 0.02)
        said: Attrs = {
            "step": step,
            "ms": attempt.step_s * 1e3 * rng.uniform(0.98, 1.03),
            "loss": loss,
            "norm": rng.uniform(0.3, 0.9),
            "total": TOTAL_STEPS,
        }
        for rank in attempt.speakers:
            yield _app(attempt, after(common, rng.uniform(0.0, 0.02)), "app.step", rank, **said)


def slow_steps(rng: Random, attempt: Attempt, since: datetime, until: datetime, factor: float) -> list[Occurrence]:
    """The steps of an attempt that goes on, but slower.

    Args:
        rng: Random stream.
        attempt: The attempt.
        since: When it became slow.
        until: When it is ended.
        factor: How many times longer a step takes.

    Returns:
        Step lines of the ranks that print them.
    """
    first, slow_s = attempt.step_at(since), attempt.step_s * factor
    lines: list[Occurrence] = []
    step = (first // attempt.log_every + 1) * attempt.log_every
    while (t := after(since, (step - first) * slow_s)) < until:
        said: Attrs = {
            "step": step,
            "ms": slow_s * 1e3 * rng.uniform(0.94, 1.08),
            "loss": 2.2 + 6.0 / (1.0 + step / 40.0) + rng.uniform(-0.02, 0.02),
            "norm": rng.uniform(0.3, 0.9),
            "total": TOTAL_STEPS,
        }
        lines += [
            _app(attempt, after(t, rng.uniform(0.0, 0.02)), "app.step", rank, **said) for rank in attempt.speakers
        ]
        step += attempt.log_every
    return lines


def _checkpoints(rng: Random, attempt: Attempt, last: datetime) -> Iterator[Occurrence]:
    begun = after(attempt.train_at, CHECKPOINT_S)
    while begun < last:
        step, took = attempt.step_at(begun), rng.uniform(2.0, 6.0)
        said: Attrs = {"step": step, "path": f"{CHECKPOINTS}/{attempt.name}", "took": round(took, 2)}
        yield _app(attempt, begun, "app.ckpt_begin", attempt.ranks[0], **said)
        yield _app(attempt, after(begun, took), "app.ckpt_end", attempt.ranks[0], **said)
        begun = after(begun, CHECKPOINT_S)


def _success(attempt: Attempt, last: datetime) -> Iterator[Occurrence]:
    for rank in attempt.ranks if attempt.style.steps == "step" else attempt.ranks[:1]:
        yield _app(attempt, after(last, 1.0 + 0.001 * rank.local), "app.done", rank, step=attempt.step_at(last))
    yield Occurrence(attempt.end, "ctl.exit", "progress", job=attempt.key, attrs={"job": attempt.job_id, "status": 0})
    done = after(attempt.end, 0.002)
    yield Occurrence(done, "ctl.done", "progress", job=attempt.key, attrs={"job": attempt.job_id})
