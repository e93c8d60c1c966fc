"""What writers see: the profile, the places, the clocks and everything that happened, sorted by true time."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, time
from functools import cached_property
from random import Random

from firstfault.jobs.fleet.clocks import Clock, perfect
from firstfault.jobs.fleet.model import Attempt, Occurrence, Span, Topology, after, stream
from firstfault.jobs.fleet.profile import Profile
from firstfault.jobs.fleet.truth import Truth

DAY_S = 86400.0


@dataclass(frozen=True)
class World:
    """One rehearsed day of a fleet.

    Attributes:
        profile: What was asked for; its day is this one.
        topology: The places, with the boots that happened before this day.
        clocks: Clocks by node; they run on from day to day.
        attempts: Attempts that touch the day.
        occurrences: What happens on it, sorted by true time.
        truths: What is true of all attempts so far.
        silences: Nodes and when they wrote nothing.
        number: Days before this one.
        last: Whether no day follows.
    """

    profile: Profile
    topology: Topology
    clocks: Mapping[str, Clock]
    attempts: tuple[Attempt, ...]
    occurrences: tuple[Occurrence, ...]
    truths: tuple[Truth, ...]
    silences: tuple[tuple[str, Span], ...] = ()
    number: int = 0
    last: bool = True

    @cached_property
    def midnight(self) -> datetime:
        """When the day begins (UTC)."""
        return datetime.combine(self.profile.day, time(), UTC)

    @property
    def epoch(self) -> datetime:
        """When the first day began, and with it the counters of ports."""
        return after(self.midnight, -self.number * DAY_S)

    @property
    def end(self) -> datetime:
        """The day's last instant; the midnight after the last day is still one of it."""
        return after(self.midnight, DAY_S if self.last else DAY_S - 1e-6)

    @cached_property
    def close(self) -> datetime:
        """When collectors last ran: the last midnight, or later when something happened later."""
        last = max((o.t for o in self.occurrences), default=self.midnight) if self.last else self.midnight
        return max(after(self.midnight, DAY_S), last)

    def clock(self, node: str | None) -> Clock:
        """The clock that writes a line; the controller and collectors keep true time."""
        return self.clocks[node] if node is not None else perfect(self.midnight)

    def written(self, line: Occurrence) -> datetime:
        """The time a line's writer believes it is."""
        return self.clock(line.node).written(line.t)

    def of(self, prefix: str) -> Iterator[Occurrence]:
        """Occurrences whose kind begins with `prefix.`."""
        return (o for o in self.occurrences if o.kind.startswith(f"{prefix}."))

    def silent(self, node: str, t: datetime) -> bool:
        """Whether a node is down at a true time, and writes and answers nothing."""
        return any(span[0] < t < span[1] for span in self._silences.get(node, ()))

    def holds(self, t: datetime) -> bool:
        """Whether a true time is this day's to write: what runs over the last midnight is the last day's."""
        return (self.number == 0 or t >= self.midnight) and (self.last or t <= self.end)

    def stream(self, *parts: object) -> Random:
        """A random stream of this day for one purpose."""
        return stream(self.profile.seed, *parts, *((f"day-{self.number}",) if self.number else ()))

    @cached_property
    def _silences(self) -> Mapping[str, list[Span]]:
        found: dict[str, list[Span]] = defaultdict(list)
        for name, span in self.silences:
            found[name].append(span)
        return found

    def windows(self, node: str) -> list[Attempt]:
        """The attempts that held a node, by start."""
        return sorted((a for a in self.attempts if node in a.nodes), key=lambda a: a.start)
