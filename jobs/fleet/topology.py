"""Builds the cluster: racks, power domains, GPUs, adapters and the switch ports behind them."""

from datetime import UTC, datetime, time

from firstfault.jobs.fleet.model import Gpu, Hca, Node, Topology, after, stream
from firstfault.jobs.fleet.profile import Profile

GPU_BUSES = ("19", "3b", "4c", "5d", "9b", "bb", "cb", "db")
HCA_BUSES = ("18", "3a", "5a", "6a", "9a", "ba", "ca", "da")


def build_topology(profile: Profile) -> Topology:
    """The cluster a profile asks for.

    Args:
        profile: Sizes, seed and the mix of kernel log styles.

    Returns:
        Nodes in rack order.
    """
    size = profile.topology
    slots = [(rack, slot) for rack in range(size.racks) for slot in range(size.nodes_per_rack)]
    nodes = tuple(_node(profile, rack, slot) for rack, slot in slots[: size.count])
    return Topology(profile.cluster, nodes, {node.name: node for node in nodes})


def _node(profile: Profile, rack: int, slot: int) -> Node:
    size = profile.topology
    name = f"gpu-r{rack + 1:02d}-n{slot + 1:02d}"
    rng = stream(profile.seed, "node", name)
    styles = profile.kernel_logs
    midnight = datetime.combine(profile.day, time(), UTC)
    number = rack * size.nodes_per_rack + slot
    return Node(
        name=name,
        rack=f"r{rack + 1:02d}",
        power_domain=f"pd{rack // size.racks_per_power_domain + 1}",
        pod=f"pod{rack // 4 + 1}",
        ip=f"10.7.{rack + 1}.{slot + 21}",
        kernel=rng.choices(list(styles), list(styles.values()))[0],
        booted=after(midnight, -rng.uniform(2.0, 20.0) * 86400),
        gpus=tuple(_gpu(profile.seed, name, i) for i in range(size.gpus)),
        hcas=tuple(_hca(profile, number, rack, slot, i) for i in range(size.hcas)),
    )


def _gpu(seed: int, node: str, index: int) -> Gpu:
    rng = stream(seed, "gpu", node, index)
    h = f"{rng.getrandbits(128):032x}"
    uuid = f"GPU-{h[:8]}-{h[8:12]}-{h[12:16]}-{h[16:20]}-{h[20:]}"
    return Gpu(index, f"0000:{GPU_BUSES[index]}:00", uuid, str(rng.randrange(1650000000000, 1660000000000)))


def _hca(profile: Profile, number: int, rack: int, slot: int, index: int) -> Hca:
    size = profile.topology
    group = slot // size.nodes_per_port
    return Hca(
        name=f"mlx5_{index}",
        iface=f"ibs{index + 1}",
        bdf=f"0000:{HCA_BUSES[index]}:00.0",
        lid=100 + number * size.hcas + index,
        switch=f"leaf-r{rack + 1:02d}",
        switch_port=1 + group * size.hcas + index,
    )
