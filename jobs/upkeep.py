"""What one run of maintenance works with: the policy, the tables as they are, and the report."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property

from delta.tables import DeltaTable
from deltalake import DeltaTable as DeltaLog
from pyspark.sql import SparkSession

from firstfault.jobs.docs import ALL_TABLES
from firstfault.jobs.lake import Lake
from firstfault.jobs.live_files import open_log
from firstfault.transforms.contract import Table

Say = Callable[[str], None]

SAFE_HOURS = 168
"""Below this, VACUUM needs to be forced: a query of Spark or DuckDB outside firstfault holds no lease."""


class UsageError(ValueError):
    """What is asked for would break readers."""


@dataclass(frozen=True)
class Policy:
    """How much is kept; how long each table is, says its contract.

    Attributes:
        keep_healthy_days: Days after which raw lines and samples of jobs go whose attempts all ended well.
        live_partitions: Partitions that the raw tables may have together; the oldest of healthy jobs go first.
        small_files: A partition with more small files than this is compacted.
        small_bytes: A file below this is small.
        target_bytes: Size of compacted files.
        retention_hours: How long removed files stay for readers.
        force: Whether less than `SAFE_HOURS` is allowed.
    """

    keep_healthy_days: int = 7
    live_partitions: int = 200_000
    small_files: int = 8
    small_bytes: int = 32 << 20
    target_bytes: int = 256 << 20
    retention_hours: int = SAFE_HOURS
    force: bool = False

    def checked(self) -> "Policy":
        """The policy itself.

        Raises:
            UsageError: It would remove files that readers may need.
        """
        if self.retention_hours < SAFE_HOURS and not self.force:
            raise UsageError(
                f"--retention-hours {self.retention_hours} is below {SAFE_HOURS}: a query that began before then loses "
                "its files; give --force if nothing but firstfault reads this lake."
            )
        return self


@dataclass
class TableReport:
    """What was done to one table; in a dry run, what would be."""

    name: str
    rows_removed: int = 0
    partitions_removed: int = 0
    partitions_compacted: int = 0
    files_before: int = 0
    files_after: int = 0
    files_freed: int = 0
    bytes_freed: int = 0


@dataclass
class Report:
    """What was done to the lake."""

    tables: dict[str, TableReport] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    @property
    def changed(self) -> list[TableReport]:
        """Tables to which anything was done."""
        return [t for t in self.tables.values() if t.rows_removed or t.partitions_compacted or t.files_freed]

    @property
    def bytes_freed(self) -> int:
        """Over all tables."""
        return sum(table.bytes_freed for table in self.tables.values())


@dataclass
class Upkeep:
    """One run of maintenance.

    Attributes:
        lake: The lake.
        policy: How much is kept.
        now: When ages are counted from.
        say: Takes one sentence a step.
        dry_run: Nothing is written.
        report: What was done so far.
    """

    lake: Lake
    policy: Policy
    now: datetime
    say: Say
    dry_run: bool
    report: Report = field(default_factory=Report)

    def __post_init__(self) -> None:
        for table in self.tables:
            self.report.tables[table.name] = TableReport(table.name)

    @cached_property
    def tables(self) -> list[Table]:
        """Tables that exist."""
        return [table for table in ALL_TABLES if open_log(self.lake.root, table) is not None]

    def before(self, days: int) -> datetime:
        """The moment that many days ago."""
        return self.now - timedelta(days=days)

    def log(self, table: Table) -> DeltaLog:
        """The table as it is now, for reading its log."""
        log = open_log(self.lake.root, table)
        assert log is not None  # noqa: S101  `tables` holds those that exist
        return log

    def delta(self, table: Table) -> DeltaTable:
        """The table for changes."""
        return DeltaTable.forPath(self.lake.spark, self.lake.path(table))

    def warn(self, text: str) -> None:
        """Says it, and keeps it in the report."""
        self.report.warnings.append(text)
        self.say(text)


@contextmanager
def session_settings(spark: SparkSession, wanted: Mapping[str, str]) -> Iterator[None]:
    """The session with other settings for a while."""
    before = {name: spark.conf.get(name, None) for name in wanted}
    for name, value in wanted.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, old in before.items():
            if old is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, old)
