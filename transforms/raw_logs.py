"""raw_logs: every line as it was written."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from firstfault.transforms.contract import Table, column
from firstfault.transforms.staged import LANDED_LOG
from firstfault.transforms.types import INT, LONG, TEXT, TIME

RAW_LOGS = Table(
    name="raw_logs",
    row="a line (or array item), verbatim",
    fields=(
        column("job_id", TEXT, "home partition: the job, or _node, _net, _cluster, _unknown", required=True),
        column("hour", TEXT, "yyyy-MM-dd-HH of the written time, else of the file", required=True),
        column("cluster", TEXT, "cluster of the source", required=True),
        column("node", TEXT, "node that the line speaks for"),
        column("rank", INT, "global rank"),
        column("source", TEXT, "format of sources.yaml", required=True),
        column("stream_id", TEXT, "stream; with byte_offset the key", required=True),
        column("byte_offset", LONG, "offset in the uncompressed stream", required=True),
        column("file", TEXT, "path below the landing zone", required=True),
        column("line_no", LONG, "1-based line (or item) in the stream"),
        column("event_time", TIME, "time as written, in UTC; null when the line has none"),
        column("time_basis", TEXT, "how event_time was known"),
        column("collected_at", TIME, "a collector's stamp"),
        column("message", TEXT, "the line"),
    ),
    keys=("stream_id", "byte_offset"),
    partitions=("job_id", "hour"),
    keep_days=30,
)


def build_raw_logs(staged: DataFrame) -> DataFrame:
    """One row per landed line of the batch.

    Args:
        staged: The batch in flight (`staged.STAGED`).
    """
    return RAW_LOGS.conform(with_hour(staged.where(F.col("disposition") == LANDED_LOG)).select(*RAW_LOGS.columns))


def plausible_time() -> Column:
    """The written time, null where it lies more than a day after the file was last written."""
    return F.when(F.col("event_time") <= F.col("file_time") + F.expr("interval 1 day"), F.col("event_time"))


def with_hour(rows: DataFrame) -> DataFrame:
    """The rows with `hour`: of the written time if plausible, else of collection, else of the file."""
    time = F.coalesce(plausible_time(), F.col("collected_at"), F.col("file_time"))
    return rows.withColumn("hour", F.date_format(time, "yyyy-MM-dd-HH"))
