"""How good corrections are: errors and intervals at random moments, order of pairs of events, and who was first."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from firstfault.transforms.clock_offsets import EVERY_SOURCE, REACH_PPM, REACH_S, UNWITNESSED_ERROR_S
from firstfault.transforms.clock_rows import Columns
from tests.benchmarks.clock_fleets import DAY_S, START_S, ZONE_S, Attempt, Flags, Fleet, Floats, Ints, Words
from tests.benchmarks.clock_lines import APP, names

RIGHT, WRONG, OPEN = "right", "wrong", "undecidable"


@dataclass(frozen=True)
class Placed:
    """What is known of written times.

    Attributes:
        offset_s: Local minus true.
        error_s: Of it, 95 %.
        shared_s: The part of the error that clocks of the same reference share.
        reference: What true time is taken from; empty where nothing speaks of the clock.
    """

    offset_s: Floats
    error_s: Floats
    shared_s: Floats
    reference: Words


class Corrections:
    """Rows of clock_offsets, read as `best_offsets`, `offset_at` and `error_at` read them."""

    def __init__(self, rows: pa.Table, nodes: int) -> None:
        known = names(np.arange(nodes)).to_pylist()
        self._app = self._side(rows.filter(pc.equal(rows["source"], APP)), known)
        self._all = self._side(rows.filter(pc.equal(rows["source"], EVERY_SOURCE)), known)
        self.rows = rows

    @staticmethod
    def _side(rows: pa.Table, known: list[str]) -> Columns:
        node = pc.index_in(rows["node"], pa.array(known, pa.string())).to_numpy().astype(np.int64)
        read = {k: rows[k].to_numpy(zero_copy_only=False) for k in
                ("offset_s", "drift_ppm", "error_s", "shared_error_s", "reference")}  # fmt: skip
        read |= {k: rows[k].cast(pa.int64()).to_numpy() / 1e6 for k in ("t_from", "t_to")}
        order = np.lexsort((read["t_from"], node))
        return {"node": node[order]} | {k: v[order] for k, v in read.items()}

    def at(self, node: Ints, written: Floats, *, app: bool = True) -> Placed:
        """What is known of times that nodes wrote, by their application or by others."""
        found = self._at(self._all, node, written)
        if app and len(self._app["node"]):
            own, has = self._at(self._app, node, written), np.isin(node, self._app["node"])
            found = Placed(*(np.where(has, getattr(own, k), getattr(found, k)) for k in Placed.__dataclass_fields__))
        return found

    @staticmethod
    def _at(side: Columns, node: Ints, written: Floats) -> Placed:
        if not len(side["node"]):
            none = np.zeros(len(node))
            return Placed(none, none + UNWITNESSED_ERROR_S, none, np.full(len(node), ""))
        axis, first = side["node"] * 1e11 + side["t_from"], np.searchsorted(side["node"], node)
        has = np.isin(node, side["node"])
        at = np.maximum(np.searchsorted(axis, node * 1e11 + written, "right") - 1, np.where(has, first, 0))
        low, high = side["t_from"][at], side["t_to"][at]
        inside = np.clip(written, low, high)
        beyond = np.abs(written - inside)
        has &= beyond <= REACH_S
        offset = side["offset_s"][at] + side["drift_ppm"][at] * 1e-6 * (inside - low)
        return Placed(
            np.where(has, offset, 0.0),
            np.where(has, side["error_s"][at] + beyond * REACH_PPM * 1e-6, UNWITNESSED_ERROR_S),
            np.where(has, side["shared_error_s"][at], 0.0),
            np.where(has, side["reference"][at].astype(str), ""),
        )


@dataclass(frozen=True)
class Errors:
    """Errors at random moments of clocks, one element a moment.

    Attributes:
        node: The clock.
        away_s: Offset found less true offset, without sign.
        error_s: What was stated.
        raw_s: The true offset, without sign.
        has_row: Whether anything was stated.
    """

    node: Ints
    away_s: Floats
    error_s: Floats
    raw_s: Floats
    has_row: Flags

    def of(self, chosen: Flags) -> "Errors":
        """Those of the chosen clocks that have a row."""
        kept = chosen[self.node] & self.has_row
        return Errors(*(getattr(self, k)[kept] for k in self.__dataclass_fields__))

    @property
    def median(self) -> float:
        """Median error, seconds."""
        return float(np.median(self.away_s))

    @property
    def p95(self) -> float:
        """Error that 95 % stay below, seconds."""
        return float(np.percentile(self.away_s, 95))

    @property
    def coverage(self) -> float:
        """Share of moments whose true offset lies within the stated interval."""
        return float(np.mean(self.away_s <= self.error_s))

    @property
    def width(self) -> float:
        """Median width of the stated interval, seconds."""
        return float(np.median(2 * self.error_s))


def errors(fleet: Fleet, found: Corrections, per_node: int = 48, seed: int = 7) -> Errors:
    """Errors at random moments of the day, of lines that the application wrote."""
    rng = np.random.default_rng(seed)
    node = np.repeat(np.arange(fleet.mix.nodes), per_node)
    t = START_S + rng.uniform(0, DAY_S, len(node))
    placed = found.at(node, t + written_offset(fleet, node, t))
    true = written_offset(fleet, node, t)
    return Errors(node, np.abs(placed.offset_s - true), placed.error_s, np.abs(true), placed.reference != "")


def written_offset(fleet: Fleet, node: Ints, t: Floats) -> Floats:
    """Written minus true of lines of the application."""
    return fleet.clocks.offset(node, t) + np.where(fleet.clocks.fault[node] == "zone", ZONE_S, 0.0)


@dataclass(frozen=True)
class Pairs:
    """Events of one attempt on two nodes, the first at true time `t`, the other `gap_s` later."""

    first: Ints
    second: Ints
    t: Floats
    gap_s: Floats


def pairs(fleet: Fleet, n: int = 20_000, seed: int = 8) -> Pairs:
    """Pairs whose distances are log-uniform from 1 ms to 60 s, from attempts by their node hours."""
    rng = np.random.default_rng(seed)
    shared = _shared(fleet)
    weight = np.array([len(a.nodes) * (a.end - a.start) for a in shared])
    chosen = rng.choice(len(shared), n, p=weight / weight.sum())
    size = np.array([len(a.nodes) for a in shared])[chosen]
    start = np.cumsum([0, *(len(a.nodes) for a in shared)])[chosen]
    every = np.concatenate([a.nodes for a in shared])
    one = rng.integers(size)
    other = (one + 1 + rng.integers(size - 1)) % size
    begin, end = np.array([_within(a) for a in shared])[chosen].T
    gap = np.exp(rng.uniform(np.log(1e-3), np.log(60.0), n))
    return Pairs(every[start + one], every[start + other], begin + rng.random(n) * (end - begin), gap)


def _shared(fleet: Fleet) -> list[Attempt]:
    begun = [a for a in fleet.attempts if len(a.nodes) > 1]
    return [a for a in begun if _within(a)[1] - _within(a)[0] > 60]


def _within(attempt: Attempt) -> tuple[float, float]:
    """The part of an attempt that lies in the day."""
    return max(attempt.start, START_S), min(attempt.end, START_S + DAY_S)


def order(fleet: Fleet, found: Corrections | None, drawn: Pairs) -> dict[str, float]:
    """Shares of pairs put in the right order, in the wrong one, and left open; None for written times as they are."""
    low_1, high_1, low_2, high_2 = _intervals(fleet, found, drawn.first, drawn.t, drawn.second, drawn.t + drawn.gap_s)
    before, after = high_1 < low_2, high_2 < low_1
    return {RIGHT: float(before.mean()), WRONG: float(after.mean()), OPEN: float((~before & ~after).mean())}


def _intervals(
    fleet: Fleet, found: Corrections | None, a: Ints, t_a: Floats, b: Ints, t_b: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """Intervals of two events each, without the error that both share."""
    y_a, y_b = t_a + written_offset(fleet, a, t_a), t_b + written_offset(fleet, b, t_b)
    if found is None:
        return y_a, y_a, y_b, y_b
    one, two = found.at(a, y_a), found.at(b, y_b)
    same = (one.reference == two.reference) & (one.reference != "")
    x_a, x_b = y_a - one.offset_s, y_b - two.offset_s
    e_a, e_b = (side.error_s - np.where(same, side.shared_s, 0.0) for side in (one, two))
    return x_a - e_a, x_a + e_a, x_b - e_b, x_b + e_b


def traps(fleet: Fleet, found: Corrections | None, n: int = 40, seed: int = 9) -> dict[str, float]:
    """Incidents in which a clock off by seconds is the origin's or a peer's: shares right, wrong, and abstained.

    The origin's first event is followed by one of each other node, 0.2 to 30 s later; who is first is accused.
    """
    rng = np.random.default_rng(seed)
    wrong_clock = np.isin(fleet.clocks.fault, ("seconds", "hour", "drift", "step_forward", "step_back"))
    usable = [a for a in _shared(fleet) if wrong_clock[a.nodes].any()]
    verdicts = [_verdict(fleet, found, usable[rng.integers(len(usable))], wrong_clock, rng) for _ in range(n)]
    return {name: verdicts.count(name) / n for name in (RIGHT, WRONG, OPEN)}


def _verdict(
    fleet: Fleet, found: Corrections | None, attempt: Attempt, wrong_clock: Flags, rng: np.random.Generator
) -> str:
    off = attempt.nodes[wrong_clock[attempt.nodes]]
    t0 = rng.uniform(*_within(attempt))
    bad = rng.choice(off)
    fast = fleet.clocks.offset(np.array([bad]), np.array([t0]))[0] > 0
    # A fast clock hides its own fault, a slow one makes its node look first.
    origin = bad if fast else rng.choice(attempt.nodes[attempt.nodes != bad])
    others = attempt.nodes[attempt.nodes != origin]
    t = t0 + np.exp(rng.uniform(np.log(0.2), np.log(30.0), len(others)))
    first, at = np.full(len(others), origin), np.full(len(others), t0)
    low, high, peer_low, peer_high = _intervals(fleet, found, first, at, others, t)
    if (high < peer_low).all():
        return RIGHT
    return WRONG if (peer_high < low).any() else OPEN
