"""Counts drawn from shares: within sampling error of them, and exactly as many as asked for."""

from collections import Counter
from math import sqrt

import pytest

from firstfault.jobs.fleet import ProfileError, load_profile
from firstfault.jobs.fleet.asks import MixProfile
from firstfault.jobs.fleet.days import worlds
from firstfault.jobs.fleet.knobs import chosen_profile, shares_of
from firstfault.jobs.fleet.mechanisms import MECHANISMS
from firstfault.jobs.fleet.mix import draw
from firstfault.jobs.fleet.profile import Profile, TopologyProfile, profile_names
from tests.jobs.fleet.small import small

SHARED = ("pretrain", "research", "operations")
SIGMAS = 4.5


def struck(profile: Profile) -> Counter[str]:
    """Attempts by mechanism, those of lemons and pairs among them."""
    asked = profile.attempts
    counts = Counter({name: n * MECHANISMS[name].times for name, n in asked.mechanisms.items()})
    counts.update(name for series in asked.lemons for name in series)
    counts.update(name for pair in asked.pairs for name in pair[:1])
    return counts


@pytest.mark.parametrize("name", SHARED)
def test_shares_are_met_within_sampling_error(name: str) -> None:
    profile = chosen_profile(name, seed=11, attempts=4000, pairs=0)
    mix = profile.mix
    assert mix is not None
    drawn = draw(profile)
    counts, healthy = struck(drawn), drawn.attempts.healthy
    assert counts.total() + healthy == 4000
    assert abs(healthy - 4000 * mix.healthy) < SIGMAS * sqrt(4000 * mix.healthy)
    failures = 4000 - healthy
    assert abs(counts["no_evidence"] - failures * mix.unknown) < SIGMAS * sqrt(failures * mix.unknown)
    known = failures - counts["no_evidence"]
    picks = {name: w * MECHANISMS[name].times for name, w in mix.weights.items()}
    for mechanism, weight in picks.items():
        wanted = known * weight / sum(picks.values())
        assert abs(counts[mechanism] - wanted) < SIGMAS * sqrt(wanted * MECHANISMS[mechanism].times) + 1, mechanism


def test_unknown_and_healthy_are_knobs() -> None:
    none = draw(chosen_profile("pretrain", attempts=200, unknown=0.0, healthy=0.0))
    assert none.attempts.healthy == 0
    assert struck(none)["no_evidence"] == 0
    every = draw(chosen_profile("pretrain", attempts=200, unknown=1.0, healthy=0.5))
    assert set(every.attempts.mechanisms) == {"no_evidence"}


def test_lemons_are_taken_from_the_failures_and_fail_on_one_node_each() -> None:
    profile = draw(chosen_profile("operations", seed=2, attempts=90, lemons=4, pairs=0))
    assert [len(series) for series in profile.attempts.lemons] == [3] * 4
    assert struck(profile).total() + profile.attempts.healthy == 90
    *_, last = worlds(profile)
    names = {name for series in profile.attempts.lemons for name in series}
    hit = Counter(o.split("/")[0] for t in last.truths if t.mechanism in names for o in t.origin)
    assert sum(n >= 3 for n in hit.values()) >= 4
    assert draw(chosen_profile("operations", attempts=90, lemons=0)).attempts.lemons == ()


def test_pairs_are_two_true_faults_of_one_attempt() -> None:
    profile = draw(chosen_profile("pretrain", seed=2, attempts=30, healthy=0.0, unknown=0.0, pairs=3))
    *_, last = worlds(profile)
    assert len(last.truths) == 30
    assert sum(bool(t.also) for t in last.truths) == 3


@pytest.mark.parametrize(
    ("knobs", "says"),
    [
        ({"attempts": 20, "healthy": 1.0, "pairs": 3}, "mix.pairs: 3 pairs"),
        ({"attempts": 20, "healthy": 1.0, "lemons": 2}, "mix.lemons: 2 nodes"),
        ({"attempts": 4000, "days": 1}, "4000 attempts do not fit into 1 days of 64 nodes; ask for"),
    ],
)
def test_what_cannot_be_drawn_says_why(knobs: dict[str, float], says: str) -> None:
    with pytest.raises(ProfileError, match=says):
        draw(chosen_profile("pretrain", **knobs))


def test_faults_of_more_nodes_than_there_are_do_not_happen() -> None:
    drawn = draw(chosen_profile("operations", attempts=60, nodes=4, pairs=0))
    assert drawn.attempts.mechanisms
    assert all(MECHANISMS[name].min_nodes <= 4 for name in struck(drawn))
    *_, last = worlds(drawn)
    assert len(last.truths) == 60
    with pytest.raises(ProfileError, match="power_domain_down needs an attempt of 8 nodes and the cluster has 4"):
        list(worlds(chosen_profile("wide", nodes=4)))


def test_a_lemon_may_be_the_odd_node_at_the_end() -> None:
    size = TopologyProfile(racks=1, nodes_per_rack=3, gpus=2, hcas=2)
    for seed in range(6):
        mix = MixProfile(weights={"gpu_off_bus": 1.0}, attempts=3, healthy=0.0, lemons=1)
        *_, last = worlds(draw(small(seed=seed, topology=size, mix=mix)))
        assert len({t.origin[0].split("/")[0] for t in last.truths}) == 1


def test_days_follow_from_the_attempts() -> None:
    assert chosen_profile("demo").days == 1
    assert chosen_profile("demo", attempts=200).days > 1
    assert chosen_profile("demo", attempts=200, nodes=400).days == 1
    assert chosen_profile("operations", attempts=10).days == 7


def test_counts_become_shares_of_about_the_same_counts() -> None:
    wide = load_profile("wide")
    mix = shares_of(wide)
    assert set(mix.weights) == set(MECHANISMS) - {"no_evidence"}
    assert mix.attempts == 12 + 6 + 3 + 2 * len(MECHANISMS)


def test_a_profile_with_counts_is_not_drawn() -> None:
    demo = load_profile("demo")
    assert draw(demo) is demo


def test_every_shipped_profile_loads_and_its_sizes_fit() -> None:
    assert set(profile_names()) == {"demo", "wide", *SHARED}
    for name in profile_names():
        profile = load_profile(name)
        assert max(profile.attempts.sizes) <= profile.topology.count
        assert draw(profile).mix is None


def test_the_same_seed_draws_the_same_and_another_one_does_not() -> None:
    assert draw(small()) == draw(small())
    assert draw(small()).attempts != draw(small(seed=4)).attempts
