"""Places attempts on the day and the nodes, strikes them with their mechanisms, and gathers the world."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time
from random import Random
from typing import TypeVar

from firstfault.jobs.fleet.allocation import Calendar
from firstfault.jobs.fleet.mechanisms import MECHANISMS, Mechanism
from firstfault.jobs.fleet.model import (
    Attempt,
    Incident,
    Node,
    Occurrence,
    Rank,
    Span,
    Style,
    Topology,
    Truth,
    after,
    stream,
)
from firstfault.jobs.fleet.profile import AttemptsProfile, Profile, ProfileError
from firstfault.jobs.fleet.workload import healthy_timeline, healthy_truth

FIRST_JOB = 84301
ARRIVALS_H = (0.4, 20.5)
REPAIR_S = 3 * 3600.0
T = TypeVar("T")
NAMES = ("lm-7b", "lm-13b", "moe-8x7b", "vit-ddp", "sft-chat", "dpo-13b", "vlm-3b", "asr-large", "embed-1b")


@dataclass(frozen=True, slots=True)
class Job:
    """One job: the fates of its attempts (None is a healthy one), and what its attempts share."""

    job_id: str
    arrival: datetime
    fates: tuple[Mechanism | None, ...]
    size: int


def plan_jobs(profile: Profile, midnight: datetime) -> list[Job]:
    """The jobs of the day in order of arrival.

    Args:
        profile: The mix.
        midnight: When the day begins.

    Returns:
        Jobs; the requeued ones have a second, healthy attempt taken from the healthy count.

    Raises:
        ProfileError: When there are fewer healthy attempts or failures than requeues.
    """
    mix, rng = profile.attempts, stream(profile.seed, "jobs")
    struck = [MECHANISMS[name] for name, count in sorted(mix.mechanisms.items()) for _ in range(count)]
    willing = [m for m in struck if m.requeues]
    if mix.requeued > min(len(willing), mix.healthy):
        raise ProfileError(f"attempts.requeued: {mix.requeued} needs as many healthy attempts and requeued mechanisms")
    again = set(rng.sample(range(len(willing)), mix.requeued))
    fates: list[tuple[Mechanism | None, ...]] = [(m,) for m in struck if not m.requeues]
    fates += [(m, None) if i in again else (m,) for i, m in enumerate(willing)]
    fates += [(None,)] * (mix.healthy - mix.requeued)
    rng.shuffle(fates)
    low, high = ARRIVALS_H
    hours = sorted(rng.uniform(low, high) for _ in fates)
    return [
        Job(str(FIRST_JOB + i), after(midnight, hour * 3600.0), fate, _size(rng, mix, fate, profile))
        for i, (hour, fate) in enumerate(zip(hours, fates, strict=True))
    ]


def _size(rng: Random, mix: AttemptsProfile, fates: tuple[Mechanism | None, ...], profile: Profile) -> int:
    least = max((m.min_nodes for m in fates if m), default=1)
    most = profile.topology.racks * profile.topology.nodes_per_rack
    sizes = {n: w for n, w in sorted(mix.sizes.items()) if least <= n <= most} or {least: 1.0}
    return rng.choices(list(sizes), list(sizes.values()))[0]


@dataclass(frozen=True, slots=True)
class Day:
    """Everything that happened, with real ends, and when which node was silent."""

    attempts: tuple[Attempt, ...]
    occurrences: tuple[Occurrence, ...]
    truths: tuple[Truth, ...]
    silences: tuple[tuple[str, Span], ...]


def rehearse(profile: Profile, topology: Topology) -> Day:
    """Runs the day of a profile.

    Args:
        profile: The mix.
        topology: The cluster.

    Returns:
        The day.
    """
    midnight = datetime.combine(profile.day, time(), UTC)
    calendar = Calendar(topology, midnight)
    attempts: list[Attempt] = []
    lines: list[Occurrence] = []
    truths: list[Truth] = []
    silences: list[tuple[str, Span]] = []
    for job in plan_jobs(profile, midnight):
        submit = job.arrival
        for number, fate in enumerate(job.fates):
            planned = _attempt(profile, topology, calendar, job, number=number, submit=submit, fate=fate)
            attempt, said, truth, silent = _live(profile, topology, planned, fate)
            blocked = {o.split("/")[0] for o in truth.origin} & set(attempt.nodes)
            calendar.hold(attempt.nodes, after(attempt.end, 60.0))
            calendar.hold(sorted(blocked), after(attempt.end, REPAIR_S))
            silences += silent
            said += _repaired(said, after(attempt.end, REPAIR_S - 60.0))
            attempts.append(attempt)
            lines += said
            truths.append(truth)
            submit = after(attempt.end, 3.0)
            if attempt.requeued and attempt.state == "FAILED":
                lines.append(_requeue(attempt, submit))
    return Day(tuple(attempts), tuple(lines), tuple(truths), tuple(silences))


def _repaired(lines: Sequence[Occurrence], t: datetime) -> list[Occurrence]:
    """Gauges that an incident set at its origin go back to normal when the hardware is replaced."""
    places = {
        (o.kind.removeprefix("set."), o.node, o.device)
        for o in lines
        if o.role == "origin" and o.kind.startswith("set.")
    }
    return [
        Occurrence(t, f"clear.{name}", "context", node=node, device=device, attrs={"value": 0})
        for name, node, device in sorted(places, key=str)
    ]


def _requeue(attempt: Attempt, t: datetime) -> Occurrence:
    return Occurrence(t, "ctl.requeue", "context", job=attempt.key, attrs={"job": attempt.job_id})


def _live(
    profile: Profile, topology: Topology, planned: Attempt, fate: Mechanism | None
) -> tuple[Attempt, list[Occurrence], Truth, list[tuple[str, Span]]]:
    rng = stream(profile.seed, "life", *planned.key)
    if fate is None:
        return planned, healthy_timeline(rng, planned), healthy_truth(planned), []
    incident = fate.build(stream(profile.seed, "incident", *planned.key), topology, planned, _onset(rng, planned, fate))
    attempt = replace(
        planned,
        end=incident.end,
        state=incident.state,
        exit_code=incident.exit_code,
        step_state=incident.step_state,
        step_exit=incident.step_exit,
    )
    lines = [*healthy_timeline(rng, attempt, stalled=incident.stalled), *incident.occurrences]
    return (
        attempt,
        [o for o in lines if not _muted(o, incident)],
        incident.truth,
        sorted(incident.muted.items()),
    )


def _muted(line: Occurrence, incident: Incident) -> bool:
    span = incident.muted.get(line.node or "")
    return span is not None and span[0] < line.t < span[1]


def _onset(rng: Random, attempt: Attempt, fate: Mechanism) -> datetime:
    if fate.phase == "init":
        return after(attempt.start, rng.uniform(16.0, 20.0))
    if fate.phase == "limit":
        return after(attempt.start, float(attempt.time_limit_s))
    length = (attempt.end - attempt.train_at).total_seconds()
    return after(attempt.train_at, length * rng.uniform(0.4, 0.85))


def _attempt(
    profile: Profile,
    topology: Topology,
    calendar: Calendar,
    job: Job,
    *,
    number: int,
    submit: datetime,
    fate: Mechanism | None,
) -> Attempt:
    mix = profile.attempts
    shared, rng = stream(profile.seed, "job", job.job_id), stream(profile.seed, "attempt", job.job_id, number)
    name, uid = f"{shared.choice(NAMES)}-r{shared.randrange(1, 9)}", 5001 + shared.randrange(7)
    style, step_s = _style(shared, mix), round(shared.uniform(*mix.step_s), 3)
    timeout_s = shared.choice(mix.timeouts_s)
    nodes, ready = calendar.take(rng, job.size, after(submit, 41.0 if number == 0 else 122.0))
    start = ready.replace(microsecond=0)
    seconds = 60 * round(rng.uniform(*mix.minutes))
    return Attempt(
        cluster=topology.cluster,
        job_id=job.job_id,
        attempt=number,
        name=name,
        user=f"u{uid}",
        uid=uid,
        nodes=nodes,
        ranks=_ranks(rng, [topology.by_name[n] for n in nodes]),
        submit=submit.replace(microsecond=0),
        start=start,
        end=after(start, float(seconds)),
        time_limit_s=seconds if fate is not None and fate.phase == "limit" else 72000,
        step_s=step_s,
        log_every=max(1, round(mix.log_every_s / step_s)),
        timeout_s=timeout_s,
        style=style,
        requeued=number + 1 < len(job.fates),
        retried=number > 0,
    )


def _style(rng: Random, mix: AttemptsProfile) -> Style:
    return Style(_pick(rng, mix.layouts), _pick(rng, mix.steps), _pick(rng, mix.torch), _pick(rng, mix.nccl))


def _pick(rng: Random, weights: Mapping[T, float]) -> T:
    return rng.choices(list(weights), list(weights.values()))[0]


def _ranks(rng: Random, nodes: Sequence[Node]) -> tuple[Rank, ...]:
    ranks: list[Rank] = []
    for node in nodes:
        base = rng.randrange(4000, 4_000_000)
        for gpu in node.gpus:
            hca = node.hca_of(gpu.index)
            ranks.append(Rank(len(ranks), node.name, gpu.index, base + 37 * gpu.index, gpu.pci, hca.name))
    return tuple(ranks)
