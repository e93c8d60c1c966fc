"""Normal equations of many clocks that are each a chain of hours, tied together by what they share.

Decision 2026-11-30: conjugate gradients led by the chains alone. A factor of all equations fills in where large jobs
tie hundreds of clocks (minutes for 2,000 nodes); one of the chains costs milliseconds, some hundred steps lead there.
"""

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import SuperLU, splu

from firstfault.transforms.clock_rows import Floats, Ints

FEW = 6000
"""So many unknowns are factorised sooner than led to ..."""
STEPS = 3000
"""... and so are more where this many steps do not get there (clocks that hang together by threads)."""


def solve(normal: sp.csc_matrix, right: Floats, x: Floats, block: Ints, close_s: float) -> Floats:
    """The unknowns of the normal equations, for one or more right sides.

    Args:
        normal: Their matrix: symmetric and positive.
        right: Their right sides, one a column.
        x: Guesses, of the same shape.
        block: The chain of each unknown.
        close_s: No unknown is moved by more in the last step.
    """
    if len(x) <= FEW:
        return np.asarray(_factor(normal).solve(right), np.float64)
    lead, x, rest = _factor(_within(normal, block)), x.copy(), right - normal @ x
    ahead = way = lead.solve(rest)
    gain = _sums(rest, ahead)
    for _ in range(STEPS):
        if np.max(np.abs(ahead), initial=0.0) < close_s:
            return x
        along = normal @ way
        share = gain / _positive(_sums(way, along))
        x += share * way
        rest -= share * along
        ahead = lead.solve(rest)
        before, gain = gain, _sums(rest, ahead)
        way = ahead + gain / _positive(before) * way
    return np.asarray(_factor(normal).solve(right), np.float64)


def _within(normal: sp.csc_matrix, block: Ints) -> sp.csc_matrix:
    """The matrix without what ties one block to another."""
    parts = normal.tocoo()
    own = block[parts.row] == block[parts.col]
    return sp.csc_matrix((parts.data[own], (parts.row[own], parts.col[own])), shape=normal.shape)


def _factor(matrix: sp.csc_matrix) -> SuperLU:
    return splu(matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})


def _sums(a: Floats, b: Floats) -> Floats:
    return np.asarray((a * b).sum(axis=0), np.float64)


def _positive(values: Floats) -> Floats:
    """A right side that is met has no way left to go."""
    return np.asarray(np.where(values > 0, values, 1.0), np.float64)
