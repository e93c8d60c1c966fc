"""What is true of an attempt, and what a mechanism makes of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from firstfault.jobs.fleet.model import Occurrence, Span


@dataclass(frozen=True, slots=True)
class Also:
    """An independent fault of the same attempt, beside the one that ended it."""

    category: str
    origin_scope: str | None
    origin: tuple[str, ...]
    t0: datetime | None


@dataclass(frozen=True, slots=True)
class Truth:
    """What really happened to one attempt; category is None when nothing went wrong.

    `also` holds independent faults, `acceptable` categories that the evidence allows as well.
    """

    cluster: str
    job_id: str
    attempt: int
    outcome: str | None
    category: str | None
    origin_scope: str | None
    origin: tuple[str, ...]
    affected_nodes: tuple[str, ...]
    t0: datetime | None
    mechanism: str | None
    also: tuple[Also, ...] = ()
    acceptable: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Incident:
    """What a mechanism makes of an attempt: its occurrences, the truth and the attempt's end.

    `stalled` is when training stops to progress: ranks print no step after it. `muted` names nodes that write
    nothing from the first to the second instant, whatever else was planned for them.
    """

    occurrences: tuple[Occurrence, ...]
    truth: Truth
    end: datetime
    state: str
    exit_code: str
    step_state: str
    step_exit: str
    stalled: datetime
    muted: Mapping[str, Span] = field(default_factory=dict)
