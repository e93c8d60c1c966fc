"""Observations by the hour and by the stretch between steps: few rows, each a median, for the fit over all clocks."""

from dataclasses import replace

import numpy as np

from firstfault.transforms.clock_rows import ALONE, Floats, Ints, Observations, group_median, numbered, spread
from firstfault.transforms.clock_steps import Steps

HOUR_S = 3600.0
FAR_S = 1e11
"""Further than all times of one clock lie apart."""
MEDIAN_COST = 1.2533
"""Standard deviation of a median against that of a mean, for normal noise."""


def segments(rows: Observations, steps: Steps) -> Ints:
    """How many steps of its clock lie before each observation; -1 inside a step, where nothing is sure."""
    at = _axis(rows.node, rows.t)
    before = np.searchsorted(_axis(steps.node, steps.high), at, side="right")
    begun = np.searchsorted(_axis(steps.node, steps.low), at, side="left")
    first = np.searchsorted(steps.node, rows.node)
    return np.asarray(np.where(before == begun, before - first, -1), np.int64)


def _axis(number: Ints, t: Floats) -> Floats:
    """One axis for the times of all clocks, in order of clock and time."""
    return np.asarray(number * FAR_S + t, np.float64)


def by_hour(rows: Observations, segment: Ints, steps: Steps, split: Ints) -> tuple[Observations, Ints]:
    """Medians by clock, stretch, kind, group and hour, with the stretch of each; a group's numbers are new.

    Args:
        rows: Observations in short spans; `group` numbers the families that share moments.
        segment: Stretch of each observation (`segments`); those inside a step are left out.
        steps: The steps of all clocks.
        split: Kinds whose group has a centre that moves with its clocks; others have one for the day.
    """
    kept = segment >= 0
    rows, segment = rows.take(kept), segment[kept]
    if not len(rows):
        return rows, segment
    hour = np.floor(rows.t / HOUR_S).astype(np.int64)
    part = np.where(np.isin(rows.kind, split), _parts(rows, steps), 0)
    number, first = numbered(rows.node, segment, rows.kind, rows.group, hour, part)
    size = len(first)
    count = np.asarray(np.bincount(number, rows.count, size), np.float64)
    spans = np.bincount(number, minlength=size)
    sigma = group_median(number, rows.sigma, size) * np.where(spans > 1, MEDIAN_COST / np.sqrt(spans), 1.0)
    head = rows.take(first)
    shared = head.group != ALONE
    group = np.full(size, ALONE, np.int64)
    if shared.any():
        moving = np.where(np.isin(head.kind, split), hour[first], 0)
        group[shared] = numbered(head.group[shared], moving[shared], part[first][shared])[0]
    made = replace(
        head,
        group=group,
        t=group_median(number, rows.t, size),
        value=group_median(number, rows.value, size),
        sigma=sigma,
        count=count,
    )
    return made, segment[first]


def _parts(rows: Observations, steps: Steps) -> Ints:
    """How many steps of any clock of its group lie before each observation."""
    part = np.zeros(len(rows), np.int64)
    shared = np.flatnonzero(rows.group != ALONE)
    if not len(steps) or not len(shared):
        return part
    member = shared[numbered(rows.group[shared], rows.node[shared])[1]]
    begin, end = (np.searchsorted(steps.node, rows.node[member], side) for side in ("left", "right"))
    which, step = spread(begin, end)
    of_group, moment = rows.group[member][which], steps.high[step]
    order = np.lexsort((moment, of_group))
    at = np.searchsorted(_axis(of_group[order], moment[order]), _axis(rows.group[shared], rows.t[shared]), side="right")
    part[shared] = at - np.searchsorted(of_group[order], rows.group[shared], side="left")
    return part
