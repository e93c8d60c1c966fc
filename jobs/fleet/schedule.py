"""Places attempts on days and nodes, lets them live, and gathers what happened."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, time
from random import Random
from typing import TypeVar

from firstfault.jobs.fleet.allocation import Calendar
from firstfault.jobs.fleet.mechanisms import Mechanism
from firstfault.jobs.fleet.model import Attempt, Node, Occurrence, Rank, Span, Style, Topology, after, stream
from firstfault.jobs.fleet.plan import Job, plan_jobs
from firstfault.jobs.fleet.profile import AttemptsProfile, Profile
from firstfault.jobs.fleet.strike import Life, live
from firstfault.jobs.fleet.truth import Truth

REPAIR_S = 3 * 3600.0
RETURN_S = 900.0
LINGERS_S = 3600.0
DAY_S = 86400.0
FAR = datetime.max.replace(tzinfo=UTC)
T = TypeVar("T")
NAMES = ("lm-7b", "lm-13b", "moe-8x7b", "vit-ddp", "sft-chat", "dpo-13b", "vlm-3b", "asr-large", "embed-1b")


@dataclass(frozen=True, slots=True)
class Day:
    """What happened on one day: attempts that touch it with real ends, and when which node was silent.

    The truths are those of all attempts so far.
    """

    attempts: tuple[Attempt, ...]
    occurrences: tuple[Occurrence, ...]
    truths: tuple[Truth, ...]
    silences: tuple[tuple[str, Span], ...]


def rehearse(profile: Profile, topology: Topology) -> Iterator[Day]:
    """Runs the days of a profile one after the other.

    Args:
        profile: The mix.
        topology: The cluster.

    Yields:
        The days; the last one holds what runs over its midnight.
    """
    midnight = datetime.combine(profile.day, time(), UTC)
    run = _Run(profile, topology, Calendar(topology, midnight))
    jobs = plan_jobs(profile, topology, midnight)
    for number in range(profile.days):
        end = after(midnight, (number + 1) * DAY_S) if number + 1 < profile.days else FAR
        while jobs and jobs[0].arrival < end:
            run.live(jobs.pop(0))
        yield run.cut(end)


@dataclass(slots=True)
class _Run:
    """Days in the making: what is not yet handed out of the attempts that lived so far."""

    profile: Profile
    topology: Topology
    calendar: Calendar
    attempts: list[Attempt] = field(default_factory=list)
    lines: list[Occurrence] = field(default_factory=list)
    truths: list[Truth] = field(default_factory=list)
    silences: list[tuple[str, Span]] = field(default_factory=list)

    def live(self, job: Job) -> None:
        """Lets the attempts of a job live one after the other."""
        submit = job.arrival
        for number, fate in enumerate(job.fate.attempts):
            planned = _attempt(self.profile, self.topology, self.calendar, job, number=number, submit=submit, fate=fate)
            life = live(self.profile.seed, self.topology, planned, job.fate)
            self._keep(life, RETURN_S if job.fate.again else REPAIR_S)
            submit = after(life.attempt.end, 3.0)
            if life.attempt.requeued and life.attempt.state == "FAILED":
                self.lines.append(_requeue(life.attempt, submit))

    def _keep(self, life: Life, repair_s: float) -> None:
        attempt = life.attempt
        broken = [*life.truth.origin, *(o for other in life.truth.also for o in other.origin)]
        blocked = {o.split("/")[0] for o in broken} & set(attempt.nodes)
        self.calendar.hold(attempt.nodes, after(attempt.end, 60.0))
        self.calendar.hold(sorted(blocked), after(attempt.end, repair_s))
        for name, span in life.silences:
            self.calendar.hold([name], span[1])
        self.silences += life.silences
        self.attempts.append(attempt)
        self.lines += life.lines
        self.lines += _repaired(life.lines, after(attempt.end, repair_s - 60.0))
        self.truths.append(life.truth)

    def cut(self, end: datetime) -> Day:
        """Hands out what happened before a true time and keeps the rest, and what is still under way."""
        attempts = tuple(a for a in self.attempts if a.start < end)
        day = Day(attempts, tuple(o for o in self.lines if o.t < end), tuple(self.truths), tuple(self.silences))
        self.lines = [o for o in self.lines if o.t >= end]
        self.attempts = [a for a in self.attempts if after(a.end, LINGERS_S) >= end]
        self.silences = [(name, span) for name, span in self.silences if span[1] >= end]
        return day


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
    weak = job.fate.weak
    wanted = after(submit, 41.0 if number == 0 else 122.0)
    nodes, ready = calendar.take(rng, job.size, wanted, holding=weak.node if weak else None)
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
        requeued=number + 1 < len(job.fate.attempts),
        retried=number > 0,
        weak=weak,
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
