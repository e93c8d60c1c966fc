"""What true time each clock's offset is taken from, and the error that all clocks of one reference share."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from firstfault.transforms.clock_coarse import components, modes
from firstfault.transforms.clock_fit import Fit
from firstfault.transforms.clock_rows import ALONE, Flags, Floats, Ints, Observations, group_median, numbered
from firstfault.transforms.clock_witnesses import ARRIVAL, FAMILIES, REFERENCES, SCHEDULE, TELEMETRY

Words = npt.NDArray[np.object_]
TWO_SIGMA = 1.96


@dataclass(frozen=True)
class Seen:
    """What the fit rests on.

    Attributes:
        rows: Observations in short spans.
        shift_s: Whole quarter hours that the source of each writes beside its node's clock.
        kinds: Names of the kinds.
        nodes: Names of the clocks; numbers where they have none.
    """

    rows: Observations
    shift_s: Floats
    kinds: list[str]
    nodes: list[str] | None = None


@dataclass(frozen=True)
class About:
    """What is known of each clock beside its offset.

    Attributes:
        n: Lines and samples.
        method: Kinds of its witnesses.
        reference: What true time is taken from; of one component, so that its clocks share an error.
        part: Component.
        is_loose: Whether nothing but the majority of the component's clocks says what is true.
        is_weak: Whether nothing but the scheduler speaks of it.
    """

    n: Ints
    method: Words
    reference: Words
    part: Ints
    is_loose: Flags
    is_weak: Flags


def about(seen: Seen, clocks: int) -> About:
    """Of each clock: how many lines speak of it, of what kinds, and what true time is taken from.

    Args:
        seen: What the fit rests on.
        clocks: How many clocks there are.
    """
    rows = seen.rows
    used = np.zeros((clocks, len(seen.kinds)), bool)
    used[rows.node, rows.kind] = True
    families = np.array([FAMILIES.get(kind, "marks") for kind in seen.kinds], object)
    patterns, number = np.unique(used, axis=0, return_inverse=True)
    methods = np.array(["+".join(sorted(set(families[pattern]))) for pattern in patterns], object)
    shared = rows.group != ALONE
    part = components(rows.node[shared], rows.group[shared], clocks)
    best, anchored = _references(part, used, seen.kinds)
    return About(
        n=np.bincount(rows.node, rows.count, clocks).astype(np.int64),
        method=methods[number.ravel()],
        reference=_named(part, best, seen.nodes)[part],
        part=part,
        is_loose=~anchored[part],
        is_weak=np.asarray(methods == SCHEDULE)[number.ravel()],
    )


def _references(part: Ints, used: Flags, kinds: list[str]) -> tuple[Words, Flags]:
    """The best witness of each component by its name, and whether it knows true time to seconds."""
    parts = int(part.max(initial=-1)) + 1
    has = np.zeros((parts, len(kinds)), bool)
    np.logical_or.at(has, part, used)
    best, anchored = np.full(parts, "", object), np.zeros(parts, bool)
    for kind in (SCHEDULE, ARRIVAL, TELEMETRY):
        if kind in kinds:
            holds = has[:, kinds.index(kind)]
            best[holds] = REFERENCES[kind]
            anchored |= holds & (kind != SCHEDULE)
    return best, anchored


def _named(part: Ints, best: Words, nodes: list[str] | None) -> Words:
    """A name of each component's reference: two components with witnesses of one kind are still two."""
    size = np.bincount(part, minlength=len(best))
    first = np.unique(part, return_index=True)[1]
    names = np.array([str(i) for i in range(len(part))] if nodes is None else nodes, object)[first]
    alone = [f"{b or 'nothing'} of {name}" for b, name in zip(best, names, strict=True)]
    many = [f"{b or 'median'} of {n} clocks with {name}" for b, n, name in zip(best, size, names, strict=True)]
    return np.where(size > 1, np.array(many, object), np.array(alone, object))


def shared_error(found: Fit, known: About) -> tuple[Floats, Floats]:
    """For each knot the error that all clocks of its component have together in that hour, and its own, at 95 %.

    Args:
        found: The fit.
        known: Of each of its clocks.
    """
    k = found.knots
    clock = np.repeat(k.node, k.count)
    hour = np.repeat(k.hour - k.start, k.count) + np.arange(k.size)
    number, first = numbered(known.part[clock], hour)
    sums = np.zeros((len(first), found.draws_s.shape[1]))
    np.add.at(sums, number, found.draws_s)
    means = sums / np.bincount(number)[:, None]
    unsure = np.where(known.is_loose, _majority(found, known, clock), 0.0)
    own = (found.draws_s - means[number]).std(axis=1) * np.repeat(found.misfit[k.node], k.count)
    return np.asarray(TWO_SIGMA * means.std(axis=1)[number] + unsure[clock]), np.asarray(TWO_SIGMA * own)


def _majority(found: Fit, known: About, clock: Ints) -> Floats:
    """By how much the middle of each component's majority may be off; of two clocks either may be right."""
    level = group_median(clock, found.offset_s, len(known.part))
    chosen = np.flatnonzero(np.isfinite(level))
    number = np.unique(known.part[chosen], return_inverse=True)[1].astype(np.int64)
    size = np.bincount(number)
    _, width = modes(number, level[chosen], len(size))
    unsure = np.zeros(len(known.part))
    unsure[chosen] = (width / (2.0 * np.sqrt(np.maximum(size // 2, 1))))[number]
    return unsure
