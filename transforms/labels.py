"""labels: what operators found in the end, and what later nights hint at; a history in which nothing is overwritten.

Decision 2026-11-30: one row is one statement, not one verdict (an earlier lake had a row a source, the newest winning).
What the statements come to is `label_verdicts`. Columns that an earlier lake lacks are null there: weight 1, no
refutation, not withdrawn.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from firstfault.transforms.columns import field, latest
from firstfault.transforms.contract import Table, column
from firstfault.transforms.types import BOOL, DOUBLE, INT, TEXT, TEXTS, TIME

OPERATOR, WEAK = "operator", "weak"
WEAK_PREFIX = "weak:"
"""In front of the function's name in the `source` of a weak label."""

LABELS = Table(
    name="labels",
    row="a statement about an attempt's cause: an operator's, or a weak one derived from what came later",
    fields=(
        column("cluster", TEXT, "cluster", required=True),
        column("job_id", TEXT, "job", required=True),
        column("attempt", INT, "attempt", required=True),
        column("category", TEXT, "root-cause category", required=True),
        column("origin_scope", TEXT, "what the origin names"),
        column("origin", TEXTS, "origin names, sorted"),
        column("kind", TEXT, "operator or weak", required=True),
        column("source", TEXT, "file, command or ticket system it came from, or weak:<function>", required=True),
        column("who", TEXT, "who said it, where that is known"),
        column("labelled_at", TIME, "when it was said, else the time of the file"),
        column("weight", DOUBLE, "1 for operators; of weak ones how much they count, null before version 2: 1"),
        column("refutes", BOOL, "it was NOT this category; null before version 2: false"),
        column("withdrawn", BOOL, "taken back by who said it; null before version 2: false"),
        column("note", TEXT, "in words: why"),
    ),
    keys=("cluster", "job_id", "attempt", "source", "who", "labelled_at"),
    version=2,
)
VOICE = ("cluster", "job_id", "attempt", "source", "who")
"""Whose statements on an attempt follow one another; the newest of each voice is what it says now."""


def build_labels(staged: DataFrame) -> DataFrame:
    """One row per statement of labels.csv; of several with one key, the one written last.

    Args:
        staged: Rows in flight of source `labels`, with `fields`; `event_time` is that of column labelled_at or when.
    """
    rows = staged.where((F.col("source") == "labels") & F.col("fields").isNotNull())
    built = rows.select(
        F.coalesce(field("cluster"), F.col("cluster")).alias("cluster"),
        field("job_id").alias("job_id"),
        F.coalesce(F.expr("try_cast(fields['attempt'] as int)"), F.lit(0)).alias("attempt"),
        field("category").alias("category"),
        field("origin_scope").alias("origin_scope"),
        _names("origin").alias("origin"),
        F.lit(OPERATOR).alias("kind"),
        F.col("file").alias("source"),
        field("who").alias("who"),
        F.coalesce("event_time", "file_time").alias("labelled_at"),
        F.lit(1.0).alias("weight"),
        F.lit(False).alias("refutes"),
        F.coalesce(F.lower(field("withdrawn")).isin("true", "yes", "1"), F.lit(False)).alias("withdrawn"),
        field("note").alias("note"),
        F.col("byte_offset").alias("_at"),
    ).where("job_id is not null and category is not null")
    return LABELS.conform(latest(built, *LABELS.keys))


def _names(of: str) -> Column:
    """The names of a `;`-separated field, sorted."""
    parts = F.split(F.coalesce(field(of), F.lit("")), r"\s*;\s*")
    return F.array_sort(F.filter(parts, lambda name: name != ""))
