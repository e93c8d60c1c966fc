"""What a gate says of a table."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from pyspark.sql import DataFrame

from firstfault.expectations.model import Severity


@dataclass(frozen=True)
class Poor:
    """A group of rows that is poor, such as a node's source that fell silent.

    Attributes:
        figure: How poor, in the unit that `text` names.
    """

    cluster: str | None
    node: str | None
    source: str | None
    figure: float
    text: str


@dataclass(frozen=True)
class Failure:
    """A check that did not hold.

    Attributes:
        check: Name of the check.
        failed: Rows or groups that break it.
        total: Rows that it looked at; None where groups or columns are counted.
        examples: Keys of at most five offending rows (columns that differ, for the contract check).
        groups: The poor groups of a group check.
        offenders: Gives `rows`.
    """

    table: str
    check: str
    severity: Severity
    failed: int
    total: int | None = None
    examples: list[dict[str, str]] = field(default_factory=list)
    groups: list[Poor] = field(default_factory=list)
    offenders: Callable[[], DataFrame] | None = field(default=None, repr=False, compare=False)

    @cached_property
    def rows(self) -> DataFrame | None:
        """All offending rows with the table's columns, in no order; None where groups or columns are counted."""
        return self.offenders() if self.offenders else None

    def __str__(self) -> str:
        of = f" of {self.total}" if self.total is not None else ""
        shown = [", ".join(f"{k}={v}" for k, v in e.items()) for e in self.examples] or [
            g.text for g in self.groups[:5]
        ]
        which = f": {'; '.join(shown)}" if shown else ""
        return f"{self.table}.{self.check} ({self.severity}): {self.failed}{of}{which}"


@dataclass(frozen=True)
class Verdict:
    """The outcome of a suite.

    Attributes:
        checked: Rows that were looked at.
        skipped: Checks that could not run: a frame they need was not given, or the columns are not the contract's.
    """

    table: str
    checked: int
    failures: tuple[Failure, ...] = ()
    skipped: tuple[str, ...] = ()

    @property
    def critical(self) -> tuple[Failure, ...]:
        """Failures that keep the table from being published."""
        return tuple(f for f in self.failures if f.severity is Severity.CRITICAL)

    @property
    def warnings(self) -> tuple[Failure, ...]:
        """Failures that the night goes on with."""
        return tuple(f for f in self.failures if f.severity is Severity.WARNING)
