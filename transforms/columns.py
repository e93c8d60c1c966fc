"""Column helpers that several builders share."""

from pyspark.sql import Column
from pyspark.sql import functions as F


def field(name: str, *unset: str) -> Column:
    """A named field of a structured record, trimmed; null when empty or one of the `unset` words (lower case)."""
    value = F.trim(F.col("fields")[name])
    return F.when(F.lower(value).isin("", *unset), None).otherwise(value)


def seconds(time: str | Column) -> Column:
    """A timestamp as seconds since the epoch, so that times can be subtracted."""
    return (F.col(time) if isinstance(time, str) else time).cast("double")
