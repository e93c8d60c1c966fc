"""From margins to shares: how well stated confidences are kept, and the list that the winners themselves would give."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tests.benchmarks.leave_out_worlds import Verdicts
from tests.benchmarks.rehearsed_lake import NOTHING, Fact, Key

STEP = 0.5
"""Points between the least margins of the finest bins."""
TOP = 8.0
"""From here on one bin."""
BELOW = -STEP
"""Bin of all margins below zero: a winner that was beaten on points."""
Calibration = tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Winner:
    """The best explanation of an attempt.

    Attributes:
        seed: Fleet that it is from.
        confidence: What was published, after caps and poor sources.
        right: Its category is right.
        placed: Its origin is right as well, where the truth has one.
    """

    seed: int
    margin: float
    confidence: float
    right: bool
    placed: bool


@dataclass(frozen=True)
class Bin:
    """Winners from one least margin to the next."""

    least: float
    n: int
    right: int
    placed: int

    @property
    def share(self) -> float:
        """Share right by category, as if one more had been right and one more wrong: few do not say 1."""
        return (self.right + 1) / (self.n + 2)

    def with_next(self, other: "Bin") -> "Bin":
        """Both as one."""
        return Bin(self.least, self.n + other.n, self.right + other.right, self.placed + other.placed)


def winners(seed: int, facts: dict[Key, Fact], said: Verdicts) -> tuple[list[Winner], int]:
    """The winners that name a category, and how many name none; of a healthy attempt every category is wrong."""
    found, silent = [], 0
    for key, verdict in said.items():
        if verdict.margin is None:
            continue
        if verdict.leaning == NOTHING:
            silent += 1
            continue
        fact = facts.get(key)
        right = fact is not None and verdict.leaning in fact.right
        placed = right and fact is not None and fact.origin in {frozenset(), verdict.leaning_origin}
        found.append(Winner(seed, verdict.margin, verdict.confidence, right, placed))
    return found, silent


def binned(every: Sequence[Winner], leasts: Sequence[float]) -> list[Bin]:
    """The winners by the least margins; those below the first are left out, and so are empty bins."""
    bins = []
    for least, end in pairwise((*leasts, math.inf)):
        inside = [w for w in every if least <= w.margin < end]
        if inside:
            bins.append(Bin(least, len(inside), sum(w.right for w in inside), sum(w.placed for w in inside)))
    return bins


def finest() -> list[float]:
    """Least margins of the finest bins."""
    return [STEP * k for k in range(int(TOP / STEP) + 1)]


def pooled(bins: Sequence[Bin]) -> list[Bin]:
    """Adjacent bins pooled until shares rise: isotonic regression on shares with the prior in them."""
    done: list[Bin] = []
    for one in bins:
        done.append(one)
        while len(done) > 1 and done[-2].share >= done[-1].share:
            last = done.pop()
            done[-1] = done[-1].with_next(last)
    return done


def proposal(every: Sequence[Winner]) -> Calibration:
    """[least margin, share right], rising; the first holds from zero on."""
    found: dict[float, float] = {}
    for block in pooled(binned(every, finest())):
        found.setdefault(round(block.share, 2), block.least if found else 0.0)
    return tuple((least, share) for share, least in found.items())


def stated(calibration: Calibration, margin: float) -> float:
    """The confidence of a margin, before any cap."""
    return max((share for least, share in calibration if margin >= least), default=0.0)


def brier(every: Sequence[Winner], of: Callable[[Winner], float]) -> float:
    """Mean square of confidence less truth."""
    return sum((of(w) - w.right) ** 2 for w in every) / len(every)


def calibration_error(every: Sequence[Winner], of: Callable[[Winner], float], bins: int = 10) -> float:
    """Expected distance of confidence and share right, over equal bins of confidence."""
    total = 0.0
    for k in range(bins):
        inside = [w for w in every if min(int(of(w) * bins), bins - 1) == k]
        total += abs(sum(of(w) - w.right for w in inside))
    return total / len(every)


def wilson(right: int, n: int, z: float = 1.96) -> tuple[float, float]:
    """The 95 % interval of a share."""
    centre = (right + z * z / 2) / (n + z * z)
    half = z / (n + z * z) * math.sqrt(right * (n - right) / n + z * z / 4)
    return max(centre - half, 0.0), min(centre + half, 1.0)
