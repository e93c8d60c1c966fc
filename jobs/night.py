"""What the stages of a night share."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date

from pyspark.sql import DataFrame, SparkSession

from firstfault.jobs.gates import Gates
from firstfault.jobs.knowledge import Knowledge, KnowledgeFrames
from firstfault.jobs.lake import Lake
from firstfault.jobs.landing import Landing
from firstfault.jobs.runs import Run
from firstfault.jobs.settings import Settings

Progress = Callable[[str], None]


@dataclass
class Night:
    """One run over one landing zone.

    Attributes:
        days: First and last day of the attempts' ends to diagnose; None for all that is due.
        changed: Frames of attempt keys that something new speaks of.
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

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Says the stage's name and times it."""
        self.say(name)
        with self.run.stage(name):
            yield
