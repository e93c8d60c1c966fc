"""UFM's event log: what the manager of the fabric says of switch ports."""

from firstfault.jobs.fleet.model import stream
from firstfault.jobs.fleet.world import World
from firstfault.jobs.fleet.writers.sink import Sink
from firstfault.jobs.fleet.writers.stamps import millis


def write(world: World, sink: Sink) -> None:
    """Writes the day's events; the manager keeps true time and prints no zone."""
    for number, line in enumerate(world.of("ufm"), start=1042):
        switch, _, port = (line.port or "").partition(":")
        device = f"{stream(0, 'guid', switch).getrandbits(64):016x}"
        said = line.attrs
        head = f"{line.t:%Y-%m-%d} {millis(line.t, '.')} [{number}] [{said['event']}] {said['level']} [{said['group']}]"
        text = f"{head} IBPort [Switch: {switch} / {port}] [dev_id: {device}]: {said['text']}"
        sink.add("network/ufm-event.log", line.t, text)
