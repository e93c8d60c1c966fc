"""The kinds of incident the fleet can rehearse, by name; one module a fault domain."""

from firstfault.jobs.fleet.mechanisms import (
    gpu,
    host,
    network,
    scheduler,
    software,
    storage,
    workload_faults,
)
from firstfault.jobs.fleet.mechanisms.registry import MECHANISMS, Mechanism, mechanism

__all__ = [
    "MECHANISMS",
    "Mechanism",
    "gpu",
    "host",
    "mechanism",
    "network",
    "scheduler",
    "software",
    "storage",
    "workload_faults",
]
