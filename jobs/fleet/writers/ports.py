"""Port counters: perfquery and ethtool dumps of nodes, switch counters as dumps and as one long CSV."""

from collections.abc import Iterator
from datetime import datetime
from functools import lru_cache

from firstfault.jobs.fleet.model import Node, after, stream
from firstfault.jobs.fleet.signals import Place, Tracks, grid, tracks, value
from firstfault.jobs.fleet.world import World
from firstfault.jobs.fleet.writers.sink import Sink
from firstfault.jobs.fleet.writers.stamps import compact

PERFQUERY = (
    ("PortSelect", None),
    ("CounterSelect", None),
    ("PortXmitData", None),
    ("PortRcvData", None),
    ("PortXmitPkts", None),
    ("PortRcvPkts", None),
    ("SymbolErrorCounter", "symbol_error"),
    ("LinkErrorRecoveryCounter", None),
    ("LinkDownedCounter", "link_downed"),
    ("PortRcvErrors", "rcv_errors"),
    ("PortRcvRemotePhysicalErrors", None),
    ("PortXmitDiscards", None),
    ("LocalLinkIntegrityErrors", None),
    ("ExcessiveBufferOverrunErrors", None),
    ("VL15Dropped", None),
    ("PortXmitWait", "xmit_wait"),
)
SWITCH_CSV = (
    ("SymbolErrorCounter", "symbol_error"),
    ("PortRcvErrors", "rcv_errors"),
    ("LinkDownedCounter", "link_downed"),
)
XMIT_WAIT = ("PortXmitWait", "xmit_wait")
ETHTOOL = (
    "rx_packets",
    "tx_packets",
    "rx_crc_errors_phy",
    "rx_symbol_err_phy",
    "rx_discards_phy",
    "tx_discards_phy",
    "link_down_events_phy",
    "rx_out_of_buffer",
    "module_bus_stuck",
    "module_high_temp",
    "module_bad_shorted",
)
MANAGEMENT = "ens1f0np0"
WORDS_PER_S = 9_000_000
NAME_WIDTH = 33


def write(world: World, sink: Sink) -> None:
    """Writes the counters of adapters (while jobs run) and of switch ports (all day)."""
    found = tracks(world)
    for node in world.topology.nodes:
        for t in _dump_times(world, node):
            if world.holds(t) and not world.silent(node.name, t):
                _node_dumps(world, sink, found, node, t)
    switches = _switches(world)
    _switch_csv(world, sink, found, switches)
    for t in grid(world.midnight, world.end, world.profile.sampling.switch_dumps_s):
        for switch, ports in switches.items():
            blocks = [_block(world, found, (None, f"{switch}:{p}"), lid, port=p, t=t) for p, lid in ports.items()]
            sink.add(f"network/perfquery-{switch}-{compact(t)}.txt", t, "\n".join(blocks))


def _switches(world: World) -> dict[str, dict[int, int]]:
    """Ports in use of each switch; the switch's LID stands for all of them."""
    names = sorted({h.switch for n in world.topology.nodes for h in n.hcas})
    lids = {name: 2 + i for i, name in enumerate(names)}
    ports = sorted({(h.switch, h.switch_port) for n in world.topology.nodes for h in n.hcas})
    return {name: {port: lids[name] for switch, port in ports if switch == name} for name in names}


def _dump_times(world: World, node: Node) -> Iterator[datetime]:
    """At the start of each job, on the collector's grid while it runs, and at its end."""
    for attempt in world.windows(node.name):
        yield attempt.start
        yield from grid(after(attempt.start, 60.0), after(attempt.end, -30.0), world.profile.sampling.dumps_s)
        yield after(attempt.end, 20.0)


def _node_dumps(world: World, sink: Sink, found: Tracks, node: Node, t: datetime) -> None:
    stamp = compact(world.clock(node.name).written(t))
    for hca in node.hcas:
        block = _block(world, found, (node.name, hca.local), hca.lid, port=1, t=t)
        sink.add(f"nodes/{node.name}/perfquery-{hca.name}-{stamp}.txt", t, block)
    sink.add(f"nodes/{node.name}/ethtool-{MANAGEMENT}-{stamp}.txt", t, _ethtool(world, node, t))


def _residue(world: World, place: Place, name: str) -> int:
    return _left_over(world.profile.seed, place, name)


@lru_cache(maxsize=1 << 17)
def _left_over(seed: int, place: Place, name: str) -> int:
    rng = stream(seed, "residue", place[0] or "", place[1], name)
    return rng.randrange(1, 9) if rng.random() < 0.2 else 0


def _block(world: World, found: Tracks, place: Place, lid: int, *, port: int, t: datetime) -> str:
    """The counters of one port as perfquery prints them."""
    lines = [f"# Port extended counters: Lid {lid} port {port} (CapMask: 0x5A00 CapMask2: 0x0000000)"]
    words = round((t - world.epoch).total_seconds()) * WORDS_PER_S + lid * 1_000_003
    fixed = {
        "PortSelect": str(port),
        "CounterSelect": "0x0000",
        "PortXmitData": str(words),
        "PortRcvData": str(words + 17),
        "PortXmitPkts": str(words // 512),
        "PortRcvPkts": str(words // 511),
    }
    for label, name in PERFQUERY:
        shown = fixed.get(label) or f"{value(found, name, place, t) + _residue(world, place, name) if name else 0:.0f}"
        lines.append(f"{label + ':':.<{NAME_WIDTH}}{shown}")
    return "\n".join(lines)


def _ethtool(world: World, node: Node, t: datetime) -> str:
    seconds = round((t - world.epoch).total_seconds())
    fixed = {
        "rx_packets": seconds * 812,
        "tx_packets": seconds * 790,
        "rx_discards_phy": _residue(world, (node.name, MANAGEMENT), "discards"),
    }
    return "\n".join(["NIC statistics:", *(f"     {name}: {fixed.get(name, 0)}" for name in ETHTOOL)])


def _switch_csv(world: World, sink: Sink, found: Tracks, switches: dict[str, dict[int, int]]) -> None:
    path = "network/switch-ports.csv"
    waits = any(node is None for node, _ in found.get("xmit_wait", {}))
    counters = (*SWITCH_CSV, XMIT_WAIT) if waits else SWITCH_CSV
    sink.add(path, world.midnight, "time,switch,port,counter,value")
    for t in grid(world.midnight, world.end, world.profile.sampling.switch_csv_s):
        for switch, ports in switches.items():
            for port in ports:
                for label, name in counters:
                    place = (None, f"{switch}:{port}")
                    count = value(found, name, place, t) + _residue(world, place, name)
                    sink.add(path, t, f"{t:%Y-%m-%dT%H:%M:%SZ},{switch},{port},{label},{count:.0f}")
