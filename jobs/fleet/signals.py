"""Gauges and counters over time, rebuilt from the occurrences that set or raise them."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from math import isnan, nan

from firstfault.jobs.fleet.model import after
from firstfault.jobs.fleet.world import World

Place = tuple[str | None, str]


@dataclass(slots=True)
class Track:
    """One signal at one place: when it changed and to what."""

    base: float = 0.0
    times: list[datetime] = field(default_factory=list)
    values: list[float] = field(default_factory=list)

    def at(self, t: datetime) -> float:
        """The value at a true time."""
        i = bisect_right(self.times, t)
        return self.values[i - 1] if i else self.base

    def change(self, t: datetime, value: float, *, add: bool) -> None:
        """Sets the value from a time on, or raises it; times must not go back."""
        last = self.values[-1] if self.values else self.base
        self.times.append(t)
        self.values.append(last + value if add else value)


Tracks = dict[str, dict[Place, Track]]


def tracks(world: World) -> Tracks:
    """All signals that ever change, by name and place (node or None, device or port).

    Args:
        world: The day, its occurrences sorted by true time.

    Returns:
        Tracks by signal name and place.
    """
    found: Tracks = defaultdict(dict)
    for line in world.occurrences:
        family, _, name = line.kind.partition(".")
        if family in {"set", "add", "clear"}:
            place = (line.node, line.device or line.port or "")
            track = found[name].setdefault(place, Track())
            amount = nan if family == "clear" else float(line.attrs["value"] or 0)
            track.change(line.t, amount, add=family == "add")
    return found


def value(found: Tracks, name: str, place: Place, t: datetime, base: float = 0.0) -> float:
    """The value of a signal at a place and time; `base` where it never changes before."""
    track = found.get(name, {}).get(place)
    if track is None or not track.times or t < track.times[0]:
        return base
    seen = track.at(t)
    return base if isnan(seen) else seen


def grid(start: datetime, end: datetime, step_s: int) -> Iterator[datetime]:
    """Multiples of a step since the epoch inside an interval."""
    first = -(-int(start.timestamp()) // step_s) * step_s
    t = after(start, first - start.timestamp())
    while t <= end:
        yield t
        t = after(t, step_s)
