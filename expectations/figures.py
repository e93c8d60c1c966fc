"""The figures of a batch: how many rows or groups break each check, and examples if any do."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count

from pyspark.sql import DataFrame, Row
from pyspark.sql.types import DataType

from firstfault.expectations import statement
from firstfault.expectations.model import Check, Exists, Groups, Suite, Typed, Unique, Words
from firstfault.expectations.statement import Views
from firstfault.expectations.verdict import Poor

MAX_EXAMPLES = 5
ONE_TASK_BYTES = 8 << 20
"""A batch up to this size is counted in one task: tried on 800 rows, a shuffle costs half as much again."""
_numbers = count()


@dataclass
class Figure:
    """What a check found."""

    failed: int = 0
    total: int | None = None
    examples: list[dict[str, str]] = field(default_factory=list)
    groups: list[Poor] = field(default_factory=list)


@dataclass
class Inspection:
    """A suite applied to one batch; `figures` fills in the figures of the checks that could run."""

    suite: Suite
    checks: list[Check]
    words: Words
    references: Mapping[str, DataFrame]
    checked: int = 0
    figures: dict[str, Figure] = field(default_factory=dict)
    rows: DataFrame = field(init=False)

    def run(self, rows: DataFrame) -> dict[str, Figure]:
        """Decides every check; only the schema where it is not the contract's, as nothing else can be asked then."""
        self.rows = rows
        self.figures = {c.name: self._types() for c in self.checks if isinstance(c, Typed)}
        if not any(f.failed for f in self.figures.values()):
            with self._views() as views:
                self._count(views)
                self._name(views)
        return self.figures

    def offenders(self, check: Check) -> DataFrame:
        """The rows that break a row, key or reference check."""
        with self._views() as views:
            return self.rows.sparkSession.sql(statement.offenders(self.suite, check, self.words, views))

    def _types(self) -> Figure:
        promised = {f.name: f.dataType for f in self.suite.table.fields}
        found = {f.name: f.dataType for f in self.rows.schema.fields}
        names = [*promised, *(n for n in found if n not in promised)]
        wrong = [n for n in names if _type_name(promised.get(n)) != _type_name(found.get(n))]
        examples = [
            {"column": n, "promised": _type_name(promised.get(n)), "found": _type_name(found.get(n))} for n in wrong
        ]
        return Figure(len(wrong), None, examples[:MAX_EXAMPLES])

    @contextmanager
    def _views(self) -> Iterator[Views]:
        frames = {"batch": self._batch(), **self.references}
        number = next(_numbers)
        names = {name: f"_gate_{number}_{name}" for name in frames}
        for name, frame in frames.items():
            frame.createOrReplaceTempView(names[name])
        try:
            yield Views(names["batch"], {n: v for n, v in names.items() if n != "batch"})
        finally:
            for view in names.values():
                self.rows.sparkSession.catalog.dropTempView(view)

    def _batch(self) -> DataFrame:
        """The rows, in one partition where they are few: no shuffle then, and a third less time."""
        plan = self.rows._jdf.queryExecution().optimizedPlan()
        size = int(str(plan.stats().sizeInBytes()))
        return self.rows.coalesce(1) if size <= ONE_TASK_BYTES else self.rows

    def _collect(self, sql: str) -> list[Row]:
        return self.rows.sparkSession.sql(sql).collect()

    def _count(self, views: Views) -> None:
        """One job for all rows and keys; another for references and groups, where any can be broken."""
        rows = self._collect(statement.counts(self.suite, self.checks, self.words, views))
        if any(r["repeated"] for r in rows):
            rows = self._collect(statement.exact(self.suite, self.checks, self.words, views))
        self.checked = sum(r["n"] for r in rows)
        flagged = {
            check.name: sum(r["n"] for r in rows if r["mask"] >> n & 1)
            for n, (check, _) in enumerate(statement.flags(self.checks, self.words))
        }
        asked = [c for c in self.checks if self.checked and _can_fail(c, flagged)]
        found = self._collect(statement.parts(asked, views)) if asked else []
        for check in self.checks:
            said = [r for r in found if r["part"] == check.name]
            if isinstance(check, Groups):
                self.figures[check.name] = _grouped(said)
            elif isinstance(check, Exists):
                self.figures[check.name] = Figure(sum(r["n"] for r in said), self.checked)
            elif isinstance(check, Unique):
                self.figures[check.name] = Figure(sum(r["repeated"] for r in rows), self.checked)
            elif check.name in flagged:
                self.figures[check.name] = Figure(flagged[check.name], self.checked)

    def _name(self, views: Views) -> None:
        """Which rows they are, asked only where there are any."""
        failed = [c for c in self.checks if self.figures[c.name].failed and not isinstance(c, Typed | Groups)]
        if not failed:
            return
        named = self._collect(statement.examples(self.suite, failed, self.words, views, MAX_EXAMPLES))
        for check in failed:
            figure = self.figures[check.name]
            keys = self.suite.keys
            figure.examples = [{k: str(r[k]) for k in keys} for r in named if r["_check"] == check.name]


def _can_fail(check: Check, flagged: Mapping[str, int]) -> bool:
    return isinstance(check, Exists) or (isinstance(check, Groups) and flagged[check.name] >= check.at_least)


def _grouped(rows: list[Row]) -> Figure:
    groups = [Poor(r["cluster"], r["node"], r["source"], r["figure"], r["text"]) for r in rows]
    groups.sort(key=lambda g: (-g.figure, g.cluster or "", g.node or "", g.source or "", g.text))
    return Figure(len(groups), None, [], groups)


def _type_name(dtype: DataType | None) -> str:
    return dtype.simpleString() if dtype is not None else "none"
