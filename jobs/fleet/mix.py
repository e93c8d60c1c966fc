"""Draws the counts of a fleet from the shares of its mix."""

from collections import Counter
from math import ceil
from random import Random

from firstfault.jobs.fleet.asks import MixProfile
from firstfault.jobs.fleet.mechanisms import MECHANISMS
from firstfault.jobs.fleet.model import stream
from firstfault.jobs.fleet.profile import Profile, ProfileError

UNKNOWN = "no_evidence"
LEMON_JOBS = 3
COINCIDES = frozenset(
    {
        "gpu_ecc_contained",
        "gpu_ecc_storm",
        "gpu_ecc_uncorrectable",
        "gpu_gsp_timeout",
        "gpu_off_bus",
        "gpu_pcie_fatal",
        "nic_firmware",
        "nic_link_down",
        "nvlink_error",
        "optics_event",
        "thermal_off_bus",
    }
)
"""Faults of one device that may strike beside another."""
RETURNS = COINCIDES | {"gpu_missing", "gpu_row_remap_failed", "nvme_dead", "nvswitch_fatal", "soft_lockup"}
"""Faults of hardware that comes back unmended and fails again."""
USABLE_H = 20.0
REPAIR_H = 3.0
LAUNCH_H = 0.1


def draw(profile: Profile) -> Profile:
    """A profile with counts in the place of its mix.

    Args:
        profile: A profile; without a mix it is returned as it is.

    Returns:
        The same with as many attempts as the mix asks for, drawn with the profile's seed. Faults of more nodes than
        there are do not happen.

    Raises:
        ProfileError: When the mix cannot be drawn or does not fit into the days.
    """
    mix = profile.mix
    if mix is None:
        return profile
    _fits(profile, mix)
    rng = stream(profile.seed, "mix")
    healthy = sum(rng.random() < mix.healthy for _ in range(mix.attempts))
    failures = mix.attempts - healthy
    unknown = sum(rng.random() < mix.unknown for _ in range(failures))
    weights = {name: w for name, w in mix.weights.items() if MECHANISMS[name].min_nodes <= profile.topology.count}
    pairs = _pairs(rng, mix, weights, failures - unknown) if mix.pairs or profile.topology.count > 1 else ()
    counts = _weighted(rng, weights, failures - unknown - len(pairs))
    lemons = _lemons(rng, mix, counts)
    requeued = min(healthy, round(mix.requeued * sum(n for name, n in counts.items() if _may_run_again(name))))
    counts[UNKNOWN] += unknown
    named = {name: n for name, n in sorted(counts.items()) if n}
    drawn = {"mechanisms": named, "healthy": healthy, "requeued": requeued, "lemons": lemons, "pairs": pairs}
    return profile.model_copy(update={"mix": None, "attempts": profile.attempts.model_copy(update=drawn)})


def days_needed(profile: Profile, mix: MixProfile, load: float) -> int:
    """Days in which a mix fits at a load of the nodes.

    Args:
        profile: Nodes, sizes and lengths of jobs.
        mix: The mix.
        load: Share of the nodes' time that jobs and repairs may take.

    Returns:
        At least 1.
    """
    attempts, nodes = profile.attempts, profile.topology.count
    sizes = {n: w for n, w in attempts.sizes.items() if n <= nodes} or {1: 1.0}
    size = sum(n * w for n, w in sizes.items()) / sum(sizes.values())
    length_h = sum(attempts.minutes) / 2 / 60 + LAUNCH_H
    busy_h = mix.attempts * (size * length_h + (1 - mix.healthy) * REPAIR_H)
    return max(1, ceil(busy_h / (nodes * USABLE_H * load)))


def _fits(profile: Profile, mix: MixProfile) -> None:
    least = days_needed(profile, mix, 1.0)
    if least > profile.days:
        raise ProfileError(
            f"{mix.attempts} attempts do not fit into {profile.days} days of {profile.topology.count} nodes; "
            f"ask for {days_needed(profile, mix, 0.6)} days, more nodes or fewer attempts"
        )


def _weighted(rng: Random, weights: dict[str, float], attempts: int) -> Counter[str]:
    """Counts by mechanism; one that takes several jobs to show counts as one and takes as many attempts."""
    counts: Counter[str] = Counter()
    while attempts > 0:
        open_now = {name: w for name, w in sorted(weights.items()) if MECHANISMS[name].times <= attempts}
        if not open_now:
            raise ProfileError("mix.weights: no mechanism strikes a single attempt; name one that does")
        name = rng.choices(list(open_now), list(open_now.values()))[0]
        counts[name] += 1
        attempts -= MECHANISMS[name].times
    return counts


def _pairs(rng: Random, mix: MixProfile, weights: dict[str, float], failures: int) -> tuple[tuple[str, str], ...]:
    wanted = sum(rng.random() < mix.pair_share for _ in range(failures)) if mix.pairs is None else mix.pairs
    coincide = {name: w for name, w in sorted(weights.items()) if name in COINCIDES}
    if wanted and (wanted > failures or not coincide):
        raise ProfileError(
            f"mix.pairs: {wanted} pairs need as many failures, of which there are {failures}, and weights of faults "
            f"that coincide: {', '.join(sorted(COINCIDES))}"
        )
    one = [rng.choices(list(coincide), list(coincide.values()), k=2) for _ in range(wanted)]
    return tuple((first, second) for first, second in one)


def _lemons(rng: Random, mix: MixProfile, counts: Counter[str]) -> tuple[tuple[str, ...], ...]:
    """Takes failures of hardware from the counts and gives them to nodes that fail again and again."""
    pool = [name for name, n in sorted(counts.items()) if name in RETURNS for _ in range(n)]
    wanted = round(mix.lemon_share * len(pool) / LEMON_JOBS) if mix.lemons is None else mix.lemons
    jobs = min(LEMON_JOBS, len(pool) // wanted) if wanted else 0
    if wanted and jobs < 2:
        raise ProfileError(
            f"mix.lemons: {wanted} nodes that fail again need two failures of hardware each and the draw has "
            f"{len(pool)}; ask for fewer, or for more attempts"
        )
    chosen = rng.sample(pool, wanted * jobs)
    counts.subtract(chosen)
    return tuple(tuple(chosen[i * jobs : (i + 1) * jobs]) for i in range(wanted))


def _may_run_again(name: str) -> bool:
    return MECHANISMS[name].requeues and MECHANISMS[name].times == 1
