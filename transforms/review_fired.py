"""Rules by where they stood as candidates: those that never did, that stand together, or that only stand in the way."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from firstfault.transforms.diagnoses import UNKNOWN
from firstfault.transforms.judged import EVERY, MONTH_FORM
from firstfault.transforms.keys import ATTEMPT_KEY
from firstfault.transforms.proportions import share, wilson
from firstfault.transforms.review_findings import NEVER_FIRED, NOISY, OVERLAP, Firing, findings, percent
from firstfault.transforms.rule_stats import RULE

_VERDICT = ("ruleset_version", "track", *ATTEMPT_KEY)
RETIRED = "deprecated"


def fired(diagnoses: DataFrame) -> DataFrame:
    """One row per verdict and rule that stood in it, with whether it decided it and, if not, why it lost.

    Args:
        diagnoses: Verdicts; of their alternatives the best eight are kept, which bounds what is seen here.
    """
    decided = F.when((F.col("category") != UNKNOWN) & F.col("rule_id").isNotNull(), F.array(
        F.struct("rule_id", F.lit(True).alias("won"), F.lit(None).cast("string").alias("why_lost"))
    ))  # fmt: skip
    lost = F.transform(
        "alternatives",
        lambda a: F.struct(a["rule_id"].alias("rule_id"), F.lit(False).alias("won"), a["why_lost"].alias("why_lost")),
    )
    stood = F.concat(
        F.coalesce(decided, F.expr("array()").cast(_STOOD)), F.coalesce(lost, F.expr("array()").cast(_STOOD))
    )
    rows = diagnoses.select(*_VERDICT, F.date_format("day", MONTH_FORM).alias("month"), F.explode(stood).alias("_s"))
    named = rows.select(*_VERDICT, "month", "_s.*").where("rule_id is not null")
    return named.groupBy(*_VERDICT, "month", "rule_id").agg(
        F.bool_or("won").alias("won"), F.min("why_lost").alias("why_lost")
    )


_STOOD = "array<struct<rule_id:string,won:boolean,why_lost:string>>"


def never_fired(stood: DataFrame, rules: DataFrame, month: str, seen: int, firing: Firing) -> DataFrame:
    """One finding per rule in use that stood in no attempt, once enough attempts were seen to tell.

    Args:
        stood: Result of `fired`, of the live track and the months that count.
        rules: Rows of the rules table, of one rule set.
        month: The month.
        seen: Attempts with a verdict in these months.
        firing: When it counts.
    """
    silent = rules.where(F.col("status") != RETIRED).join(stood.select("rule_id").distinct(), "rule_id", "left_anti")
    told = silent.where(F.lit(seen >= firing.min_attempts)).select(
        *_live(),
        F.col("rule_id").alias("name"),
        F.lit(seen).cast("long").alias("n"),
        F.lit(0.0).alias("figure"),
        "status",
    )
    note = F.format_string("stood in none of %d attempts in %d months; status %s", "n", F.lit(firing.months), "status")
    return findings(told.withColumn("_note", note).drop("status"), month, NEVER_FIRED, F.col("_note"))


def overlapping(stood: DataFrame, month: str, firing: Firing) -> DataFrame:
    """One finding per pair of rules that stand together in most attempts in which either does, neither explained.

    Args:
        stood: Result of `fired`, of the live track and the months that count.
        month: The month.
        firing: When it counts.
    """
    stood = _unexcused(stood, firing)
    alone = stood.groupBy("rule_id").agg(F.count("*").alias("_n"))
    other = stood.select(*_VERDICT, F.col("rule_id").alias("other"))
    pairs = (
        stood.join(other, list(_VERDICT))
        .where("rule_id < other")
        .groupBy("rule_id", "other")
        .agg(F.count("*").alias("_both"), F.count_if("won").alias("_won"))
    )
    with_sizes = (
        pairs.join(F.broadcast(alone), "rule_id")
        .join(F.broadcast(alone.withColumnsRenamed({"rule_id": "other", "_n": "_m"})), "other")
        .withColumn("n", F.col("_n") + F.col("_m") - F.col("_both"))
        .withColumn("figure", share(F.col("_both"), F.col("n")))
        .where((F.col("n") >= firing.overlap_min) & (F.col("figure") >= firing.overlap_share))
    )
    low, high = wilson(F.col("_both"), F.col("n"))
    told = with_sizes.select(
        *_live(), F.col("rule_id").alias("name"), "other", "figure", F.lit(firing.overlap_share).alias("reference"),
        low.alias("low"), high.alias("high"), "n", "_both", "_won",
    )  # fmt: skip
    note = F.format_string(
        "both stand in %d of %d attempts with either; the first decided %d of these", "_both", "n", "_won"
    )
    return findings(told, month, OVERLAP, note)


def noisy(stood: DataFrame, month: str, firing: Firing) -> DataFrame:
    """One finding per rule that stands often and is seldom believed.

    Losing to what explains it is no noise: a rule of a cascade is there to be explained.

    Args:
        stood: Result of `fired`, of the live track and the months that count.
        month: The month.
        firing: When it counts.
    """
    counted = _unexcused(stood, firing).groupBy("rule_id").agg(F.count("*").alias("n"), F.count_if("won").alias("_won"))
    low, high = wilson(F.col("_won"), F.col("n"))
    told = counted.select(
        *_live(), F.col("rule_id").alias("name"), share(F.col("_won"), F.col("n")).alias("figure"),
        F.lit(firing.noisy_won).alias("reference"), low.alias("low"), high.alias("high"), "n", "_won",
    ).where((F.col("n") >= firing.noisy_min) & (F.col("figure") <= firing.noisy_won))  # fmt: skip
    note = F.concat(
        F.format_string("decided %d of the %d attempts in which it stood unexplained (bar ", "_won", "n"),
        percent(F.col("reference")), F.lit(")"),
    )  # fmt: skip
    return findings(told, month, NOISY, note)


def _unexcused(stood: DataFrame, firing: Firing) -> DataFrame:
    excused = F.coalesce(F.col("why_lost").isin(list(firing.excused)), F.lit(False)) & ~F.col("won")
    return stood.where(~excused)


def _live() -> tuple[Column, ...]:
    return (
        F.lit(EVERY).alias("cluster"), F.lit(EVERY).alias("ruleset_version"), F.lit("live").alias("track"),
        F.lit(RULE).alias("level"),
    )  # fmt: skip
