"""Fleets whose clocks are known: what is wrong with them, what witnesses they have, which attempts ran on them.

Nothing here knows how clocks are solved: a clock is a function of true time, and `clock_lines` writes what it shows.
"""

from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.str_]

DAY = "2026-11-20"
HOUR_S, DAY_S = 3600.0, 86_400.0
START_S = datetime.fromisoformat(DAY).replace(tzinfo=UTC).timestamp()
MARGIN_S = 6 * HOUR_S
"""The fleet runs this long before and after the day, as the neighbouring nights would have landed."""
LATE_S = 3.0
"""A straggler is late by this."""
ZONE_S = -8 * HOUR_S
"""What the one node whose application writes another zone adds."""


@dataclass(frozen=True)
class Mix:
    """What a fleet is made of.

    Attributes:
        nodes: How many.
        seed: Of all that is drawn.
        cluster: Its name.
        telemetry: Share of nodes with synchronisation telemetry.
        arrival: Share of nodes whose kernel log carries a collector's stamp.
        marks: Whether training marks are kept.
        schedule: Whether the scheduler told of starts and ends.
        slot_lines: Step lines that a rank keeps in five minutes.
        faults: Clocks of each fault; None for a twelfth of the fleet off by seconds and one each of the others.
    """

    nodes: int
    seed: int = 1
    cluster: str = "sim"
    telemetry: float = 0.0
    arrival: float = 0.0
    marks: bool = True
    schedule: bool = False
    slot_lines: int = 4
    faults: dict[str, int] | None = None


FAULTS = ("seconds", "hour", "drift", "step_forward", "step_back", "zone", "late_rank", "late_node", "late_barrier")
"""Clocks that are wrong, and stragglers whose clocks are right; all others are `good`."""
SMALL = {"seconds": 1, "hour": 1}
UNDISCIPLINED = ("seconds", "hour", "drift", "step_forward", "step_back")


@dataclass(frozen=True)
class Clocks:
    """Clocks as functions of true time, one element a node.

    Attributes:
        fault: good, or one of `FAULTS`.
        base_s: Local minus true at noon.
        drift: Growth of it, seconds a second.
        swing_s: Amplitude of its slow wander.
        period_s: Period of it.
        phase: Phase of it.
        step_at: When it steps, true time; infinite for most.
        step_s: By how much.
    """

    fault: Words
    base_s: Floats
    drift: Floats
    swing_s: Floats
    period_s: Floats
    phase: Floats
    step_at: Floats
    step_s: Floats

    def offset(self, node: Ints, t: Floats) -> Floats:
        """Local minus true of the nodes at true times, seconds."""
        slow = self.base_s[node] + self.drift[node] * (t - START_S - DAY_S / 2)
        wander = self.swing_s[node] * np.sin(2 * np.pi * (t - START_S) / self.period_s[node] + self.phase[node])
        return np.asarray(slow + wander + np.where(t >= self.step_at[node], self.step_s[node], 0.0), np.float64)


@dataclass(frozen=True)
class Attempt:
    """An attempt and how it writes.

    Attributes:
        job: Number of its job.
        hint: Number of the attempt within it.
        nodes: Its nodes.
        start: True time.
        end: True time.
        loggers: Ranks a node that write: 8, or 1, or 0 where rank 0 alone writes.
        node_in_path: Whether the layout names the node; else it is known by the rank of a communicator line.
        whole_seconds: Whether its stamps have no fraction.
        width_s: Scale of the half-normal delay of a line after its moment.
        tail: Share of lines that come much later.
        communicator: Whether it writes when its communicators are up.
        flight: Whether it dumped its flight recorder at the end.
        term: Whether the controller's signal is logged at the end.
    """

    job: int
    hint: int
    nodes: Ints
    start: float
    end: float
    loggers: int
    node_in_path: bool
    whole_seconds: bool
    width_s: float
    tail: float
    communicator: bool
    flight: bool
    term: bool


@dataclass(frozen=True)
class Fleet:
    """A fleet over a day.

    Attributes:
        mix: What it was made by.
        clocks: Its clocks.
        attempts: What ran.
        has_telemetry: Which nodes have it.
        has_arrival: Which nodes have it.
    """

    mix: Mix
    clocks: Clocks
    attempts: list[Attempt]
    has_telemetry: Flags
    has_arrival: Flags

    def witnessed(self) -> Words:
        """What speaks of each node's clock, the best there is."""
        n = self.mix.nodes
        marked = [a for a in self.attempts if len(a.nodes) > 1 and a.loggers and self.mix.marks]
        node = np.concatenate([a.nodes for a in marked] or [np.zeros(0, np.int64)])
        number = np.repeat(np.arange(len(marked)), [len(a.nodes) for a in marked])
        edges = coo_matrix((np.ones(len(node)), (node, n + number)), shape=(n + len(marked),) * 2)
        component = connected_components(edges, directed=False)[1][:n]
        sharing = np.isin(np.arange(n), node)
        anchored = np.isin(component, component[self.has_telemetry]) & sharing
        ran = np.isin(np.arange(n), np.concatenate([a.nodes for a in self.attempts if a.node_in_path]))
        return np.select(
            [self.has_telemetry, anchored, sharing & self.has_arrival, sharing, self.has_arrival,
             ran & self.mix.schedule],
            ["telemetry", "anchored", "marks+arrival", "marks", "arrival", "schedule"], "none",
        )  # fmt: skip


def fleet(mix: Mix) -> Fleet:
    """A fleet of a mix; the same for the same seed."""
    rng = np.random.default_rng(mix.seed)
    fault = _faults(mix, rng)
    clocks = _clocks(fault, rng)
    attempts = _attempts(mix, fault, rng)
    telemetry = rng.permutation(mix.nodes) < round(mix.telemetry * mix.nodes)
    # Who lets a clock drift away runs no daemon; who is off by seconds may still report it.
    telemetry &= ~np.isin(fault, ("hour", "drift", "step_forward", "step_back"))
    telemetry[fault == "late_node"] = mix.telemetry > 0 and not mix.arrival
    arrival = rng.permutation(mix.nodes) < round(mix.arrival * mix.nodes)
    arrival[np.isin(fault, ("zone", "late_node"))] = mix.arrival > 0
    return Fleet(mix, clocks, attempts, telemetry, arrival)


def _faults(mix: Mix, rng: np.random.Generator) -> Words:
    large = dict.fromkeys(FAULTS, 1) | {"seconds": max(1, mix.nodes // 12)}
    small = SMALL | {("drift", "step_forward")[mix.seed % 2]: 1}
    counts = mix.faults if mix.faults is not None else (large if mix.nodes >= 16 else small)
    if not (mix.telemetry or mix.arrival):
        # Nothing tells a clock that is late from lines that always are.
        counts = {name: n for name, n in counts.items() if name != "late_node"}
    named = np.repeat(list(counts), list(counts.values())) if counts else np.zeros(0, "<U12")
    return np.asarray(rng.permutation(np.append(named, np.full(mix.nodes - len(named), "good"))))


def _clocks(fault: Words, rng: np.random.Generator) -> Clocks:
    n = len(fault)
    loose = np.isin(fault, UNDISCIPLINED)
    sign = rng.choice([-1.0, 1.0], n)
    base = rng.uniform(-0.05, 0.05, n)
    base += np.where(fault == "seconds", sign * rng.uniform(1, 10, n), 0.0) + np.where(fault == "hour", HOUR_S, 0.0)
    drift = np.where(loose, rng.uniform(-5e-6, 5e-6, n), rng.uniform(-0.2e-6, 0.2e-6, n))
    drift = np.where(fault == "drift", sign * 200e-6, drift)
    size = np.select([fault == "step_forward", fault == "step_back"], [1.2, -2.5], 0.0)
    at = START_S + rng.uniform(8, 16, n) * HOUR_S
    return Clocks(
        fault=fault,
        base_s=base,
        drift=drift,
        swing_s=rng.uniform(0, 0.005, n),
        period_s=rng.uniform(3, 12, n) * HOUR_S,
        phase=rng.uniform(0, 2 * np.pi, n),
        step_at=np.where(size != 0, at, np.inf),
        step_s=size,
    )


def _attempts(mix: Mix, fault: Words, rng: np.random.Generator) -> list[Attempt]:
    """Attempts one after the other on nodes that are free; some nodes run in one only, some never."""
    n = mix.nodes
    free = np.full(n, START_S - MARGIN_S)
    rare = rng.permutation(np.flatnonzero(fault == "good"))
    never, once = rare[: n // 16], rare[n // 16 : n // 8]
    free[never] = np.inf
    sizes = np.array([1, 2, 2, 2, 4, 4, 8, 8, 16, 32, 64])
    sizes = sizes[sizes <= max(2, n // 2)]
    made: list[Attempt] = []
    now = START_S - MARGIN_S
    while now < START_S + DAY_S + MARGIN_S:
        now += rng.exponential(900 * 16 / n)
        idle, size = np.flatnonzero(free <= now), int(rng.choice(sizes))
        if len(idle) < size:
            continue
        first = rng.integers(len(idle) - size + 1)
        chosen = idle[first : first + size] if rng.random() < 0.5 else rng.choice(idle, size, replace=False)
        made.append(_attempt(len(made), np.sort(chosen), fault, now, rng))
        rest = np.where(rng.random(size) < 0.2, rng.exponential(4 * HOUR_S, size), rng.exponential(0.25 * HOUR_S, size))
        free[chosen] = np.where(np.isin(chosen, once), np.inf, made[-1].end + rest)
    return made


def _attempt(number: int, nodes: Ints, fault: Words, now: float, rng: np.random.Generator) -> Attempt:
    late = "late_node" in fault[nodes]
    again = number % 7 == 6
    return Attempt(
        job=number - again,
        hint=int(again),
        nodes=nodes,
        start=now,
        end=now + float(np.exp(rng.uniform(np.log(1200), np.log(12 * HOUR_S)))),
        loggers=1 if late else int(rng.choice([8, 1, 0], p=[0.6, 0.3, 0.1])),
        node_in_path=bool(late or rng.random() < 0.8),
        whole_seconds=bool(rng.random() < 0.1),
        width_s=float(np.exp(rng.uniform(np.log(0.005), np.log(0.1)))),
        tail=float(rng.choice([0.0, 0.02, 0.1], p=[0.5, 0.3, 0.2])),
        communicator=bool(rng.random() < 0.6),
        flight=bool(rng.random() < 0.3),
        term=bool(rng.random() < 0.5),
    )
