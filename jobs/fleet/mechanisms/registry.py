"""The register of mechanisms and what each asks of the attempt it strikes."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from random import Random
from typing import Literal

from firstfault.jobs.fleet.model import Attempt, Topology
from firstfault.jobs.fleet.truth import Incident

Build = Callable[[Random, Topology, Attempt, datetime], Incident]
Phase = Literal["init", "middle", "limit"]


@dataclass(frozen=True, slots=True)
class Mechanism:
    """One kind of incident.

    Attributes:
        name: Its name in profiles and in the truth.
        build: Makes the incident of an attempt from its onset.
        phase: When it strikes: at start-up, in the middle, or at the time limit.
        min_nodes: Nodes an attempt must have.
        requeues: Whether the scheduler usually requeues the job after it.
        times: Jobs of the day that the same hardware fails; the first ones alone do not prove it.
    """

    name: str
    build: Build
    phase: Phase
    min_nodes: int
    requeues: bool
    times: int = 1


MECHANISMS: dict[str, Mechanism] = {}


def mechanism(
    name: str, *, phase: Phase = "middle", min_nodes: int = 1, requeues: bool = False, times: int = 1
) -> Callable[[Build], Build]:
    """Registers a function as a mechanism.

    Args:
        name: Its name.
        phase: When it strikes.
        min_nodes: Nodes it needs.
        requeues: Whether the job usually runs again after it.
        times: Jobs that the same hardware fails.

    Returns:
        The decorator.

    Raises:
        ValueError: When the name is taken.
    """

    def register(build: Build) -> Build:
        if name in MECHANISMS:
            raise ValueError(f"mechanism {name} is registered twice")
        MECHANISMS[name] = Mechanism(name, build, phase, min_nodes, requeues, times)
        return build

    return register
