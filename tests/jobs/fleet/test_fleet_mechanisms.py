"""Each mechanism by itself: the origin comes first, the truth is well formed, every kind has a writer."""

import pytest

from firstfault.jobs.fleet.generate import build_world
from firstfault.jobs.fleet.mechanisms import MECHANISMS
from firstfault.jobs.fleet.mechanisms.registry import mechanism
from firstfault.jobs.fleet.model import Attempt, Occurrence
from firstfault.jobs.fleet.truth import Incident, Truth
from firstfault.jobs.fleet.world import World
from tests.jobs.fleet.lone import lone, rehearsed, texts

SILENT = {
    "no_evidence",
    "collective_mismatch",
    "silent_rank",
}  # their origin prints nothing that differs from the others
SEEDS = (1, 2, 3)
OUTCOMES = {"failed", "timeout", "hung", "node_unavailable", "preempted", "cancelled", "out_of_memory", "degraded"}
SCOPES = {"gpu", "node", "port", "rank", "rack", "power_domain", "filesystem", "scheduler", "job", None}
CATEGORIES = {
    "gpu_hardware",
    "nvlink_fabric",
    "power_cooling",
    "network_link",
    "network_config",
    "storage",
    "host_memory",
    "host_hardware",
    "driver_software",
    "scheduler",
    "preemption",
    "walltime",
    "user_code",
    "data_pipeline",
    "unknown",
}


def struck(world: World) -> tuple[Attempt, Truth, list[Occurrence]]:
    lines = [o for o in world.occurrences if o.role in {"origin", "cascade", "teardown", "verdict"}]
    return world.attempts[0], world.truths[0], lines


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", sorted(set(MECHANISMS) - SILENT))
def test_the_origin_speaks_before_all_that_follows(name: str, seed: int) -> None:
    _, truth, lines = struck(rehearsed(name, seed))
    first = min(o.t for o in lines if o.role == "origin")
    others = [o.t for o in lines if o.role != "origin"]
    assert all(first < t for t in others)
    assert truth.t0 is not None
    assert all(truth.t0 <= t for t in others)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", sorted(MECHANISMS))
def test_the_truth_is_well_formed(name: str, seed: int) -> None:
    attempt, truth, lines = struck(rehearsed(name, seed))
    assert truth.mechanism == name
    assert (truth.outcome, truth.category, truth.origin_scope) in {
        (o, c, s) for o in OUTCOMES for c in CATEGORIES for s in SCOPES
    }
    assert truth.t0 is not None
    assert truth.t0 < attempt.end
    assert set(truth.affected_nodes) <= set(attempt.nodes)
    assert attempt.state != "COMPLETED"
    assert max(o.t for o in lines) >= truth.t0
    for origin in truth.origin:
        assert_origin(rehearsed(name, seed), attempt, truth.origin_scope, origin)


def assert_origin(world: World, attempt: Attempt, scope: str | None, origin: str) -> None:
    place, _, rest = origin.partition("/")
    uplinks = {h.uplink for n in attempt.nodes for h in world.topology.by_name[n].hcas}
    match scope:
        case "gpu":
            assert place in attempt.nodes
            assert rest in {g.pci for g in world.topology.by_name[place].gpus}
        case "node":
            assert origin in attempt.nodes
        case "port":
            assert origin in uplinks or rest in {h.local for h in world.topology.by_name[place].hcas}
        case "rank":
            assert 0 <= int(origin.removeprefix("rank-")) < len(attempt.ranks)
        case "filesystem":
            assert origin.startswith("/") or "://" in origin
        case "power_domain":
            assert origin in {world.topology.by_name[n].power_domain for n in attempt.nodes}
        case _:
            pytest.fail(f"{scope} has an origin: {origin}")


@pytest.mark.parametrize("name", sorted(MECHANISMS))
def test_every_kind_has_a_writer(name: str) -> None:
    """A kind that no writer knows is a KeyError, so writing is the test."""
    assert "leaf-r01" in texts(name, 1)["topology.csv"]
    assert len(rehearsed(name, 1).attempts) == MECHANISMS[name].times


@pytest.mark.parametrize("name", sorted(set(MECHANISMS) - SILENT))
def test_a_seed_gives_variety_and_the_same_again(name: str) -> None:
    assert build_world(lone(name, 1)).occurrences == rehearsed(name, 1).occurrences
    assert build_world(lone(name, 1)).truths == rehearsed(name, 1).truths
    assert rehearsed(name, 1).truths != rehearsed(name, 2).truths


@pytest.mark.parametrize("name", ["node_down", "kernel_panic", "mce_reboot", "power_supply_lost"])
def test_a_dead_node_is_silent(name: str) -> None:
    world = rehearsed(name, 1)
    node, (dead, back) = world.silences[0]
    assert world.truths[0].origin == (node,)
    said = [o for o in world.occurrences if o.node == node and dead < o.t < back]
    assert all(o.kind == "sel.event" for o in said)  # a board controller has a supply of its own


def test_no_step_is_reported_after_training_stops() -> None:
    world = rehearsed("gpu_off_bus", 1)
    t0 = world.truths[0].t0
    assert t0 is not None
    assert all(o.t <= t0 for o in world.occurrences if o.kind == "app.step")


def test_watchdogs_say_how_long_they_waited() -> None:
    world = rehearsed("nfs_stall", 1)
    attempt, truth, lines = struck(world)
    waits = [o for o in lines if o.kind == "torch.timeout"]
    assert waits
    assert truth.t0 is not None
    for line in waits:
        assert line.attrs["timeout_ms"] == attempt.timeout_s * 1000
        begun = line.t.timestamp() - float(line.attrs["ran_ms"] or 0) / 1e3
        assert 0 <= begun - truth.t0.timestamp() < 10


def test_a_name_is_registered_once() -> None:
    def again(*_: object) -> Incident:
        pytest.fail("a second one of a name is never called")

    with pytest.raises(ValueError, match="twice"):
        mechanism("gpu_off_bus")(again)
