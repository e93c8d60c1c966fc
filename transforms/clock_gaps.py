"""Steps that nobody saw: a clock that is another one after hours without any witness."""

import numpy as np

from firstfault.transforms.clock_fit import Fit
from firstfault.transforms.clock_rows import Floats, Ints, Observations, group_median
from firstfault.transforms.clock_steps import LEAST_S, Steps, merged
from firstfault.transforms.clock_windows import HOUR_S

GAP_S = HOUR_S
"""Shorter times without a witness are left to the drift."""
CRYSTAL = 8e-6
"""What a crystal may gain in the gap beyond the clock's usual drift, seconds a second."""
SIGMAS = 3.0
"""How sure a jump must be."""


def hidden_steps(found: Fit, rows: Observations, stretch: Ints) -> Steps:
    """Jumps across gaps within a stretch that neither the clock's drift nor the error of the fit accounts for.

    Args:
        found: The fit.
        rows: Observations that show offsets to seconds.
        stretch: Stretch of each by its place in the knots; -1 for none.
    """
    kept = stretch >= 0
    rows, stretch = rows.take(kept), stretch[kept]
    order = np.lexsort((rows.t, stretch))
    t, stretch = rows.t[order], stretch[order]
    gap = np.flatnonzero((stretch[1:] == stretch[:-1]) & (np.diff(t) > GAP_S))
    low, high, of_gap = t[gap], t[gap + 1], stretch[gap]
    rise, spread = _rise(found, of_gap, low, high)
    usual = _usual_drift(found, t, stretch)[of_gap] * (high - low)
    bar = np.maximum(LEAST_S, np.maximum(CRYSTAL * (high - low), SIGMAS * spread))
    jumps = np.abs(rise - usual) > bar
    return merged(Steps(found.knots.node[of_gap[jumps]], low[jumps], high[jumps]))


def _rise(found: Fit, stretch: Ints, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Growth of the offset between two times of stretches, and its standard deviation."""
    at_low, share_low = found.knots.place(stretch, low)
    at_high, share_high = found.knots.place(stretch, high)
    both = [
        _between(values, at_high, share_high) - _between(values, at_low, share_low)
        for values in (found.offset_s[:, None], found.draws_s)
    ]
    return both[0][:, 0], np.asarray(both[1].std(axis=1))


def _between(values: Floats, at: Ints, share: Floats) -> Floats:
    return np.asarray(values[at] + share[:, None] * (values[at + 1] - values[at]))


def _usual_drift(found: Fit, t: Floats, stretch: Ints) -> Floats:
    """Median drift of each stretch over the hours that have observations, seconds a second."""
    at, _ = found.knots.place(stretch, t)
    seen, first = np.unique(at, return_index=True)
    slope = (found.offset_s[seen + 1] - found.offset_s[seen]) / HOUR_S
    return np.nan_to_num(group_median(stretch[first], slope, len(found.knots.node)))
