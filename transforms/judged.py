"""Verdicts beside what is known of their attempts: what all figures of rules and categories are counted from."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from firstfault.transforms.diagnoses import UNKNOWN
from firstfault.transforms.keys import ATTEMPT_KEY
from firstfault.transforms.labels import OPERATOR, WEAK

LABEL_KINDS = (OPERATOR, WEAK)
EVERY = "*"
"""Cluster, or rule-set version, of figures over all of them."""
MONTH_FORM = "yyyy-MM"
LONGEST_WAIT_D = 31
"""An attempt that was older when the first night saw it was read in afterwards; nobody waited for its verdict."""
_KEPT = (
    "ruleset_version", "track", "category", "rule_id", "confidence", "alternatives", "origin_scope", "origin",
    "gpu_hours_lost",
)  # fmt: skip


def judged(diagnoses: DataFrame, label_verdicts: DataFrame, waits: DataFrame) -> DataFrame:
    """One row per verdict and kind of label, with the label's category where there is one that all agree on.

    A label that says `unknown` names no cause, so it judges nothing, as none does whose operators disagree.

    Args:
        diagnoses: Verdicts of any rule sets and tracks.
        label_verdicts: Rows of `label_verdicts.LABEL_VERDICTS`.
        waits: Result of `hours_to_diagnosis`.
    """
    verdicts = diagnoses.select(*ATTEMPT_KEY, F.date_format("day", MONTH_FORM).alias("month"), *_KEPT)
    known = verdicts.join(label_verdicts, list(ATTEMPT_KEY), "left").join(waits, list(ATTEMPT_KEY), "left")
    no_text, no_names = F.lit(None).cast("string"), F.lit(None).cast("array<string>")
    kinds = F.array(
        _label(OPERATOR, F.col("_l.category"), F.col("_l.origin_scope"), F.col("_l.origin")),
        _label(WEAK, F.col("_l.weak_category"), no_text, no_names),
    )
    packed = known.select(
        *ATTEMPT_KEY,
        "month",
        *(verdicts[c] for c in _KEPT),
        "hours_to_diagnosis",
        F.coalesce(label_verdicts["is_conflict"], F.lit(False)).alias("_is_conflict"),
        F.struct(*(label_verdicts[c] for c in ("category", "origin_scope", "origin", "weak_category"))).alias("_l"),
    )
    exploded = packed.withColumn("_kind", F.explode(kinds)).select(
        *(c for c in packed.columns if not c.startswith("_")),
        "_kind.*",
        "_is_conflict",
    )
    disagree = F.col("_is_conflict") & F.col("label").isNull() & (F.col("label_kind") == OPERATOR)
    return exploded.withColumns(
        {
            "ruleset_version": F.coalesce("ruleset_version", F.lit(UNKNOWN)),
            "alternatives": F.coalesce("alternatives", F.expr("array()").cast(_type_of(diagnoses, "alternatives"))),
            "is_conflict": disagree,
        }
    ).drop("_is_conflict")


def hours_to_diagnosis(attempts: DataFrame, runs: DataFrame) -> DataFrame:
    """One row per attempt that ended, with the hours until a night was done that could have seen its end.

    Verdicts do not say when they were written, so that a rerun gives equal tables; the end of the first night behind
    the attempt's is when the earliest verdict was there to be read.

    Args:
        attempts: With the attempt key and `end`.
        runs: The runs table.
    """
    nights = runs.where("job = 'nightly' and status = 'done' and ended_at is not null").select("ended_at").distinct()
    longest = F.expr(f"ended_at - interval {LONGEST_WAIT_D} days")
    before = F.lag("ended_at").over(Window.orderBy("ended_at"))
    spans = nights.select("ended_at", F.greatest(F.coalesce(before, longest), longest).alias("after"))
    by_day = spans.withColumn("_day", F.explode(F.sequence(F.to_date("after"), F.to_date("ended_at"))))
    ended = attempts.where("end is not null").select(*ATTEMPT_KEY, "end", F.to_date("end").alias("_day"))
    met = ended.join(F.broadcast(by_day), "_day").where("end > after and end <= ended_at")
    hours = (F.col("ended_at").cast("double") - F.col("end").cast("double")) / 3600
    return met.groupBy(*ATTEMPT_KEY).agg(F.round(F.min(hours), 3).alias("hours_to_diagnosis"))


def _label(kind: str, category: Column, scope: Column, origin: Column) -> Column:
    return F.struct(
        F.lit(kind).alias("label_kind"),
        F.when(category != UNKNOWN, category).alias("label"),
        scope.alias("label_scope"),
        origin.alias("label_origin"),
    )


def _type_of(frame: DataFrame, name: str) -> str:
    return frame.schema[name].dataType.simpleString()
