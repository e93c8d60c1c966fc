"""The inline tests of the rule library, through the real join plan."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from rich.console import Console

from firstfault.jobs.frames import local_frame, materialised
from firstfault.jobs.knowledge import RULES_ROOT, Knowledge, knowledge_frames, load_unlocked
from firstfault.jobs.rules_show import find_rule
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


def run_tests(settings: Settings, rule_id: str | None, console: Console, root: Path = RULES_ROOT) -> bool:
    """Whether the inline tests of patterns, masking, chatter and rules all passed; tells each that did not.

    Args:
        settings: Of the session.
        rule_id: Only this rule; all where None.
        console: Where to.
        root: The rules folder; rules under work are tested whatever its lock says.
    """
    begun = time.monotonic()
    knowledge = load_unlocked(root)
    problems = [] if rule_id else [str(p) for p in run_pattern_tests(knowledge.patterns)]
    if not rule_id:
        problems += run_masking_tests(knowledge.masking) + run_retention_tests(knowledge.retention)
    rules = [find_rule(knowledge, rule_id)] if rule_id else knowledge.rules
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
    found = find_candidates(inline_evidence(spark, rows), frames.rules, knowledge.scoring.doubts, materialised)
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
        occupancy=window.select("source_cluster", F.explode("nodes").alias("node"), "start", "end", "home"),
    )
