"""Networks that are set up wrongly: frames too long for a node, a firewall, a port in use, a name nobody knows."""

from datetime import datetime
from random import Random

from firstfault.jobs.fleet.cascade import Deaths, nccl_error, raises
from firstfault.jobs.fleet.mechanisms.network import completion_error
from firstfault.jobs.fleet.mechanisms.registry import mechanism
from firstfault.jobs.fleet.model import Attempt, Rank, Topology, after
from firstfault.jobs.fleet.scene import Scene
from firstfault.jobs.fleet.teardown import tear_down
from firstfault.jobs.fleet.truth import Incident

MASTER_PORT = 29500
RETRIES = 34


@mechanism("mtu_mismatch", phase="init", min_nodes=2)
def mtu_mismatch(rng: Random, topology: Topology, attempt: Attempt, onset: datetime) -> Incident:
    """One node's interface drops long frames: the first large message to or from it runs out of retries."""
    scene = Scene(rng, topology, attempt)
    node = scene.pick_node(not_leader=True)
    target = scene.node(next(name for name in attempt.nodes if name != node.name))
    ping = (
        f"PING {target.ip} ({target.ip}) 8972(9000) bytes of data.\n"
        "ping: local error: message too long, mtu=1500\n\n"
        f"--- {target.ip} ping statistics ---\n"
        "3 packets transmitted, 0 received, +3 errors, 100% packet loss, time 2046ms\n"
    )
    checked = after(attempt.start, 3.0)
    scene.host(checked, "ready.file", "origin", node.name, name="ping-jumbo", text=ping)
    deaths: Deaths = {}
    stuck = scene.later(onset, 22.0, 40.0)
    for rank in attempt.ranks:
        if rank.node == node.name or rng.random() < 0.3:
            peer = target if rank.node == node.name else node
            deaths |= completion_error(scene, scene.later(stuck, 0.0, 5.0), rank, peer, rank.hca)
    end = tear_down(scene, deaths)
    return scene.close(
        "mtu_mismatch", "network_config", "node", [node.name], t0=checked, end=end, outcome="hung", stalled=onset
    )


@mechanism("firewall_at_init", phase="init", min_nodes=2)
def firewall_at_init(rng: Random, topology: Topology, attempt: Attempt, onset: datetime) -> Incident:
    """A firewall of one node lets nobody in: the others retry, then give up; the node itself only waits."""
    scene = Scene(rng, topology, attempt)
    node = scene.pick_node(not_leader=True)
    why = rng.choice(("No route to host", "Connection refused"))
    deaths: Deaths = {}
    for number, rank in enumerate(r for r in attempt.ranks if r.node != node.name):
        if number and rng.random() < 0.3:
            continue
        deaths |= _no_way_in(scene, onset, rank, f"{node.ip}<{rng.randrange(33000, 60000)}>", why)
    end = tear_down(scene, deaths)
    return scene.close("firewall_at_init", "network_config", "node", [node.name], t0=onset, end=end)


def _no_way_in(scene: Scene, onset: datetime, rank: Rank, peer: str, why: str) -> Deaths:
    t = scene.later(onset, 0.05, 0.4)
    last = f"socketStartConnect: Connect to {peer} failed : {why}"
    if why == "Connection refused":
        for number in (1, 2, 3, RETRIES):
            said = (
                f"socketPollConnect: connect to {peer} returned {why}, retrying ({number}/{RETRIES}) after sleep for "
            )
            t = after(t, 0.1 * number)
            scene.app(t, "nccl.info", "origin", rank, msg=f"{said}{100 * number} msec")
        last = f"socketPollConnect: connect to {peer} returned {why}, exceeded error retry count after 35 attempts"
    t = after(t, 0.3)
    scene.app(t, "nccl.warn", "origin", rank, src="misc/socket.cc:484", msg=last)
    return raises(scene, after(t, 30.0), rank, nccl_error(scene, last), role="cascade", frame="init_process_group")


@mechanism("port_in_use", phase="init")
def port_in_use(rng: Random, topology: Topology, attempt: Attempt, onset: datetime) -> Incident:
    """The rendezvous port of the first node is taken by another process."""
    scene = Scene(rng, topology, attempt)
    rank = attempt.ranks[0]
    bound = f"The server socket has failed to bind to [::]:{MASTER_PORT} (errno: 98 - Address already in use)."
    listens = "The server socket has failed to listen on any local network address."
    scene.app(onset, "c10d.line", "origin", rank, level="W", source="socket.cpp:436", text=f"[c10d] {bound}")
    scene.app(
        after(onset, 0.001), "c10d.line", "origin", rank, level="E", source="socket.cpp:472", text=f"[c10d] {listens}"
    )
    if attempt.style.torch == "2.1":
        error = f"RuntimeError: {listens} {bound}"
    else:
        tail = f"port: {MASTER_PORT}, useIpv6: false, code: -98, name: EADDRINUSE, message: address already in use"
        error = f"torch.distributed.DistNetworkError: {listens} {tail}"
    deaths = raises(scene, after(onset, 0.02), rank, error, role="origin", frame="init_process_group", early=True)
    for other in scene.others(rank)[:: max(1, len(attempt.ranks) // 8)]:
        peer = f"[{attempt.nodes[0]}]:{MASTER_PORT}"
        text = f"[c10d] The client socket has failed to connect to {peer} (errno: 111 - Connection refused)."
        t = scene.later(onset, 0.3, 1.0)
        scene.app(t, "c10d.line", "cascade", other, level="W", source="socket.cpp:697", text=text)
    end = tear_down(scene, deaths)
    return scene.close("port_in_use", "network_config", "node", [attempt.nodes[0]], t0=onset, end=end)


@mechanism("name_resolution", phase="init", min_nodes=2)
def name_resolution(rng: Random, topology: Topology, attempt: Attempt, onset: datetime) -> Incident:
    """One node cannot resolve the name of the first: its ranks never reach the store."""
    scene = Scene(rng, topology, attempt)
    node = scene.pick_node(not_leader=True).name
    leader = attempt.nodes[0]
    code, why = rng.choice(((-2, "Name or service not known"), (-3, "Temporary failure in name resolution")))
    deaths: Deaths = {}
    for rank in attempt.ranks_of(node):
        t = scene.later(onset, 0.0, 0.5)
        text = (
            f"[c10d] The IPv6 network addresses of ({leader}, {MASTER_PORT}) cannot be retrieved "
            f"(gai error: {code} - {why})."
        )
        scene.app(t, "c10d.line", "origin", rank, level="W", source="socket.cpp:697", text=text)
        error = rng.choice((f"socket.gaierror: [Errno {code}] {why}", _timed_out(attempt, leader)))
        waited = 0.05 if error.startswith("socket") else 20.0
        deaths |= raises(scene, after(t, waited), rank, error, role="cascade", frame="init_process_group", early=True)
    end = tear_down(scene, deaths)
    return scene.close("name_resolution", "network_config", "node", [node], t0=onset, end=end)


def _timed_out(attempt: Attempt, leader: str) -> str:
    where = f"The client socket has timed out after 20s while trying to connect to ({leader}, {MASTER_PORT})."
    kind = "TimeoutError" if attempt.style.torch == "2.1" else "torch.distributed.DistNetworkError"
    return f"{kind}: {where}"


@mechanism("nccl_versions_differ", phase="init", min_nodes=2)
def nccl_versions_differ(rng: Random, topology: Topology, attempt: Attempt, onset: datetime) -> Incident:
    """One node brings another NCCL into the communicator: its ranks are told apart at start."""
    scene = Scene(rng, topology, attempt)
    node = scene.pick_node(not_leader=True).name
    here = {"2.18": "21806", "2.26": "22602"}[attempt.style.nccl]
    deaths: Deaths = {}
    for number, rank in enumerate(attempt.ranks_of(node)):
        if number and rng.random() < 0.3:
            continue
        text = f"Mismatched NCCL version detected : rank {rank.rank} version 22105 rank 0 version {here}"
        t = onset if number == 0 else scene.later(onset, 0.0, 0.3)
        scene.app(t, "nccl.warn", "origin", rank, src="init.cc:712", msg=text)
        error = (
            "torch.distributed.DistBackendError: NCCL error in: /opt/torch/csrc/distributed/c10d/NCCLUtils.hpp:317, "
            "invalid usage, NCCL version 2.21.5\n"
            "ncclInvalidUsage: This usually reflects invalid usage of NCCL library.\n"
            f"Last error:\n{text}"
        )
        deaths |= raises(scene, after(t, 0.4), rank, error, role="cascade", frame="init_process_group")
    end = tear_down(scene, deaths)
    return scene.close("nccl_versions_differ", "driver_software", "node", [node], t0=onset, end=end)
