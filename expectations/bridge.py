"""Great Expectations' side: our checks as expectations, and the metric that decides a whole suite in one Spark job.

Measured on 800 rows (2 cores, warm): stock expectations cost 12 ms each on a base of 100 ms while they return no
counts, and a Spark job each (60 ms) when they do; aggregates that Great Expectations bundles, 105 ms for 20 of them.
The one metric that all expectations of a suite share here costs 70 ms.

Great Expectations takes two seconds to load: this module is imported when something is validated, by `loading`.
"""

from collections.abc import Sequence
from contextvars import ContextVar
from html import escape
from typing import Any, ClassVar

from great_expectations import ExpectationSuite, ValidationDefinition, get_context
from great_expectations.core.metric_domain_types import MetricDomainTypes
from great_expectations.core.metric_function_types import MetricFunctionTypes
from great_expectations.data_context.data_context.ephemeral_data_context import EphemeralDataContext
from great_expectations.data_context.types.base import ProgressBarsConfig
from great_expectations.datasource.fluent.spark_datasource import SparkDatasource
from great_expectations.execution_engine.execution_engine import ExecutionEngine
from great_expectations.execution_engine.sparkdf_execution_engine import SparkDFExecutionEngine
from great_expectations.expectations.expectation import BatchExpectation, Expectation
from great_expectations.expectations.metadata_types import FailureSeverity
from great_expectations.expectations.metrics.metric_provider import metric_value
from great_expectations.expectations.metrics.table_metric_provider import TableMetricProvider

from firstfault.expectations.figures import Figure, Inspection
from firstfault.expectations.model import Check, Exists, Groups, Typed, Unique, Words

INSPECTION: ContextVar[Inspection] = ContextVar("inspection")
"""The inspection that the metric runs: references and words do not fit into an expectation's arguments."""
METRIC = "firstfault.figures"


class Figures(TableMetricProvider):
    """The figures of every check of the suite, by name."""

    metric_name = METRIC

    @metric_value(engine=SparkDFExecutionEngine, metric_fn_type=MetricFunctionTypes.VALUE)
    def _spark(
        cls,  # noqa: N805
        execution_engine: SparkDFExecutionEngine,
        metric_domain_kwargs: dict[str, Any],
        metric_value_kwargs: dict[str, Any],
        metrics: dict[str, Any],
        runtime_configuration: dict[str, Any],
    ) -> dict[str, Figure]:
        rows, _, _ = execution_engine.get_compute_domain(metric_domain_kwargs, domain_type=MetricDomainTypes.TABLE)
        return INSPECTION.get().run(rows)


class ExpectRowsToHold(BatchExpectation):
    """Every row satisfies a SQL condition.

    Attributes:
        check: Name of the check within its suite.
        sql: What decides it.
    """

    check: str
    sql: str

    metric_dependencies: ClassVar[tuple[str, ...]] = (METRIC,)
    success_keys: ClassVar[tuple[str, ...]] = ("check", "sql")

    def _validate(
        self,
        metrics: dict[str, Any],
        runtime_configuration: dict[str, Any] | None = None,
        execution_engine: ExecutionEngine[Any] | None = None,
    ) -> dict[str, Any]:
        figure = metrics[METRIC].get(self.check)
        if figure is None:
            return {"success": False, "result": {"observed_value": "not looked at: the columns are not the contract's"}}
        return {"success": not figure.failed, "result": _result(figure)}


class ExpectColumnsToMatchContract(ExpectRowsToHold):
    """The columns and their types are those of the table's contract."""


class ExpectKeysToBeUnique(ExpectRowsToHold):
    """No two rows have the same key."""


class ExpectRowsToHaveReference(ExpectRowsToHold):
    """What a row refers to is in the other table."""


class ExpectNoPoorGroups(ExpectRowsToHold):
    """A query that names poor nodes and sources names none."""


_CLASSES: dict[type[Check], type[ExpectRowsToHold]] = {
    Typed: ExpectColumnsToMatchContract,
    Unique: ExpectKeysToBeUnique,
    Exists: ExpectRowsToHaveReference,
    Groups: ExpectNoPoorGroups,
}


def expectation(check: Check, words: Words) -> Expectation:
    """The check as an expectation."""
    kind = _CLASSES.get(type(check), ExpectRowsToHold)
    severity = FailureSeverity(check.severity.value)
    description = f"{check.name} ({check.severity}): {check.says}"
    return kind(check=check.name, sql=check.sql(words), description=description, severity=severity)


def _result(figure: Figure) -> dict[str, Any]:
    """What Data Docs show: counts and keys of examples, never the text of a row."""
    if figure.total is None:
        return {"observed_value": f"{figure.failed} found"}
    share = 100 * figure.failed / figure.total if figure.total else 0.0
    return {
        "observed_value": f"{figure.failed} of {figure.total} rows",
        "element_count": figure.total,
        "unexpected_count": figure.failed,
        "unexpected_percent": share,
        # Its tables write values as they are: escaped here, a line of a log stays text.
        "partial_unexpected_list": [escape(", ".join(f"{k}={v}" for k, v in e.items())) for e in figure.examples],
    }


def open_context() -> tuple[EphemeralDataContext, SparkDatasource]:
    """A context in memory and its Spark source; it reads no configuration and writes none."""
    context = get_context(mode="ephemeral")
    context.variables.progress_bars = ProgressBarsConfig(globally=False, metric_calculations=False)
    # Not persisted by Great Expectations, which would never let go of it.
    return context, context.data_sources.add_spark("lake", persist=False)


def define(
    context: EphemeralDataContext, source: SparkDatasource, name: str, checks: Sequence[Check], words: Words
) -> ValidationDefinition:
    """A suite of the checks, and its application to whatever frame is given for the table."""
    batch = source.add_dataframe_asset(name).add_batch_definition_whole_dataframe("staged")
    suite = ExpectationSuite(name=name, expectations=[expectation(c, words) for c in checks])
    definition = ValidationDefinition(name=name, data=batch, suite=context.suites.add(suite))
    return context.validation_definitions.add(definition)
