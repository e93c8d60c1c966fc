"""Answers of Prometheus' HTTP API (range and instant queries): one row a sample."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from firstfault.transforms.formats import stamps, times
from firstfault.transforms.formats.context import StreamContext
from firstfault.transforms.formats.jsonwalk import Item, Json, walk_items
from firstfault.transforms.formats.rows import BAD_JSON, BAD_VALUE, NO_VALUE, Line, Rows, storable
from firstfault.transforms.formats.series import identity, is_blank
from firstfault.transforms.staged import DROPPED, LANDED_SAMPLE, QUARANTINED, READ_SCHEMA

_NO_SERIES, _REFUSED = "no_series", "query_failed"
_HISTOGRAM = "native_histogram"


def read(data: bytes, ctx: StreamContext) -> pa.Table:
    """Samples of every series; a unit is a sample."""
    rows, tables = Rows(), []
    for item in walk_items(data, ("data", "result")):
        series = item.value if isinstance(item.value, dict) else {}
        line = Line(item.offset + ctx.byte_from, item.length, None, item.text[:512])
        if "histograms" in series or "histogram" in series:
            rows.drop(line, _HISTOGRAM, len(series.get("histograms") or [1]))
        points = _points(series)
        if points is None:
            if "histograms" not in series and "histogram" not in series:
                refused = _REFUSED if series.get("status") == "error" else _NO_SERIES
                rows.quarantine(line, BAD_JSON if item.value is None else refused)
        elif points:
            tables.append(_series_table(item, series, points, ctx))
    return pa.concat_tables([rows.table(), *tables])


def _points(series: dict[str, Any]) -> list[Any] | None:
    """`[time, value]` pairs of a matrix or vector element."""
    values = series.get("values", [series["value"]] if "value" in series else None)
    return values if isinstance(values, list) and isinstance(series.get("metric"), dict) else None


def _series_table(item: Item, series: dict[str, Any], points: list[Any], ctx: StreamContext) -> pa.Table:
    """Rows of one series, built a column at a time."""
    labels = {storable(str(name)): storable(str(value)) for name, value in series["metric"].items()}
    metric = labels.pop("__name__", "")
    micros, values, bad = _columns(points)
    blank = np.array([is_blank(metric, value) for value in values.tolist()], bool) & ~bad
    disposition = np.where(bad, QUARANTINED, np.where(blank, DROPPED, LANDED_SAMPLE))
    n, usable = len(points), ~(bad | blank)
    constant = identity(metric, labels, ctx) | {
        "byte_offset": item.offset + ctx.byte_from,
        "length": item.length,
        "units": 1,
        "metric": metric,
        "time_basis": times.EPOCH,
    }
    columns = {name: pa.repeat(pa.scalar(value, READ_SCHEMA.field(name).type), n) for name, value in constant.items()}
    label_type = READ_SCHEMA.field("labels").type
    columns |= {
        "disposition": pa.array(disposition, pa.string()),
        "event_time": stamps.time_array(micros),
        "value": pa.array(values, mask=~usable),
        "labels": pa.array([list(labels.items())], label_type).take(pa.array(np.zeros(n, np.int32))),
        "reason": pa.array(np.where(bad, BAD_VALUE, np.where(blank, NO_VALUE, "")), mask=usable).cast(pa.string()),
        "message": pa.array(
            [None if good else storable(str(p)[:512]) for p, good in zip(points, usable, strict=True)], pa.string()
        ),
    }
    arrays = [columns.get(field.name, pa.nulls(n, field.type)) for field in READ_SCHEMA]
    return pa.table(arrays, schema=READ_SCHEMA)


def _columns(
    points: list[Json],
) -> tuple[stamps.Micros, npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """Times in microseconds, values, and which points are malformed."""
    try:
        pairs = np.array(points, dtype=object)
        moments, values = pairs[:, 0].astype(np.float64), pairs[:, 1].astype(np.float64)
    except (ValueError, TypeError, IndexError, OverflowError):
        read_pairs = [_pair(point) for point in points]
        moments = np.array([pair[0] for pair in read_pairs])
        values = np.array([pair[1] for pair in read_pairs])
    bad = ~np.isfinite(moments) | (moments <= 0) | (moments > times.LAST_SECOND)
    micros = np.rint(np.where(bad, 0, moments) * times.SECOND_US).astype(np.int64)
    return np.where(bad, stamps.NO_TIME, micros), values, bad


def _pair(point: Json) -> tuple[float, float]:
    """One point; a malformed one has no time."""
    try:
        stamp, value = point
        return float(stamp), float(value)
    except (ValueError, TypeError, OverflowError):
        return float("nan"), float("nan")
