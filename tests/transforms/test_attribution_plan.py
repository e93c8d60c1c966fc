"""The one plan of attribution: what it scans, how it joins, and that more rules do not make it longer."""

import re
from collections import Counter
from dataclasses import dataclass, field, replace

import pytest

from firstfault.jobs.frames import local_frame
from firstfault.jobs.knowledge import load_unlocked
from firstfault.jobs.rules_cli import inline_evidence
from firstfault.rules.engine.compile import compile_rules
from firstfault.rules.engine.inline import inline_attempts
from firstfault.transforms.attribution import find_candidates
from firstfault.transforms.rule_tables import TABLES

FEW = ("gpu_pcie_fatal_off_bus", "host_crash_repeats_on_node", "storage_client_stall")
"""A sequence, a count of other jobs and a suppression, so that no rule table is empty."""
OPERATOR = re.compile(r"^[\s:|+\-*()\d]*([A-Z]\w+)")
JOINS = ("BroadcastHashJoin", "SortMergeJoin", "ShuffledHashJoin")
UNEQUAL = ("BroadcastNestedLoopJoin", "CartesianProduct")
COUNTED = (*JOINS, *UNEQUAL, "Exchange", "BroadcastExchange", "Generate", "Window", "Union")
_RULES = "org.apache.spark.sql.catalyst.optimizer"
SETTINGS = {
    # Rule tables of a few rows are not looked into, so that only the shape of the plan counts.
    "spark.sql.optimizer.excludedRules": f"{_RULES}.ConvertToLocalRelation,{_RULES}.PropagateEmptyRelation",
    "spark.sql.adaptive.optimizer.excludedRules": "org.apache.spark.sql.execution.adaptive.AQEPropagateEmptyRelation",
    # Whether a join is broadcast follows from the plan alone, not from guessed sizes.
    "spark.sql.autoBroadcastJoinThreshold": "-1",
}


@dataclass
class Plans:
    """Cuts frames as a night cuts small ones; keeps how each was to be run and how it was, the result last."""

    meant: list[str] = field(default_factory=list)
    run: list[str] = field(default_factory=list)

    def cut(self, rows):
        self.meant.append(plan_of(rows))
        found = rows.toArrow()
        # What was run comes first, what it was begun with behind it.
        self.run.append(plan_of(rows).partition("== Initial Plan ==")[0])
        return rows.sparkSession.createDataFrame(found, rows.schema)

    def scans(self, folder: str) -> int:
        return sum(len(re.findall(rf"FileScan parquet .*{folder}", plan)) for plan in self.run)

    def operators(self) -> Counter[str]:
        """Joins, exchanges and the like of all frames."""
        names = [m[1] for plan in self.meant for line in plan.splitlines() if (m := OPERATOR.match(line))]
        return Counter(name for name in names if name in COUNTED)


def plan_of(rows) -> str:
    return rows._jdf.queryExecution().executedPlan().toString()


@pytest.fixture(scope="module", autouse=True)
def _shape_only(spark):
    before = {name: spark.conf.get(name, None) for name in SETTINGS}
    for name, value in SETTINGS.items():
        spark.conf.set(name, value)
    yield
    for name, value in before.items():
        spark.conf.unset(name) if value is None else spark.conf.set(name, value)


@pytest.fixture(scope="module")
def knowledge():
    return load_unlocked()


@pytest.fixture(scope="module")
def evidence(spark, knowledge, tmp_path_factory):
    """The attempts of the few rules' tests, their events in files."""
    few = [r for r in knowledge.rules if r.id in FEW]
    given = inline_evidence(spark, inline_attempts(few, knowledge.vocabulary, knowledge.catalogues.code_rows()))
    folder = tmp_path_factory.mktemp("attribution")
    given.scoped.write.parquet(str(folder / "scoped"))
    given.beyond.write.parquet(str(folder / "beyond"))
    return replace(
        given,
        scoped=spark.read.parquet(str(folder / "scoped")),
        beyond=spark.read.parquet(str(folder / "beyond")),
    )


def planned(spark, knowledge, evidence, rules) -> Plans:
    """How these rules are run over the evidence."""
    compiled = compile_rules(rules, knowledge.vocabulary)
    assert all(compiled.values()), "a table without rows lets Spark leave its joins out"
    plans = Plans()
    frames = {name: local_frame(spark, compiled[name], TABLES[name]) for name in TABLES}
    plans.cut(find_candidates(evidence, frames, knowledge.scoring.doubts, plans.cut))
    return plans


@pytest.fixture(scope="module")
def few(spark, knowledge, evidence):
    return planned(spark, knowledge, evidence, [r for r in knowledge.rules if r.id in FEW])


@pytest.fixture(scope="module")
def every(spark, knowledge, evidence):
    """How twenty times as many are run; a quarter of the shipped ones, for the time it takes."""
    return planned(spark, knowledge, evidence, [r for n, r in enumerate(knowledge.rules) if n % 4 == 0 or r.id in FEW])


def test_scoped_events_are_read_from_their_files_once(few, every):
    assert (few.scans("scoped"), every.scans("scoped")) == (1, 1)


def test_events_beyond_the_attempt_are_read_from_their_files_once(few, every):
    assert (few.scans("beyond"), every.scans("beyond")) == (1, 1)


def test_all_joins_are_by_equality(every):
    found = every.operators()
    assert sum(found[join] for join in UNEQUAL) == 0
    assert sum(found[join] for join in JOINS) > 0


def test_more_rules_make_no_longer_plan(few, every):
    assert few.operators() == every.operators()
