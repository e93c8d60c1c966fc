"""Clocks of a day, read from the lake without Spark: what the report of a night and a notebook show of them."""

from collections.abc import Iterable
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.pandas.types import to_arrow_schema

from firstfault.jobs.light import in_lake
from firstfault.transforms.clock_faults import CLOCK_FAULTS
from firstfault.transforms.clock_offsets import CLOCK_OFFSETS

FAR_S = 43_200.0
"""Rows lie at the day of the wrong clock; those of one that is farther off may lie at any day."""
_MICRO = 1e6


def newest_clock_day(lake: str) -> date | None:
    """The newest day that offsets were written of."""
    dataset = in_lake(lake, CLOCK_OFFSETS).dataset()
    found = None if dataset is None else pc.max(dataset.to_table(columns=["day"])["day"]).as_py()
    return found if isinstance(found, date) else None


def offsets_of(lake: str, day: date) -> pa.Table:
    """Rows of `clock_offsets` whose interval, in true time, touches the day; none when there is no such table."""
    dataset = in_lake(lake, CLOCK_OFFSETS).dataset()
    if dataset is None:
        return to_arrow_schema(CLOCK_OFFSETS.schema, timezone="UTC").empty_table()
    offset = pc.field("offset_s")
    rows = dataset.to_table(filter=_on(_around(day)) | (offset > FAR_S) | (offset < -FAR_S))
    off_us = pc.multiply(rows["offset_s"], _MICRO)
    since, until = (pc.subtract(_micros(rows[name]), off_us) for name in ("t_from", "t_to"))
    begin = datetime.combine(day, time(), UTC).timestamp() * _MICRO
    return rows.filter(pc.and_(pc.less(since, begin + 86_400 * _MICRO), pc.greater(until, begin)))


def faults_of(lake: str, day: date, offsets: pa.Table) -> list[dict[str, Any]]:
    """Rows of `clock_faults` of the day, and those of clocks so far off that their rows lie at other days.

    Args:
        lake: Root of the lake.
        day: The day, in true time.
        offsets: Result of `offsets_of`.
    """
    dataset = in_lake(lake, CLOCK_FAULTS).dataset()
    if dataset is None:
        return []
    clock = ("day", "cluster", "node", "source")
    near = pc.is_in(offsets["day"], pa.array(_around(day), pa.date32()))
    elsewhere = offsets.filter(pc.invert(near)).select(clock)
    far = {tuple(row.values()) for row in elsewhere.to_pylist()}
    rows = dataset.to_table(filter=_on({day, *(row[0] for row in far)})).to_pylist()
    kept = [r for r in rows if r["day"] == day or tuple(r[k] for k in clock) in far]
    return sorted(kept, key=lambda r: (r["fault"], r["cluster"], r["node"], r["source"], r["t_from"]))


def _around(day: date) -> list[date]:
    return [day + timedelta(days=n) for n in (-1, 0, 1)]


def _on(days: Iterable[date]) -> pc.Expression:
    return pc.field("day").isin(pa.array(sorted(days), pa.date32()))


def _micros(times: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.cast(pc.cast(pc.cast(times, pa.timestamp("us", "UTC")), pa.int64()), pa.float64())
