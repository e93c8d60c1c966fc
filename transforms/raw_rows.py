"""Rows of the raw tables in Arrow, and the partition that each belongs to."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.pandas.types import to_arrow_schema

from firstfault.transforms.contract import Table
from firstfault.transforms.raw_logs import PLAUSIBLE_AFTER, RAW_LOGS
from firstfault.transforms.raw_telemetry import RAW_TELEMETRY
from firstfault.transforms.staged import LANDED_LOG, LANDED_SAMPLE

Ints = npt.NDArray[np.int64]
HOUR_US = 3_600_000_000
RAW_TABLES = {LANDED_LOG: RAW_LOGS, LANDED_SAMPLE: RAW_TELEMETRY}
"""The table in which rows of a disposition land."""


@dataclass(frozen=True)
class Partitioned:
    """Rows of one raw table in one partition.

    Attributes:
        table: The raw table.
        values: Values of its partition columns.
        rows: Its other columns.
    """

    table: Table
    values: tuple[str, str]
    rows: pa.Table


def raw_rows(rows: pa.Table, stream: dict[str, Any]) -> list[Partitioned]:
    """The landed rows of one segment, a piece for each raw table and hour; rows in order of time are not copied.

    Args:
        rows: Masked rows of a reader (`staged.READ_SCHEMA`).
        stream: Columns of `inputs` of the range: cluster, job_id, format, stream_id, file, file_time.
    """
    pieces = []
    for disposition, table in RAW_TABLES.items():
        landed = _of(rows, disposition)
        if landed.num_rows:
            hours, part = _in_hours(landed, stream["file_time"])
            ready = _columns(part, table, stream)
            pieces += [Partitioned(table, (stream["job_id"], hour), ready.slice(a, b - a)) for hour, a, b in hours]
    return pieces


def plausible(rows: pa.Table, file_time: datetime) -> pa.ChunkedArray:
    """Written times; null where one lies more than a day after the file was last written."""
    times = rows["event_time"]
    return pc.if_else(pc.less_equal(times, pa.scalar(file_time + PLAUSIBLE_AFTER, times.type)), times, None)


def _of(rows: pa.Table, disposition: str) -> pa.Table:
    chosen = pc.equal(rows["disposition"], disposition)
    count = chosen.combine_chunks().true_count
    return rows if count == rows.num_rows else rows.filter(chosen)


def _in_hours(rows: pa.Table, file_time: datetime) -> tuple[list[tuple[str, int, int]], pa.Table]:
    """The hours with the first and last place of their rows, and the rows in that order."""
    fallback = pa.scalar(file_time, rows.schema.field("event_time").type)
    times = pc.coalesce(plausible(rows, file_time), rows["collected_at"], fallback).cast(pa.int64())
    hours = times.to_numpy() // HOUR_US
    if np.any(hours[1:] < hours[:-1]):
        order = np.argsort(hours, kind="stable")
        hours, rows = hours[order], rows.take(pa.array(order))
    begins = np.flatnonzero(np.append(True, hours[1:] != hours[:-1]))
    ends = np.append(begins[1:], len(hours))
    names = np.datetime_as_string(hours[begins].astype("M8[h]"))
    return [(str(n).replace("T", "-"), int(a), int(b)) for n, a, b in zip(names, begins, ends, strict=True)], rows


def _columns(rows: pa.Table, table: Table, stream: dict[str, Any]) -> pa.Table:
    """The table's own columns, without those of the partition."""
    constants = {"cluster": stream["cluster"], "source": stream["format"], "stream_id": stream["stream_id"]}
    constants["file"] = stream["file"]
    schema = file_schema(table)
    arrays = [
        _constant(constants[field.name], rows.num_rows) if field.name in constants else rows[field.name]
        for field in schema
    ]
    return pa.table(arrays, names=schema.names)


def _constant(text: str, count: int) -> pa.DictionaryArray:
    """One text in every row, held once."""
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(count, np.int32)), pa.array([text]))


def file_schema(table: Table) -> pa.Schema:
    """Columns of the table's data files: all but those of the partition."""
    every = to_arrow_schema(table.schema, timezone="UTC")
    return pa.schema([field.remove_metadata() for field in every if field.name not in table.partitions])
