"""The fit of all clocks at once: robust, sparse least squares with an error for every value.

Unknown are the offset of each stretch of each clock at every full hour, linear in between; one constant a group of
clocks that saw the same moments; and one constant a clock and witness for what that witness is always wrong by. An
observation says: offset of the clock, less the constant of its group, plus its witness's, is its value. Weak priors
(`clock_priors`) say that clocks are near true time, drift little and evenly, and do not jump; the scale of each witness
is estimated from its own residuals, and an observation far from the fit loses its weight (Cauchy). Errors are those of
solutions for noise drawn by the fitted scales (perturb and solve), so they grow where witnesses are few or far.
"""

from dataclasses import dataclass

import numpy as np

from firstfault.transforms.clock_coarse import SURE_S, components, modes
from firstfault.transforms.clock_knots import Knots, knots_of
from firstfault.transforms.clock_priors import LEVEL_LIMITS_S, Bias, Centre, Priors
from firstfault.transforms.clock_rows import ALONE, Flags, Floats, Ints, Observations, group_median, numbered
from firstfault.transforms.clock_solver import solve
from firstfault.transforms.clock_system import System

ITERATIONS = 16
REACH_S = 5.0
"""The first round doubts only what lies this much further away than the last one will bear ..."""
TIGHTEN = 0.4
"""... and each round doubts at this part of it: a start that is off by seconds is led, not left where it is ..."""
TIGHT_S = 0.001
"""... until this."""
STILL_S = 3e-4
SOLVED_S, DRAWN_S = 1e-6, 3e-5
"""How close the unknowns, and the draws that only errors are taken from, are solved."""
LATE_S = 0.3
"""What lies further than this from its clock's first guess, all day, is asked whether its witness is always late."""
NEAR_S = 200.0
"""Schedules are known to a minute or two."""


@dataclass(frozen=True)
class Fit:
    """Offsets of all clocks at the full hours.

    Attributes:
        knots: Where they lie.
        offset_s: Local minus true.
        draws_s: Deviations of offsets drawn by the errors of the fit, one column a draw.
        misfit: How many of their own sigmas the observations of each clock lie apart, 1 when as expected.
    """

    knots: Knots
    offset_s: Floats
    draws_s: Floats
    misfit: Floats


def fit(
    rows: Observations, segment: Ints, centres: tuple[Centre, ...], coarse_s: Floats, biases: tuple[Bias, ...] = ()
) -> Fit:
    """Fits all clocks of the observations.

    Args:
        rows: Observations by the hour (`clock_windows.by_hour`).
        segment: Stretch of each.
        centres: What is known of groups' constants by kind.
        coarse_s: First guess of every clock.
        biases: What a witness may always be wrong by, by kind.
    """
    clocks = int(rows.node.max(initial=-1)) + 1
    part = components(rows.node[rows.group != ALONE], rows.group[rows.group != ALONE], clocks)
    loose = _unanchored(rows, part)
    knots, stretch = knots_of(rows, segment)
    # Two clocks that nothing anchors have no majority: neither may be believed, and either may be right.
    pair = loose & (np.bincount(part)[part] == 2)
    level = np.where(pair, np.hypot(LEVEL_LIMITS_S[0], coarse_s), np.nan)
    system = System(rows, knots, stretch, Priors(centres, biases, level, _late(rows, coarse_s)))
    x = _settled(system, _start(rows, knots, coarse_s, system), REACH_S)
    x = _settled(system, _centred(x, rows, knots, np.where(loose, part, -1)))
    weight, scale = system.weights(x)
    noise = system.noise(weight)
    draws = solve(system.normal(weight), noise, np.zeros(noise.shape), system.block, DRAWN_S)[: knots.size]
    away = np.abs(system.residual(x)[: len(rows)] / (rows.sigma * scale[rows.kind]))
    apart = group_median(rows.node, away, clocks)
    return Fit(knots, x[: knots.size], draws, np.maximum(1.0, np.nan_to_num(apart / 0.6745)))


def _settled(system: System, x: Floats, reach_s: float = 0.0) -> Floats:
    """The unknowns when reweighting moves them no more; from afar it is asked first how clocks lie to each other."""
    is_free = reach_s > 0
    for _ in range(ITERATIONS):
        weight, _ = system.weights(x, reach_s, is_free=is_free)
        fresh = solve(system.normal(weight), system.right(weight), x, system.block, SOLVED_S)
        moved = float(np.max(np.abs(fresh - x), initial=0.0))
        x = fresh
        if not reach_s and moved < STILL_S:
            break
        reach_s = reach_s * TIGHTEN if reach_s > TIGHT_S else 0.0
    return x


def _unanchored(rows: Observations, part: Ints) -> Flags:
    """Clocks of components none of which has a sure witness of its own."""
    anchored = np.zeros(int(part.max(initial=-1)) + 1, bool)
    anchored[part[rows.node[rows.alone & (rows.sigma < SURE_S)]]] = True
    return np.asarray(~anchored[part])


def _centred(x: Floats, rows: Observations, knots: Knots, part: Ints) -> Floats:
    """The unknowns with the middle of the majority of each component at true time; part -1 is left as it is."""
    clocks = len(part)
    level = group_median(np.repeat(knots.node, knots.count), x[: knots.size], clocks)
    chosen = np.flatnonzero((part >= 0) & np.isfinite(level))
    if not len(chosen):
        return x
    number = np.unique(part[chosen], return_inverse=True)[1].astype(np.int64)
    middle, _ = modes(number, level[chosen], int(number.max()) + 1)
    by_clock = np.zeros(clocks)
    # A component that is known to be elsewhere (by its schedule, say) is not one whose majority is right.
    by_clock[chosen] = np.where(np.abs(middle) < NEAR_S, middle, 0.0)[number]
    moved = x.copy()
    moved[: knots.size] -= np.repeat(by_clock[knots.node], knots.count)
    shared = rows.group != ALONE
    moved[knots.size + rows.group[shared]] = x[knots.size + rows.group[shared]] - by_clock[rows.node[shared]]
    return moved


def _middles(rows: Observations, coarse_s: Floats) -> Floats:
    """The middle of each group by the first guesses of its clocks."""
    shared = rows.group != ALONE
    away = (coarse_s[rows.node] - rows.value)[shared]
    return group_median(rows.group[shared], away, int(rows.group.max(initial=-1)) + 1)


def _late(rows: Observations, coarse_s: Floats) -> Flags:
    """Observations whose kind lies far from the first guess of its clock."""
    if not len(rows):
        return np.zeros(0, bool)
    middle = np.append(np.nan_to_num(_middles(rows, coarse_s)), 0.0)
    number, first = numbered(rows.node, rows.kind)
    away = group_median(number, rows.value + middle[rows.group] - coarse_s[rows.node], len(first))
    return np.asarray(np.abs(away)[number] > LATE_S)


def _start(rows: Observations, knots: Knots, coarse_s: Floats, system: System) -> Floats:
    """Every clock at its first guess, every group and witness at the middle of what its clocks then say."""
    x = np.zeros(system.size)
    x[: knots.size] = np.repeat(coarse_s[knots.node], knots.count)
    middles = _middles(rows, coarse_s)
    first = knots.size + len(middles)
    x[knots.size : first] = np.nan_to_num(middles)
    biased = system.bias >= 0
    rest = system.residual(x)[: len(rows)][biased]
    x[first:] = group_median(system.bias[biased] - first, rest, system.size - first)
    return x
