"""Column helpers that several builders share."""

from collections.abc import Callable

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

Cut = Callable[[DataFrame], DataFrame]
"""Materialises a frame that a step uses twice, so that its plan is neither analysed nor run twice; jobs give it."""


def field(name: str, *unset: str) -> Column:
    """A named field of a structured record, trimmed; null when empty or one of the `unset` words (lower case)."""
    value = F.trim(F.col("fields")[name])
    return F.when(F.lower(value).isin("", *unset), None).otherwise(value)


def latest(rows: DataFrame, *keys: str) -> DataFrame:
    """The row of each key that was written last: with the highest `_at`."""
    return rows.groupBy(*keys).agg(F.max_by(F.struct(*rows.columns), "_at").alias("row")).select("row.*")


def moved_hits(by: Column) -> Column:
    """The hits of a row in flight, the written time of their last repeat moved by seconds; null where those are."""
    micros = F.round(by * 1_000_000).cast("bigint")
    return F.transform(
        "hits", lambda hit: hit.withField("t_last", F.timestamp_micros(F.unix_micros(hit["t_last"]) + micros))
    )


def seconds(time: str | Column) -> Column:
    """A timestamp as seconds since the epoch, so that times can be subtracted."""
    return (F.col(time) if isinstance(time, str) else time).cast("double")
