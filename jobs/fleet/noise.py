"""What a healthy cluster writes all day, and old trouble that means nothing now."""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from random import Random

from firstfault.jobs.fleet.model import Attrs, Node, Occurrence, Scalar, Topology, after, stream

DAY_S = 86400.0
OLD_XIDS = (13, 31, 43, 63, 94)
LEFT_OVER = frozenset({"sticky_xid"})

Noise = Callable[[Random, Topology, datetime], Iterator[Occurrence]]
NOISES: dict[str, Noise] = {}


def noise(name: str) -> Callable[[Noise], Noise]:
    """Registers a function that makes one instance of a kind of noise in the day after a midnight."""

    def register(build: Noise) -> Noise:
        NOISES[name] = build
        return build

    return register


def day_noise(
    seed: int, counts: Mapping[str, int], topology: Topology, midnight: datetime, day: int = 0
) -> list[Occurrence]:
    """All noise of a day.

    Args:
        seed: Seed of the profile.
        counts: Instances of each kind.
        topology: The cluster.
        midnight: When the day begins (UTC).
        day: Days before this one; what lies in a gauge from before is there on the first.

    Returns:
        Occurrences with role noise.
    """
    lines: list[Occurrence] = []
    for name, count in sorted(counts.items()):
        for number in range(0 if day and name in LEFT_OVER else count):
            parts = ("noise", name, number, day) if day else ("noise", name, number)
            lines += NOISES[name](stream(seed, *parts), topology, midnight)
    return lines


def _at(rng: Random, midnight: datetime) -> datetime:
    return after(midnight, rng.uniform(0.0, DAY_S - 60.0))


def _host(t: datetime, kind: str, node: Node, **attrs: Scalar) -> Occurrence:
    return Occurrence(t, kind, "noise", node=node.name, attrs=attrs)


@noise("session")
def session(rng: Random, topology: Topology, midnight: datetime) -> Iterator[Occurrence]:
    """Somebody logs in."""
    node, t, number = rng.choice(topology.nodes), _at(rng, midnight), rng.randrange(100, 9000)
    yield _host(t, "sys.session", node, number=number)


@noise("kernel_chatter")
def kernel_chatter(rng: Random, topology: Topology, midnight: datetime) -> Iterator[Occurrence]:
    """A line of the kernel without meaning for anyone."""
    yield _host(_at(rng, midnight), "kern.chatter", rng.choice(topology.nodes), pid=rng.randrange(2000, 60000))


@noise("aer_corrected")
def aer_corrected(rng: Random, topology: Topology, midnight: datetime) -> Iterator[Occurrence]:
    """Corrected PCIe errors: replays that were repaired."""
    node, t = rng.choice(topology.nodes), _at(rng, midnight)
    gpu = rng.choice(node.gpus)
    yield _host(t, "kern.aer_corrected", node, pci=gpu.pci)
    yield Occurrence(t, "add.pcie_replay", "noise", node=node.name, device=gpu.pci, attrs={"value": 1})


@noise("edac_ce")
def edac_ce(rng: Random, topology: Topology, midnight: datetime) -> Iterator[Occurrence]:
    """A corrected memory error."""
    yield _host(_at(rng, midnight), "kern.edac_ce", rng.choice(topology.nodes), page=f"0x{rng.getrandbits(24):x}")


@noise("cpu_throttle")
def cpu_throttle(rng: Random, topology: Topology, midnight: datetime) -> Iterator[Occurrence]:
    """A core that is throttled for a moment."""
    said = {"cpu": rng.randrange(96), "total": rng.randrange(1, 900)}
    yield _host(_at(rng, midnight), "kern.cpu_throttle", rng.choice(topology.nodes), **said)


@noise("nfs_blip")
def nfs_blip(rng: Random, topology: Topology, midnight: datetime) -> Iterator[Occurrence]:
    """An NFS server that is slow for seconds."""
    node, t = rng.choice(topology.nodes), _at(rng, midnight)
    yield _host(t, "kern.nfs_stall", node, server="10.20.0.9")
    yield _host(after(t, rng.uniform(1.0, 6.0)), "kern.nfs_ok", node, server="10.20.0.9")


@noise("port_residue")
def port_residue(rng: Random, topology: Topology, midnight: datetime) -> Iterator[Occurrence]:
    """A few symbol errors at a port, hours apart, that hurt nobody."""
    node = rng.choice(topology.nodes)
    hca = rng.choice(node.hcas)
    yield Occurrence(
        _at(rng, midnight), "add.symbol_error", "noise", port=hca.uplink, attrs={"value": rng.randrange(1, 5)}
    )


@noise("retransmits")
def retransmits(rng: Random, topology: Topology, midnight: datetime) -> Iterator[Occurrence]:
    """A few retransmits under load."""
    node = rng.choice(topology.nodes)
    port, value = rng.choice(node.hcas).local, rng.randrange(1, 6)
    yield Occurrence(_at(rng, midnight), "add.ack_timeout", "noise", node=node.name, port=port, attrs={"value": value})


@noise("sticky_xid")
def sticky_xid(rng: Random, topology: Topology, midnight: datetime) -> Iterator[Occurrence]:
    """A gauge that still shows the Xid of days ago."""
    node = rng.choice(topology.nodes)
    device, code = rng.choice(node.gpus).pci, rng.choice(OLD_XIDS)
    yield Occurrence(midnight, "set.xid", "noise", node=node.name, device=device, attrs={"value": code})


@noise("backfill")
def backfill(rng: Random, topology: Topology, midnight: datetime) -> Iterator[Occurrence]:
    """A line of the controller about its own work."""
    said = {"count": rng.randrange(1, 40), "usec": rng.randrange(900, 90000)}
    yield Occurrence(_at(rng, midnight), "ctl.backfill", "noise", attrs={**said, "nodes": len(topology.nodes)})


@noise("sel_chatter")
def sel_chatter(rng: Random, topology: Topology, midnight: datetime) -> Iterator[Occurrence]:
    """An entry of a board controller that hurt nobody."""
    sensor, text = rng.choice(
        (
            ("Fan FAN3", "Lower Non-critical going low"),
            ("Event Logging Disabled SEL", "Log area reset/cleared"),
            ("Physical Security Intrusion", "General Chassis intrusion"),
        )
    )
    state = rng.choice(("Asserted", "Deasserted"))
    yield _host(_at(rng, midnight), "sel.event", rng.choice(topology.nodes), sensor=sensor, text=text, state=state)


@noise("sxid_nonfatal")
def sxid_nonfatal(rng: Random, topology: Topology, midnight: datetime) -> Iterator[Occurrence]:
    """An NVSwitch reports an access it refused; Fabric Manager repeats it."""
    node, t, unit, link = rng.choice(topology.nodes), _at(rng, midnight), rng.randrange(4), rng.randrange(36)
    said: Attrs = {"unit": unit, "bus": f"0000:c{4 + unit}:00", "code": 12028}
    yield _host(t, "kern.sxid", node, **said, text=f"Non-fatal, Link {link} egress non-posted PRIV error (First)")
    text = (
        f"detected NVSwitch non-fatal error 12028 on fid 0 on NVSwitch pci bus id 00000000:c{4 + unit}:00.0 "
        f"physical id {unit} port {link}"
    )
    yield _host(after(t, 0.7), "fm.line", node, level="ERROR", text=text)


@noise("ufm_symbols")
def ufm_symbols(rng: Random, topology: Topology, midnight: datetime) -> Iterator[Occurrence]:
    """The fabric's manager reads a few symbol errors at a port."""
    port = rng.choice(rng.choice(topology.nodes).hcas).uplink
    said: Attrs = {"event": 110, "level": "WARNING", "group": "Hardware", "text": "Symbol error counter rate exceeded"}
    yield Occurrence(_at(rng, midnight), "ufm.event", "noise", port=port, attrs=said)
