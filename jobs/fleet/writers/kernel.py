"""Kernel and system logs of the nodes: rsyslog ISO, RFC 3164, journald, or a dump with seconds since boot."""

from collections.abc import Iterator
from datetime import datetime

from firstfault.jobs.fleet.model import Node, Occurrence
from firstfault.jobs.fleet.world import World
from firstfault.jobs.fleet.writers.journal import kernel_record, service_record
from firstfault.jobs.fleet.writers.kernel_lines import KERNEL, SYSTEM
from firstfault.jobs.fleet.writers.sink import Sink
from firstfault.jobs.fleet.writers.stamps import boot_seconds, compact, iso_micro, rfc3164


def write(world: World, sink: Sink) -> None:
    """Writes kernel and system lines of all nodes.

    A node that keeps its kernel log by dmesg has one dump at the end of the day; what is no trouble also
    reaches its syslog, with both the wall clock and the seconds since boot.
    """
    close, seed = world.close, world.profile.seed
    booted = {node.name: node.booted for node in world.topology.nodes}
    for line in world.of("kern"):
        node = world.topology.by_name[line.node or ""]
        if line.kind == "kern.boot":
            booted[node.name] = line.t
        boot = boot_seconds(booted[node.name], line.t)
        for text in KERNEL[line.kind].format_map(line.attrs).splitlines():
            if node.kernel == "journal":
                record = kernel_record(seed, node, booted[node.name], line.t, world.written(line), text)
                sink.add(f"nodes/{node.name}/journal.json", line.t, record)
                continue
            for path, record in _kernel(world, node, line, text, boot=boot, close=close):
                sink.add(path, line.t, record)
    for node in world.topology.nodes:
        if node.kernel == "dmesg":
            sink.touch(_dump(world, node, close), close)
    for line in world.of("sys"):
        tag, template = SYSTEM[line.kind]
        text, node = f"{tag}: {template.format_map(line.attrs)}", world.topology.by_name[line.node or ""]
        if node.kernel == "journal":
            record = service_record(seed, node, node.booted, line.t, world.written(line), text)
            sink.add(f"nodes/{node.name}/journal.json", line.t, record)
        else:
            sink.add(f"nodes/{node.name}/syslog", line.t, _system(world, line, text))


def _dump(world: World, node: Node, close: datetime) -> str:
    return f"nodes/{node.name}/dmesg-{compact(world.clock(node.name).written(close))}.txt"


def _kernel(
    world: World, node: Node, line: Occurrence, text: str, *, boot: str, close: datetime
) -> Iterator[tuple[str, str]]:
    wall = world.written(line)
    folder = f"nodes/{node.name}"
    if node.kernel == "iso":
        yield f"{folder}/kern.log", f"{iso_micro(wall)} {node.name} kernel: {text}"
    elif node.kernel == "rfc3164":
        yield f"{folder}/messages", f"{rfc3164(wall)} {node.name} kernel: [{boot}] {text}"
    else:
        yield _dump(world, node, close), f"[{boot}] {text}"
        if line.role == "noise":
            yield f"{folder}/syslog", f"{rfc3164(wall)} {node.name} kernel: [{boot}] {text}"


def _system(world: World, line: Occurrence, text: str) -> str:
    wall, node = world.written(line), world.topology.by_name[line.node or ""]
    stamp = iso_micro(wall) if node.kernel == "iso" else rfc3164(wall)
    return f"{stamp} {node.name} {text}"
