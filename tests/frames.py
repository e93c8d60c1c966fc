"""Rows in and out of Spark as plain values, so that a test states rows and nothing else.

Times are text: `03:14:07.25` lies on `DAY`, `2026-11-21 00:00:00` and `1d 03:00:00` (a day after it, `-1d` before)
name their own day. Both ways: `frame` reads such text, `rows` writes it back.
"""

from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import ArrayType, DataType, DateType, MapType, StructType, TimestampType

from firstfault.transforms.contract import Table, column
from firstfault.transforms.scoped_events import SCOPED_EVENTS
from firstfault.transforms.types import TEXT

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
    return sorted((tuple(_out(v) for v in row) for row in chosen.collect()), key=_order)


def collected(df: DataFrame) -> list[dict]:
    """All rows as plain values, which `frame` takes back; one Spark action for any number of tests."""
    names = df.columns
    return [dict(zip(names, row, strict=True)) for row in rows(df)]


def pick(found: list[dict], *columns: str, **equal: object) -> list[tuple]:
    """The chosen columns of the collected rows with these values (a set: one of them), in a fixed order."""
    kept = [r for r in found if all(r[k] in v if isinstance(v, set) else r[k] == v for k, v in equal.items())]
    return sorted((tuple(r[c] for c in columns) for r in kept), key=_order)


def _order(value: object) -> tuple:
    """A sort key over values of one column; null comes last."""
    if isinstance(value, tuple | list):
        return 0, "", tuple(_order(v) for v in value)
    if isinstance(value, int | float):
        return 0, "", value
    return value is None, repr(value) if isinstance(value, dict) else "", value if isinstance(value, str) else ""


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
    match dtype:
        case _ if value is None:
            made = None
        case TimestampType() if isinstance(value, str):
            made = moment(value)
        case DateType() if isinstance(value, str):
            made = date.fromisoformat(value)
        case ArrayType():
            made = [_in(v, dtype.elementType) for v in value]
        case MapType():
            made = {k: _in(v, dtype.valueType) for k, v in value.items()}
        case StructType():
            unknown = set(value) - set(dtype.fieldNames()) if isinstance(value, dict) else set()
            assert not unknown, f"the struct has no {sorted(unknown)}"
            given = value if isinstance(value, dict) else dict(zip(dtype.fieldNames(), value, strict=True))
            made = tuple(_in(given.get(f.name), f.dataType) for f in dtype.fields)
        case _:
            made = value
    return made


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


SCOPED = StructType(
    [
        *SCOPED_EVENTS.fields,
        *(column(n, TEXT, "of the attempt") for n in ("uid", "source_cluster", "workload_key", "user", "home")),
    ]
)
"""Scoped events as attribution sees them."""


def scoped(spark: SparkSession, given: Iterable[dict]) -> DataFrame:
    """Scoped events; what a row leaves out is plain: one record, of its own node, at `t` exactly."""
    return frame(spark, SCOPED, [_plain_event(n, row) for n, row in enumerate(given)])


def _plain_event(number: int, row: dict) -> dict:
    exact = {"t_low": row["t"], "t_high": row["t"], "t_last": row["t"], "t_raw": row["t"]}
    uid = row.get("uid", "u")
    plain = {
        "uid": uid, "cluster": "c", "job_id": uid, "attempt": 0, "source_cluster": "c", "home": f"c/{uid}",
        "event_id": f"e{number}", "relation": "own", "role": "cascade", "count": 1, "attrs": {},
        "clock": row.get("node"), "clock_error_s": 0.0, "clock_shared_s": 0.0, "stream_id": "s", "byte_offset": number,
    }  # fmt: skip
    return plain | exact | row
