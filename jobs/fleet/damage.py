"""What befalls lines on their way: lost one by one and in bursts, or delivered twice, in shares that hold."""

from collections.abc import Iterator
from math import log
from random import Random

from firstfault.jobs.fleet.asks import DamageProfile, Missing
from firstfault.jobs.fleet.model import stream

BURST_LINES = 40
BATCH_LINES = 10


class Way:
    """The way of one file's lines to the landing zone.

    Attributes:
        lost: Lines that did not arrive.
        repeated: Lines that arrived once more.
    """

    def __init__(self, rng: Random, damage: DamageProfile) -> None:
        self.lost = 0
        self.repeated = 0
        half = damage.loss / 2
        self._one = _spans(rng, half / (1 - half), 1)
        self._burst = _spans(rng, half, BURST_LINES)
        self._batch = _spans(rng, damage.duplicates, BATCH_LINES)

    def carry(self, lines: list[str]) -> list[str]:
        """What arrives of some lines.

        Args:
            lines: Physical lines, in order.

        Returns:
            The lines that arrive, a batch that is sent twice following itself.
        """
        gone = {*self._burst.hit(len(lines)), *self._one.hit(len(lines))}
        kept = [line for i, line in enumerate(lines) if i not in gone] if gone else lines
        self.lost += len(gone)
        return self._again(kept)

    def _again(self, lines: list[str]) -> list[str]:
        hit = self._batch.hit(len(lines))
        if not hit:
            return lines
        self.repeated += len(hit)
        out: list[str] = []
        at = 0
        for first, last in _runs(hit):
            out += lines[at : last + 1]
            out += lines[first : last + 1]
            at = last + 1
        return out + lines[at:]


class _Spans:
    """Runs of lines that are hit, over a file that comes in parts; lengths and gaps are drawn at random."""

    def __init__(self, rng: Random, share: float, length: int) -> None:
        self._rng = rng
        self._length = length
        self._gap = length * (1 - share) / share if share else 0.0
        self._wait = self._draw(self._gap) if share else -1
        self._left = 0

    def hit(self, count: int) -> list[int]:
        """Which of the next lines are hit."""
        found: list[int] = []
        at = 0
        while self._wait >= 0:
            take = min(self._left, count - at)
            found += range(at, at + take)
            self._left -= take
            at += take
            step = min(self._wait, count - at) if not self._left else 0
            at += step
            self._wait -= step
            if at >= count:
                break
            self._left = 1 if self._length == 1 else self._draw(self._length - 1) + 1
            self._wait = self._draw(self._gap)
        return found

    def _draw(self, mean: float) -> int:
        """A geometric number of this mean, from 0."""
        return int(log(1.0 - self._rng.random()) / log(mean / (1.0 + mean))) if mean > 0 else 0


def _spans(rng: Random, share: float, length: int) -> _Spans:
    return _Spans(Random(rng.getrandbits(64)), share, length)  # noqa: S311 - a rehearsal, not a secret


def _runs(places: list[int]) -> Iterator[tuple[int, int]]:
    first = last = places[0]
    for place in places[1:]:
        if place != last + 1:
            yield first, last
            first = place
        last = place
    yield first, last


def is_missing(seed: int, asked: tuple[Missing, ...], source: str, place: str, day: int) -> bool:
    """Whether a source of a place is not delivered on a day.

    Args:
        seed: Seed of the profile.
        asked: What is to be missing.
        source: The source.
        place: Its node, switch or job.
        day: Days since the first one.

    Returns:
        Whether it is missing; a place that is without a source is so on each of the days that miss it.
    """
    return any(
        one.source == source
        and stream(seed, "missing", source, "place", place).random() < one.places
        and stream(seed, "missing", source, "day", day).random() < one.days
        for one in asked
    )
