"""First guesses of clocks: about how far each is off, and which sources write times of another zone.

The fit that follows is robust only from a start that is right to seconds; an hour's error must not look like noise.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from firstfault.transforms.clock_rows import NO_KINDS, Flags, Floats, Ints, Observations, group_median, numbered

QUARTER_S = 900.0
"""Offsets of zones are whole quarters of an hour."""
ZONE_SLACK_S = 200.0
"""How far from a whole quarter a coarse offset may lie: schedules are known to a minute or two."""
SURE_S = 0.5
"""What claims to know a clock better than this anchors its component without a vote."""
MAX_ROUNDS = 50
"""Attempts that a chain of shared nodes may have."""


def source_shifts(rows: Observations, trusted: Ints, about: Ints = NO_KINDS) -> Floats:
    """Whole quarter hours by which the source of each observation writes another zone than its node's clock, seconds.

    Args:
        rows: All observations.
        trusted: Kinds that speak of the node's own clock (its synchronisation), whatever the source.
        about: Kinds that share a constant, but a small one: each tells about true time by itself.
    """
    number, first = numbered(rows.node, rows.source)
    found = _levels(rows, number, len(first), about)
    level, node = np.where(found.clear, found.level_s, np.nan), rows.node[first]
    own = np.isin(rows.kind, trusted)
    clocks = int(rows.node.max(initial=-1)) + 1
    reference = group_median(rows.node[own], rows.value[own], clocks)
    # Without synchronisation of its own, the source that lies nearest to true time shows the node's clock.
    order = np.lexsort((level, np.abs(level), node))
    order = order[np.isfinite(level[order])]
    nearest = np.full(clocks, np.nan)
    nearest[node[order[::-1]]] = level[order[::-1]]
    away = level - np.where(np.isfinite(reference), reference, nearest)[node]
    quarters = np.round(away / QUARTER_S)
    moved = np.isfinite(away) & (quarters != 0) & (np.abs(away - quarters * QUARTER_S) <= ZONE_SLACK_S)
    shift = np.where(moved, quarters * QUARTER_S, 0.0)
    return np.asarray(np.where(own, 0.0, shift[number]), np.float64)


def unshifted(rows: Observations, shift_s: Floats) -> Observations:
    """The observations as if every source wrote the zone of its node."""
    return replace(rows, value=rows.value - shift_s)


def coarse_offsets(rows: Observations, clocks: int, about: Ints = NO_KINDS) -> Floats:
    """About how far each clock is off, seconds: by its own witnesses, else by nodes that share moments with it.

    Args:
        rows: All observations.
        clocks: How many clocks there are.
        about: Kinds that share a constant, but a small one.
    """
    return _levels(rows, rows.node, clocks, about).level_s


@dataclass(frozen=True)
class _Levels:
    level_s: Floats
    clear: Flags


def _levels(rows: Observations, unit: Ints, units: int, about: Ints) -> _Levels:
    """Levels of units (clocks, or sources of clocks), and whether they are certain to seconds or minutes."""
    near = np.isin(rows.kind, about)
    shared = ~rows.alone & ~near
    relative, part = _relative(unit[shared], rows.group[shared], rows.value[shared], units)
    parts = int(part.max(initial=-1)) + 1
    middle, width = modes(part, relative, parts)
    size = np.bincount(part, minlength=parts)
    kinds = (rows.alone & (rows.sigma < SURE_S), near, rows.alone & (rows.sigma >= SURE_S))
    own = [group_median(unit[kind], rows.value[kind], units) for kind in kinds]
    sure, close, rough = (_anchors(said - relative, part, parts) for said in own)
    agreed = (size > 2) & (width <= ZONE_SLACK_S)
    vote = np.where(agreed & ~(np.abs(rough + middle) > ZONE_SLACK_S), -middle, np.nan)
    anchored = _first(sure, close, vote, rough)
    level = relative + _first(anchored, -middle)[part]
    # Lines that are always late, or deliveries: which of them is wrong is not known, but few clocks are far off.
    level = np.where(np.abs(own[1]) < np.abs(level), own[1], level)
    level = _first(own[0], level)
    return _Levels(np.asarray(level, np.float64), np.isfinite(anchored)[part])


def _first(*choices: Floats) -> Floats:
    """The first of the choices that is known."""
    found = choices[0]
    for choice in choices[1:]:
        found = np.where(np.isfinite(found), found, choice)
    return found


def _anchors(away: Floats, part: Ints, parts: int) -> Floats:
    """What witnesses of single units add to the relative levels of each component: their median, a unit a vote."""
    known = np.isfinite(away)
    return group_median(part[known], away[known], parts)


def _relative(unit: Ints, group: Ints, value: Floats, units: int) -> tuple[Floats, Ints]:
    """Levels of units against the one of their component that shares most, and the component of each."""
    groups = int(group.max(initial=-1)) + 1
    part = components(unit, group, units)
    rows = np.bincount(unit, minlength=units)
    order = np.lexsort((np.arange(units), -rows, part))
    level = np.full(units, np.nan)
    level[order[np.unique(part[order], return_index=True)[1]]] = 0.0
    for _ in range(MAX_ROUNDS):
        known = np.isfinite(level[unit])
        if known.all():
            break
        centre = group_median(group[known], (level[unit] - value)[known], groups)
        reached = ~known & np.isfinite(centre[group])
        fresh = group_median(unit[reached], (value + centre[group])[reached], units)
        level = np.where(np.isfinite(level), level, fresh)
    return np.nan_to_num(level), part


def components(unit: Ints, group: Ints, units: int) -> Ints:
    """The component of each unit, where units that are of one group are of one component.

    Args:
        unit: Unit of each row.
        group: Group of each row.
        units: How many units there are.
    """
    size = units + int(group.max(initial=-1)) + 1
    edges = coo_matrix((np.ones(len(unit)), (unit, units + group)), shape=(size, size))
    return np.unique(connected_components(edges, directed=False)[1][:units], return_inverse=True)[1].astype(np.int64)


def modes(part: Ints, level: Floats, parts: int) -> tuple[Floats, Floats]:
    """Median of the shortest range that holds more than half of each component's levels, and its width.

    Args:
        part: Component of each level.
        level: The levels.
        parts: How many components there are; none is empty.
    """
    order = np.lexsort((level, part))
    size = np.bincount(part, minlength=parts)
    start = np.cumsum(size) - size
    half = size // 2 + 1
    group, at = part[order], np.arange(len(order))
    last = at + half[group] - 1
    inside = last < (start + size)[group]
    ordered = level[order]
    width = np.where(inside, ordered[np.minimum(last, len(order) - 1)] - ordered, np.inf)
    best = np.lexsort((at, width, group))[start]
    low, high = best + (half - 1) // 2, best + half // 2
    return np.asarray((ordered[low] + ordered[high]) / 2), width[best]
