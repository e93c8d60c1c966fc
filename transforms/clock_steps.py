"""Steps: moments at which a clock jumped, found in the series of each witness or told by the clock's own daemon."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_matrix

from firstfault.transforms.clock_rows import (
    ALONE,
    NO_KINDS,
    Flags,
    Floats,
    Ints,
    Observations,
    group_median,
    numbered,
    spread,
)

SIDE = 3
"""Observations on each side whose medians are compared: one outlier moves neither."""
REACH_S = 5400.0
"""Observations further from a moment say nothing of a step there."""
LEAST_S = 0.1
"""Smaller jumps are left to the drift: chrony and ntpd slew them."""
NOISE_FACTOR = 6.0
"""A jump counts from this many times the noise of a median of three ..."""
SIGMA_FACTOR = 6.0
"""... and of what the witness claims: whole seconds repeat without noise until they jump."""
DIP = 4
"""Delays that last for twice as many observations show in no step: a congested collector catches up in minutes."""
ECHO_SHARE = 0.5
"""A jump less than half as large as that of a clock met at the same moment is taken for its echo."""
SAME_STEP_S = 900.0
"""Jumps of one clock this close are one step, seen by several witnesses."""

_AXIS_S = 1e11
"""Longer than any time: keeps clocks apart on one axis."""


@dataclass(frozen=True)
class Steps:
    """Jumps of clocks, in order of clock and time.

    Attributes:
        node: Number of the clock.
        low: Last moment known to lie before the jump, true time in seconds.
        high: First moment known to lie after it.
    """

    node: Ints
    low: Floats
    high: Floats

    def __len__(self) -> int:
        return len(self.node)


def find_steps(rows: Observations, told: Observations, delayed: Ints = NO_KINDS) -> Steps:
    """The steps of all clocks.

    Args:
        rows: Observations in short spans of time, of kinds that see every moment alike.
        told: What daemons said: a step of `value` seconds at `t`.
        delayed: Kinds whose values only ever fall by delays.
    """
    seen = _seen(rows, delayed)
    slack = np.abs(told.value) + 1.0
    node = np.concatenate([told.node, seen.node])
    low, high = np.concatenate([told.t - slack, seen.low]), np.concatenate([told.t + slack, seen.high])
    return merged(Steps(node, low, high))


def without_echoes(steps: Steps, size_s: Floats, rows: Observations) -> Steps:
    """The steps without those that a clock is given because another one, that it shares moments with, jumped.

    Where two clocks share a moment, both seem to jump; what else is known of them tells which one did.

    Args:
        steps: The steps.
        size_s: Their sizes by the fit.
        rows: All observations.
    """
    shared = np.flatnonzero(rows.group != ALONE)
    begin, end = (np.searchsorted(steps.node, rows.node[shared], side) for side in ("left", "right"))
    which, step = spread(begin, end)
    row = shared[which]
    near = np.abs(rows.t[row] - steps.low[step]) <= SAME_STEP_S
    groups = int(rows.group.max(initial=-1)) + 1
    met = coo_matrix((np.ones(int(near.sum())), (step[near], rows.group[row][near])), shape=(len(steps), groups))
    one, other = ((met @ met.T) > 0).nonzero()
    echo = (np.abs(steps.low[one] - steps.low[other]) <= SAME_STEP_S) & (steps.node[one] != steps.node[other])
    echo &= np.abs(size_s[one]) < ECHO_SHARE * np.abs(size_s[other])
    kept = np.ones(len(steps), bool)
    kept[one[echo]] = False
    return Steps(steps.node[kept], steps.low[kept], steps.high[kept])


def _seen(rows: Observations, delayed: Ints) -> Steps:
    """Jumps between medians of the observations before and after, without the series' own drift."""
    series, _ = numbered(rows.node, rows.kind, rows.group)
    order = np.lexsort((rows.value, rows.t, series))
    series, rows = series[order], rows.take(order)
    t, node = rows.t, rows.node
    value = np.where(np.isin(rows.kind, delayed), _undipped(series, rows.value), rows.value)
    jump, gap, enough = _jumps(series, t, value)
    count = int(series.max(initial=-1)) + 1
    slope = np.nan_to_num(group_median(series[enough], (jump / gap)[enough], count))
    jump = jump - slope[series] * gap
    size = np.where(enough, np.abs(jump), 0.0)
    at = np.flatnonzero((size > _bar(series, value, rows.sigma)) & _is_peak(series, size))
    at = _sharpest(series, value, np.sign(jump), at)
    return Steps(node[at], t[at - 1], t[at])


def _sharpest(series: Ints, value: Floats, sign: Floats, at: Ints) -> Ints:
    """Of each place and its neighbours the one with the greatest rise: medians of three tell it to one place."""
    near = np.clip(at[:, None] + np.arange(-1, 2), 1, max(len(value) - 1, 1))
    rise = np.where(series[near] == series[near - 1], (value[near] - value[near - 1]) * sign[at][:, None], -np.inf)
    # The middle one where all are alike.
    return np.asarray(near[np.arange(len(at)), np.argmax(rise + np.array([0.0, 1e-9, 0.0]), axis=1)])


def _bar(series: Ints, value: Floats, sigma: Floats) -> Floats:
    """From what size on a jump counts, by what a series does from one observation to the next, and what it claims."""
    count = int(series.max(initial=-1)) + 1
    inside = np.flatnonzero(series[1:] == series[:-1])
    noise = np.nan_to_num(group_median(series[inside], np.abs(np.diff(value))[inside], count)) * 1.4826 / np.sqrt(2.0)
    claimed = np.nan_to_num(group_median(series, sigma, count))
    return np.asarray(np.maximum(LEAST_S, np.maximum(NOISE_FACTOR * noise, SIGMA_FACTOR * claimed)[series]))


def _undipped(series: Ints, value: Floats) -> Floats:
    """The values without dips shorter than `DIP` observations on each side: greatest around, then least of those."""
    highest = _extreme(series, value, np.fmax)
    return -_extreme(series, -highest, np.fmax)


def _extreme(series: Ints, value: Floats, choose: np.ufunc) -> Floats:
    found = value.copy()
    for away in range(1, DIP + 1):
        same = series[away:] == series[:-away]
        found[:-away] = np.where(same, choose(found[:-away], value[away:]), found[:-away])
        found[away:] = np.where(same, choose(found[away:], value[:-away]), found[away:])
    return found


def _jumps(series: Ints, t: Floats, value: Floats) -> tuple[Floats, Floats, Flags]:
    """For each place: median after less median before, the time between their middles, whether there are enough."""
    before_v, before_t = _side(series, t, value, range(-SIDE, 0))
    after_v, after_t = _side(series, t, value, range(SIDE))
    enough = np.asarray(np.isfinite(before_v).all(axis=0) & np.isfinite(after_v).all(axis=0))
    middle = [_middle(part, enough) for part in (before_v, after_v, before_t, after_t)]
    gap: Floats = np.maximum(middle[3] - middle[2], 1.0)
    return middle[1] - middle[0], gap, enough


def _side(series: Ints, t: Floats, value: Floats, places: range) -> tuple[Floats, Floats]:
    """Values and times at some places from each place, NaN outside the series or out of reach."""
    n = len(series)
    at = np.arange(n)[None, :] + np.array(places)[:, None]
    valid = (at >= 0) & (at < n)
    at = np.clip(at, 0, max(n - 1, 0))
    valid &= (series[at] == series[None, :]) & (np.abs(t[at] - t[None, :]) <= REACH_S)
    return np.where(valid, value[at], np.nan), np.where(valid, t[at], np.nan)


def _middle(part: Floats, enough: Flags) -> Floats:
    found = np.zeros(part.shape[1])
    if enough.any():
        found[enough] = np.nanmedian(part[:, enough], axis=0)
    return found


def _is_peak(series: Ints, size: Floats) -> Flags:
    """Whether no neighbour of the same series within a side shows a larger jump; the first of equal ones."""
    n = len(series)
    peak = np.ones(n, bool)
    for away in range(1, SIDE + 1):
        same = series[away:] == series[:-away]
        peak[:-away] &= ~(same & (size[away:] > size[:-away]))
        peak[away:] &= ~(same & (size[:-away] >= size[away:]))
    return peak


def merged(*found: Steps) -> Steps:
    """Jumps in order of clock and time, those of one clock that lie close as one: the sharpest."""
    steps = Steps(*(np.concatenate([getattr(part, name) for part in found]) for name in ("node", "low", "high")))
    order = np.lexsort((steps.low, steps.node))
    node, low, high = steps.node[order], steps.low[order], steps.high[order]
    if not len(node):
        return Steps(node, low, high)
    # A coarse witness brackets the step that a sharp one dates: what overlaps is one, however far apart its starts.
    known_until = np.maximum.accumulate(node * _AXIS_S + high) - node * _AXIS_S
    apart = low[1:] > np.maximum(known_until[:-1], low[:-1] + SAME_STEP_S)
    starts = np.append(True, (node[1:] != node[:-1]) | apart)
    first = np.flatnonzero(starts)
    width = high - low
    number = np.cumsum(starts) - 1
    # The sharpest witness of each step says when it was.
    sharpest = np.lexsort((width, number))[np.searchsorted(np.sort(number), np.arange(len(first)))]
    return Steps(node[first], low[sharpest], high[sharpest])
