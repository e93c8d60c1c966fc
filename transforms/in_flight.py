"""What of a segment goes on to Spark: the few rows that later stages need, and its report."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from firstfault.transforms.boot_times import BOOT_ANCHORS, BOOT_RELATIVE
from firstfault.transforms.clock_witnesses import ERROR_METRIC, OFFSET_METRIC
from firstfault.transforms.raw_rows import plausible
from firstfault.transforms.staged import (
    DISPOSITIONS,
    DROPPED,
    LANDED_LOG,
    LANDED_SAMPLE,
    QUARANTINED,
    READ_SCHEMA,
    REPORT,
    STAGED_SCHEMA,
)
from firstfault.transforms.twins_in_flight import TWIN_SOURCES, twin_candidates, with_bodies

Flags = npt.NDArray[np.bool_]

RECORD_SOURCES = frozenset({"sacct", "kube", "topology", "labels", "repairs"})
"""Sources whose records become rows of tables, not events only."""
ARRIVAL_BUCKET_S = 300
"""Of a node's lines with a collector's stamp, the fastest delivery in each such span is a witness of its clock."""
_SECOND_US = 1_000_000


def rows_to_go_on(rows: pa.Table, hits: pa.ListArray, marks: pa.ListArray, source: str) -> Flags:
    """Which rows of a segment later stages need.

    Args:
        rows: Masked rows of a reader (`staged.READ_SCHEMA`).
        hits: Their folded events.
        marks: The moments they share with others.
        source: Format of the source.
    """
    if source in RECORD_SOURCES:
        return np.ones(rows.num_rows, bool)
    needed: Flags = hits.is_valid().to_numpy(zero_copy_only=False) | marks.is_valid().to_numpy(zero_copy_only=False)
    needed |= _flags(pc.is_in(rows["disposition"], pa.array([QUARANTINED, DROPPED])))
    if rows["metric"].null_count < rows.num_rows:
        needed |= _flags(pc.is_in(rows["metric"], pa.array([OFFSET_METRIC, ERROR_METRIC])))
    if source in BOOT_ANCHORS:
        needed[_last_boot_anchor(rows)] = True
    if source in TWIN_SOURCES:
        needed[twin_candidates(rows)] = True
    if rows["collected_at"].null_count < rows.num_rows:
        needed[_fastest_deliveries(rows)] = True
    return needed


def _flags(values: pa.Array | pa.ChunkedArray) -> Flags:
    return np.asarray(pc.fill_null(values, fill_value=False).to_numpy(zero_copy_only=False), bool)


def _last_boot_anchor(rows: pa.Table) -> npt.NDArray[np.int64]:
    """The last line of each node that carries both the time since boot and a written time."""
    since_boot = pc.map_lookup(rows["fields"], pa.scalar("boot_s"), "first")
    both = pc.and_(since_boot.is_valid(), rows["event_time"].is_valid())
    at = np.flatnonzero(_flags(both) & ~_flags(pc.equal(rows["time_basis"], BOOT_RELATIVE)))
    return _extreme(rows, at, rows["event_time"].cast(pa.int64()), [rows["node"]], "max")


def _fastest_deliveries(rows: pa.Table) -> npt.NDArray[np.int64]:
    """Of each node and span, the line whose delivery took least."""
    both = pc.and_(pc.and_(rows["collected_at"].is_valid(), rows["event_time"].is_valid()), rows["node"].is_valid())
    written = rows["event_time"].cast(pa.int64())
    took = pc.subtract(rows["collected_at"].cast(pa.int64()), written)
    span = pc.divide(written, ARRIVAL_BUCKET_S * _SECOND_US)
    return _extreme(rows, np.flatnonzero(_flags(both)), took, [rows["node"], span], "min")


def _extreme(
    rows: pa.Table, at: npt.NDArray[np.int64], values: pa.ChunkedArray, keys: Iterable[pa.ChunkedArray], which: str
) -> npt.NDArray[np.int64]:
    """Of the rows of each key, the place of the one with the least or greatest value; the first of equal ones."""
    if not len(at):
        return at
    index = pa.array(at)
    parts = {f"k{n}": key.take(index) for n, key in enumerate(keys)}
    table = pa.table(parts | {"value": values.take(index), "at": index})
    order = "descending" if which == "max" else "ascending"
    ranked = table.sort_by([*((k, "ascending") for k in parts), ("value", order), ("at", "ascending")])
    firsts = ranked.group_by(list(parts), use_threads=False).aggregate([("at", "first")])
    return np.asarray(firsts["at_first"].to_numpy(), np.int64)


def report(rows: pa.Table, read: int, file_time: datetime) -> dict[str, Any]:
    """Figures of one segment (`staged.REPORT_TYPE`).

    Args:
        rows: Masked rows of a reader, before any is dropped from what goes on.
        read: Units counted on the bytes.
        file_time: Time of the file.
    """
    units = rows.select(["disposition", "units"]).group_by("disposition").aggregate([("units", "sum")]).to_pylist()
    by = {row["disposition"]: row["units_sum"] for row in units}
    landed = rows.filter(pc.is_in(rows["disposition"], pa.array([LANDED_LOG, LANDED_SAMPLE])))
    span = pc.min_max(plausible(landed, file_time)).as_py()
    nodes = pc.unique(rows["node"]).drop_null().to_pylist()
    return {
        "read": read,
        **{name: by.get(name, 0) for name in DISPOSITIONS},
        "first_time": span["min"],
        "last_time": span["max"],
        "nodes": sorted(nodes),
    }


def staged_rows(rows: pa.Table, hits: pa.ListArray, marks: pa.ListArray, stream: dict[str, Any]) -> pa.Table:
    """Rows of a segment with the constants of their stream (`staged.STAGED_SCHEMA`).

    Args:
        rows: The rows that go on.
        hits: Their folded events.
        marks: The moments they share with others.
        stream: Columns of `inputs` of the range.
    """
    arrays = {name: rows[name] for name in READ_SCHEMA.names if name != "text"} | {"hits": hits, "marks": marks}
    arrays["fields"] = with_bodies(rows, stream["format"])
    return _staged(arrays, rows.num_rows, stream)


def report_row(figures: dict[str, Any], stream: dict[str, Any], byte_from: int) -> pa.Table:
    """The row that carries the report of a segment."""
    return _staged(_one(disposition=REPORT, byte_offset=byte_from, report=figures), 1, stream)


def files_row(files: list[str], batch_id: str) -> pa.Table:
    """The row that carries the files that a task wrote."""
    return _staged(_one(disposition=REPORT, files=files), 1, {"batch_id": batch_id})


def _one(**values: object) -> dict[str, pa.Array]:
    return {name: pa.array([value], STAGED_SCHEMA.field(name).type) for name, value in values.items()}


def _staged(arrays: dict[str, Any], count: int, stream: dict[str, Any]) -> pa.Table:
    """A table of the schema: what is given, then the stream's constants, then null."""
    constants = stream | {"source": stream.get("format"), "range_from": stream.get("from_byte")}
    columns = []
    for field in STAGED_SCHEMA:
        if field.name in arrays:
            columns.append(arrays[field.name])
        elif field.name in _STREAM_COLUMNS:
            columns.append(pa.repeat(pa.scalar(constants.get(field.name), field.type), count))
        else:
            columns.append(pa.nulls(count, field.type))
    return pa.table(columns, schema=STAGED_SCHEMA)


_STREAM_COLUMNS = frozenset(STAGED_SCHEMA.names) - frozenset(READ_SCHEMA.names) - {"hits", "marks", "report", "files"}
