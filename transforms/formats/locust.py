"""locust's CSV files: the history as samples `locust.<column>`, failures as records, totals as samples of the file.

A file may end in half a row: it is rewritten every second and not flushed at the end.
"""

import re
from typing import Any

import pyarrow as pa

from firstfault.transforms.formats import times
from firstfault.transforms.formats.context import StreamContext
from firstfault.transforms.formats.counters import counter_value
from firstfault.transforms.formats.rows import (
    BAD_VALUE,
    BLANK,
    FIELD_COUNT,
    HEADER,
    NO_HEADER,
    Line,
    Rows,
    each_line,
    file_moment,
    moment,
)
from firstfault.transforms.formats.tables import csv_cells

_HEADERS = (
    {"Timestamp", "User Count"},
    {"Type", "Name", "Request Count"},
    {"Method", "Error", "Occurrences"},
    {"Count", "Message", "Traceback"},
)
_LABELS = ("Type", "Name")
_TEXTS = {"Timestamp", *_LABELS}
_SLUG = re.compile(r"[^a-z0-9.]+")
_NO_VALUES = {"n/a", ""}


def read(data: bytes, ctx: StreamContext) -> pa.Table:
    """Samples and records, whichever table it is."""
    rows = Rows()
    columns: list[str] | None = None
    for line in each_line(data, ctx):
        cells = csv_cells(line.text)
        if not line.text.strip():
            rows.drop(line, BLANK)
        elif cells is not None and any(names.issubset(cells) for names in _HEADERS):
            columns = cells
            rows.drop(line, HEADER)
        elif columns is None:
            rows.quarantine(line, NO_HEADER)
        elif cells is None or len(cells) != len(columns):
            rows.quarantine(line, FIELD_COUNT)
        else:
            _row(rows, line, dict(zip(columns, cells, strict=True)), ctx)
    return rows.table()


def _row(rows: Rows, line: Line, row: dict[str, str], ctx: StreamContext) -> None:
    """Lands one row."""
    if "Error" in row or "Message" in row:
        what = row.get("Error") or row.get("Message") or ""
        text = f"locust {row.get('Method', 'exception')} {row.get('Name', '')}: {what}"
        stamp = moment(row.get("Last Seen"), ctx) if row.get("Last Seen") else file_moment(ctx)
        rows.log(line, text=" ".join(text.split()), fields={k: v for k, v in row.items() if v}, node=ctx.node, **stamp)
        return
    epoch = times.epoch_micros(row["Timestamp"]) if "Timestamp" in row else None
    if "Timestamp" in row and epoch is None:
        rows.quarantine(line, BAD_VALUE)
        return
    about: dict[str, Any] = file_moment(ctx) if epoch is None else {"event_time": epoch, "time_basis": times.EPOCH}
    cells = {name: cell for name, cell in row.items() if name not in _TEXTS and cell.lower() not in _NO_VALUES}
    values = {
        f"locust.{_slug(name)}": value for name, cell in cells.items() if (value := counter_value(cell)) is not None
    }
    labels = {name.lower(): row[name] for name in _LABELS if row.get(name)}
    rows.samples(line, values, labels=labels, node=ctx.node, **about)


def _slug(name: str) -> str:
    """`Requests/s` as `requests_per_s`, `99.9%` as `p99.9`."""
    if name.endswith("%"):
        return f"p{name[:-1]}"
    return _SLUG.sub("_", name.lower().replace("/", " per ")).strip("_")
