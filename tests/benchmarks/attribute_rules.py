"""Rule sets for measuring attribution: the first hundred of the library, and ten times as many made from them."""

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from firstfault.jobs.frames import local_frame
from firstfault.rules.engine.clauses import Selector, Step, Test
from firstfault.rules.engine.clauses import Sequence as SequenceClause
from firstfault.rules.engine.compile import compile_rules
from firstfault.rules.engine.model import Rule
from firstfault.rules.engine.vocabulary import Vocabulary
from firstfault.transforms.rule_tables import TABLES

HUNDRED = 100
VARIANTS = 10
BUILD = "build"
"""Attribute that the variants of a rule ask for; an attempt's events all have one value of it."""
WIDER = 0.05
"""By how much each variant's windows are longer than those of the one before it."""
LISTS = ("support", "unless", "absence", "silence", "sequence")

Rules = Sequence[Rule]
Compiled = Mapping[str, list[dict[str, Any]]]


def build_of(variant: int) -> str:
    return f"b{variant}"


def hundred(rules: Rules) -> list[Rule]:
    """The first hundred rules that take part, by id."""
    return sorted((r for r in rules if r.status != "deprecated"), key=lambda r: r.id)[:HUNDRED]


def tenfold(rules: Rules, *, overlapping: bool = False) -> list[Rule]:
    """Ten variants of each rule: another attribute test in every selector, other windows.

    Args:
        rules: Rules to vary.
        overlapping: Every variant holds where its original does; otherwise each holds for a tenth of the attempts.
    """
    return [variant(rule, number, overlapping=overlapping) for rule in rules for number in range(VARIANTS)]


def variant(rule: Rule, number: int, *, overlapping: bool) -> Rule:
    test = Test(ne=f"x{number}") if overlapping else Test(eq=build_of(number))
    anchor = _asking(rule.anchor, test)
    anchor = anchor.model_copy(update={"suppress": [_asking(s, test) for s in rule.anchor.suppress]})
    clauses = {name: [_clause(c, number, test) for c in getattr(rule, name)] for name in LISTS}
    return rule.model_copy(update={"id": f"{rule.id}_{number}", "anchor": anchor, **clauses})


def _asking(selector: Selector | Step, test: Test) -> Any:
    return selector.model_copy(update={"where": {**selector.where, BUILD: test}})


def _clause(clause: Any, number: int, test: Test) -> Any:
    low, high = clause.window_s
    longer = 1 + WIDER * number
    moved = {"window_s": (low * longer, high * longer)}
    if isinstance(clause, SequenceClause):
        moved["steps"] = [step if step.anchor else _asking(step, test) for step in clause.steps]
        return clause.model_copy(update=moved)
    return _asking(clause, test).model_copy(update=moved)


def compiled(rules: Rules, vocabulary: Vocabulary) -> Compiled:
    return compile_rules(rules, vocabulary)


def distinct(rows: Compiled) -> str:
    """How many rules there are, and of what they share."""
    selectors = len({row["selector_id"] for row in rows["selectors"]})
    shared = f"{selectors:,} selectors, {len(rows['specs']):,} specs, {len(rows['probes']):,} probes"
    return f"{len(rows['rules']):,} rules ({shared})"


def rule_frames(spark: SparkSession, rows: Compiled) -> dict[str, DataFrame]:
    return {name: local_frame(spark, rows[name], TABLES[name]) for name in TABLES}
