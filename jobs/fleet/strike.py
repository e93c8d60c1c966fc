"""Lets an attempt live: healthy to its end, or struck by one fault or by two at once."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from random import Random

from firstfault.jobs.fleet.mechanisms import Mechanism
from firstfault.jobs.fleet.model import Attempt, Occurrence, Span, Topology, Weak, after, stream
from firstfault.jobs.fleet.plan import Fate
from firstfault.jobs.fleet.truth import Also, Incident, Truth
from firstfault.jobs.fleet.workload import healthy_timeline, healthy_truth

TOGETHER_S = (-2.0, 2.0)
FATAL = ("py.traceback", "torch.abort")
ENDINGS = {"teardown", "verdict"}
LAUNCHERS = {"agent", "srun", "step"}


@dataclass(frozen=True, slots=True)
class Life:
    """An attempt as it really went."""

    attempt: Attempt
    lines: list[Occurrence]
    truth: Truth
    silences: list[tuple[str, Span]]


def live(seed: int, topology: Topology, planned: Attempt, fate: Fate) -> Life:
    """Runs one attempt.

    Args:
        seed: Seed of the profile.
        topology: The cluster.
        planned: The attempt as it would go if it were well.
        fate: The fate of its job.

    Returns:
        Its life.
    """
    rng = stream(seed, "life", *planned.key)
    struck = fate.attempts[planned.attempt]
    if struck is None:
        return Life(planned, healthy_timeline(rng, planned), healthy_truth(planned), [])
    onset = _onset(rng, planned, struck)
    incident = struck.build(stream(seed, "incident", *planned.key), topology, planned, onset)
    if fate.beside is not None and planned.attempt == 0:
        incident = _both(incident, fate.beside, stream(seed, "beside", *planned.key), topology, planned, onset)
    attempt = replace(
        planned,
        end=incident.end,
        state=incident.state,
        exit_code=incident.exit_code,
        step_state=incident.step_state,
        step_exit=incident.step_exit,
    )
    lines = [*healthy_timeline(rng, attempt, stalled=incident.stalled), *incident.occurrences]
    return Life(attempt, [o for o in lines if not _muted(o, incident)], incident.truth, sorted(incident.muted.items()))


def _muted(line: Occurrence, incident: Incident) -> bool:
    """A node that is silent writes nothing; its board controller has a supply and a clock of its own."""
    span = incident.muted.get(line.node or "")
    return span is not None and span[0] < line.t < span[1] and not line.kind.startswith("sel.")


def _onset(rng: Random, attempt: Attempt, fate: Mechanism) -> datetime:
    if fate.phase == "init":
        return after(attempt.start, rng.uniform(16.0, 20.0))
    if fate.phase == "limit":
        return after(attempt.start, float(attempt.time_limit_s))
    length = (attempt.end - attempt.train_at).total_seconds()
    return after(attempt.train_at, length * rng.uniform(0.4, 0.85))


def _both(
    one: Incident, second: Mechanism, rng: Random, topology: Topology, planned: Attempt, onset: datetime
) -> Incident:
    """Two faults on different nodes: the one that kills first is the cause, the other was there as well."""
    hit = {_node_of(origin, planned) for origin in one.truth.origin}
    free = [name for name in planned.nodes if name not in hit] or list(planned.nodes)
    weak = replace(planned, weak=Weak(rng.choice(free)))
    two = second.build(rng, topology, weak, after(onset, rng.uniform(*TOGETHER_S)))
    cause, other = sorted((one, two), key=_killed)
    kept = _survivors(cause, other)
    found = other.truth
    also = Also(found.category or "unknown", found.origin_scope, found.origin, found.t0)
    truth = replace(cause.truth, mechanism=f"{cause.truth.mechanism}+{found.mechanism}", also=(also,))
    return replace(
        cause,
        occurrences=(*cause.occurrences, *kept),
        truth=truth,
        stalled=min(cause.stalled, other.stalled),
        muted={**other.muted, **cause.muted},
    )


def _node_of(origin: str, attempt: Attempt) -> str:
    rank = origin.removeprefix("rank-")
    return attempt.ranks[int(rank)].node if rank != origin else origin.split("/", maxsplit=1)[0]


def _killed(incident: Incident) -> datetime:
    return min((o.t for o in incident.occurrences if o.kind == "step.cancel"), default=incident.end)


def _survivors(cause: Incident, other: Incident) -> Iterable[Occurrence]:
    """What the other fault still writes: hosts and gauges go on, ranks only until they are killed."""
    dead = {o.rank for o in cause.occurrences if o.kind in FATAL}
    last = after(_killed(cause), 0.5)
    for line in other.occurrences:
        if line.role in ENDINGS or line.kind.split(".")[0] in LAUNCHERS:
            continue
        lasts = line.t <= cause.end if line.rank is None else line.rank not in dead and line.t <= last
        if lasts:
            yield line
