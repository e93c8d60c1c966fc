"""Links of the fabric: a switch port that goes down or flaps, optics, adapter firmware, a congested switch."""

from datetime import datetime
from random import Random

from firstfault.jobs.fleet.cascade import Deaths
from firstfault.jobs.fleet.endings import by_limit
from firstfault.jobs.fleet.mechanisms.network import completion_error, shared_port
from firstfault.jobs.fleet.mechanisms.registry import mechanism
from firstfault.jobs.fleet.model import Attempt, Attrs, Hca, Node, Role, Topology, after
from firstfault.jobs.fleet.scene import Scene
from firstfault.jobs.fleet.teardown import tear_down
from firstfault.jobs.fleet.truth import Incident
from firstfault.jobs.fleet.workload import slow_steps

MODULE_FAULTS = (
    "Bad or shorted cable/module",
    "High Temperature",
    "No EEPROM/retry timeout",
    "Bus stuck(I2C or data shorted)",
)
UFM_DOWN: Attrs = {"event": 329, "level": "WARNING", "group": "Fabric Topology", "text": "Link went down"}
UFM_UP: Attrs = {"event": 328, "level": "INFO", "group": "Fabric Topology", "text": "Link went up"}


def _link(hca: Hca) -> Attrs:
    return {"bdf": hca.bdf, "iface": hca.iface, "hca": hca.name}


def _link_down(scene: Scene, t: datetime, node: Node, hca: Hca, role: Role) -> None:
    scene.host(t, "kern.link_down", role, node.name, **_link(hca))
    scene.host(after(t, 0.001), "kern.port_down", role, node.name, **_link(hca))
    scene.signal(t, "add.link_downed", role, node.name, 1, port=hca.local)


def _port_error(scene: Scene, t: datetime, node: Node, hca: Hca) -> None:
    """The ranks that use a port whose link is gone hear of it from the adapter."""
    msg = f"NET/IB : {hca.name}:1 Got non-fatal async event: port error(10)"
    for rank in (r for r in scene.attempt.ranks_of(node.name) if r.hca == hca.name):
        scene.app(scene.later(t, 0.05, 0.4), "nccl.warn", "cascade", rank, src="transport/net_ib.cc:101", msg=msg)


def _retries_out(scene: Scene, t: datetime, behind: list[tuple[Node, Hca]]) -> Deaths:
    """Peers of the nodes behind a dead link, and those nodes themselves, run out of retries."""
    names = {node.name for node, _ in behind}
    node, hca = behind[0]
    peers = [r for r in scene.attempt.ranks if r.node not in names and r.hca == hca.name]
    deaths: Deaths = {}
    for rank in peers:
        deaths |= completion_error(scene, scene.later(t, 0.0, 6.0), rank, scene.rng.choice(behind)[0], hca.name)
    for rank in (r for r in scene.attempt.ranks if r.node in names and r.hca == hca.name):
        peer = scene.node(peers[0].node) if peers else node
        deaths |= completion_error(scene, scene.later(t, 0.5, 7.0), rank, peer, hca.name)
    return deaths


@mechanism("switch_port_down", min_nodes=4)
def switch_port_down(rng: Random, topology: Topology, attempt: Attempt, onset: datetime) -> Incident:
    """A switch port goes down: the fabric manager and both ends say so, retries run out across it."""
    scene = Scene(rng, topology, attempt)
    port, behind = shared_port(scene)
    if rng.random() < 0.8:
        scene.switch(scene.later(onset, 0.2, 2.0), "ufm.event", "origin", port, **UFM_DOWN)
    scene.signal(onset, "add.link_downed", "origin", None, 1, port=port)
    for node, hca in behind:
        t = scene.later(onset, 0.01, 0.3)
        _link_down(scene, t, node, hca, "cascade")
        _port_error(scene, t, node, hca)
    deaths = _retries_out(scene, scene.later(onset, 16.0, 24.0), behind)
    end = tear_down(scene, deaths)
    return scene.close("switch_port_down", "network_link", "port", [port], t0=onset, end=end, affected=attempt.nodes)


@mechanism("port_flap", min_nodes=4)
def port_flap(rng: Random, topology: Topology, attempt: Attempt, onset: datetime) -> Incident:
    """A port flaps for minutes: short losses that retries survive, then one that they do not."""
    scene = Scene(rng, topology, attempt)
    port, behind = shared_port(scene)
    t = onset
    for number in range(rng.randrange(5, 11)):
        scene.signal(t, "add.link_downed", "origin", None, 1, port=port)
        if rng.random() < 0.6:
            scene.switch(after(t, 0.3), "ufm.event", "origin", port, **UFM_DOWN)
            scene.switch(after(t, 4.5), "ufm.event", "context", port, **UFM_UP)
        up = scene.later(t, 1.5, 4.0)
        for node, hca in behind:
            _link_down(scene, after(t, 0.02), node, hca, "origin" if number == 0 else "cascade")
            scene.host(up, "kern.link_up", "context", node.name, **_link(hca))
            scene.host(after(up, 0.001), "kern.port_active", "context", node.name, **_link(hca))
            scene.signal(up, "add.ack_timeout", "cascade", node.name, rng.randrange(5, 60), port=hca.local)
        t = scene.later(t, 20.0, 55.0)
    scene.signal(t, "add.link_downed", "origin", None, 1, port=port)
    for node, hca in behind:
        _link_down(scene, after(t, 0.02), node, hca, "cascade")
    deaths = _retries_out(scene, scene.later(t, 16.0, 24.0), behind)
    end = tear_down(scene, deaths)
    return scene.close(
        "port_flap", "network_link", "port", [port], t0=onset, end=end, stalled=t, affected=attempt.nodes
    )


@mechanism("optics_event", min_nodes=2)
def optics_event(rng: Random, topology: Topology, attempt: Attempt, onset: datetime) -> Incident:
    """The module of an adapter reports a fault, the link follows."""
    scene = Scene(rng, topology, attempt)
    node = scene.pick_node()
    hca = rng.choice(node.hcas)
    why = rng.choice(MODULE_FAULTS)
    for i in range(rng.randrange(1, 4)):
        scene.host(after(onset, 0.2 * i), "kern.module_error", "origin", node.name, **_link(hca), why=why)
    down = scene.later(onset, 1.0, 12.0)
    _link_down(scene, down, node, hca, "cascade")
    scene.signal(after(down, 0.05), "add.link_downed", "cascade", None, 1, port=hca.uplink)
    _port_error(scene, down, node, hca)
    deaths = _retries_out(scene, scene.later(down, 16.0, 24.0), [(node, hca)])
    end = tear_down(scene, deaths)
    origin = [f"{node.name}/{hca.local}"]
    return scene.close("optics_event", "network_link", "port", origin, t0=onset, end=end, stalled=down)


@mechanism("nic_firmware", min_nodes=2)
def nic_firmware(rng: Random, topology: Topology, attempt: Attempt, onset: datetime) -> Incident:
    """An adapter's firmware fails its health check; its link goes down with it."""
    scene = Scene(rng, topology, attempt)
    node = scene.pick_node()
    hca = rng.choice(node.hcas)
    if rng.random() < 0.5:
        word = f"0x{rng.getrandbits(32):08x}"
        scene.host(onset, "kern.nic_firmware", "origin", node.name, **_link(hca), word=word)
    scene.host(after(onset, 0.3), "kern.nic_health", "origin", node.name, **_link(hca))
    if rng.random() < 0.5:
        scene.host(after(onset, 3.0), "kern.command_timeout", "cascade", node.name, **_link(hca), pid=812)
    _link_down(scene, scene.later(onset, 0.5, 2.0), node, hca, "cascade")
    _port_error(scene, after(onset, 0.5), node, hca)
    deaths = _retries_out(scene, scene.later(onset, 16.0, 24.0), [(node, hca)])
    end = tear_down(scene, deaths)
    return scene.close("nic_firmware", "network_link", "port", [f"{node.name}/{hca.local}"], t0=onset, end=end)


@mechanism("switch_congestion", phase="limit", min_nodes=2)
def switch_congestion(rng: Random, topology: Topology, attempt: Attempt, onset: datetime) -> Incident:
    """One port of a switch backs up: senders wait, steps take twice as long, the time limit ends the job."""
    scene = Scene(rng, topology, attempt)
    port, behind = shared_port(scene)
    began = after(attempt.train_at, (onset - attempt.train_at).total_seconds() * rng.uniform(0.35, 0.55))
    switch = port.split(":")[0]
    near = sorted({h.uplink for name in attempt.nodes for h in scene.node(name).hcas if h.switch == switch} - {port})
    t = began
    while t < onset:
        scene.signal(t, "add.xmit_wait", "origin", None, rng.randrange(4_000_000, 9_000_000), port=port)
        for other in near:
            scene.signal(after(t, 0.1), "add.xmit_wait", "cascade", None, rng.randrange(9_000, 90_000), port=other)
        for node, hca in behind:
            scene.signal(after(t, 0.2), "add.xmit_wait", "cascade", node.name, rng.randrange(2_000), port=hca.local)
        t = after(t, 30.0)
    scene.lines += slow_steps(rng, attempt, began, onset, rng.uniform(1.9, 2.6))
    return by_limit(
        scene,
        "switch_congestion",
        "network_link",
        "port",
        [port],
        t0=began,
        limit=onset,
        outcome="degraded",
        affected=attempt.nodes,
    )
