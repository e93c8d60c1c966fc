"""Which jobs a fleet has: the fate of each attempt, nodes bound to fail again, faults that strike together."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from random import Random

from firstfault.jobs.fleet.mechanisms import MECHANISMS, Mechanism
from firstfault.jobs.fleet.model import Topology, Weak, after, stream
from firstfault.jobs.fleet.profile import AttemptsProfile, Profile, ProfileError

FIRST_JOB = 84301
ARRIVALS_H = (0.4, 20.5)


@dataclass(frozen=True, slots=True)
class Fate:
    """What becomes of a job.

    Attributes:
        attempts: The mechanism of each attempt, None for a healthy one.
        weak: Hardware that is to fail in it.
        again: Whether that hardware fails once more in a later job, so that nobody replaces it in between.
        beside: A second, independent fault of its first attempt.
    """

    attempts: tuple[Mechanism | None, ...]
    weak: Weak | None = None
    again: bool = False
    beside: Mechanism | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """One job: its fate, and what its attempts share."""

    job_id: str
    arrival: datetime
    fate: Fate
    size: int


def plan_jobs(profile: Profile, topology: Topology, midnight: datetime) -> list[Job]:
    """The jobs of all days in order of arrival; their ids rise.

    Args:
        profile: The mix.
        topology: The cluster, for nodes that fail more than once.
        midnight: When the first day begins.

    Returns:
        Jobs; the requeued ones have a second, healthy attempt taken from the healthy count.

    Raises:
        ProfileError: When there are fewer healthy attempts or failures than requeues.
    """
    mix, rng = profile.attempts, stream(profile.seed, "jobs")
    fates = _lone(mix, rng)
    series = list(_series(profile, topology))
    fates += [fate for fates_of_one in series for fate in fates_of_one]
    fates += [Fate((MECHANISMS[first],), beside=MECHANISMS[second]) for first, second in mix.pairs]
    rng.shuffle(fates)
    low, high = ARRIVALS_H
    hours = sorted(_day(rng, profile.days) * 24.0 + rng.uniform(low, high) for _ in fates)
    ordered = _in_order(fates, series)
    return [
        Job(str(FIRST_JOB + i), after(midnight, hour * 3600.0), fate, _size(rng, mix, fate, profile))
        for i, (hour, fate) in enumerate(zip(hours, ordered, strict=True))
    ]


def _day(rng: Random, days: int) -> int:
    return rng.randrange(days) if days > 1 else 0


def _lone(mix: AttemptsProfile, rng: Random) -> list[Fate]:
    struck = [MECHANISMS[name] for name, count in sorted(mix.mechanisms.items()) for _ in range(count)]
    struck = [m for m in struck if m.times == 1]
    willing = [m for m in struck if m.requeues]
    if mix.requeued > min(len(willing), mix.healthy):
        raise ProfileError(f"attempts.requeued: {mix.requeued} needs as many healthy attempts and requeued mechanisms")
    again = set(rng.sample(range(len(willing)), mix.requeued))
    fates = [Fate((m,)) for m in struck if not m.requeues]
    fates += [Fate((m, None) if i in again else (m,)) for i, m in enumerate(willing)]
    return fates + [Fate((None,))] * (mix.healthy - mix.requeued)


def _series(profile: Profile, topology: Topology) -> Iterator[list[Fate]]:
    """Jobs that share hardware which fails in each: mechanisms that show only so, and the profile's lemons."""
    mix = profile.attempts
    repeated = [
        ([name] * MECHANISMS[name].times, "gpu")
        for name, count in sorted(mix.mechanisms.items())
        for _ in range(count)
        if MECHANISMS[name].times > 1
    ]
    for number, (names, what) in enumerate([*repeated, *((lemon, "node") for lemon in mix.lemons)]):
        rng = stream(profile.seed, "weak", number)
        node = rng.choice(topology.nodes)
        local = rng.randrange(len(node.gpus)) if what == "gpu" else None
        yield [
            Fate((MECHANISMS[name],), weak=Weak(node.name, local, earlier), again=earlier + 1 < len(names))
            for earlier, name in enumerate(names)
        ]


def _in_order(fates: list[Fate], series: list[list[Fate]]) -> list[Fate]:
    """Puts the jobs of each series, which the shuffle has mixed, back into their order."""
    ordered = list(fates)
    for members in series:
        places = sorted(i for i, fate in enumerate(fates) if any(fate is member for member in members))
        for place, member in zip(places, members, strict=True):
            ordered[place] = member
    return ordered


def _size(rng: Random, mix: AttemptsProfile, fate: Fate, profile: Profile) -> int:
    least = max((m.min_nodes for m in (*fate.attempts, fate.beside) if m), default=1)
    least = max(least, 2) if fate.beside else least
    most = profile.topology.count
    if least > most:
        names = " beside ".join(m.name for m in (*fate.attempts, fate.beside) if m)
        raise ProfileError(f"{names} needs an attempt of {least} nodes and the cluster has {most}; give it more nodes")
    sizes = {n: w for n, w in sorted(mix.sizes.items()) if least <= n <= most} or {least: 1.0}
    return rng.choices(list(sizes), list(sizes.values()))[0]
