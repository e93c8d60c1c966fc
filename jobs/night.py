"""What the stages of a night share."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from firstfault.jobs.batch import Books
from firstfault.jobs.gates import Gates
from firstfault.jobs.knowledge import Knowledge, KnowledgeFrames
from firstfault.jobs.lake import Lake
from firstfault.jobs.landing import Landing
from firstfault.jobs.runs import Run
from firstfault.jobs.settings import Settings

Progress = Callable[[str], None]


@dataclass(frozen=True)
class NightReport:
    """What a night did.

    Attributes:
        page: Where the report that is one HTML file lies; empty when there is none.
        clock_faults: Rows of `clock_faults` of the day of the report.
    """

    books: Books
    unmatched: list[str]
    waiting_tails: list[str]
    attempts: int
    diagnosed: int
    durations_s: dict[str, float]
    warnings: list[str]
    page: str = ""
    clock_faults: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class Night:
    """One run over one landing zone.

    Attributes:
        days: First and last day of the attempts' ends to diagnose; None for all that is due.
        changed: Frames of attempt keys that something new speaks of.
        labelled: This night brought labels.
        all_are_new: This is the lake's first batch, so that every attempt is among the changed ones.
    """

    spark: SparkSession
    lake: Lake
    landing: Landing
    settings: Settings
    knowledge: Knowledge
    frames: KnowledgeFrames
    run: Run
    say: Progress
    gates: Gates = field(default_factory=lambda: Gates(None))
    days: tuple[date, date] | None = None
    changed: list[DataFrame] = field(default_factory=list)
    all_are_new: bool = False
    labelled: bool = False

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Says the stage's name and times it."""
        self.say(name)
        with self.run.stage(name):
            yield
