"""The days of a fleet as writers see them: one world a day, with what earlier days left in gauges and kernels."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from math import isnan

from firstfault.jobs.fleet.clocks import Clock, build_clocks
from firstfault.jobs.fleet.model import Occurrence, Topology, after
from firstfault.jobs.fleet.noise import day_noise
from firstfault.jobs.fleet.profile import Profile
from firstfault.jobs.fleet.schedule import Day, rehearse
from firstfault.jobs.fleet.signals import tracks
from firstfault.jobs.fleet.topology import build_topology
from firstfault.jobs.fleet.world import World

BEFORE_S = 3600.0


def worlds(profile: Profile) -> Iterator[World]:
    """Everything that happens on a profile's days, on true time and not yet written.

    Args:
        profile: The checked profile, with counts.

    Yields:
        A world a day. Topology and clocks are those of the first day and go on; gauges keep what they showed.
    """
    topology = build_topology(profile)
    clocks = build_clocks(profile, topology)
    left: list[Occurrence] = []
    for number, day in enumerate(rehearse(profile, topology)):
        world = _world(profile, topology, clocks, day, number=number, left=left)
        yield world
        if not world.last:
            left, topology = _left(world), _rebooted(topology, world)


def _world(
    profile: Profile,
    topology: Topology,
    clocks: Mapping[str, Clock],
    day: Day,
    *,
    number: int,
    left: list[Occurrence],
) -> World:
    today = profile.model_copy(update={"day": profile.day + timedelta(days=number)})
    last = number + 1 == profile.days
    world = World(today, topology, clocks, day.attempts, (), day.truths, day.silences, number, last)
    lines = [*left, *day.occurrences, *day_noise(profile.seed, profile.noise, topology, world.midnight, number)]
    lines += [_step(name, at, c) for name, c in clocks.items() if (at := c.step_at) is not None and world.holds(at)]
    lines = [o for o in lines if o.role != "noise" or o.node is None or not world.silent(o.node, o.t)]
    return replace(world, occurrences=tuple(sorted(lines, key=lambda o: (o.t, o.node or "", o.rank or 0, o.kind))))


def _step(node: str, at: datetime, clock: Clock) -> Occurrence:
    return Occurrence(at, "sys.clock_step", "noise", node=node, attrs={"step": clock.step_s})


def _left(world: World) -> list[Occurrence]:
    """What gauges and counters show at the end of a day, as something that happened before the next one."""
    before = after(world.end, -BEFORE_S)
    return [
        Occurrence(before, f"set.{name}", "context", node=node, device=place, attrs={"value": track.values[-1]})
        for name, found in sorted(tracks(world).items())
        for (node, place), track in found.items()
        if track.values and not isnan(track.values[-1])
    ]


def _rebooted(topology: Topology, world: World) -> Topology:
    booted = {o.node: o.t for o in world.of("kern") if o.kind == "kern.boot"}
    nodes = tuple(replace(node, booted=booted.get(node.name, node.booted)) for node in topology.nodes)
    return Topology(topology.cluster, nodes, {node.name: node for node in nodes})
