"""Knots: the full hours at which the offset of each stretch of a clock is unknown to the fit."""

from dataclasses import dataclass

import numpy as np

from firstfault.transforms.clock_rows import Floats, Ints, Observations
from firstfault.transforms.clock_windows import HOUR_S


@dataclass(frozen=True)
class Knots:
    """Where the unknowns of each stretch lie.

    Attributes:
        node: Clock of each stretch.
        segment: Its number among the stretches of the clock.
        hour: First full hour, since the epoch.
        start: Number of its first unknown.
        count: How many full hours it has.
    """

    node: Ints
    segment: Ints
    hour: Ints
    start: Ints
    count: Ints

    @property
    def size(self) -> int:
        """Unknowns of all stretches."""
        return int(self.count.sum())

    def stretch(self, node: Ints, segment: Ints) -> Ints:
        """The stretch of each clock and segment, -1 where there is none."""
        wide = 1 + max(int(self.segment.max(initial=0)), int(segment.max(initial=0)))
        known, wanted = self.node * wide + self.segment, node * wide + segment
        at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
        return np.asarray(np.where((known[at] == wanted) & (segment >= 0), at, -1), np.int64)

    def place(self, stretch: Ints, t: Floats) -> tuple[Ints, Floats]:
        """The unknown before true times of stretches, and the share of the way to the next; beyond the ends too."""
        hours = t / HOUR_S - self.hour[stretch]
        before = np.clip(np.floor(hours).astype(np.int64), 0, self.count[stretch] - 2)
        return self.start[stretch] + before, np.asarray(hours - before)


def knots_of(rows: Observations, segment: Ints) -> tuple[Knots, Ints]:
    """The stretches that have observations, in order of clock and time, and the stretch of each observation."""
    code = rows.node * (int(segment.max(initial=0)) + 1) + segment
    codes, first, stretch = np.unique(code, return_index=True, return_inverse=True)
    hour = np.floor(rows.t / HOUR_S).astype(np.int64)
    low, high = np.full(len(codes), np.iinfo(np.int64).max), np.full(len(codes), np.iinfo(np.int64).min)
    np.minimum.at(low, stretch, hour)
    np.maximum.at(high, stretch, hour)
    count = high - low + 2
    start = np.cumsum(count) - count
    return Knots(rows.node[first], segment[first], low, start, count), stretch.astype(np.int64)
