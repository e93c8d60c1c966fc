"""A case per suite: rows that hold every check, and for every check rows that break it.

One bad frame holds all violations of a suite, so that a suite costs two validations whatever the number of its checks.
A row that breaks a check carries the check's name in a key column, the `mark`: examples then name the check.
"""

from dataclasses import dataclass, field
from functools import cache

from pyspark.sql import DataFrame, SparkSession

from firstfault.expectations.gate import Gate
from firstfault.expectations.model import Exists, Groups, Suite
from firstfault.expectations.registry import SUITES
from firstfault.expectations.verdict import Failure, Verdict
from firstfault.transforms.contract import Table
from tests import frames

WORDS = {
    "event_type": ["gpu.xid", "train.step"],
    "role": ["initiating", "progress"],
    "category": ["gpu_hardware", "unknown"],
    "outcome": ["failed", "hung"],
    "scope": ["gpu", "node", "job"],
}


def frame(spark: SparkSession, schema: Table | str, given: list[dict]) -> DataFrame:
    """The rows as a local relation, as a small night has them: several times faster to ask than rows from Python."""
    made = frames.frame(spark, schema, given)
    return spark.createDataFrame(made.toArrow(), made.schema)


@dataclass(frozen=True)
class Group:
    """Rows of a poor group, and what the gate says of it."""

    rows: list[dict]
    node: str | None
    source: str | None
    figure: float
    text: str


@dataclass(frozen=True)
class Reference:
    """A frame that checks look into: it knows all marks but those of the checks that must miss it."""

    schema: str
    row: dict
    mark: str
    but: dict[str, dict] = field(default_factory=dict)


@dataclass(frozen=True)
class Case:
    """A suite's rows.

    Attributes:
        good: Rows that hold.
        mark: Text column of the key.
        bad: Changes to the first good row that break a check, by its name; `null` and `repeated` ones are added.
        groups: Poor groups by check.
        references: Frames by name.
    """

    table: str
    good: list[dict]
    mark: str
    bad: dict[str, dict] = field(default_factory=dict)
    groups: dict[str, Group] = field(default_factory=dict)
    references: dict[str, Reference] = field(default_factory=dict)

    @property
    def suite(self) -> Suite:
        return SUITES[self.table]

    def good_rows(self, spark: SparkSession) -> DataFrame:
        return frame(spark, self.suite.table, self.good)

    def bad_rows(self, spark: SparkSession) -> DataFrame:
        plain = self.good[0]
        nulls = [plain | {self.mark: f"{c}_not_null"} | {c: None} for c in self.required]
        repeated = [plain | {self.mark: "key_unique"}] * 2
        broken = [plain | {self.mark: name} | change for name, change in self.bad.items()]
        grouped = [plain | row for group in self.groups.values() for row in group.rows]
        return frame(spark, self.suite.table, [*self.good, *nulls, *repeated, *broken, *grouped])

    @property
    def required(self) -> list[str]:
        return [f.name for f in self.suite.table.fields if f.metadata["required"]]

    def reference_frames(self, spark: SparkSession) -> dict[str, DataFrame]:
        found = {}
        for name, ref in self.references.items():
            missing = {c.name for c in self.suite.checks if isinstance(c, Exists) and c.reference == name}
            marks = {c.name for c in self.suite.checks} - missing
            marks |= {r[self.mark] for r in self.good} | {
                r.get(self.mark) for g in self.groups.values() for r in g.rows
            }
            rows = [ref.row | {ref.mark: m} | ref.but.get(m, {}) for m in sorted(marks - {None})]
            found[name] = frame(spark, ref.schema, rows)
        return found

    def exercised(self) -> set[str]:
        always = {"columns_match_contract", "key_unique", *(f"{c}_not_null" for c in self.required)}
        return always | set(self.bad) | set(self.groups)


@cache
def gate() -> Gate:
    """One gate for all tests of suites: its suites are made once."""
    Gate.preload()
    return Gate(words=WORDS)


def assert_good(spark: SparkSession, case: Case) -> None:
    verdict = gate().validate(case.table, case.good_rows(spark), references=case.reference_frames(spark))
    assert verdict == Verdict(case.table, len(case.good)), [str(f) for f in verdict.failures]


def assert_all_found(spark: SparkSession, case: Case) -> None:
    rows = case.bad_rows(spark)
    verdict = gate().validate(case.table, rows, references=case.reference_frames(spark))
    failures = {f.check: f for f in verdict.failures}
    wanted = {c.name for c in case.suite.checks} - {"columns_match_contract"}
    assert failures.keys() == wanted
    for check in case.suite.checks:
        if check.name in failures:
            assert failures[check.name].severity is check.severity
            _assert_named(case, failures[check.name], is_group=isinstance(check, Groups))


def _assert_named(case: Case, failure: Failure, *, is_group: bool) -> None:
    if is_group:
        group = case.groups[failure.check]
        said = [(g.node, g.source, round(g.figure, 3), g.text) for g in failure.groups]
        assert (group.node, group.source, group.figure, group.text) in said
        assert failure.rows is None
        return
    assert all(e.keys() == set(case.suite.keys) for e in failure.examples)
    marks = [e[case.mark] for e in failure.examples]
    own = case.bad.get(failure.check, {}).get(case.mark, failure.check)
    assert (None if failure.check == f"{case.mark}_not_null" else own) in [None if m == "None" else m for m in marks]
    assert failure.offenders is not None
    assert 1 <= failure.failed <= failure.total


def assert_types_found(spark: SparkSession, case: Case) -> None:
    """A column of another type is found before anything is asked of the rows."""
    first = case.suite.table.fields[0].name
    rows = case.good_rows(spark).selectExpr(f"struct(`{first}`) as `{first}`", "1 as surplus")
    verdict = gate().validate(case.table, rows, references=case.reference_frames(spark))
    assert [f.check for f in verdict.critical] == ["columns_match_contract"]
    assert set(verdict.skipped) == {c.name for c in case.suite.checks} - {"columns_match_contract"}
