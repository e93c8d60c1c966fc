"""What synthetic events are made from: the event lines of rules' positive tests, and lines of progress."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema

from firstfault.jobs.frames import local_frame
from firstfault.jobs.knowledge import Knowledge
from firstfault.rules.engine.inline import inline_attempts
from firstfault.rules.engine.model import RuleTest
from firstfault.transforms.rule_tables import TABLES
from firstfault.transforms.scoped_events import SCOPED_EVENTS
from firstfault.transforms.selection import tag, with_places
from firstfault.transforms.topology import TOPOLOGY
from tests.benchmarks.attribute_fleet import BUILDS
from tests.benchmarks.attribute_rules import BUILD, Compiled, Rules, build_of

TEXT_CHARS = 100
QUIET = RuleTest(
    name="quiet",
    events=["0 n1#0 train.step step=5", "0 n1#0 comm.init_complete", "0 n1#0 train.ckpt_end"],
    expect="match",
)
QUIET_WEIGHTS = (8, 1, 1)


@dataclass(frozen=True)
class Templates:
    """Events without their place and time.

    Attributes:
        table: Each `BUILDS` times, with the attribute that variants of rules ask for.
        has: Column -> whether the event names it.
        anchors: Per rule, templates that some rule starts from.
        others: Per rule, the others of its positive tests.
        quiet: Templates of progress, repeated by weight.
    """

    table: pa.Table
    has: Mapping[str, npt.NDArray[np.bool_]]
    anchors: list[list[int]]
    others: list[list[int]]
    quiet: npt.NDArray[np.int64]


def make_templates(spark: SparkSession, knowledge: Knowledge, rules: Rules, compiled: Compiled) -> Templates:
    calm = SimpleNamespace(id="quiet", tests=[QUIET])
    loud = [r.model_copy(update={"tests": [t for t in r.tests if t.expect == "match"]}) for r in rules]
    rows = inline_attempts([*loud, calm], knowledge.vocabulary, knowledge.catalogues.code_rows()).events
    rows = [row for row in rows if "~" not in row["job_id"]]  # not of a test's other job
    starting = _starting(spark, rows, compiled)
    by_rule: dict[str, list[int]] = {}
    for number, row in enumerate(rows):
        by_rule.setdefault(row["job_id"].partition(".")[0], []).append(number)
    quiet = by_rule.pop("quiet")
    assert not starting & set(quiet)
    of_rules = [[n for n in numbers if n in starting] for numbers in by_rule.values()]
    others = [[n for n in numbers if n not in starting] for numbers in by_rule.values()]
    known = [k for k, own in enumerate(of_rules) if own]
    return Templates(
        table=_table(rows),
        has=_places(rows),
        anchors=[of_rules[k] for k in known],
        others=[others[k] for k in known],
        quiet=np.repeat(quiet, QUIET_WEIGHTS),
    )


def _starting(spark: SparkSession, rows: list[dict[str, Any]], compiled: Compiled) -> set[int]:
    """Numbers of the rows that some rule starts from."""
    numbered = [row | {"event_id": str(number)} for number, row in enumerate(rows)]
    events = local_frame(spark, numbered, SCOPED_EVENTS.schema).withColumn("source_cluster", F.col("cluster"))
    placed = with_places(events, local_frame(spark, [], TOPOLOGY.schema))
    specs = local_frame(spark, compiled["specs"], TABLES["specs"]).select("selector_id").distinct()
    tagged = tag(placed, local_frame(spark, compiled["selectors"], TABLES["selectors"]))
    return {int(row[0]) for row in tagged.join(specs, "selector_id").select("event_id").distinct().collect()}


def _table(rows: list[dict[str, Any]]) -> pa.Table:
    made = [
        row | {"attrs": {**row["attrs"], BUILD: build_of(build)}, "text": row["text"].ljust(TEXT_CHARS, ".")}
        for row in rows
        for build in range(BUILDS)
    ]
    return pa.Table.from_pylist(made, schema=to_arrow_schema(SCOPED_EVENTS.schema, timezone="UTC"))


def _places(rows: list[dict[str, Any]]) -> dict[str, npt.NDArray[np.bool_]]:
    ports = [row["port"] or "" for row in rows]
    return {
        **{name: np.array([row[name] is not None for row in rows]) for name in ("node", "device", "rank")},
        "hca": np.array(["/" in port for port in ports]),
        "leaf": np.array(["/" not in port and port != "" for port in ports]),
    }
