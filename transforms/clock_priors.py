"""Rows of the fit's least squares: what is observed, and what is known of clocks and witnesses beforehand."""

from dataclasses import dataclass, replace

import numpy as np

from firstfault.transforms.clock_knots import Knots
from firstfault.transforms.clock_rows import ALONE, Flags, Floats, Ints, Observations, numbered
from firstfault.transforms.clock_windows import HOUR_S

DRIFT_LIMITS = (2e-6, 20e-6)
"""A synchronised clock keeps its rate to tenths of a ppm, a crystal of a server to +-20 (vendors state 25 to 50)."""
WANDER_SIGMA = 1e-6
"""Change of the drift from hour to hour, by temperature."""
LEVEL_LIMITS_S = (0.03, 5.0)
"""How far the clocks of a fleet are spread: by NTP, or by nothing but the hand that set them."""
JUMP_SIGMA_S = 0.005
"""A stretch goes on where the last ended, until a jump is shown (Cauchy lets it be any size)."""
SURE = -1
"""Scale of rows that are never doubted."""
PRIORS = ("level", "drift", "bend", "jump", "bias")


@dataclass(frozen=True)
class Centre:
    """What is known of the constants of groups of one kind beforehand.

    Attributes:
        kind: Number of the kind.
        value_s: Expected.
        sigma_s: Its standard deviation.
    """

    kind: int
    value_s: float
    sigma_s: float


@dataclass(frozen=True)
class Bias:
    """What a witness of one kind may always be wrong by, for each clock anew.

    Attributes:
        kind: Number of the kind.
        sigma_s: Standard deviation.
        is_contested: Whether it is asked only of clocks that another witness, not contested, puts elsewhere.
        is_bound: Whether no clock's is taken to be far larger, whatever other witnesses say.
    """

    kind: int
    sigma_s: float
    is_bound: bool = False
    is_contested: bool = False


@dataclass(frozen=True)
class Priors:
    """What is known beforehand.

    Attributes:
        centres: Of groups' constants.
        biases: Of what witnesses are always wrong by.
        level_s: Of each clock, how far it may be off where that is not to be doubted; NaN where the fleet tells.
        is_late: Of each observation, whether its clock's first guess contradicts all of its kind.
    """

    centres: tuple[Centre, ...]
    biases: tuple[Bias, ...]
    level_s: Floats
    is_late: Flags


@dataclass(frozen=True)
class Part:
    """Some rows: unknowns, their factors, right side, sigma, and the number of the scale (or SURE)."""

    columns: Ints
    values: Floats
    right: Floats
    sigma: Floats
    scale: Ints


def biases_of(rows: Observations, biases: tuple[Bias, ...], is_late: Flags) -> tuple[Ints, Ints]:
    """The number of the constant of each observation's witness, -1 for one that is trusted; the bias of each number."""
    of_kind = np.full(int(rows.kind.max(initial=-1)) + 1, -1, np.int64)
    for number, bias in enumerate(biases):
        of_kind[bias.kind : bias.kind + 1] = number
    of_row = of_kind[rows.kind]
    known = np.flatnonzero(of_row >= 0)
    contested = np.array([b.is_contested for b in biases], bool)
    spoken = np.zeros(int(rows.node.max(initial=-1)) + 1, bool)
    spoken[rows.node[known[~contested[of_row[known]]]]] = True
    chosen = known[(spoken[rows.node] & is_late)[known] | ~contested[of_row[known]]]
    column = np.full(len(rows), -1, np.int64)
    if not len(chosen):
        return column, chosen
    column[chosen], first = numbered(rows.node[chosen], of_row[chosen])
    return column, of_row[chosen][first]


def constants_of(start: int, of_bias: Ints, biases: tuple[Bias, ...], scale: int) -> Part:
    """Priors of what witnesses are always wrong by."""
    sigma = np.array([b.sigma_s for b in biases])[of_bias] if len(of_bias) else np.zeros(0)
    made = _priors(start + np.arange(len(of_bias)), sigma, scale)
    bound = np.array([b.is_bound for b in biases], bool)[of_bias] if len(of_bias) else np.zeros(0, bool)
    return replace(made, scale=np.where(bound, SURE, made.scale))


def observed(rows: Observations, knots: Knots, stretch: Ints, bias: Ints) -> Part:
    """An observation between two full hours of its stretch."""
    at, share = knots.place(stretch, rows.t)
    shared = rows.group != ALONE
    centre = np.where(shared, knots.size + rows.group, at)
    columns = np.stack([at, at + 1, centre, np.where(bias < 0, at, bias)], axis=1)
    factors = (1.0 - share, share, np.where(shared, -1.0, 0.0), np.where(bias < 0, 0.0, 1.0))
    return Part(columns, np.stack(factors, axis=1), rows.value, rows.sigma, rows.kind)


def centres_of(rows: Observations, knots: Knots, centres: tuple[Centre, ...]) -> Part:
    """What is known of groups' constants: a collector takes some time."""
    groups = [np.unique(rows.group[(rows.kind == c.kind) & (rows.group != ALONE)]) for c in centres]
    sizes = [len(g) for g in groups]
    column = np.concatenate([*groups, np.zeros(0, np.int64)]).astype(np.int64)
    right, sigma = (np.repeat([getattr(c, name) for c in centres], sizes) for name in ("value_s", "sigma_s"))
    # Groups of one kind are one collector's hours: their mean is known that well, not each of them.
    made = _priors(knots.size + column, sigma * np.sqrt(np.repeat(sizes, sizes)), SURE)
    return replace(made, right=right.astype(np.float64))


def _priors(column: Ints, sigma: Floats, scale: int) -> Part:
    """Rows that say: about zero."""
    return _rows(column[:, None], (1.0,), sigma, scale)


def _rows(columns: Ints, factors: tuple[float, ...], sigma: Floats | float, scale: int) -> Part:
    """Rows of the same factors each, of which nothing is expected but zero."""
    n = len(columns)
    values = np.tile(factors, (n, 1))
    return Part(columns, values, np.zeros(n), np.broadcast_to(sigma, n).astype(np.float64), np.full(n, scale, np.int64))


def shape_of(knots: Knots, number: dict[str, int], level_s: Floats) -> tuple[Part, ...]:
    """Priors of each stretch: near true time in its middle, little drift from end to end, drift that stays, no jump."""
    stretches = np.bincount(knots.node)[knots.node]
    level = _priors(knots.start + knots.count // 2, LEVEL_LIMITS_S[0] * np.sqrt(stretches), number["level"])
    own = level_s[knots.node] * np.sqrt(stretches)
    is_own = np.isfinite(own)
    level = replace(level, sigma=np.where(is_own, own, level.sigma), scale=np.where(is_own, SURE, level.scale))
    last = knots.start + knots.count - 1
    length = np.asarray((knots.count - 1) * HOUR_S, np.float64)
    drift = _same(np.stack([knots.start, last], axis=1), DRIFT_LIMITS[0] * length, number["drift"])
    inner = np.setdiff1d(np.arange(knots.size), np.concatenate([knots.start, last]))
    bend = _rows(inner[:, None] + np.arange(-1, 2), (1.0, -2.0, 1.0), WANDER_SIGMA * HOUR_S, number["bend"])
    follows = np.flatnonzero(knots.node[1:] == knots.node[:-1])
    ends = np.stack([last[follows], knots.start[follows + 1]], axis=1)
    apart = np.abs(knots.hour[follows + 1] - knots.hour[follows] - knots.count[follows] + 1) * HOUR_S
    jump = _same(ends, np.asarray(np.hypot(JUMP_SIGMA_S, DRIFT_LIMITS[1] * apart), np.float64), number["jump"])
    return level, drift, bend, jump


def _same(ends: Ints, sigma: Floats, scale: int) -> Part:
    """Rows that say: two unknowns are about the same."""
    return _rows(ends, (-1.0, 1.0), sigma, scale)
