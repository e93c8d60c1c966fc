"""The rule library at the command line: list, explain, and the inline tests through the real join plan."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from rich.console import Console
from rich.table import Table
from rich.text import Text

from firstfault.jobs.frames import local_frame, materialised
from firstfault.jobs.knowledge import Knowledge, knowledge_frames, load_knowledge
from firstfault.jobs.session import spark_session
from firstfault.jobs.settings import Settings
from firstfault.rules.engine.inline import InlineRows, inline_attempts
from firstfault.rules.engine.masking import run_masking_tests
from firstfault.rules.engine.model import Rule
from firstfault.rules.engine.patterns import run_pattern_tests
from firstfault.rules.engine.retention import run_retention_tests
from firstfault.transforms.attempts import ATTEMPTS
from firstfault.transforms.attribution import Evidence, find_candidates, with_uid
from firstfault.transforms.coverage import COVERAGE
from firstfault.transforms.placement import PLACEMENT
from firstfault.transforms.scoped_events import SCOPED_EVENTS
from firstfault.transforms.topology import TOPOLOGY


class UsageError(ValueError):
    """No rule of that name."""


def rules_table(knowledge: Knowledge) -> Table:
    """One line per rule."""
    table = Table(
        title=f"{len(knowledge.rules)} rules, rule set {knowledge.version}",
        title_justify="left",
        show_edge=False,
    )
    for name in ("rule", "status", "category", "anchor", "title"):
        table.add_column(name)
    for rule in sorted(knowledge.rules, key=lambda r: (r.category, r.id)):
        table.add_row(rule.id, rule.status, rule.category, rule.anchor.event, rule.title)
    return table


def _rule(knowledge: Knowledge, rule_id: str) -> Rule:
    found = next((r for r in knowledge.rules if r.id == rule_id), None)
    if found is None:
        near = [r.id for r in knowledge.rules if rule_id[:5] in r.id]
        hint = f"; near: {', '.join(near[:5])}" if near else "; see firstfault rules list"
        raise UsageError(f"no rule {rule_id}{hint}.")
    return found


def explain(knowledge: Knowledge, rule_id: str, console: Console) -> None:
    """Prints one rule in words."""
    rule = _rule(knowledge, rule_id)
    rows = Table.grid(padding=(0, 2))
    where = ", ".join(f"{k}={v}" for k, v in rule.anchor.where.items())
    rows.add_row("starts from", Text(f"{rule.anchor.event} {where}"))
    rows.add_row("blames", Text(f"{rule.blame.scope} from {rule.blame.source}"))
    for kind, clauses in (("support", rule.support), ("unless", rule.unless), ("absence", rule.absence)):
        for clause in clauses:
            lo, hi = clause.window_s
            needed = " (required)" if getattr(clause, "required", False) else ""
            rows.add_row(kind, Text(f"{clause.event} {clause.relation} {lo:+g}..{hi:+g} s{needed}"))
    rows.add_row("explains", Text(", ".join(rule.explains) or "-"))
    rows.add_row("says", Text(rule.conclusion.en))
    rows.add_row("do", Text(rule.action.en))
    for trap in rule.false_positives:
        rows.add_row("beware", Text(trap))
    console.print(Text(f"{rule.id}: {rule.title} [{rule.category}, {rule.status}]", style="bold"))
    console.print(rows)


def run_tests(settings: Settings, rule_id: str | None, console: Console) -> bool:
    """Runs the inline tests of patterns, masking, chatter and rules; whether all passed."""
    begun = time.monotonic()
    knowledge = load_knowledge()
    problems = [] if rule_id else [str(p) for p in run_pattern_tests(knowledge.patterns)]
    if not rule_id:
        problems += run_masking_tests(knowledge.masking) + run_retention_tests(knowledge.retention)
    rules = [_rule(knowledge, rule_id)] if rule_id else knowledge.rules
    with console.status("starting Spark", spinner="dots"):
        spark = spark_session(settings)
        failures, n = rule_failures(spark, knowledge, rules)
    problems += failures
    for problem in problems:
        console.print(f"failed: {problem}", style="red", highlight=False, markup=False)
    patterns = 0 if rule_id else len(knowledge.patterns)
    console.print(
        f"{n} tests of {len(rules)} rules and the tests of {patterns} patterns: "
        f"{len(problems)} failed, {time.monotonic() - begun:.1f} s",
        highlight=False,
    )
    return not problems


def rule_failures(spark: SparkSession, knowledge: Knowledge, rules: Sequence[Rule]) -> tuple[list[str], int]:
    """What the inline tests of the rules find wrong, and how many tests ran; all in one plan.

    Args:
        spark: Session.
        knowledge: All knowledge; every rule takes part, so that numbering is that of a night.
        rules: Rules whose tests count.
    """
    rows = inline_attempts(rules, knowledge.vocabulary, knowledge.catalogues.code_rows())
    frames = knowledge_frames(spark, knowledge)
    found = find_candidates(inline_evidence(spark, rows), frames.rules, cut=materialised)
    said = found.select("job_id", "rule_id", "origin").collect()
    origins: dict[tuple[str, str], list[list[str]]] = {}
    for row in said:
        origins.setdefault((row["job_id"], row["rule_id"]), []).append(list(row["origin"]))
    problems = [p for e in rows.expected if (p := _problem(e, origins.get((e["job_id"], e["rule_id"]), [])))]
    return problems, len(rows.expected)


def _problem(expected: Mapping[str, Any], origins: list[list[str]]) -> str | None:
    name = f"{expected['rule_id']}: {expected['test']}"
    if expected["expect"] == "none":
        return f"{name}: must not match, blames {origins}" if origins else None
    if not origins:
        return f"{name}: must match and does not"
    wanted = expected["origin"]
    if wanted is not None and list(wanted) not in origins:
        return f"{name}: must blame {wanted}, blames {origins}"
    return None


def inline_evidence(spark: SparkSession, rows: InlineRows) -> Evidence:
    """The tests' rows as the frames that attribution takes."""
    attempts = with_uid(local_frame(spark, rows.attempts, ATTEMPTS.schema))
    uids = attempts.select("cluster", "job_id", "attempt", "uid")
    scoped = local_frame(spark, rows.events, SCOPED_EVENTS.schema).join(uids, ["cluster", "job_id", "attempt"])
    coverage = local_frame(spark, rows.coverage, COVERAGE.schema).join(uids, ["cluster", "job_id", "attempt"])
    owners = attempts.select("uid", "source_cluster", "workload_key", "user")
    beyond = scoped.join(owners, "uid").withColumn(
        # A node's own lines belong to no job; only a job's own lines do.
        "home",
        F.when(F.col("relation") == "own", F.concat_ws("/", "source_cluster", "job_id")),
    )
    window = attempts.withColumns(
        {
            "home": F.concat_ws("/", "source_cluster", "job_id"),
            "window_from": F.col("start"),
            "window_to": F.col("end"),
        }
    )
    return Evidence(
        attempts=window,
        scoped=scoped,
        beyond=beyond.drop("uid", "relation").withColumn("relation", F.lit("beyond")),
        placement=local_frame(spark, rows.placement, PLACEMENT.schema).join(uids, ["cluster", "job_id", "attempt"]),
        topology=local_frame(spark, rows.topology, TOPOLOGY.schema),
        covered=coverage.groupBy("uid").agg(F.collect_set("kind").alias("kinds")),
    )
