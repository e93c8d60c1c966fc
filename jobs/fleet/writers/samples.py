"""Samples of GPUs as an exporter's text with times, a file an hour: `metrics/dcgm-20261107T13.prom`."""

from collections.abc import Iterator
from datetime import datetime
from math import ceil

from firstfault.jobs.fleet.model import Attempt, AttemptKey, Node, after
from firstfault.jobs.fleet.signals import Tracks, tracks, value
from firstfault.jobs.fleet.world import DAY_S, World
from firstfault.jobs.fleet.writers.sink import Block, Sink, micros

HOUR_S = 3600.0
SHORTEST_S = 1
METRICS = ("GPU_UTIL", "POWER_USAGE", "SM_CLOCK", "FB_USED", "MEMORY_TEMP")
BUSY, STALLED, IDLE = (100, 640, 1980, 71000, 71), (100, 205, 1980, 71000, 52), (0, 118, 345, 4, 36)
WIDTHS = (1, 23, 1, 900, 5)
"""How far a reading of each metric wanders."""


def write_samples(world: World, sink: Sink, lines: int) -> int:
    """Streams about so many samples of all GPUs over the day.

    Args:
        world: The day.
        sink: Where to.
        lines: How many are wanted.

    Returns:
        How many there will be; none when fewer are wanted than one reading of the cluster an hour makes.
    """
    per_reading = sum(len(node.gpus) for node in world.topology.nodes) * len(METRICS)
    if lines < 24 * per_reading:
        return 0
    every_s = max(SHORTEST_S, ceil(DAY_S * per_reading / lines))
    found, last = tracks(world), _last_steps(world)
    held = {node.name: world.windows(node.name) for node in world.topology.nodes}
    for hour in range(24):
        begun = after(world.midnight, hour * HOUR_S)
        blocks = _hour(world, found, held, last, begun=begun, every_s=every_s)
        sink.stream(f"metrics/dcgm-{begun:%Y%m%dT%H}.prom", blocks)
    return int(DAY_S // every_s) * per_reading


def _last_steps(world: World) -> dict[AttemptKey, datetime]:
    return {line.job: line.t for line in world.of("app") if line.kind == "app.step" and line.job is not None}


def _hour(
    world: World,
    found: Tracks,
    held: dict[str, list[Attempt]],
    last: dict[AttemptKey, datetime],
    *,
    begun: datetime,
    every_s: int,
) -> Iterator[Block]:
    names: dict[tuple[str, AttemptKey | None], list[list[str]]] = {}
    first = -int(begun.timestamp()) % every_s
    for second in range(first, int(HOUR_S), every_s):
        t = after(begun, float(second))
        texts: list[str] = []
        for node in world.topology.nodes:
            if world.silent(node.name, t):
                continue
            job = next((a for a in held[node.name] if a.start <= t <= a.end), None)
            key = (node.name, job.key if job else None)
            if key not in names:
                names[key] = _series(node, job)
            levels = _levels(job, last, t)
            for gpu, prefixes in zip(node.gpus, names[key], strict=True):
                place = (node.name, gpu.pci)
                if value(found, "gpu_lost", place, t) or value(found, "gpu_absent", place, t):
                    continue
                breath = (second * 7 + gpu.index * 13 + len(node.name)) % 997
                texts += [
                    f"{prefix}{max(0, level - breath % width)} {micros(t) // 1000}"
                    for prefix, level, width in zip(prefixes, levels, WIDTHS, strict=True)
                ]
        if texts:
            yield [micros(t)] * len(texts), texts


def _levels(job: Attempt | None, last: dict[AttemptKey, datetime], t: datetime) -> tuple[int, ...]:
    """A GPU whose kernels wait for a peer is busy at little power."""
    if job is None or t < job.init_at:
        return IDLE
    return BUSY if t <= after(last.get(job.key, job.init_at), 30.0) else STALLED


def _series(node: Node, job: Attempt | None) -> list[list[str]]:
    """What stands before the values, a list a GPU."""
    held = f',hpc_job="{job.job_id}"' if job else ""
    return [
        [
            f'DCGM_FI_DEV_{metric}{{gpu="{gpu.index}",UUID="{gpu.uuid}",pci_bus_id="0000{gpu.pci.upper()}.0",'
            f'device="nvidia{gpu.index}",modelName="NVIDIA H100 80GB HBM3",Hostname="{node.name}"{held}}} '
            for metric in METRICS
        ]
        for gpu in node.gpus
    ]
