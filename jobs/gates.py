"""Gates: every table's suite is run on its new rows before they are written (design section 3).

Rows that break a warning are noted in quarantine by the name of the expectation, and left out of the tables that later
stages read names from; a poor source is noted in data_quality and lowers the confidence of what leans on it. A critical
failure is a broken promise of our own: that table is not written and the night ends.
"""

import shutil
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import and_
from pathlib import Path

import pyarrow.fs as pafs
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from firstfault.expectations.gate import Gate
from firstfault.expectations.verdict import Failure
from firstfault.jobs.knowledge import Knowledge
from firstfault.jobs.raw_files import lake_filesystem
from firstfault.transforms.contract import Table

DOCUMENTS = "_data_docs"


class CriticalExpectationError(RuntimeError):
    """A table breaks a promise of our own; the message names the table, the expectation and some rows."""


@dataclass
class Gates:
    """The gates of one night.

    Attributes:
        gate: Runs the suites; None where they are switched off.
        warnings: What was poor, in order.
        took_s: Seconds spent in gates.
    """

    gate: Gate | None
    warnings: list[Failure] = field(default_factory=list)
    took_s: float = 0.0

    @classmethod
    def of(cls, knowledge: Knowledge, *, on: bool) -> "Gates":
        """Gates with the words of the vocabulary."""
        if not on:
            return cls(None)
        Gate.preload()
        v = knowledge.vocabulary
        words = {
            "event_type": sorted(v.events),
            "role": v.roles,
            "category": v.categories,
            "outcome": v.outcomes,
            "scope": v.scopes,
        }
        return cls(Gate(words=words))

    def check(
        self, table: Table, rows: DataFrame, references: Mapping[str, DataFrame] | None = None
    ) -> tuple[Failure, ...]:
        """Runs the suite of a table; its warnings.

        Args:
            table: Contract of the rows.
            rows: New rows of the table, materialised: they are read more than once where something fails.
            references: Frames that the suite refers to.

        Raises:
            CriticalExpectationError: The table must not be written.
        """
        if self.gate is None:
            return ()
        begun = time.monotonic()
        verdict = self.gate.validate(table.name, rows, references=references)
        self.took_s += time.monotonic() - begun
        if verdict.critical:
            broken = "; ".join(str(failure) for failure in verdict.critical)
            raise CriticalExpectationError(f"{broken}. {table.name} was not written, nor anything after it.")
        self.warnings += verdict.warnings
        return verdict.warnings

    def without_failing(
        self, table: Table, rows: DataFrame, references: Mapping[str, DataFrame] | None = None
    ) -> tuple[DataFrame, tuple[Failure, ...]]:
        """The rows that break no warning, and the warnings."""
        warnings = self.check(table, rows, references)
        for failure in warnings:
            if failure.rows is not None:
                failing = failure.rows.select(*(F.col(k).alias(f"_{k}") for k in table.keys)).distinct()
                # A key may hold null, which is equal to null here.
                same_key = reduce(and_, (F.col(k).eqNullSafe(F.col(f"_{k}")) for k in table.keys))
                rows = rows.join(F.broadcast(failing), same_key, "left_anti")
        return rows, warnings

    def document(self, lake: str) -> None:
        """Writes Data Docs beside the tables, as a static site."""
        if self.gate is None:
            return
        begun = time.monotonic()
        fs, root = lake_filesystem(lake)
        if isinstance(fs, pafs.LocalFileSystem):
            self.gate.documents(Path(root) / DOCUMENTS)
        else:
            made = Path(tempfile.mkdtemp(prefix="firstfault-docs-"))
            self.gate.documents(made)
            pafs.copy_files(str(made), f"{root}/{DOCUMENTS}", destination_filesystem=fs)
            shutil.rmtree(made)
        self.took_s += time.monotonic() - begun
