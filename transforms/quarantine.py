"""quarantine: what could not be used, and why."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from firstfault.transforms.contract import Table, column
from firstfault.transforms.staged import QUARANTINED
from firstfault.transforms.types import INT, LONG, TEXT, TIME

EXCERPT_CHARS = 512

QUARANTINE = Table(
    name="quarantine",
    row="a unit of input that could not be used",
    fields=(
        column("stream_id", TEXT, "stream; with byte_offset and reason the key", required=True),
        column("byte_offset", LONG, "offset in the uncompressed stream", required=True),
        column("length", INT, "bytes"),
        column("units", INT, "units of the books"),
        column("sha256", TEXT, "of the text"),
        column("reason", TEXT, "why it could not be used", required=True),
        column("expectation", TEXT, "expectation that refused it, if one did"),
        column("excerpt", TEXT, "first 512 characters"),
        column("file", TEXT, "path below the landing zone", required=True),
        column("line_no", LONG, "1-based line (or item) in the stream"),
        column("file_time", TIME, "time of the file"),
    ),
    keys=("stream_id", "byte_offset", "reason"),
    keep_days=90,
)


def build_quarantine(staged: DataFrame) -> DataFrame:
    """One row per unit of the batch that a reader refused.

    Args:
        staged: The batch in flight (`staged.STAGED`).
    """
    refused = staged.where(F.col("disposition") == QUARANTINED)
    return QUARANTINE.conform(
        refused.select(
            "stream_id",
            "byte_offset",
            "length",
            "units",
            F.sha2(F.coalesce("message", F.lit("")), 256).alias("sha256"),
            "reason",
            F.lit(None).alias("expectation"),
            F.substring("message", 1, EXCERPT_CHARS).alias("excerpt"),
            "file",
            "line_no",
            "file_time",
        )
    )
