"""What writers see: the profile, the places, the clocks and everything that happened, sorted by true time."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, time

from firstfault.jobs.fleet.clocks import Clock, perfect
from firstfault.jobs.fleet.model import Attempt, Occurrence, Span, Topology, after
from firstfault.jobs.fleet.profile import Profile
from firstfault.jobs.fleet.truth import Truth

DAY_S = 86400.0


@dataclass(frozen=True, slots=True)
class World:
    """One rehearsed day."""

    profile: Profile
    topology: Topology
    clocks: Mapping[str, Clock]
    attempts: tuple[Attempt, ...]
    occurrences: tuple[Occurrence, ...]
    truths: tuple[Truth, ...]
    silences: tuple[tuple[str, Span], ...] = ()

    @property
    def midnight(self) -> datetime:
        """When the day begins (UTC)."""
        return datetime.combine(self.profile.day, time(), UTC)

    @property
    def close(self) -> datetime:
        """When collectors last ran: the last midnight, or later when something happened later."""
        last = max((o.t for o in self.occurrences), default=self.midnight)
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
        return any(name == node and span[0] < t < span[1] for name, span in self.silences)

    def windows(self, node: str) -> list[Attempt]:
        """The attempts that held a node, by start."""
        return sorted((a for a in self.attempts if node in a.nodes), key=lambda a: a.start)
