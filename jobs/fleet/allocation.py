"""Gives attempts their nodes: neighbours, and never two attempts on a node at once."""

from collections.abc import Sequence
from datetime import datetime
from random import Random

from firstfault.jobs.fleet.model import Topology


class Calendar:
    """Which node is free from when."""

    def __init__(self, topology: Topology, midnight: datetime) -> None:
        self._nodes = topology.nodes
        self._free = {node.name: midnight for node in topology.nodes}

    def take(
        self, rng: Random, size: int, at: datetime, *, holding: str | None = None
    ) -> tuple[tuple[str, ...], datetime]:
        """Neighbouring nodes for an attempt, and when the last of them is free.

        Args:
            rng: Random stream of the choice.
            size: Nodes wanted.
            at: When they are wanted.
            holding: A node that must be among them.

        Returns:
            Node names and the earliest start.
        """
        names = [node.name for node in self._nodes]
        stride = 1 if size == 1 else 2
        windows = [names[i : i + size] for i in range(0, len(names) - size + 1, stride)]
        if holding is not None:
            every = [names[i : i + size] for i in range(len(names) - size + 1)]
            windows = [w for w in windows if holding in w] or [w for w in every if holding in w]
        ready = [max(self._free[n] for n in window) for window in windows]
        open_now = [w for w, t in zip(windows, ready, strict=True) if t <= at]
        if open_now:
            return tuple(rng.choice(open_now)), at
        soonest = min(range(len(windows)), key=lambda i: (ready[i], i))
        return tuple(windows[soonest]), ready[soonest]

    def hold(self, names: Sequence[str], until: datetime) -> None:
        """Keeps nodes from others until a time."""
        for name in names:
            self._free[name] = max(self._free[name], until)
