"""Clocks shift what a node writes by exactly their offset, and chrony's columns keep chrony's signs."""

import json
import re
from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from firstfault.jobs.fleet import load_profile
from firstfault.jobs.fleet.clocks import Clock
from firstfault.jobs.fleet.generate import build_world
from firstfault.jobs.fleet.world import World
from firstfault.jobs.fleet.writers import WRITERS, Sink, chrony
from firstfault.jobs.fleet.writers.said import monotonic_fraction

NOON = datetime(2026, 11, 7, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def world() -> World:
    return build_world(load_profile("demo"))


@pytest.fixture(scope="module")
def sink(world: World) -> Sink:
    sink = Sink()
    for write in WRITERS:
        write(world, sink)
    return sink


def test_an_offset_drifts_and_is_stepped() -> None:
    clock = Clock(2.0, 10.0, NOON, step_s=-2.0, step_at=NOON + timedelta(hours=1))
    assert clock.written(NOON) == NOON + timedelta(seconds=2)
    assert clock.offset(NOON + timedelta(seconds=100)) == pytest.approx(2.001)
    assert clock.offset(NOON + timedelta(hours=1)) == pytest.approx(0.036)


def test_the_mix_is_as_asked(world: World) -> None:
    kinds = [clock.kind for clock in world.clocks.values()]
    mix = world.profile.clocks
    assert kinds.count("seconds_off") == mix.seconds_off
    assert kinds.count("hours_off") == mix.hours_off
    assert kinds.count("stepped") == mix.stepped
    good = [abs(c.offset(NOON)) for c in world.clocks.values() if c.kind == "good"]
    assert max(good) < 0.05


def test_a_node_writes_its_lines_shifted_by_its_offset(world: World, sink: Sink) -> None:
    """Kernel lines of every node that keeps ISO stamps, to the microsecond."""
    checked = 0
    for node in (n for n in world.topology.nodes if n.kernel == "iso"):
        true = [o.t for o in world.of("kern") if o.node == node.name and o.kind != "kern.aer_corrected"]
        lines = [line for line in sink.lines(f"nodes/{node.name}/kern.log") if "AER" not in line]
        lines = [line for line in lines if "[10de:" not in line and "Bus Error" not in line and "[12]" not in line]
        clock = world.clock(node.name)
        assert [datetime.fromisoformat(line.split()[0]) for line in lines] == [
            t + timedelta(microseconds=round(clock.offset(t) * 1e6)) for t in true
        ]
        checked += clock.kind != "good"
    assert checked >= 1


def test_the_torch_fraction_is_uptime_not_wall_time(world: World) -> None:
    node = world.topology.nodes[0]
    fraction = monotonic_fraction(node, NOON) / 1e9
    assert fraction == pytest.approx((NOON - node.booted).total_seconds() % 1, abs=1e-5)
    later = monotonic_fraction(node, NOON + timedelta(seconds=7)) / 1e9
    assert later == pytest.approx(fraction, abs=1e-5)


@pytest.mark.parametrize("offset", [2.5, -2.5])
def test_chrony_says_plus_for_fast_in_offset_and_minus_in_remaining(offset: float) -> None:
    fields = chrony.row(Random(1), NOON, offset, 0.1).split()
    assert float(fields[6]) == pytest.approx(offset, abs=1e-3)
    assert float(fields[10]) == pytest.approx(-offset, abs=1e-3)
    assert len(fields) == 14


def test_dmesg_keeps_no_wall_clock(world: World, sink: Sink) -> None:
    nodes = [n.name for n in world.topology.nodes if n.kernel == "dmesg"]
    assert nodes
    stamps = [
        line
        for name in nodes
        for line in sink.lines(f"nodes/{name}/dmesg-{world.clock(name).written(world.close):%Y%m%dT%H%M%S}.txt")
    ]
    assert stamps
    assert all(re.match(r"\[ *\d+\.\d{6}\] ", line) for line in stamps)


def test_an_old_xid_stays_in_the_gauge(sink: Sink) -> None:
    answer = json.loads(sink.lines("metrics/DCGM_FI_DEV_XID_ERRORS.json")[0])
    first = {series["values"][0][1] for series in answer["data"]["result"] if series["values"]}
    assert first & {"13", "31", "43", "63", "94", "45"}
