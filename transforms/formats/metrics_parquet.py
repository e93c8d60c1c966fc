"""Parquet tables of samples in long form: a time, a metric, a value a row; all other columns are labels.

A unit is a row. Its place is its number in the table, as a row of a column store has no bytes of its own.
"""

import json
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from firstfault.transforms.formats import stamps, times
from firstfault.transforms.formats.context import StreamContext
from firstfault.transforms.formats.rows import BAD_VALUE, NO_VALUE, Line, Rows, storable
from firstfault.transforms.formats.series import identity, is_blank
from firstfault.transforms.staged import DROPPED, LANDED_SAMPLE, QUARANTINED, READ_SCHEMA

BAD_PARQUET, NO_COLUMNS, TOO_LARGE = "bad_parquet", "no_columns", "too_large"

_ALIASES = {
    "time": ("time", "timestamp", "ts", "event_time", "date_time", "datetime", "timestamp_ms", "time_ms"),
    "metric": ("metric", "name", "metric_name", "__name__", "field", "measurement"),
    "value": ("value", "val", "sample", "metric_value"),
    "labels": ("labels", "tags", "attributes", "dimensions"),
}
_MAX_BYTES = 8 << 30  # of the decoded table, as its footer says
_BATCH_ROWS = 1 << 16
_LABEL_TYPE = READ_SCHEMA.field("labels").type


def read(data: bytes, ctx: StreamContext) -> pa.Table:
    """Samples of a table; one that cannot be read is one unit."""
    rows, tables, first = Rows(), [], 0
    whole = Line(ctx.byte_from, len(data), None, "")
    try:
        file = pq.ParquetFile(pa.BufferReader(data))
        groups = range(file.metadata.num_row_groups)
        if sum(file.metadata.row_group(at).total_byte_size for at in groups) > _MAX_BYTES:
            rows.quarantine(whole, TOO_LARGE)
            return rows.table()
        columns = _columns(file.schema_arrow)
        if columns is None:
            rows.quarantine(whole, NO_COLUMNS)
            return rows.table()
        for batch in file.iter_batches(batch_size=_BATCH_ROWS):
            tables.append(_batch(batch, columns, first, ctx))
            first += batch.num_rows
    except (pa.ArrowException, OSError, ValueError, TypeError, RecursionError, OverflowError):
        rows.quarantine(whole, BAD_PARQUET)
    return pa.concat_tables([*tables, rows.table()])


def _columns(schema: pa.Schema) -> dict[str, str] | None:
    """Role -> column, or None when a role that every sample needs has none."""
    lower = {name.lower(): name for name in reversed(schema.names)}
    if len(set(schema.names)) != len(schema.names):
        return None
    found = {role: next((lower[n] for n in names if n in lower), None) for role, names in _ALIASES.items()}
    known = {role: name for role, name in found.items() if name is not None}
    return known if known.keys() >= {"time", "metric", "value"} else None


def _batch(batch: pa.RecordBatch, columns: dict[str, str], first: int, ctx: StreamContext) -> pa.Table:
    """Rows of one batch, a column at a time; what a series says is worked out once a series."""
    n = batch.num_rows
    micros = _micros(batch.column(columns["time"]), ctx.zone)
    values = _floats(batch.column(columns["value"]))
    series, at = _series(batch, columns, ctx)
    blank = _blanks(series, at, values)
    bad = (micros == stamps.NO_TIME) | np.array([not told["metric"] for told in series], bool)[at]
    disposition = np.where(bad, QUARANTINED, np.where(blank, DROPPED, LANDED_SAMPLE))
    usable = ~(bad | blank)
    arrays = {
        "disposition": pa.array(disposition, pa.string()),
        "units": pa.repeat(pa.scalar(1, pa.int32()), n),
        "byte_offset": pa.array(np.arange(first, first + n, dtype=np.int64)),
        "line_no": pa.array(np.arange(first + 1, first + n + 1, dtype=np.int64)),
        "event_time": stamps.time_array(np.where(usable, micros, stamps.NO_TIME)),
        "time_basis": pa.repeat(times.EPOCH, n),
        "value": pa.array(values, mask=~usable),
        "reason": pa.array(np.where(bad, BAD_VALUE, np.where(blank, NO_VALUE, "")), mask=usable).cast(pa.string()),
    }
    index = pa.array(at)
    for name in ("node", "device", "port", "metric"):
        arrays[name] = pa.array([told[name] for told in series], pa.string()).take(index)
    arrays["labels"] = pa.array([list(told["labels"].items()) for told in series], _LABEL_TYPE).take(index)
    return pa.table([arrays.get(f.name, pa.nulls(n, f.type)) for f in READ_SCHEMA], schema=READ_SCHEMA)


def _micros(column: pa.Array, zone: str) -> stamps.Micros:
    """Times as microseconds: timestamps, epoch numbers of any unit, or ISO texts."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_timestamp(column.type):
        micros = stamps.micros_of(column.cast(pa.timestamp("us", column.type.tz), safe=False))
        return stamps.plausible(micros if column.type.tz else stamps.to_utc(micros, zone))
    found = [_moment(value, zone) for value in column.to_pylist()]
    return np.array([stamps.NO_TIME if micros is None else micros for micros in found], np.int64)


def _moment(value: object, zone: str) -> int | None:
    """One stamp that is no timestamp of Arrow's."""
    micros = times.scaled_epoch(value)
    if micros is None and isinstance(value, str):
        found = times.parse_time(value, zone)
        micros = found[0] if found else None
    return micros


def _floats(column: pa.Array) -> npt.NDArray[np.float64]:
    """Values as numbers; a null or a text that is none is not a number."""
    try:
        floats = column.cast(pa.float64())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        floats = pa.array([_number(value) for value in column.to_pylist()], pa.float64())
    numbers: npt.NDArray[np.float64] = pc.fill_null(floats, float("nan")).to_numpy(zero_copy_only=False)
    return numbers


def _number(value: object) -> float:
    try:
        return float(str(value))
    except ValueError:
        return float("nan")


def _series(
    batch: pa.RecordBatch, columns: dict[str, str], ctx: StreamContext
) -> tuple[list[dict[str, Any]], npt.NDArray[np.int64]]:
    """What each distinct series says, and the series of each row."""
    names = [name for name in batch.schema.names if name not in (columns["time"], columns["value"])]
    encoded = [_texts(batch.column(name)).dictionary_encode() for name in names]
    code = np.zeros(batch.num_rows, np.int64)
    for column in encoded:
        code = code * (len(column.dictionary) + 1) + pc.fill_null(column.indices, -1).to_numpy() + 1
        _, code = np.unique(code, return_inverse=True)
    _, firsts, at = np.unique(code, return_index=True, return_inverse=True)
    rows = {name: column.take(pa.array(firsts)).to_pylist() for name, column in zip(names, encoded, strict=True)}
    told = [
        {name: rows[name][place] for name in names if rows[name][place] is not None} for place in range(len(firsts))
    ]
    return [_told(cells, columns, ctx) for cells in told], at


def _texts(column: pa.Array) -> pa.Array:
    """A label column as text; nested ones as JSON."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_nested(column.type):
        cells = [None if value is None else json.dumps(value, default=str) for value in column.to_pylist()]
        return pa.array(cells, pa.string())
    if pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type):
        return pa.array([None if v is None else v.decode(errors="replace") for v in column.to_pylist()], pa.string())
    return column.cast(pa.string())


def _told(cells: dict[str, str], columns: dict[str, str], ctx: StreamContext) -> dict[str, Any]:
    """Metric, labels, node, device and port of one series."""
    packed = cells.pop(columns.get("labels", ""), None)
    metric = cells.pop(columns["metric"], "")
    labels = {name: storable(text) for name, text in (_unpacked(packed) | cells).items() if text}
    return {"metric": metric, "labels": labels} | identity(metric, labels, ctx)


def _unpacked(text: str | None) -> dict[str, str]:
    """Labels of a map, a struct, a list of pairs or a JSON text; a text that is none of them is one label."""
    if not text:
        return {}
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {"labels": text}
    if isinstance(value, list):
        value = dict(_pair(part) for part in value)
    if not isinstance(value, dict):
        return {"labels": text}
    return {str(name): part if isinstance(part, str) else json.dumps(part) for name, part in value.items() if part}


def _pair(part: object) -> tuple[str, object]:
    """A member of a map: two values, or an object of two."""
    parts = list(part.values()) if isinstance(part, dict) else part
    return (str(parts[0]), parts[1]) if isinstance(parts, list) and len(parts) == 2 else ("labels", part)


def _blanks(
    series: list[dict[str, Any]], at: npt.NDArray[np.int64], values: npt.NDArray[np.float64]
) -> npt.NDArray[np.bool_]:
    """Which values are none; only the exporter's own blanks need a look at each."""
    blank: npt.NDArray[np.bool_] = np.isnan(values)
    large = np.flatnonzero(values > 2e9)
    blank[large] = [is_blank(series[at[row]]["metric"] or "", float(values[row])) for row in large]
    return blank
