"""Power: a node's supplies, a whole power domain, a power brake that slows GPUs down."""

from collections import Counter
from datetime import datetime
from random import Random

from firstfault.jobs.fleet.endings import by_cancel, by_limit, nodes_lost
from firstfault.jobs.fleet.mechanisms.registry import mechanism
from firstfault.jobs.fleet.model import Attempt, Topology, after
from firstfault.jobs.fleet.scene import Scene
from firstfault.jobs.fleet.truth import Incident
from firstfault.jobs.fleet.workload import slow_steps

BRAKE = 0x88
BRAKE_FACTOR = 2.6


def _supply(scene: Scene, t: datetime, node: str, number: int, text: str) -> None:
    said = {"sensor": f"Power Supply PS{number} Status", "text": text, "state": "Asserted"}
    scene.host(t, "sel.event", "origin", node, **said)


@mechanism("power_supply_lost", min_nodes=2, requeues=True)
def power_supply_lost(rng: Random, topology: Topology, attempt: Attempt, onset: datetime) -> Incident:
    """A node's supplies fail one after the other and the node is gone; only its board controller says why."""
    scene = Scene(rng, topology, attempt)
    node = scene.pick_node(not_leader=True).name
    first = rng.randrange(1, 3)
    _supply(scene, onset, node, first, rng.choice(("Power Supply AC lost", "Failure detected")))
    gone = scene.later(onset, 2.0, 40.0)
    _supply(scene, after(gone, -0.5), node, 3 - first, "Power Supply AC lost")
    off = {"sensor": "Power Unit Pwr Unit Status", "text": "Power off/down", "state": "Asserted"}
    scene.host(after(gone, 0.4), "sel.event", "origin", node, **off)
    return nodes_lost(scene, "power_supply_lost", "power_cooling", "node", [node], nodes=[node], t0=onset, gone=gone)


@mechanism("power_domain_down", min_nodes=8, requeues=True)
def power_domain_down(rng: Random, topology: Topology, attempt: Attempt, onset: datetime) -> Incident:
    """A power domain goes dark: its nodes of the job fall silent in the same second."""
    scene = Scene(rng, topology, attempt)
    counts = Counter(scene.node(name).power_domain for name in attempt.nodes)
    leads = scene.node(attempt.nodes[0]).power_domain
    domain = max(sorted(counts), key=lambda d: (counts[d], d != leads))
    dark = [name for name in attempt.nodes if scene.node(name).power_domain == domain]
    for name in dark:
        if rng.random() < 0.7:
            _supply(scene, scene.later(onset, 0.05, 0.9), name, rng.randrange(1, 3), "Power Supply AC lost")
    _supply(scene, onset, dark[0], 1, "Power Supply AC lost")
    lit = [name for name in attempt.nodes if name not in dark]
    return nodes_lost(
        scene,
        "power_domain_down",
        "power_cooling",
        "power_domain",
        [domain],
        nodes=dark,
        t0=onset,
        gone=after(onset, 0.01),
        affected=lit,
    )


@mechanism("power_brake", phase="limit", min_nodes=2)
def power_brake(rng: Random, topology: Topology, attempt: Attempt, onset: datetime) -> Incident:
    """A supply of a node fails and the brake slows its GPUs: the whole job crawls until it is stopped."""
    scene = Scene(rng, topology, attempt)
    node = scene.pick_node()
    began = after(attempt.train_at, (onset - attempt.train_at).total_seconds() * rng.uniform(0.4, 0.6))
    if rng.random() < 0.6:
        _supply(scene, after(began, -1.0), node.name, rng.randrange(1, 3), "Failure detected")
    for gpu in node.gpus:
        scene.signal(scene.later(began, 0.0, 0.5), "set.throttle", "origin", node.name, BRAKE, device=gpu.pci)
    cancelled = rng.random() < 0.4
    stop = min(scene.later(began, 240.0, 420.0), after(onset, -5.0)) if cancelled else onset
    scene.lines += slow_steps(rng, attempt, began, stop, rng.uniform(2.0, BRAKE_FACTOR))
    t0 = after(began, -1.0)
    if cancelled:
        return by_cancel(scene, "power_brake", "power_cooling", "node", [node.name], t0=t0, at=stop, outcome="degraded")
    return by_limit(scene, "power_brake", "power_cooling", "node", [node.name], t0=t0, limit=stop, outcome="degraded")
