"""dropped_lines: how many lines of which kind were not landed, so that what is gone can still be counted."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from firstfault.transforms.contract import Table, column
from firstfault.transforms.raw_logs import PLAUSIBLE_AFTER
from firstfault.transforms.retention import CHATTER
from firstfault.transforms.staged import DROPPED
from firstfault.transforms.types import DAY, LONG, TEXT

_KEY = ("batch_id", "cluster", "job_id", "hour", "source", "rule", "template")

DROPPED_LINES = Table(
    name="dropped_lines",
    row="lines of one template that a named rule dropped from a batch",
    fields=(
        column("batch_id", TEXT, "batch that held them", required=True),
        column("cluster", TEXT, "cluster of the source", required=True),
        column(
            "job_id", TEXT, "where they would have landed: the job, or _node, _net, _cluster, _unknown", required=True
        ),
        column("hour", TEXT, "yyyy-MM-dd-HH of the written time, else of the file", required=True),
        column("day", DAY, "day of the hour"),
        column("source", TEXT, "format of sources.yaml", required=True),
        column("rule", TEXT, "rule that dropped them", required=True),
        column("template", TEXT, "the line with what varies replaced; empty for structure", required=True),
        column("lines", LONG, "units of the books"),
        column("bytes", LONG, "their bytes, ends of line included"),
    ),
    keys=_KEY,
    partitions=("day",),
    keep_days=120,
)


def build_dropped_lines(staged: DataFrame) -> DataFrame:
    """One row per hour, source, rule and template of the batch; structure that readers drop has no template.

    Args:
        staged: The batch in flight (`staged.STAGED`); a dropped row may stand for several (`retention.counted`).
    """
    template = F.when(F.col("reason").startswith(CHATTER), F.col("message"))
    columns = {"hour": _hour(), "rule": F.col("reason"), "template": F.coalesce(template, F.lit(""))}
    sums = (
        staged.where(F.col("disposition") == DROPPED)
        .withColumns(columns)
        .groupBy(*_KEY)
        .agg(F.sum("units").alias("lines"), F.sum(F.col("length").cast(LONG)).alias("bytes"))
    )
    return DROPPED_LINES.conform(sums.withColumn("day", F.to_date(F.substring("hour", 1, 10))))


def _hour() -> Column:
    """The hour in which the lines would have landed (`raw_rows`)."""
    latest = F.col("file_time") + F.expr(f"interval {int(PLAUSIBLE_AFTER.total_seconds())} seconds")
    written = F.when(F.col("event_time") <= latest, F.col("event_time"))
    return F.date_format(F.coalesce(written, F.col("collected_at"), F.col("file_time")), "yyyy-MM-dd-HH")
