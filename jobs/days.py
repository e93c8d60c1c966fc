"""Days of rows, and SQL over the day partitions."""

from collections.abc import Sequence
from datetime import UTC, date, datetime

from pyspark.sql import Column, DataFrame


def days_of(rows: DataFrame, day: Column) -> list[date]:
    """The distinct days of the rows, in order."""
    found = rows.select(day.alias("day")).distinct().where("day is not null").collect()
    return sorted(r["day"] for r in found)


def in_utc(moment: datetime) -> datetime:
    """A time of a collected row, which Spark gives without a zone, or one that names its zone."""
    return moment if moment.tzinfo else moment.astimezone(UTC)


def day_list(days: Sequence[date]) -> str:
    """SQL over the partition column, from dates only."""
    return "day in (" + ", ".join(f"date'{d.isoformat()}'" for d in days) + ")"


def parts_list(name: str, parts: Sequence[date | str]) -> str:
    """SQL over a partition column of days or months, in the spelling that Spark and delta-rs both take."""
    texts = [part if isinstance(part, str) else part.isoformat() for part in parts]
    return f"{name} in (" + ", ".join(f"'{text}'" for text in texts) + ")"
