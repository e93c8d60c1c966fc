"""The gate: validates tables with Great Expectations, says what failed, and keeps what Data Docs are built from."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame

from firstfault.expectations.figures import Inspection
from firstfault.expectations.loading import load_great_expectations
from firstfault.expectations.model import Check, Groups, Suite, SuiteError, Typed, Words
from firstfault.expectations.registry import SUITES
from firstfault.expectations.statement import runnable
from firstfault.expectations.verdict import Failure, Verdict

if TYPE_CHECKING:
    from great_expectations import ValidationDefinition
    from great_expectations.core import ExpectationSuiteValidationResult
    from great_expectations.data_context.data_context.ephemeral_data_context import EphemeralDataContext
    from great_expectations.datasource.fluent.spark_datasource import SparkDatasource


class GateError(RuntimeError):
    """A suite could not be run: an error of ours or of Spark's, not of the data."""


class Gate:
    """Validates tables of one night; every validation is kept for `documents`."""

    def __init__(self, *, words: Words | None = None, suites: Mapping[str, Suite] = SUITES) -> None:
        """Args are kept; nothing is loaded before the first validation.

        Args:
            words: Value sets known only at run time, by the name that checks use.
            suites: Suites by table name.
        """
        self._words = dict(words or {})
        self._suites = suites
        self._definitions: dict[tuple[str, ...], ValidationDefinition] = {}
        self._opened: tuple[EphemeralDataContext, SparkDatasource] | None = None

    @staticmethod
    def preload() -> None:
        """Loads Great Expectations in the background, while Spark starts or works: two seconds that the night has."""
        Thread(target=load_great_expectations, daemon=True).start()

    def validate(
        self, table_name: str, rows: DataFrame, *, references: Mapping[str, DataFrame] | None = None
    ) -> Verdict:
        """What is wrong with the rows.

        Args:
            table_name: Table whose suite applies.
            rows: The staged batch; materialised or cached, as it is read more than once where something fails.
            references: Other frames by the name that checks use; a check whose frame is missing is skipped.

        Raises:
            SuiteError: No such suite, or a set of words that it needs was not given.
            GateError: The suite could not be run.
        """
        if table_name not in self._suites:
            raise SuiteError(f"no suite for table {table_name!r}")
        suite, given = self._suites[table_name], dict(references or {})
        checks, skipped = runnable(suite, given)
        inspection = Inspection(suite, checks, self._words, given)
        self._run(inspection, rows)
        unseen = [c.name for c in checks if c.name not in inspection.figures]
        failures = tuple(_failure(inspection, c) for c in checks if _failed(inspection, c))
        return Verdict(table_name, inspection.checked, failures, (*skipped, *unseen))

    def documents(self, folder: Path) -> None:
        """Writes Data Docs of all validations so far as a static site that needs no network."""
        load_great_expectations()
        from firstfault.expectations.site import build_site

        context, _ = self._open()
        build_site(context, folder)

    def _run(self, inspection: Inspection, rows: DataFrame) -> None:
        load_great_expectations()
        from firstfault.expectations.bridge import INSPECTION

        definition = self._definition(inspection.suite, inspection.checks)
        token = INSPECTION.set(inspection)
        try:
            result = definition.run(batch_parameters={"dataframe": rows}, result_format="BASIC")
        finally:
            INSPECTION.reset(token)
        _raise_errors(inspection.suite.table.name, result)

    def _open(self) -> "tuple[EphemeralDataContext, SparkDatasource]":
        if self._opened is None:
            load_great_expectations()
            from firstfault.expectations.bridge import open_context

            self._opened = open_context()
        return self._opened

    def _definition(self, suite: Suite, checks: list[Check]) -> "ValidationDefinition":
        """The suite as Great Expectations keeps it, made once for each set of checks that can run."""
        key = (suite.table.name, *(c.name for c in checks))
        if key not in self._definitions:
            load_great_expectations()
            from firstfault.expectations.bridge import define

            number = sum(k[0] == suite.table.name for k in self._definitions)
            name = suite.table.name if not number else f"{suite.table.name}_{number + 1}"
            self._definitions[key] = define(*self._open(), name, checks, self._words)
        return self._definitions[key]


def _failed(inspection: Inspection, check: Check) -> bool:
    figure = inspection.figures.get(check.name)
    return figure is not None and figure.failed > 0


def _failure(inspection: Inspection, check: Check) -> Failure:
    figure = inspection.figures[check.name]
    return Failure(
        table=inspection.suite.table.name,
        check=check.name,
        severity=check.severity,
        failed=figure.failed,
        total=figure.total,
        examples=figure.examples,
        groups=figure.groups,
        offenders=None if isinstance(check, Groups | Typed) else partial(inspection.offenders, check),
    )


def _raise_errors(table: str, result: "ExpectationSuiteValidationResult") -> None:
    for one in result.results:
        said = one.exception_info or {}
        errors = [said] if "raised_exception" in said else [e for e in said.values() if isinstance(e, dict)]
        raised = [e["exception_message"] for e in errors if e.get("raised_exception")]
        if raised:
            raise GateError(f"the suite of {table} could not be run: {raised[0]}")
