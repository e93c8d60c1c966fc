"""replay: what another rule set says of the attempts of some days, from the evidence that the nights left.

Events, clocks and placement stay as the nights found them: rules, catalogues' meaning in rules, and scoring are tried.
Other patterns would find other events in the raw logs, which only a night can read; that they differ is told.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path

from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from firstfault.jobs.days import day_list
from firstfault.jobs.frames import materialised
from firstfault.jobs.knowledge import Knowledge, KnowledgeFrames, knowledge_frames
from firstfault.jobs.lake import PinnedLake
from firstfault.jobs.raw_files import arrow_uri
from firstfault.jobs.settings import Settings
from firstfault.jobs.verdicts import Judged, evidence_of, judge, padded
from firstfault.transforms.attempts import ATTEMPTS
from firstfault.transforms.attribution import with_uid
from firstfault.transforms.candidates import CANDIDATES
from firstfault.transforms.clock_faults import CLOCK_FAULTS
from firstfault.transforms.contract import Table
from firstfault.transforms.coverage import COVERAGE
from firstfault.transforms.data_quality import DATA_QUALITY
from firstfault.transforms.diagnoses import DIAGNOSES
from firstfault.transforms.events import EVENTS
from firstfault.transforms.inputs import INPUTS
from firstfault.transforms.labels import LABELS
from firstfault.transforms.placement import PLACEMENT
from firstfault.transforms.scoped_events import SCOPED_EVENTS
from firstfault.transforms.topology import TOPOLOGY

SHADOW = "shadow"
READ = (
    ATTEMPTS, SCOPED_EVENTS, EVENTS, PLACEMENT, COVERAGE, TOPOLOGY, INPUTS, CANDIDATES, DIAGNOSES, DATA_QUALITY,
    CLOCK_FAULTS, LABELS,
)  # fmt: skip
BEFORE_RULES = ("patterns", "signals", "masking.yaml", "retention.yaml", "windows.yaml", "clock_marks.yaml")
"""What takes effect before a rule sees an event; a replay cannot try it."""


class UsageError(ValueError):
    """There is nothing to replay."""


@dataclass(frozen=True)
class Court:
    """What a replay judges by.

    Attributes:
        lake: The evidence, as it was at one moment.
        settings: Of the nights.
        knowledge: The rule set that is tried.
        frames: The same as frames.
    """

    lake: PinnedLake
    settings: Settings
    knowledge: Knowledge
    frames: KnowledgeFrames

    def with_rules(self, knowledge: Knowledge) -> "Court":
        """The same evidence, judged by another rule set."""
        return replace(self, knowledge=knowledge, frames=knowledge_frames(self.lake.spark, knowledge))


def pinned(spark: SparkSession, root: str, as_of: datetime | None = None, tables: Iterable[Table] = READ) -> PinnedLake:
    """The lake with all tables at their version of now, or of an earlier moment.

    Raises:
        UsageError: A table's history does not reach back so far.
    """
    versions = {}
    for table in tables:
        place = f"{root.rstrip('/')}/{table.name}"
        uri = arrow_uri(place) if "://" in place else place
        if DeltaTable.is_deltatable(uri):
            versions[table.name] = _version(DeltaTable(uri), table, as_of)
    return PinnedLake(spark, root, versions)


def _version(opened: DeltaTable, table: Table, as_of: datetime | None) -> int:
    if as_of is None:
        return opened.version()
    # delta-rs takes the oldest version it knows for any moment before it.
    begun_ms = min(commit["timestamp"] for commit in opened.history())
    if as_of.timestamp() * 1000 < begun_ms:
        begun = datetime.fromtimestamp(begun_ms / 1000, UTC)
        raise UsageError(
            f"--as-of {as_of.isoformat()}: the history of {table.name} does not reach it, it begins {begun:%F %T} UTC."
        )
    opened.load_as_version(as_of)
    return opened.version()


def replay(court: Court, days: list[date]) -> DataFrame:
    """One row of `diagnoses` per attempt of the days that needs a verdict, of track shadow; nothing is written.

    Args:
        court: The evidence and the rule set.
        days: Days of the attempts.

    Raises:
        UsageError: No attempt lies on the days.
    """
    of_days = day_list(days)
    attempts = materialised(with_uid(court.lake.read(ATTEMPTS).where(of_days)))
    if not attempts.limit(1).count():
        raise UsageError(f"no attempt from {days[0]} to {days[-1]} in {court.lake.root}; take days of a night.")
    scoped, placement, coverage = (
        with_uid(court.lake.read(table).where(of_days)) for table in (SCOPED_EVENTS, PLACEMENT, COVERAGE)
    )
    evidence = evidence_of(court, padded(court, attempts), scoped, placement, coverage, days)
    judged: Judged = judge(court, attempts, evidence, coverage, days)
    return judged.diagnoses.withColumn("track", F.lit(SHADOW))


def court_of(spark: SparkSession, settings: Settings, knowledge: Knowledge, as_of: datetime | None = None) -> Court:
    """The lake of the settings, pinned, and the rule set to try."""
    return Court(pinned(spark, str(settings.lake), as_of), settings, knowledge, knowledge_frames(spark, knowledge))


def untried(live: Path, candidate: Path) -> list[str]:
    """What of the candidate differs and cannot be tried by a replay, as names below the rules folder."""
    return [name for name in BEFORE_RULES if _texts(live / name) != _texts(candidate / name)]


def _texts(place: Path) -> Mapping[str, bytes]:
    if place.is_file():
        return {place.name: place.read_bytes()}
    return {file.relative_to(place).as_posix(): file.read_bytes() for file in sorted(place.rglob("*.yaml"))}
