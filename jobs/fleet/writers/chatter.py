"""The volume of a day: what ranks, services and exporters write all the time, made while the files are written."""

from collections.abc import Iterator
from datetime import datetime

import numpy as np

from firstfault.jobs.fleet.model import Attempt, AttemptKey, Node, after
from firstfault.jobs.fleet.world import DAY_S, World
from firstfault.jobs.fleet.writers import bulk
from firstfault.jobs.fleet.writers.application import folder, label, output
from firstfault.jobs.fleet.writers.samples import write_samples
from firstfault.jobs.fleet.writers.sink import Block, Sink, micros

POOL = 512
SERVICES = (
    "systemd[1]: Started Run health checks of the node.",
    "systemd[1]: node-health.service: Deactivated successfully.",
    "systemd[1]: Starting Cleanup of Temporary Directories...",
    "CRON[{pid}]: (root) CMD (test -x /usr/lib/sysstat/sa1 && /usr/lib/sysstat/sa1 1 1)",
    "node_exporter[1433]: level=info msg=collected collectors={small} duration_seconds=0.0{small}",
    "rsyslogd: action 'action-2-builtin:omfwd' resumed (module 'builtin:omfwd')",
    "dbus-daemon[844]: [system] Activating via systemd: service name='org.freedesktop.hostname1' unit='dbus' pid={pid}",
    "irqbalance[861]: rebalance of {small} interrupts took {small} us",
    "smartd[870]: Device: /dev/nvme{digit}n1, opened, temperature {small} Celsius",
    "systemd-networkd[790]: ibs{digit}: configured with an address of 10.9.{digit}.{small}",
    "snapd[902]: storehelpers.go:950: cannot refresh, next attempt in {small} minutes",
)
TRAINING = (
    "INFO data: prefetched {small} samples in {small}.{digit} ms, queue {digit} of 8, at step ",
    "INFO perf: forward {small}.{digit} ms backward {small}.{digit} ms optimizer {digit}.{digit} ms at step ",
    "INFO memory: allocated 6{digit}.{digit} GiB reserved 7{digit}.{digit} GiB at step ",
    "INFO tokens: {pid} a second, {small} sequences packed, padding 0.0{digit} at step ",
    "DEBUG loader: worker {digit} opened shard {small} of 2048 at step ",
)


def write(world: World, sink: Sink) -> None:
    """Fills the day up to the lines that its profile asks for; nothing is written when it has them already."""
    volume = world.profile.volume
    wanted = max(0, volume.lines_per_day - sink.count)
    parts = volume.application + volume.syslog + volume.samples
    if not wanted or not parts:
        return
    left = wanted - _training(world, sink, round(wanted * volume.application / parts))
    rest = volume.syslog + volume.samples or 1.0
    samples = write_samples(world, sink, round(left * volume.samples / rest))
    _services(world, sink, left - samples)


def _training(world: World, sink: Sink, lines: int) -> int:
    """Lines of the ranks while they make progress, in the attempts' own files; how many."""
    spans = {a.key: span for a in world.attempts if (span := _progress(world, a)) is not None}
    busy = {a.key: a for a in world.attempts if a.key in spans}
    seconds = {key: (spans[key][1] - spans[key][0]).total_seconds() * len(a.ranks) for key, a in busy.items()}
    total = sum(seconds.values())
    for key, attempt in busy.items():
        per_rank = round(lines * seconds[key] / total / len(attempt.ranks))
        if attempt.style.layout == "ranks":
            for rank in attempt.ranks:
                path = f"{folder(attempt)}/{rank.node}/rank-{rank.rank}.worker.log"
                sink.stream(path, _rank_lines(world, attempt, spans[key], per_rank, only=rank.rank))
        else:
            sink.stream(output(attempt), _rank_lines(world, attempt, spans[key], per_rank * len(attempt.ranks)))
    return lines if total else 0


def _progress(world: World, attempt: Attempt) -> tuple[datetime, datetime] | None:
    """From the first step to the last one that is logged this day; a rank that stands still says nothing more."""
    steps = [t for t in _logged(world).get(attempt.key, ()) if world.holds(t)]
    begun = max(attempt.train_at, world.midnight) if world.number else attempt.train_at
    return (begun, steps[-1]) if steps and steps[-1] > begun else None


def _logged(world: World) -> dict[AttemptKey, list[datetime]]:
    found: dict[AttemptKey, list[datetime]] = {}
    for line in world.of("app"):
        if line.kind == "app.step" and line.job is not None:
            found.setdefault(line.job, []).append(line.t)
    return found


def _rank_lines(
    world: World, attempt: Attempt, span: tuple[datetime, datetime], count: int, *, only: int | None = None
) -> Iterator[Block]:
    rng = _numbers(world, "training", *attempt.key, "" if only is None else only)
    pool = _pool(rng, TRAINING)
    began, step_us = micros(attempt.train_at), attempt.step_s * 1e6
    for times in bulk.spread(rng, [span], count):
        speaker = only if only is not None else int(rng.integers(len(attempt.ranks)))
        rank = attempt.ranks[speaker]
        stamps = bulk.asctime(bulk.shown(world.clock(rank.node), times))
        steps = ((times - began) / step_us).astype(np.int64).tolist()
        picks = rng.integers(POOL, size=len(stamps)).tolist()
        texts = [f"{stamp} {pool[i]}{step}" for stamp, i, step in zip(stamps, picks, steps, strict=True)]
        if only is None:
            texts = [label(text, speaker, len(attempt.ranks)) for text in texts]
        yield times.tolist(), texts


def _services(world: World, sink: Sink, lines: int) -> None:
    spans = {node.name: _up(world, node) for node in world.topology.nodes}
    total = sum((end - start).total_seconds() for found in spans.values() for start, end in found)
    for node in world.topology.nodes:
        seconds = sum((end - start).total_seconds() for start, end in spans[node.name])
        count = round(lines * seconds / total)
        sink.stream(f"nodes/{node.name}/syslog", _service_lines(world, node, spans[node.name], count))


def _up(world: World, node: Node) -> list[tuple[datetime, datetime]]:
    """When a node runs on this day."""
    at, close = world.midnight, after(world.midnight, DAY_S - 1e-6)
    found = []
    for name, (dark, back) in sorted(world.silences, key=lambda silence: silence[1]):
        if name == node.name and back > at and dark < close:
            found += [(at, dark)] if dark > at else []
            at = max(at, back)
    return [*found, (at, close)] if at < close else found


def _service_lines(world: World, node: Node, spans: list[tuple[datetime, datetime]], count: int) -> Iterator[Block]:
    rng = _numbers(world, "services", node.name)
    pool, stamper = _pool(rng, SERVICES), bulk.iso_micro if node.kernel == "iso" else bulk.rfc3164
    for times in bulk.spread(rng, spans, count):
        stamps = stamper(bulk.shown(world.clock(node.name), times))
        picks = rng.integers(POOL, size=len(stamps)).tolist()
        yield times.tolist(), [f"{stamp} {node.name} {pool[i]}" for stamp, i in zip(stamps, picks, strict=True)]


def _numbers(world: World, *parts: object) -> np.random.Generator:
    return np.random.default_rng(world.stream("chatter", *parts).getrandbits(128))


def _pool(rng: np.random.Generator, templates: tuple[str, ...]) -> list[str]:
    numbers = rng.integers(1, 1 << 30, size=(POOL, 3)).tolist()
    return [
        templates[i % len(templates)].format(pid=2000 + a % 60000, small=10 + b % 90, digit=c % 10)
        for i, (a, b, c) in enumerate(numbers)
    ]
