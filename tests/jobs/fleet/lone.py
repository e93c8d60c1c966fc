"""Fleets of one mechanism, small enough to rehearse hundreds of them."""

from datetime import date
from functools import cache

from firstfault.jobs.fleet import Profile
from firstfault.jobs.fleet.generate import build_world
from firstfault.jobs.fleet.profile import AttemptsProfile, SamplingProfile, TopologyProfile
from firstfault.jobs.fleet.world import World
from firstfault.jobs.fleet.writers import WRITERS, Sink


def lone(name: str, seed: int) -> Profile:
    attempts = AttemptsProfile(mechanisms={name: 1}, healthy=0, sizes={4: 1.0}, minutes=(15.0, 20.0))
    coarse = SamplingProfile(metrics_s=300, nvidia_smi_s=600, dumps_s=3600, switch_csv_s=21600, switch_dumps_s=43200)
    size = TopologyProfile(racks=2, gpus=4, hcas=2)
    return Profile(name=name, seed=seed, day=date(2026, 11, 7), attempts=attempts, topology=size, sampling=coarse)


@cache
def rehearsed(name: str, seed: int) -> World:
    return build_world(lone(name, seed))


@cache
def texts(name: str, seed: int) -> dict[str, str]:
    """All that is written in the day of one mechanism, by file."""
    world, sink = rehearsed(name, seed), Sink()
    for write in WRITERS:
        write(world, sink)
    return {path: "\n".join(sink.lines(path)) for path in sink.paths()}
