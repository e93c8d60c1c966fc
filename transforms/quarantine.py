"""quarantine: what could not be used, and why."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from firstfault.transforms.contract import Table, column
from firstfault.transforms.keys import id_column
from firstfault.transforms.staged import QUARANTINED
from firstfault.transforms.types import INT, LONG, TEXT, TIME

EXCERPT_CHARS = 512
NOTED_ROWS = 1000
"""Rows that broke an expectation of which so many are kept as examples; data_quality has their number."""

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
    rows = refused.select(
        "stream_id",
        "byte_offset",
        "length",
        "units",
        F.sha2(F.coalesce("message", F.lit("")), 256).alias("sha256"),
        "reason",
        F.lit(None).cast("string").alias("expectation"),
        F.substring("message", 1, EXCERPT_CHARS).alias("excerpt"),
        "file",
        "line_no",
        "file_time",
    )
    return QUARANTINE.conform(_once(rows))


def _once(rows: DataFrame) -> DataFrame:
    """One row a key: a damaged document may be refused in several places that share an offset."""
    others = [c for c in QUARANTINE.columns if c not in {*QUARANTINE.keys, "units"}]
    first = F.min_by(F.struct(*others), F.struct("sha256", "line_no")).alias("first")
    kept = rows.groupBy(*QUARANTINE.keys).agg(F.sum("units").alias("units"), first)
    return kept.select(*QUARANTINE.keys, "units", *(F.col(f"first.{c}").alias(c) for c in others))


def failing_rows(rows: DataFrame, table: Table, check: str) -> DataFrame:
    """One row per row of a table that broke an expectation, at most `NOTED_ROWS`; the books have its unit elsewhere.

    Args:
        rows: The failing rows, with the table's columns.
        table: Their contract.
        check: Name of the expectation in the table's suite.
    """
    named = {f.name for f in table.fields}
    key = F.struct(*table.keys)
    pointer = {
        "stream_id": id_column(F.lit(table.name), *(F.col(k).cast("string") for k in table.keys)),
        "byte_offset": F.lit(0),
        "file": F.lit(f"table {table.name}"),
        "line_no": F.lit(None),
        "file_time": F.lit(None),
    }
    place = {name: F.col(name) if name in named else other for name, other in pointer.items()}
    text = F.coalesce(*(F.col(c) for c in ("message", "text") if c in named), F.to_json(key))
    some = rows.orderBy(*table.keys).limit(NOTED_ROWS)
    return QUARANTINE.conform(_once(some.select(*_of_failing(place, text, F.lit(f"{table.name}.{check}")))))


def _of_failing(place: dict[str, Column], text: Column, name: Column) -> list[Column]:
    told = {
        "length": F.octet_length(text),
        "units": F.lit(0),
        "sha256": F.sha2(text, 256),
        "reason": name,
        "expectation": name,
        "excerpt": F.substring(text, 1, EXCERPT_CHARS),
    }
    return [column.alias(c) for c, column in (place | told).items()]
