"""Observations of clocks as arrays, and medians of groups of them: what the fusion of witnesses counts with."""

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Columns = dict[str, npt.NDArray[Any]]

NO_KINDS: Ints = np.zeros(0, np.int64)
ALONE = -1
"""Group of an observation that speaks of one clock by itself."""


@dataclass(frozen=True)
class Observations:
    """What witnesses say, one element an observation.

    Attributes:
        node: Number of the clock.
        source: Number of the source whose times it speaks of.
        kind: Number of the kind of witness.
        group: Number of the moment that it shares with others (value = offset less a constant of the group), or ALONE.
        t: True time as far as known, seconds.
        value: Local minus true, or minus the group's centre, seconds.
        sigma: One standard deviation of value, seconds.
        count: Lines or samples that it stands for.
    """

    node: Ints
    source: Ints
    kind: Ints
    group: Ints
    t: Floats
    value: Floats
    sigma: Floats
    count: Floats

    def __len__(self) -> int:
        return len(self.node)

    def take(self, chosen: Ints | Flags) -> "Observations":
        """The chosen ones."""
        return Observations(*(getattr(self, f.name)[chosen] for f in fields(self)))

    def at(self, t: Floats) -> "Observations":
        """The same at other times."""
        return replace(self, t=t)

    @property
    def alone(self) -> Flags:
        """Which of them need no others."""
        return np.asarray(self.group == ALONE)


def numbered(*keys: Ints) -> tuple[Ints, Ints]:
    """Each element's number among the distinct combinations, and the first place of each combination."""
    code = np.zeros(len(keys[0]), np.int64)
    for key in keys:
        size = int(key.max(initial=0)) - int(key.min(initial=0)) + 1
        code = np.unique(code * size + key - key.min(initial=0), return_inverse=True)[1].astype(np.int64)
    _, first, number = np.unique(code, return_index=True, return_inverse=True)
    return number.astype(np.int64), first.astype(np.int64)


def spread(begin: Ints, end: Ints) -> tuple[Ints, Ints]:
    """All pairs of a range's number and a number within the range.

    Args:
        begin: First number of each range.
        end: End of each, exclusive.
    """
    count = end - begin
    which = np.repeat(np.arange(len(begin)), count)
    return which, np.asarray(np.arange(len(which)) - np.repeat(np.cumsum(count) - end, count), np.int64)


def group_median(number: Ints, values: Floats, size: int) -> Floats:
    """Median of the values of each group, NaN for an empty one.

    Args:
        number: Group of each value, 0 to size - 1.
        values: The values.
        size: How many groups there are.
    """
    order = np.lexsort((values, number))
    counts = np.bincount(number, minlength=size)
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    found = np.full(size, np.nan)
    some = counts > 0
    low, high = starts[some] + (counts[some] - 1) // 2, starts[some] + counts[some] // 2
    ordered = values[order]
    found[some] = (ordered[low] + ordered[high]) / 2
    return found


def robust_scale(values: Floats, fallback: float) -> float:
    """Standard deviation of the bulk of values around zero, by their median size."""
    return float(np.median(np.abs(values))) * 1.4826 if len(values) else fallback
