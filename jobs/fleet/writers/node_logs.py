"""Other logs of a node: Fabric Manager, slurmd, Spectrum Scale, the board controller's SEL, readiness checks."""

from collections.abc import Callable
from datetime import datetime

from firstfault.jobs.fleet.model import Occurrence, after, stream
from firstfault.jobs.fleet.world import World
from firstfault.jobs.fleet.writers.sink import Sink
from firstfault.jobs.fleet.writers.stamps import compact, millis

BMC_WRONG_S = 25.0


def write(world: World, sink: Sink) -> None:
    """Writes the lines of services that keep a log of their own, and one SEL listing a node that has any entry."""
    for family, (path, text) in _LOGS.items():
        for line in world.of(family):
            sink.add(f"nodes/{line.node}/{path}", line.t, text(line, world.written(line)))
    for line in world.of("ready"):
        name = f"{line.attrs['name']}-{compact(world.written(line))}.txt"
        sink.add(f"nodes/{line.node}/readiness/{name}", line.t, str(line.attrs["text"]))
    _sel(world, sink)


def _manager(line: Occurrence, written: datetime) -> str:
    return f"[{written:%b %d %Y %H:%M:%S}] [{line.attrs['level']}] [tid 2207] {line.attrs['text']}"


def _slurmd(line: Occurrence, written: datetime) -> str:
    return f"[{written:%Y-%m-%dT}{millis(written, '.')}] {line.attrs['text']}"


def _scale(line: Occurrence, written: datetime) -> str:
    return f"{written:%Y-%m-%d_}{millis(written, '.')}+0000: [{line.attrs['level']}] {line.attrs['text']}"


def _sel(world: World, sink: Sink) -> None:
    """`ipmitool sel elist`: hexadecimal record ids, and a clock that is neither the node's nor quite right."""
    entries: dict[str, list[Occurrence]] = {}
    for line in world.of("sel"):
        entries.setdefault(line.node or "", []).append(line)
    for node, lines in entries.items():
        wrong_s = stream(world.profile.seed, "bmc", node).uniform(-BMC_WRONG_S, BMC_WRONG_S)
        path = f"nodes/{node}/sel-{compact(world.close)}.txt"
        for number, line in enumerate(lines, start=1):
            t, said = after(line.t, wrong_s), line.attrs
            event = f"{said['sensor']} | {said['text']} | {said['state']}"
            sink.add(path, line.t, f"{number:4x} | {t:%m/%d/%Y} | {t:%H:%M:%S} | {event}")
        sink.touch(path, world.close)


_LOGS: dict[str, tuple[str, Callable[[Occurrence, datetime], str]]] = {
    "fm": ("fabricmanager.log", _manager),
    "slurmd": ("slurmd.log", _slurmd),
    "mmfs": ("mmfs.log", _scale),
}
