"""The least squares of the fit: all rows, each with a weight that a scale and its distance give it."""

import numpy as np
import scipy.sparse as sp

from firstfault.transforms.clock_knots import Knots
from firstfault.transforms.clock_priors import (
    DRIFT_LIMITS,
    LEVEL_LIMITS_S,
    PRIORS,
    Part,
    Priors,
    biases_of,
    centres_of,
    constants_of,
    observed,
    shape_of,
)
from firstfault.transforms.clock_rows import Floats, Ints, Observations, robust_scale

CAUCHY = 2.385
"""Cauchy weights keep 95 % of the efficiency of least squares for normal noise (Holland and Welsch 1977)."""
DRAWS = 64
"""Solutions drawn for the errors: each standard deviation is known to 9 %."""
FLEET_LIMITS = {"level": LEVEL_LIMITS_S, "drift": DRIFT_LIMITS}
"""Between these the spread of a fleet's clocks is taken from the fleet itself ..."""
FLEET_SHARE, FLEET_QUANTILE = 0.3, 0.385
"""... from its best third: that many of a normal distribution lie within 0.385 sigma, and half may be wrong."""
SCALE_LIMITS = (0.3, 5.0)
"""A kind's stated sigma is corrected by its residuals within these."""


class System:
    """Rows of the least squares.

    Attributes:
        size: Unknowns: knots, then constants of groups, then those of witnesses.
        block: The clock of each unknown; a number of its own for each group.
        bias: The unknown of each observation's witness; -1 where it has none.
    """

    def __init__(self, rows: Observations, knots: Knots, stretch: Ints, priors: Priors) -> None:
        self._kinds = int(rows.kind.max(initial=-1)) + 1
        groups = knots.size + int(rows.group.max(initial=-1)) + 1
        column, of_bias = biases_of(rows, priors.biases, priors.is_late)
        self.size = groups + len(of_bias)
        self.block = _blocks(rows, knots, column, groups)
        self.bias = np.where(column >= 0, groups + column, -1)
        number = {name: self._kinds + i for i, name in enumerate(PRIORS)}
        parts = (
            observed(rows, knots, stretch, self.bias),
            centres_of(rows, knots, priors.centres),
            *shape_of(knots, number, priors.level_s),
            constants_of(groups, of_bias, priors.biases, number["bias"]),
        )
        self._right, self._sigma, self._scale = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ("right", "sigma", "scale")
        )
        self._matrix = _matrix(parts, self.size)
        freedom = len(rows) - (self.size - knots.size)
        self._lost = float(np.sqrt(len(rows) / max(freedom, len(rows) / 4, 1)))

    def residual(self, x: Floats) -> Floats:
        """What the rows say less what the unknowns give."""
        return np.asarray(self._right - self._matrix @ x, np.float64)

    def weights(self, x: Floats, reach_s: float = 0.0, *, is_free: bool = False) -> tuple[Floats, Floats]:
        """Weight of each row at these unknowns, and by how much each kind's sigma is corrected.

        Args:
            x: The unknowns.
            reach_s: Observations lose their weight this much further away; priors do not, as half may be wrong.
            is_free: Whether clocks may lie anywhere, for the time being.
        """
        away = self.residual(x) / self._sigma
        scale = np.array([self._scale_of(number, away) for number in range(self._kinds + len(PRIORS))])
        sure = self._scale < 0
        if is_free:
            scale[self._kinds + PRIORS.index("level")] = LEVEL_LIMITS_S[1] / LEVEL_LIMITS_S[0]
        own = np.where(sure, 1.0, scale[self._scale])
        seen = (self._scale >= 0) & (self._scale < self._kinds)
        doubt = 1.0 / (1.0 + (away / (own * CAUCHY + np.where(seen, reach_s, 0.0) / self._sigma)) ** 2)
        doubt = np.where(sure, 1.0, doubt)
        return np.asarray(doubt / (self._sigma * own) ** 2, np.float64), scale

    def _scale_of(self, number: int, away: Floats) -> float:
        of_kind = np.abs(away[self._scale == number])
        if not len(of_kind):
            return 1.0
        if number < self._kinds:
            return float(np.clip(robust_scale(of_kind, 1.0) * self._lost, *SCALE_LIMITS))
        limits = FLEET_LIMITS.get(PRIORS[number - self._kinds], (1.0, 1.0))
        best = float(np.quantile(of_kind, FLEET_SHARE)) / FLEET_QUANTILE
        return float(np.clip(best, 1.0, limits[1] / limits[0]))

    def normal(self, weight: Floats) -> sp.csc_matrix:
        """Matrix of the normal equations."""
        weighted = self._matrix.multiply(np.sqrt(weight)[:, None]).tocsr()
        return (weighted.T @ weighted + sp.identity(self.size) * 1e-9).tocsc()

    def right(self, weight: Floats) -> Floats:
        """Right side of the normal equations."""
        return np.asarray(self._matrix.T @ (weight * self._right), np.float64)

    def noise(self, weight: Floats) -> Floats:
        """Right sides for noise of the fitted size, one column a draw; the same draws for the same rows."""
        drawn = np.random.default_rng(20261130).standard_normal((len(weight), DRAWS))
        return np.asarray(self._matrix.T @ (np.sqrt(weight)[:, None] * drawn), np.float64)


def _blocks(rows: Observations, knots: Knots, column: Ints, groups: int) -> Ints:
    """The clock of each knot and of each witness's constant; groups have numbers below zero."""
    biased = column >= 0
    of_bias = np.zeros(int(column.max(initial=-1)) + 1, np.int64)
    of_bias[column[biased]] = rows.node[biased]
    return np.concatenate([np.repeat(knots.node, knots.count), -1 - np.arange(groups - knots.size), of_bias])


def _matrix(parts: tuple[Part, ...], size: int) -> sp.csr_matrix:
    counts = [len(part.right) for part in parts]
    starts = np.cumsum([0, *counts])
    place = [
        np.repeat(np.arange(n) + s, p.columns.shape[1]) for n, s, p in zip(counts, starts[:-1], parts, strict=True)
    ]
    columns, values = ([getattr(p, name).ravel() for p in parts] for name in ("columns", "values"))
    index = (np.concatenate(place), np.concatenate(columns))
    return sp.csr_matrix((np.concatenate(values), index), shape=(int(starts[-1]), size))
