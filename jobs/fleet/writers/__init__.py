"""Line writers, one a format. A new format is a module with a `write` function and a line here."""

from collections.abc import Callable

from firstfault.jobs.fleet.world import World
from firstfault.jobs.fleet.writers import (
    application,
    chrony,
    flight,
    kernel,
    node_logs,
    nvidia_smi,
    ports,
    prometheus,
    sacct,
    slurmctld,
    tables,
    ufm,
)
from firstfault.jobs.fleet.writers.sink import Sink

Writer = Callable[[World, Sink], None]

WRITERS: tuple[Writer, ...] = (
    tables.write,
    sacct.write,
    slurmctld.write,
    kernel.write,
    application.write,
    prometheus.write,
    nvidia_smi.write,
    ports.write,
    chrony.write,
    node_logs.write,
    ufm.write,
    flight.write,
)

__all__ = ["WRITERS", "Sink", "Writer"]
