"""Intervals of a clock's own time, from the fit of its stretches: offset, drift, error, and the jumps between them."""

from dataclasses import dataclass

import numpy as np

from firstfault.transforms.clock_fit import Fit
from firstfault.transforms.clock_offsets import UNWITNESSED_ERROR_S
from firstfault.transforms.clock_reference import TWO_SIGMA, About, Seen, about, shared_error
from firstfault.transforms.clock_rows import Columns, Flags, Floats, Ints, group_median, numbered
from firstfault.transforms.clock_steps import Steps
from firstfault.transforms.clock_windows import HOUR_S

LEAST_ERROR_S = 0.001
"""No log tells times better than its own milliseconds."""
ENOUGH = 8
"""Clocks whose offsets tell how far those of a cluster may be off."""
UNWITNESSED_LIMIT_S = 60.0
"""Schedules are known to a minute: more is told by them."""
CLEAR_STEP_SIGMAS, CLEAR_STEP_S = 3.0, 0.02
COLUMNS = (
    "node", "source", "t_from", "t_to", "offset_s", "drift_ppm", "error_s", "shared_error_s", "step_s", "method", "n",
    "reference",
)  # fmt: skip


@dataclass(frozen=True)
class _Pieces:
    """Pieces of stretches between full hours, in true time."""

    stretch: Ints
    low: Floats
    high: Floats
    at_low: Floats
    at_high: Floats
    error: Floats
    shared: Floats


@dataclass(frozen=True)
class _Jumps:
    """Jumps with the stretches before and after, offsets there, and the clock's own time that they leave unsure."""

    step: Ints
    before: Ints
    after: Ints
    was: Floats
    now: Floats
    t_from: Floats
    t_to: Floats


@dataclass(frozen=True)
class _Rows:
    """Intervals of whole clocks; `true` is the true time at which each begins."""

    node: Ints
    true: Floats
    t_from: Floats
    t_to: Floats
    offset_s: Floats
    drift_ppm: Floats
    error_s: Floats
    shared_error_s: Floats
    step_s: Floats


def intervals(found: Fit | None, steps: Steps, seen: Seen, span_s: tuple[float, float]) -> Columns:
    """Columns `COLUMNS` of the intervals within a span of true time.

    Args:
        found: The fit; None when nothing could be fitted.
        steps: The jumps between stretches.
        seen: What the fit rests on.
        span_s: First second and end.
    """
    if found is None:
        return {name: np.zeros(0, np.int64 if name in {"node", "source"} else float) for name in COLUMNS}
    known = about(seen, int(max(found.knots.node.max(), seen.rows.node.max())) + 1)
    pieces = _pieces(found, known)
    jumps = _sides(found, steps)
    parts = (_plain(found, pieces, steps, jumps), _unsure(found, pieces, steps, jumps))
    every = _Rows(*(np.concatenate([getattr(p, name) for p in parts]) for name in _Rows.__dataclass_fields__))
    inside = (every.true >= span_s[0]) & (every.true < span_s[1]) & (every.t_to > every.t_from)
    node = every.node[inside]
    columns: Columns = {name: getattr(every, name)[inside] for name in COLUMNS if hasattr(every, name)}
    # The sum, not its root: between clocks of one reference the shared part is taken off again.
    columns["error_s"] = (every.error_s + every.shared_error_s)[inside]
    columns |= {name: getattr(known, name)[node] for name in ("method", "n", "reference")}
    columns["source"] = np.full(len(node), -1, np.int64)
    return _with_sources({name: columns[name] for name in COLUMNS}, seen)


def jump_sizes(found: Fit, steps: Steps) -> Floats:
    """By how much each clock jumps at each step, NaN where one side of it is not known.

    Args:
        found: The fit.
        steps: The jumps between its stretches.
    """
    jumps = _sides(found, steps)
    size = np.full(len(steps), np.nan)
    size[jumps.step] = jumps.now - jumps.was
    return size


def _pieces(found: Fit, known: About) -> _Pieces:
    k = found.knots
    stretch = np.repeat(np.arange(len(k.start)), k.count - 1)
    number = np.arange(len(stretch)) - np.repeat(np.cumsum(k.count - 1) - (k.count - 1), k.count - 1)
    at = k.start[stretch] + number
    shared, own = (np.maximum(error[at], error[at + 1]) for error in shared_error(found, known))
    least = np.where(known.is_weak, _unwitnessed(found, known), LEAST_ERROR_S)[k.node[stretch]]
    error = np.maximum(own, least)
    low = np.asarray((k.hour[stretch] + number) * HOUR_S, np.float64)
    return _Pieces(stretch, low, low + HOUR_S, found.offset_s[at], found.offset_s[at + 1], error, shared)


def _unwitnessed(found: Fit, known: About) -> float:
    """How far a clock may be off that only the scheduler speaks of: as far as the cluster's other clocks are."""
    k = found.knots
    level = group_median(np.repeat(k.node, k.count), found.offset_s, len(known.part))
    others = np.abs(level[np.isfinite(level) & ~known.is_weak])
    if len(others) < ENOUGH:
        return UNWITNESSED_ERROR_S
    return float(np.clip(np.quantile(others, 0.95), UNWITNESSED_ERROR_S, UNWITNESSED_LIMIT_S))


def _sides(found: Fit, steps: Steps) -> _Jumps:
    ordinal = np.arange(len(steps)) - np.searchsorted(steps.node, steps.node, "left")
    before, after = (found.knots.stretch(steps.node, ordinal + i) for i in (0, 1))
    step = np.flatnonzero((before >= 0) & (after >= 0))
    before, after = before[step], after[step]
    low, high = steps.low[step], steps.high[step]
    was, is_now = _value(found, before, low), _value(found, after, high)
    ends = np.stack([low + was, high + is_now])
    return _Jumps(step, before, after, was, is_now, ends.min(axis=0), ends.max(axis=0))


def _value(found: Fit, stretch: Ints, t: Floats) -> Floats:
    """Offset of a stretch at a true time, carried on beyond its ends."""
    at, share = found.knots.place(stretch, t)
    return np.asarray(found.offset_s[at] + share * (found.offset_s[at + 1] - found.offset_s[at]))


def _bounds(found: Fit, steps: Steps) -> tuple[Floats, Floats]:
    """True time from which and until which each stretch holds, by the jumps of its clock."""
    k = found.knots
    first, last = (np.searchsorted(steps.node, k.node, side) for side in ("left", "right"))
    after = first + k.segment
    low = np.where(k.segment > 0, np.append(steps.high, np.inf)[np.minimum(after - 1, len(steps))], -np.inf)
    high = np.where(after < last, np.append(steps.low, np.inf)[np.minimum(after, len(steps))], np.inf)
    return low, high


def _plain(found: Fit, p: _Pieces, steps: Steps, jumps: _Jumps) -> _Rows:
    """Pieces cut at the jumps, on the clock's own time; what a jump back repeats belongs to the jump."""
    low, high = _bounds(found, steps)
    true_low, true_high = np.maximum(p.low, low[p.stretch]), np.minimum(p.high, high[p.stretch])
    kept: Flags = true_high > true_low
    slope = (p.at_high - p.at_low) / (p.high - p.low)
    begin, end = np.full(len(low), -np.inf), np.full(len(low), np.inf)
    begin[jumps.after], end[jumps.before] = jumps.t_to, jumps.t_from
    offset_low, offset_high = (p.at_low + slope * (t - p.low) for t in (true_low, true_high))
    t_from = np.maximum(true_low + offset_low, begin[p.stretch])
    return _Rows(
        node=found.knots.node[p.stretch][kept],
        true=true_low[kept],
        t_from=t_from[kept],
        t_to=np.minimum(true_high + offset_high, end[p.stretch])[kept],
        offset_s=(offset_low + slope * (t_from - true_low - offset_low))[kept],
        drift_ppm=(slope * 1e6)[kept],
        error_s=p.error[kept],
        shared_error_s=p.shared[kept],
        step_s=np.full(int(kept.sum()), np.nan),
    )


def _unsure(found: Fit, p: _Pieces, steps: Steps, jumps: _Jumps) -> _Rows:
    """The unsure time of each jump: halfway between both offsets, wide enough for both."""
    error, shared = np.zeros((2, len(found.knots.start)))
    np.maximum.at(error, p.stretch, p.error)
    np.maximum.at(shared, p.stretch, p.shared)
    both = np.maximum(error[jumps.before], error[jumps.after])
    size = jumps.now - jumps.was
    clear = np.abs(size) > np.maximum(CLEAR_STEP_S, CLEAR_STEP_SIGMAS / TWO_SIGMA * both)
    return _Rows(
        node=found.knots.node[jumps.before],
        true=steps.low[jumps.step],
        t_from=jumps.t_from,
        t_to=jumps.t_to,
        offset_s=(jumps.was + jumps.now) / 2,
        drift_ppm=np.zeros(len(size)),
        error_s=np.abs(size) / 2 + both,
        shared_error_s=np.maximum(shared[jumps.before], shared[jumps.after]),
        step_s=np.where(clear, size, np.nan),
    )


def _with_sources(every: Columns, seen: Seen) -> Columns:
    """Adds the intervals of sources that write another zone than their node's clock."""
    moved = np.flatnonzero(seen.shift_s != 0)
    if not len(moved):
        return every
    _, first = numbered(seen.rows.node[moved], seen.rows.source[moved])
    of_pair = moved[first]
    node, source, shift = seen.rows.node[of_pair], seen.rows.source[of_pair], seen.shift_s[of_pair]
    pair, row = np.nonzero(node[:, None] == every["node"][None, :])
    own = {name: values[row] for name, values in every.items()}
    own["source"] = source[pair]
    own |= {name: own[name].astype(np.float64) + shift[pair] for name in ("t_from", "t_to", "offset_s")}
    return {name: np.concatenate([values, own[name]]) for name, values in every.items()}
