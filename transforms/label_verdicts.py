"""label_verdicts: what the statements on each attempt come to; a view, not a table of the lake.

Operators who differ are a conflict, which is shown and never decided by who came last. Weak labels stand apart: they
neither make nor break an operators' verdict.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType

from firstfault.transforms.contract import View, column
from firstfault.transforms.keys import ATTEMPT_KEY
from firstfault.transforms.labels import LABELS, OPERATOR, VOICE, WEAK
from firstfault.transforms.types import BOOL, DOUBLE, INT, TEXT, TEXTS, TIME, struct_of

STATEMENT = struct_of(category=TEXT, origin_scope=TEXT, origin=TEXTS, who=TEXT, source=TEXT, labelled_at=TIME)
WEAK_STATEMENT = struct_of(source=TEXT, category=TEXT, origin_scope=TEXT, origin=TEXTS, refutes=BOOL, weight=DOUBLE)
LABEL_VERDICTS = View(
    name="label_verdicts",
    row="an attempt with any label, and what its labels come to",
    fields=(
        column("cluster", TEXT, "cluster", required=True),
        column("job_id", TEXT, "job", required=True),
        column("attempt", INT, "attempt", required=True),
        column("category", TEXT, "category that all operators say; null when they differ, or none spoke"),
        column("origin_scope", TEXT, "scope of the origin; null where there is none"),
        column("origin", TEXTS, "origin that all operators say who name one; null when they differ, or none did"),
        column("is_conflict", BOOL, "operators differ in category, or in the origin they name", required=True),
        column("statements", ArrayType(STATEMENT), "newest statement of each operator and source, sorted"),
        column("labelled_at", TIME, "when the newest of the statements was made"),
        column("weak", ArrayType(WEAK_STATEMENT), "weak labels, sorted"),
        column("weak_category", TEXT, "category with most weight of weak labels; null on a tie, or without any"),
        column("weak_weight", DOUBLE, "weight of the weak labels that say so"),
    ),
    keys=ATTEMPT_KEY,
)
_KEY = list(ATTEMPT_KEY)


def resolve(labels: DataFrame) -> DataFrame:
    """One row per attempt with any label that is not withdrawn.

    Args:
        labels: The labels table, all statements of the attempts.
    """
    known = labels.withColumns(
        {
            "weight": F.coalesce("weight", F.lit(1.0)),
            "refutes": F.coalesce("refutes", F.lit(False)),
            "withdrawn": F.coalesce("withdrawn", F.lit(False)),
            "origin": F.coalesce("origin", F.array().cast("array<string>")),
        }
    )
    said = _said(known.where((F.col("kind") == OPERATOR) & ~F.col("refutes")))
    hinted = _hinted(known.where((F.col("kind") == WEAK) & ~F.col("withdrawn")))
    found = said.join(hinted, _KEY, "full").withColumns(
        {
            "is_conflict": F.coalesce("is_conflict", F.lit(False)),
            "statements": F.coalesce("statements", F.array().cast(ArrayType(STATEMENT))),
            "weak": F.coalesce("weak", F.array().cast(ArrayType(WEAK_STATEMENT))),
        }
    )
    return LABEL_VERDICTS.conform(found)


def _said(statements: DataFrame) -> DataFrame:
    """One row per attempt: what its operators say now."""
    content = F.struct("withdrawn", *(f.name for f in STATEMENT.fields if f.name not in {"who", "source"}))
    # Of two at the same time the order of their words decides, so that any order of rows gives the same.
    newest = statements.groupBy(*VOICE).agg(F.max_by(content, F.struct("labelled_at", content)).alias("now"))
    held = newest.where("not now.withdrawn").select(*VOICE, "now.*")
    named = F.when(F.size("origin") > 0, F.struct("origin_scope", "origin"))
    told = held.groupBy(*_KEY).agg(
        F.collect_set("category").alias("_categories"),
        F.collect_set(named["origin"]).alias("_origins"),
        F.max("origin_scope").alias("_any_scope"),
        F.max(named["origin_scope"]).alias("_named_scope"),
        F.array_sort(F.collect_list(F.struct(*STATEMENT.fieldNames()))).alias("statements"),
        F.max("labelled_at").alias("labelled_at"),
    )
    agreed, located = F.size("_categories") == 1, F.size("_origins") == 1
    return told.select(
        *_KEY,
        F.when(agreed, F.col("_categories")[0]).alias("category"),
        F.when(located, F.col("_named_scope"))
        .when(_none("_origins") & agreed, F.col("_any_scope"))
        .alias("origin_scope"),
        F.when(located, F.col("_origins")[0]).alias("origin"),
        ((F.size("_categories") > 1) | (F.size("_origins") > 1)).alias("is_conflict"),
        "statements",
        "labelled_at",
    )


def _none(column_name: str) -> Column:
    return F.size(column_name) == 0


def _hinted(weak: DataFrame) -> DataFrame:
    """One row per attempt: its weak labels, and the category that most of their weight is for."""
    listed = weak.groupBy(*_KEY).agg(F.array_sort(F.collect_list(F.struct(*WEAK_STATEMENT.fieldNames()))).alias("weak"))
    sums = (
        weak.where(~F.col("refutes"))
        .groupBy(*_KEY, "category")
        .agg(F.round(F.sum("weight"), 6).alias("weight"))
        .groupBy(*_KEY)
        .agg(
            F.max_by("category", "weight").alias("_first"),
            F.max("weight").alias("_most"),
            F.collect_list("weight").alias("_all"),
        )
    )
    alone = F.size(F.filter("_all", lambda w: w == F.col("_most"))) == 1
    best = sums.where(alone).select(*_KEY, F.col("_first").alias("weak_category"), F.col("_most").alias("weak_weight"))
    return listed.join(best, _KEY, "left")


def of_attempts(labels: DataFrame, attempts: DataFrame) -> DataFrame:
    """The labels of these attempts, with their clusters; one that named none carries that of its file.

    Args:
        labels: The labels table.
        attempts: With the attempt key and source_cluster.
    """
    clusters = F.array_distinct(F.array("cluster", F.coalesce("source_cluster", "cluster")))
    names = attempts.select(F.explode(clusters).alias("_named"), *_KEY)
    named = labels.withColumnRenamed("cluster", "_named")
    return named.join(names, ["_named", "job_id", "attempt"]).select(*LABELS.columns)
