"""Rows in and out of Spark as plain values, so that a test states rows and nothing else.

Times are text: `03:14:07.25` lies on `DAY`, `2026-11-21 00:00:00` and `1d 03:00:00` (a day after it, `-1d` before)
name their own day. Both ways: `frame` reads such text, `rows` writes it back.
"""

from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import ArrayType, DataType, DateType, MapType, StructType, TimestampType

from firstfault.transforms.contract import Table

DAY = date(2026, 11, 20)
_MIDNIGHT = datetime(DAY.year, DAY.month, DAY.day, tzinfo=UTC)


def frame(spark: SparkSession, schema: Table | StructType | str, given: Iterable[dict] = ()) -> DataFrame:
    """A frame of the schema; columns that a row does not name are null, those that the schema lacks an error."""
    wanted = schema.schema if isinstance(schema, Table) else schema
    if isinstance(wanted, str):
        wanted = StructType.fromDDL(wanted)
    names = set(wanted.fieldNames())
    listed = list(given)
    unknown = {name for row in listed for name in row} - names
    assert not unknown, f"the schema has no {sorted(unknown)}"
    values = [tuple(_in(row.get(f.name), f.dataType) for f in wanted.fields) for row in listed]
    loose = StructType([type(f)(f.name, f.dataType, nullable=True, metadata=f.metadata) for f in wanted.fields])
    return spark.createDataFrame(values, loose)


def rows(df: DataFrame, *columns: str) -> list[tuple]:
    """The chosen columns (all when none is named) as tuples, in a fixed order."""
    chosen = df.select(*columns) if columns else df
    return sorted((tuple(_out(v) for v in row) for row in chosen.collect()), key=repr)


def moment(text: str) -> datetime:
    """The UTC time that a text stands for."""
    day, _, clock = text.rpartition(" ")
    if not day:
        day, clock = ("0d", clock) if ":" in clock else (clock, "00:00:00")
    if day.endswith("d"):
        start = _MIDNIGHT + timedelta(days=int(day[:-1]))
    else:
        start = datetime.fromisoformat(day).replace(tzinfo=UTC)
    hours, minutes, seconds = clock.split(":")
    micros = round(float(seconds) * 1_000_000)
    return start + timedelta(hours=int(hours), minutes=int(minutes), microseconds=micros)


def clock(time: datetime) -> str:
    """The shortest text of a time: its clock on `DAY`, with the date on any other."""
    text = f"{time:%H:%M:%S}" + (f".{time.microsecond:06d}".rstrip("0") if time.microsecond else "")
    return text if time.date() == DAY else f"{time:%Y-%m-%d} {text}"


def _in(value: object, dtype: DataType) -> object:
    if value is None:
        return None
    if isinstance(dtype, TimestampType) and isinstance(value, str):
        return moment(value)
    if isinstance(dtype, DateType) and isinstance(value, str):
        return date.fromisoformat(value)
    if isinstance(dtype, ArrayType):
        return [_in(v, dtype.elementType) for v in value]
    if isinstance(dtype, MapType):
        return {k: _in(v, dtype.valueType) for k, v in value.items()}
    if isinstance(dtype, StructType):
        unknown = set(value) - set(dtype.fieldNames())
        assert not unknown, f"the struct has no {sorted(unknown)}"
        return tuple(_in(value.get(f.name), f.dataType) for f in dtype.fields)
    return value


def _out(value: object) -> object:
    if isinstance(value, datetime):
        return clock(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, tuple):
        return tuple(_out(v) for v in value)
    if isinstance(value, list):
        return [_out(v) for v in value]
    return value
