"""candidates: every rule that can explain an attempt, with its points, before they compete."""

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from firstfault.transforms.contract import Table, column
from firstfault.transforms.keys import ATTEMPT_KEY
from firstfault.transforms.types import BOOL, DAY, DOUBLE, INT, LONG, TEXT, TEXTS, TIME

CANDIDATES = Table(
    name="candidates",
    row="an attempt, a rule and the origin it blames",
    fields=(
        column("cluster", TEXT, "cluster of the attempt", required=True),
        column("job_id", TEXT, "job", required=True),
        column("attempt", INT, "attempt", required=True),
        column("day", DAY, "day of the attempt"),
        column("ruleset_version", TEXT, "hash of rules, vocabulary, catalogues, patterns, signals and scoring"),
        column("rule_id", TEXT, "rule", required=True),
        column("status", TEXT, "status of the rule: only stable and experimental ones of the live track decide"),
        column("category", TEXT, "root-cause category", required=True),
        column("outcome", TEXT, "how the attempt ended, where the rule knows"),
        column("origin_scope", TEXT, "gpu, node, port, rank, rack, power_domain, filesystem, scheduler or job"),
        column("origin", TEXTS, "names, sorted", required=True),
        column("origin_nodes", TEXTS, "nodes the origin lies on"),
        column("t0", TIME, "corrected time of the anchor"),
        column("t0_low", TIME, "earliest"),
        column("t0_high", TIME, "latest"),
        column("clock_error_s", DOUBLE, "error of the anchor's clock"),
        column("anchor_clock", TEXT, "clock that wrote the anchor"),
        column("clock_shared_s", DOUBLE, "part of clock_error_s that all clocks of clock_reference share"),
        column("clock_reference", TEXT, "what the anchor's true time is taken from"),
        column("anchor_node", TEXT, "node of the anchor"),
        column("anchor_type", TEXT, "event type of the anchor"),
        column("anchor_role", TEXT, "role of the anchor"),
        column("anchor_code", TEXT, "code of the anchor"),
        column("anchor_device", TEXT, "device of the anchor"),
        column("anchor_count", LONG, "records of the anchor"),
        column("anchor_nodes", TEXTS, "nodes with the anchor's event"),
        column("event_ids", TEXTS, "anchor and supporting events, sorted"),
        column("clause_points", DOUBLE, "points from clauses"),
        column("points", DOUBLE, "base and clauses, less penalties, with what other attempts say"),
        column("base", DOUBLE, "points of the rule itself"),
        column("cap", DOUBLE, "highest confidence of the rule, lower when a doubt of it holds"),
        column("specificity", INT, "how much the rule asks for, and how much of it was found"),
        column("undecided", BOOL, "a required clause holds possibly, not certainly"),
        column("coverage", DOUBLE, "share of the attempt's symptoms that it explains and precedes"),
        column("missing", TEXTS, "sources that a clause needed and that were not delivered"),
        column("healthy_share", DOUBLE, "share of the cluster's healthy attempts on which the rule fires as well"),
        column("healthy_places", INT, "healthy attempts on which it blames the same origin"),
        column("same_place", INT, "failed attempts of other workloads with this category on its nodes"),
        column("same_code", INT, "attempts of its workload that failed in this way on other nodes"),
        column("is_winner", BOOL, "decides the diagnosis"),
        column(
            "why_lost",
            TEXT,
            "later, explained_by, less_specific, covers_less, source_missing, undecidable_order, low_points",
        ),
    ),
    keys=(*ATTEMPT_KEY, "ruleset_version", "rule_id", "origin"),
    partitions=("day",),
    keep_days=120,
)


@dataclass(frozen=True)
class Doubts:
    """What speaks against a candidate by itself (rules/scoring.yaml).

    Attributes:
        doubted_cap: Highest confidence of a rule whose doubt holds, or that starts from what was over before the
            attempt began.
        overcome_penalty: Points off for what was over before the start and did not keep the attempt from making steps.
        teardown_penalty: Points off for a rule that starts from a teardown event: any other explanation should win.
    """

    doubted_cap: float = 1.0
    overcome_penalty: float = 0.0
    teardown_penalty: float = 0.0


def evaluate(
    anchors: DataFrame, rules: DataFrame, clauses: DataFrame, found: DataFrame, covered: DataFrame, doubts: Doubts
) -> DataFrame:
    """One row per (attempt, rule, origin) whose required clauses hold and that nothing excludes.

    Args:
        anchors: Anchors with origin and attempt keys.
        rules: Rows of `rule_tables.RULES`.
        clauses: Rows of `rule_tables.CLAUSES`.
        found: Result of `probes.probe`.
        covered: uid, kinds (array of sources delivered throughout).
        doubts: Parameters.
    """
    started = anchors.join(F.broadcast(rules), "spec_id").where(
        (F.col("n") >= F.col("min_count"))
        & ((F.col("min_nodes") <= 1) | (F.size("nodes") >= F.col("min_nodes")))
        & (F.size("ranks") >= F.col("min_ranks"))
        & (F.col("n_devices") >= F.col("min_devices"))
    )
    asked = started.select("uid", "spec_id", "entity", "rule_id").join(F.broadcast(clauses), "rule_id")
    known = asked.join(found, ["uid", "spec_id", "entity", "probe_id"], "left").join(covered, "uid", "left")
    judged = known.select("uid", "entity", "rule_id", *_judgement())
    verdicts = judged.groupBy("uid", "entity", "rule_id").agg(
        F.min((~F.col("fails")).cast("int")).alias("_passes"),
        F.sum("points").alias("clause_points"),
        F.sum("matched").alias("_matched"),
        F.max("undecided").alias("undecided"),
        F.max("doubted").alias("doubted"),
        F.sort_array(F.array_distinct(F.flatten(F.collect_list("ids")))).alias("_ids"),
        F.sort_array(F.collect_set("lacks")).alias("missing"),
    )
    scored = started.join(verdicts, ["uid", "entity", "rule_id"], "left").where("coalesce(_passes, 1) = 1")
    return scored.select(*_scored_columns(doubts))


def _judgement() -> list[Column]:
    """Per clause: does it fail the rule, how many points, which events, which source it lacked."""
    kind = F.col("kind")
    possible, certain = F.coalesce("possible", F.lit(0)), F.coalesce("certain", F.lit(0))
    enough = F.size(F.coalesce("names", F.array())) >= F.col("min_distinct")
    is_possible = (possible >= F.col("min_events")) & ((F.col("min_distinct") <= 1) | enough)
    is_certain = (certain >= F.col("min_events")) & is_possible
    delivered = F.array_contains(F.coalesce("kinds", F.array()), F.col("needs_coverage"))
    absent = (kind == "absence") & (possible == 0) & delivered
    silent = (kind == "silence") & (possible > 0) & delivered
    speaks = ~kind.isin("unless", "doubt")
    holds = F.when(kind == "absence", absent).when(kind == "silence", silent).otherwise(is_possible)
    fails = F.when(kind == "unless", is_certain).when(F.col("required"), ~holds).otherwise(F.lit(False))
    full = F.when(kind == "absence", absent).when(kind == "silence", silent & (certain > 0)).otherwise(is_certain)
    points = F.when(~speaks, 0.0).when(full, F.col("weight")).when(holds, F.col("weight") / 2).otherwise(0.0)
    return [
        F.coalesce(fails, F.lit(False)).alias("fails"),
        points.alias("points"),
        (holds & speaks).cast("int").alias("matched"),
        ((kind == "doubt") & is_certain).alias("doubted"),
        (F.col("required") & holds & ~full).alias("undecided"),
        F.when(holds & kind.isin("support", "silence"), F.transform("events", lambda e: e["event_id"]))
        .otherwise(F.array().cast("array<string>"))
        .alias("ids"),
        F.when(kind.isin("absence", "silence") & ~delivered, F.col("needs_coverage")).alias("lacks"),
    ]


def _scored_columns(doubts: Doubts) -> list[Column]:
    clause_points = F.coalesce("clause_points", F.lit(0.0))
    role = F.coalesce("role", "first.role")
    penalty = F.when(role == "teardown", doubts.teardown_penalty).otherwise(0.0)
    over = F.coalesce(F.col("last_t") < F.col("start"), F.lit(False))
    penalty = penalty + F.when(over & F.col("first_step").isNotNull(), doubts.overcome_penalty).otherwise(0.0)
    none = F.array().cast("array<string>")
    return [
        *(F.col(k) for k in (*ATTEMPT_KEY, "day", "uid", "rule_id", "status", "category", "outcome")),
        *(F.col(k) for k in ("origin_scope", "origin", "origin_nodes", "link", "link_nodes", "base")),
        F.when(F.coalesce("doubted", F.lit(False)) | over, F.least("cap", F.lit(doubts.doubted_cap)))
        .otherwise(F.col("cap"))
        .alias("cap"),
        F.col("first.t").alias("t0"),
        F.col("first.t_low").alias("t0_low"),
        F.col("first.t_high").alias("t0_high"),
        F.col("first.clock_error_s").alias("clock_error_s"),
        F.col("first.clock").alias("anchor_clock"),
        F.col("first.clock_shared_s").alias("clock_shared_s"),
        F.col("first.clock_reference").alias("clock_reference"),
        F.col("first.node").alias("anchor_node"),
        F.col("first.event_type").alias("anchor_type"),
        role.alias("anchor_role"),
        F.col("first.code").alias("anchor_code"),
        F.col("first.device").alias("anchor_device"),
        F.col("n").alias("anchor_count"),
        F.col("nodes").alias("anchor_nodes"),
        F.sort_array(F.array_union("event_ids", F.coalesce("_ids", none))).alias("event_ids"),
        F.round(clause_points, 3).alias("clause_points"),
        F.round(F.col("base") + clause_points - penalty, 3).alias("points"),
        (F.col("specificity") + F.coalesce("_matched", F.lit(0))).alias("specificity"),
        F.coalesce("undecided", F.lit(False)).alias("undecided"),
        F.coalesce("missing", none).alias("missing"),
        (over & F.col("first_step").isNotNull()).alias("_overcome"),
    ]
