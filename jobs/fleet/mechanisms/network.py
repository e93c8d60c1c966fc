"""Network: a leaf port that corrupts frames, an adapter whose link is down, an interface that is missing."""

from datetime import datetime
from random import Random

from firstfault.jobs.fleet.cascade import NCCL_VERSIONS, Deaths, nccl_error, raises
from firstfault.jobs.fleet.mechanisms.registry import mechanism
from firstfault.jobs.fleet.model import Attempt, Hca, Node, Rank, Topology, after
from firstfault.jobs.fleet.scene import Scene
from firstfault.jobs.fleet.teardown import tear_down
from firstfault.jobs.fleet.truth import Incident

RETRY_EXCEEDED = 12


def completion_error(scene: Scene, t: datetime, rank: Rank, peer: Node, hca: str) -> Deaths:
    """The retries of a rank towards a node run out: NCCL warns, the rank raises."""
    port = scene.rng.randrange(33000, 60000)
    if scene.attempt.style.nccl == "2.18":
        text = (
            f"NET/IB : Got completion from peer {peer.ip}<{port}> with error {RETRY_EXCEEDED}, opcode 0, "
            "len 0, vendor err 129 (Send)"
        )
    else:
        text = (
            f"NET/IB: Got completion from peer {peer.ip}<{port}> with status={RETRY_EXCEEDED} "
            "opcode=32616 len=0 "
            f"vendor err 129 (Send) hca {hca}"
        )
    scene.app(t, "nccl.warn", "cascade", rank, src="transport/net_ib.cc:1295", msg=text)
    return raises(scene, after(t, 0.03), rank, nccl_error(scene, text), role="cascade", frame="backward")


@mechanism("leaf_port_crc", min_nodes=4)
def leaf_port_crc(rng: Random, topology: Topology, attempt: Attempt, onset: datetime) -> Incident:
    """A switch port corrupts frames for minutes: retransmits behind it, then retries run out."""
    scene = Scene(rng, topology, attempt)
    port, behind = shared_port(scene)
    hca = behind[0][1]
    for minute in range(8):
        t = after(onset, 60.0 * minute + rng.uniform(0.0, 5.0))
        scene.signal(t, "add.symbol_error", "origin", None, rng.randrange(150, 700), port=port)
        scene.signal(after(t, 0.1), "add.rcv_errors", "origin", None, rng.randrange(60, 300), port=port)
        for node, adapter in behind:
            count = rng.randrange(20, 120)
            scene.signal(scene.later(t, 1.0, 8.0), "add.ack_timeout", "cascade", node.name, count, port=adapter.local)
            scene.signal(
                scene.later(t, 1.0, 8.0),
                "add.packet_seq",
                "cascade",
                node.name,
                count * 2,
                port=adapter.local,
            )
    gone = after(onset, 60.0 * 8 + rng.uniform(5.0, 25.0))
    deaths: Deaths = {}
    names = {node.name for node, _ in behind}
    for rank in (r for r in attempt.ranks if r.node not in names and r.hca == hca.name):
        peer = rng.choice(behind)[0]
        deaths |= completion_error(scene, scene.later(gone, 0.0, 3.0), rank, peer, hca.name)
    end = tear_down(scene, deaths)
    return scene.close(
        "leaf_port_crc",
        "network_link",
        "port",
        [port],
        t0=onset,
        end=end,
        stalled=after(gone, -20.0),
        affected=attempt.nodes,
    )


def shared_port(scene: Scene) -> tuple[str, list[tuple[Node, Hca]]]:
    """A switch port with as many nodes of the attempt behind it as there can be, but not all."""
    ports: dict[str, list[tuple[Node, Hca]]] = {}
    for name in scene.attempt.nodes:
        node = scene.node(name)
        for hca in node.hcas:
            ports.setdefault(hca.uplink, []).append((node, hca))
    most = max(len(members) for members in ports.values())
    port = scene.rng.choice(sorted(p for p, members in ports.items() if len(members) == most))
    return port, ports[port]


@mechanism("nic_link_down", min_nodes=2)
def nic_link_down(rng: Random, topology: Topology, attempt: Attempt, onset: datetime) -> Incident:
    """An adapter loses its link; its own ranks see a port error, the peers' retries run out."""
    scene = Scene(rng, topology, attempt)
    node = scene.pick_node()
    hca = rng.choice(node.hcas)
    link = {"bdf": hca.bdf, "iface": hca.iface, "hca": hca.name}
    if rng.random() < 0.5:
        scene.host(after(onset, -0.4), "kern.module_event", "origin", node.name, **link)
    scene.host(onset, "kern.link_down", "origin", node.name, **link)
    scene.host(after(onset, 0.001), "kern.port_down", "origin", node.name, **link)
    scene.signal(onset, "add.link_downed", "origin", node.name, 1, port=hca.local)
    for rank in (r for r in attempt.ranks_of(node.name) if r.hca == hca.name):
        msg = f"NET/IB : {hca.name}:1 Got non-fatal async event: port error(10)"
        scene.app(
            scene.later(onset, 0.05, 0.4),
            "nccl.warn",
            "cascade",
            rank,
            src="transport/net_ib.cc:101",
            msg=msg,
        )
    deaths: Deaths = {}
    for rank in (r for r in attempt.ranks if r.node != node.name and r.hca == hca.name):
        deaths |= completion_error(scene, scene.later(onset, 18.0, 26.0), rank, node, hca.name)
    end = tear_down(scene, deaths)
    origin = f"{node.name}/{hca.local}"
    return scene.close("nic_link_down", "network_link", "port", [origin], t0=onset, end=end)


@mechanism("bad_interface", phase="init", min_nodes=2)
def bad_interface(rng: Random, topology: Topology, attempt: Attempt, onset: datetime) -> Incident:
    """One node has no interface of the name NCCL is told to use; the others wait in the bootstrap."""
    scene = Scene(rng, topology, attempt)
    node = scene.pick_node(not_leader=True)
    deaths: Deaths = {}
    wanted = "Bootstrap : no socket interface found"
    for rank in attempt.ranks_of(node.name):
        t = scene.later(onset, 0.0, 0.4)
        scene.app(t, "nccl.warn", "origin", rank, src="bootstrap.cc:62", msg=wanted)
        error = (
            "torch.distributed.DistBackendError: NCCL error in: "
            "/opt/torch/csrc/distributed/c10d/NCCLUtils.hpp:317, "
            "internal error - please report this issue to the NCCL developers, "
            f"NCCL version {NCCL_VERSIONS[attempt.style.nccl]}\n"
            f"ncclInternalError: Internal check failed.\nLast error:\n{wanted}"
        )
        deaths |= raises(scene, after(t, 0.02), rank, error, role="cascade", frame="init_process_group")
    for rank in (r for r in attempt.ranks if r.node != node.name and rng.random() < 0.5):
        peer = f"{node.ip}<{rng.randrange(33000, 60000)}>"
        said = f"socketStartConnect: Connect to {peer} failed : Connection refused"
        scene.app(scene.later(onset, 0.6, 1.1), "nccl.warn", "cascade", rank, src="misc/socket.cc:484", msg=said)
    end = tear_down(scene, deaths)
    return scene.close("bad_interface", "network_config", "node", [node.name], t0=onset, end=end)
