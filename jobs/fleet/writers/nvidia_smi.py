"""`nvidia-smi --query-gpu=... --format=csv -l`: local time, no zone, one file a node."""

from dataclasses import replace
from datetime import datetime

from firstfault.jobs.fleet.model import Attempt, Gpu, Node, after
from firstfault.jobs.fleet.signals import Tracks, grid, tracks, value
from firstfault.jobs.fleet.world import World
from firstfault.jobs.fleet.writers.prometheus import gpu_temperature
from firstfault.jobs.fleet.writers.sink import Sink

HEADER = (
    "timestamp, index, pci.bus_id, temperature.gpu, power.draw [W], utilization.gpu [%], "
    "clocks.current.sm [MHz], clocks_event_reasons.active"
)


def write(world: World, sink: Sink) -> None:
    """Writes the loop of each node while a job runs there."""
    found = tracks(world)
    for node in world.topology.nodes:
        windows = world.windows(node.name)
        path = f"nodes/{node.name}/nvidia-smi.csv"
        if windows:
            sink.add(path, max(windows[0].start, world.midnight), HEADER)
        for attempt in windows:
            for t in filter(world.holds, grid(attempt.start, attempt.end, world.profile.sampling.nvidia_smi_s)):
                for gpu in () if world.silent(node.name, t) else _present(found, node, t):
                    at = after(t, 0.003 * gpu.index)
                    sink.add(path, at, _row(world, found, node, attempt, gpu=gpu, t=at))


def _present(found: Tracks, node: Node, t: datetime) -> list[Gpu]:
    """The GPUs the driver knows of; it numbers them without a gap."""
    present = [gpu for gpu in node.gpus if not value(found, "gpu_absent", (node.name, gpu.pci), t)]
    return [replace(gpu, index=index) for index, gpu in enumerate(present)]


def _row(world: World, found: Tracks, node: Node, attempt: Attempt, *, gpu: Gpu, t: datetime) -> str:
    written = world.clock(node.name).written(t)
    stamp = f"{written:%Y/%m/%d %H:%M:%S}.{written.microsecond // 1000:03d}"
    bus = f"0000{gpu.pci.upper()}.0"
    place = (node.name, gpu.pci)
    if value(found, "gpu_lost", place, t):
        return f"{stamp}, {gpu.index}, {bus}" + ", [GPU is lost]" * 5
    celsius = gpu_temperature(world, found, place, t)
    reasons = int(value(found, "throttle", place, t)) or 4
    slowed = reasons != 4
    watts = 640.0 + gpu.index * 3.1 + int(t.timestamp()) % 17 - (300.0 if slowed else 0.0)
    busy = 100 if t > attempt.train_at else 0
    clock = 705 if slowed else 1980
    return f"{stamp}, {gpu.index}, {bus}, {celsius:.0f}, {watts:.2f} W, {busy} %, {clock} MHz, 0x{reasons:016x}"
