"""diagnoses: where the fault of each attempt began, in one row."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, MapType, StringType

from firstfault.transforms.competition import Scoring
from firstfault.transforms.contract import Table, column
from firstfault.transforms.crosscheck import with_crosscheck
from firstfault.transforms.keys import ATTEMPT_KEY
from firstfault.transforms.sentences import action, conclusion
from firstfault.transforms.types import BOOL, DAY, DOUBLE, INT, TEXT, TEXTS, TIME, struct_of

ALSO = struct_of(category=TEXT, origin_scope=TEXT, origin=TEXTS, confidence=DOUBLE, t0=TIME)
ALTERNATIVE = struct_of(rule_id=TEXT, category=TEXT, origin_scope=TEXT, origin=TEXTS, confidence=DOUBLE, why_lost=TEXT)
UNKNOWN = "unknown"
LIVE = "live"
MAX_ALTERNATIVES = 8
EXPECTED_SOURCES = ("app_log", "kernel_log", "telemetry", "port_counters", "scheduler")

_ANSWER = (
    column("day", DAY, "day of the attempt"),
    column("outcome", TEXT, "how the attempt ended", required=True),
    column("category", TEXT, "root-cause category, unknown when nothing is sure enough", required=True),
    column("origin_scope", TEXT, "what the origin names; null when nothing is located"),
    column("origin", TEXTS, "names, sorted; may be empty", required=True),
    column("also", ArrayType(ALSO), "independent findings"),
    column("affected_nodes", TEXTS, "nodes that only suffered the cascade"),
    column("symptoms", MapType(StringType(), StringType()), "figures by event type and code"),
    column("t0", TIME, "corrected time at which the fault began"),
    column("confidence", DOUBLE, "calibrated, 0 to 1", required=True),
    column("order_certain", BOOL, "false when the verdict rests on an order that clocks cannot decide"),
    column("state", TEXT, "provisional or final"),
    column("scheduler_state", TEXT, "the scheduler's own word"),
    column("agrees_with_scheduler", BOOL, "our outcome is what the scheduler's state means"),
    column("scheduler_note", TEXT, "the scheduler's word beside ours, and why they differ"),
    column("alternatives", ArrayType(ALTERNATIVE), "what lost, and why"),
    column("missing", TEXTS, "sources that would settle or strengthen it"),
    column("poor_inputs", TEXTS, "sources it rests on that the gates found poor, and how"),
    column("conclusion", TEXT, "one or two sentences"),
    column("action", TEXT, "what to do"),
    column("rule_id", TEXT, "deciding rule"),
    column("rule_version", INT, "version of the deciding rule's text; 0 where the rule set is not locked"),
    column("catalogue_version", TEXT, "hash of the catalogues: what codes meant"),
    column("device_serials", TEXTS, "serial numbers of the origin devices, where known"),
    column("gpu_hours_lost", DOUBLE, "GPUs x hours since the last checkpoint, else since the start"),
)

DIAGNOSES = Table(
    name="diagnoses",
    row="an attempt's verdict by a rule set",
    fields=(
        column("cluster", TEXT, "cluster of the attempt", required=True),
        column("job_id", TEXT, "job", required=True),
        column("attempt", INT, "attempt", required=True),
        *_ANSWER,
        column("ruleset_version", TEXT, "hash of rules, vocabulary, catalogues, patterns, signals and scoring"),
        column("track", TEXT, "live or shadow", required=True),
    ),
    keys=(*ATTEMPT_KEY, "ruleset_version", "track"),
    partitions=("day",),
    keep_days=400,
)


def build_diagnoses(
    attempts: DataFrame,
    ranked: DataFrame,
    rules: DataFrame,
    symptoms: DataFrame,
    coverage: DataFrame,
    poor: DataFrame,
    reasons: DataFrame,
    scoring: Scoring,
    as_of: Column,
    final_after_s: int,
) -> DataFrame:
    """One row per attempt that needs a verdict.

    Args:
        attempts: Attempts with uid, succeeded, is_hung, said_outcome (by their own logs), ruleset_version,
            catalogue_version, last_checkpoint, serials (device, serial).
        ranked: Result of `competition.compete`.
        rules: Rows of `rule_tables.RULES`, for the sentences.
        symptoms: Result of `symptoms.first_symptoms` with `code`.
        coverage: Rows of the coverage table with uid.
        poor: Result of `data_quality.poor_inputs`.
        reasons: Rows of `crosscheck.REASONS`.
        scoring: Parameters.
        as_of: Newest time the lake knows of; a verdict is final when it is `final_after_s` past the end.
        final_after_s: Seconds.
    """
    winner = ranked.where("is_winner").join(
        F.broadcast(rules.select("rule_id", "rule_version", "conclusion_en", "action_en", "settle")), "rule_id"
    )
    decided = winner.join(poor, "uid", "left").withColumn("confidence", _confidence(scoring))
    rows = (
        attempts.join(decided.select("uid", F.struct(*decided.columns).alias("w")), "uid", "left")
        .join(_others(ranked, scoring), "uid", "left")
        .join(_figures(symptoms), "uid", "left")
        .join(_undelivered(coverage), "uid", "left")
    )
    sure = F.coalesce(F.col("w.confidence") >= scoring.unknown_below, F.lit(False))
    located = sure & (scoring.confidence(F.col("w.origin_margin")) >= scoring.unknown_below)
    answers = rows.withColumns({"_sure": sure, "_located": located}).select(*_answer(as_of, final_after_s))
    return DIAGNOSES.conform(with_crosscheck(answers, reasons).drop("uid", "outcome_hint"))


def _confidence(scoring: Scoring) -> Column:
    calibrated = F.least(scoring.confidence(F.col("margin")), F.col("cap"))
    doubtful = ~F.col("order_certain") | F.col("undecided") | (F.size("missing") > 0)
    capped = F.when(doubtful, F.least(calibrated, F.lit(scoring.undecidable_cap))).otherwise(calibrated)
    return F.round(capped * F.coalesce("poor_factor", F.lit(1.0)), 4)


def _others(ranked: DataFrame, scoring: Scoring) -> DataFrame:
    """Per attempt the alternatives, best first, and the independent findings."""
    confidence = F.round(F.least(scoring.confidence(F.col("score")), F.col("cap")), 4)
    alternative = F.struct(
        (-F.col("score")).alias("_order"),
        "rule_id",
        "category",
        "origin_scope",
        "origin",
        confidence.alias("confidence"),
        "why_lost",
    )
    also = F.struct("category", "origin_scope", "origin", confidence.alias("confidence"), "t0")
    lost = F.col("why_lost").isNotNull()
    grouped = ranked.groupBy("uid").agg(
        F.array_sort(F.collect_list(F.when(lost, alternative))).alias("_lost"),
        F.array_sort(F.collect_list(F.when(F.col("is_independent"), also))).alias("also"),
    )
    fields = ALTERNATIVE.fieldNames()
    plain = F.transform("_lost", lambda a: F.struct(*(a[f].alias(f) for f in fields)))
    return grouped.select("uid", F.slice(plain, 1, MAX_ALTERNATIVES).alias("alternatives"), "also")


def _figures(symptoms: DataFrame) -> DataFrame:
    """Per attempt a map such as {"gpu.xid 79": "1 on 1 node"} and the nodes that felt anything."""
    named = symptoms.withColumn("name", F.concat_ws(" ", "event_type", "code"))
    counted = named.groupBy("uid", "name").agg(F.sum("n").alias("n"), F.count_distinct("node").alias("nodes"))
    text = F.format_string("%d on %d nodes", "n", "nodes")
    figures = counted.groupBy("uid").agg(
        F.map_from_entries(F.array_sort(F.collect_list(F.struct("name", text.alias("text"))))).alias("symptoms")
    )
    felt = symptoms.groupBy("uid").agg(F.array_sort(F.collect_set("node")).alias("_felt"))
    return figures.join(felt, "uid", "full")


def _undelivered(coverage: DataFrame) -> DataFrame:
    seen = coverage.groupBy("uid").agg(F.collect_set("kind").alias("_seen"))
    expected = F.array(*(F.lit(s) for s in EXPECTED_SOURCES))
    return seen.select("uid", F.array_except(expected, F.col("_seen")).alias("_undelivered"))


def _answer(as_of: Column, final_after_s: int) -> list[Column]:
    sure, located, none = F.col("_sure"), F.col("_located"), F.array().cast("array<string>")
    origin = F.when(located, F.col("w.origin")).otherwise(none)
    outcome = _outcome(sure)
    missing = F.array_sort(
        F.array_distinct(
            F.concat(
                F.coalesce("w.missing", none),
                F.when(sure, none).otherwise(F.coalesce("_undelivered", _all_sources())),
            )
        )
    )
    is_final = as_of.cast("double") >= F.col("end").cast("double") + final_after_s
    begun = F.greatest("start", F.coalesce("last_checkpoint", "start"))
    lost_h = F.col("gpus") * (F.col("end").cast("double") - begun.cast("double")) / 3600
    return [
        *(F.col(k) for k in ATTEMPT_KEY),
        F.col("day"),
        outcome.alias("outcome"),
        F.when(sure, F.col("w.category")).otherwise(UNKNOWN).alias("category"),
        F.when(located, F.col("w.origin_scope")).alias("origin_scope"),
        origin.alias("origin"),
        F.when(sure, F.coalesce("also", F.array())).otherwise(F.array()).cast(ArrayType(ALSO)).alias("also"),
        F.array_except(
            F.array_intersect(F.coalesce("_felt", none), F.coalesce("nodes", none)),
            F.when(located, F.coalesce("w.origin_nodes", none)).otherwise(none),
        ).alias("affected_nodes"),
        F.col("symptoms"),
        F.when(sure, F.col("w.t0")).alias("t0"),
        F.coalesce("w.confidence", F.lit(0.0)).alias("confidence"),
        F.coalesce(F.col("w.order_certain") & ~F.col("w.undecided"), F.lit(True)).alias("order_certain"),
        F.when(is_final, "final").otherwise("provisional").alias("state"),
        F.col("scheduler_state"),
        _with_doubted(sure).alias("alternatives"),
        missing.alias("missing"),
        F.coalesce("w.poor_inputs", none).alias("poor_inputs"),
        conclusion(sure, missing).alias("conclusion"),
        action(sure).alias("action"),
        F.col("w.rule_id").alias("rule_id"),
        F.col("w.rule_version").alias("rule_version"),
        F.col("catalogue_version"),
        F.col("outcome_hint"),
        F.col("uid"),
        F.coalesce(_serials(origin), none).alias("device_serials"),
        F.when(lost_h.isNotNull(), F.round(F.greatest(lost_h, F.lit(0.0)), 3)).alias("gpu_hours_lost"),
        F.col("ruleset_version"),
        F.lit(LIVE).alias("track"),
    ]


def _all_sources() -> Column:
    return F.array(*(F.lit(s) for s in EXPECTED_SOURCES))


def _serials(origin: Column) -> Column:
    """Serial numbers of the devices that the origin names."""
    of_origin = F.filter("serials", lambda s: F.array_contains(origin, s["device"]))
    return F.array_compact(F.transform(of_origin, lambda s: s["serial"]))


def _outcome(sure: Column) -> Column:
    """The rule's word where it knows better, else what the scheduler's state means."""
    by_rule = F.when(sure, F.col("w.outcome"))
    return (
        F.when(F.col("succeeded"), F.lit("completed_with_errors"))
        .when(F.col("is_hung"), F.coalesce(by_rule, F.lit("hung")))
        .otherwise(
            F.coalesce(by_rule, F.when(F.col("is_failure"), F.col("outcome_hint")), "said_outcome", F.lit("failed"))
        )
    )


def _with_doubted(sure: Column) -> Column:
    """A winner that was not sure enough is the first alternative."""
    lost = F.coalesce("alternatives", F.array().cast(ArrayType(ALTERNATIVE)))
    doubted = F.struct(
        F.col("w.rule_id").alias("rule_id"),
        F.col("w.category").alias("category"),
        F.col("w.origin_scope").alias("origin_scope"),
        F.col("w.origin").alias("origin"),
        F.col("w.confidence").alias("confidence"),
        F.lit("low_points").alias("why_lost"),
    ).cast(ALTERNATIVE)
    return F.when(sure | F.col("w.rule_id").isNull(), lost).otherwise(F.concat(F.array(doubted), lost))
