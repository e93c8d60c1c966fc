"""Observations of clocks as tests state them: a series of values of one clock, and several put together."""

import numpy as np

from firstfault.transforms.clock_rows import ALONE, Observations

HOUR_S = 3600.0
SPAN_S = 300.0


def series(node, values, *, start=0.0, every=SPAN_S, kind=0, group=ALONE, source=0, sigma=0.01) -> Observations:
    """Values of one clock, evenly spaced in time."""
    value = np.asarray(values, float)
    n = len(value)
    same = [np.full(n, number, np.int64) for number in (node, source, kind, group)]
    return Observations(*same, start + np.arange(n) * every, value, np.full(n, sigma), np.ones(n))


def joined(*parts: Observations) -> Observations:
    """All observations of the parts."""
    names = Observations.__dataclass_fields__
    return Observations(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def shuffled(rows: Observations, seed: int = 1) -> Observations:
    """The same observations in another order."""
    return rows.take(np.random.default_rng(seed).permutation(len(rows)))


NOTHING = series(0, [])
