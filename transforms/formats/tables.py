"""Small tables with a header row: topology, operators' labels, changes, and switch-port counters."""

import csv
import re
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from firstfault.transforms.formats import times
from firstfault.transforms.formats.context import StreamContext
from firstfault.transforms.formats.counters import counter_value
from firstfault.transforms.formats.hosts import short_host
from firstfault.transforms.formats.rows import (
    BAD_VALUE,
    BLANK,
    COMMENT,
    FIELD_COUNT,
    HEADER,
    NO_HEADER,
    NO_VALUE,
    Line,
    Rows,
    each_line,
)
from firstfault.transforms.staged import LANDED_SAMPLE

_PERFQUERY = re.compile(r"(?:Symbol|Link|Port|Local|Excessive|VL15|QP1)[A-Z0-9]?[a-zA-Z0-9]*$")
_BOM = "\ufeff"
_REQUIRED = {
    "topology": {"node"},
    "labels": {"job_id", "category"},
    "changes": {"time", "kind"},
    "repairs": {"node", "part", "day"},
    "switch_counters": {"time", "switch", "port"},
}
_KEYS = {"time", "switch", "port", "counter", "value", "lid", "guid", "unit"}
_NO_VALUES = {"", "n/a", "na", "-", "none", "null", "nan"}
_NODE_SCOPES = {"node", "host", "gpu", "nic"}


def read(data: bytes, ctx: StreamContext) -> pa.Table:
    """Rows of a table with `fields`; `ctx.source` names the table."""
    rows = Rows()
    for line, fields in _records(data, ctx, rows):
        moment = _moment(fields, ctx)
        if _is_unusable(fields, moment, ctx.source):
            rows.quarantine(line, BAD_VALUE)
            continue
        node = fields.get("node") or (fields.get("id") if fields.get("scope") in _NODE_SCOPES else None)
        rows.log(line, fields=fields, node=short_host((node or "").split("/")[0]), **moment)
    return rows.table()


def read_switch_counters(data: bytes, ctx: StreamContext) -> pa.Table:
    """Samples of a long table (counter, value) or a wide one (a column a counter).

    Counters named as perfquery names them are `ib.<counter>`, as a host's are; others `switch.<counter>`.
    """
    rows = Rows()
    for line, fields in _records(data, ctx, rows):
        moment = _moment(fields, ctx)
        if moment.get("event_time") is None or not (fields.get("switch") and fields.get("port")):
            rows.quarantine(line, BAD_VALUE)
            continue
        if "counter" in fields:
            cells = {fields["counter"]: fields.get("value", "")}
        else:
            cells = {name: cell for name, cell in fields.items() if name not in _KEYS}
        about = moment | {"port": f"{short_host(fields['switch'])}:{fields['port']}"}
        _land_cells(rows, line, cells, about)
    return rows.table()


def _land_cells(rows: Rows, line: Line, cells: dict[str, str], about: dict[str, Any]) -> None:
    """Lands the counters of one row."""
    texts = {name: cell for name, cell in cells.items() if cell.strip().lower() not in _NO_VALUES}
    values = {switch_metric(name): counter_value(cell) for name, cell in texts.items()}
    known = {name: value for name, value in values.items() if value is not None}
    if texts and not known:
        rows.quarantine(line, BAD_VALUE)
        return
    if not known:
        rows.drop(line, NO_VALUE)
    for at, (metric, value) in enumerate(known.items()):
        rows.add(LANDED_SAMPLE, line, int(at == 0), metric=metric, value=value, **about)


def switch_metric(counter: str) -> str:
    """Metric of a switch's counter."""
    return f"{'ib' if _PERFQUERY.match(counter) else 'switch'}.{counter}"


def _records(data: bytes, ctx: StreamContext, rows: Rows) -> Iterator[tuple[Line, dict[str, str]]]:
    """Rows as dicts; structure and damage are booked on the way."""
    required = _REQUIRED.get(ctx.source, set())
    header = _header(ctx.header.decode(errors="replace"), required)
    for line in each_line(data, ctx):
        found = _header(line.text, required)
        cells = csv_cells(line.text)
        if not line.text.strip():
            rows.drop(line, BLANK)
        elif found is not None:
            header = found
            rows.drop(line, HEADER)
        elif line.text.startswith("#"):
            rows.drop(line, COMMENT)
        elif header is None:
            rows.quarantine(line, NO_HEADER)
        elif cells is None or len(cells) != len(header):
            rows.quarantine(line, FIELD_COUNT)
        else:
            yield line, {name: cell for name, cell in zip(header, cells, strict=True) if cell}


def _header(text: str, required: set[str]) -> list[str] | None:
    """Column names, or None when the line does not hold the required ones."""
    names = [name.strip().lower() for name in csv_cells(text.strip().removeprefix(_BOM)) or ()]
    return names if required and required.issubset(names) else None


def csv_cells(text: str) -> list[str] | None:
    """Cells of one line, or None when its quotes do not close."""
    try:
        cells = next(csv.reader([text], strict=True), [])
    except csv.Error:
        return None
    return [cell.strip() for cell in cells]


def _is_unusable(fields: dict[str, str], moment: dict[str, Any], source: str) -> bool:
    """Whether a cell that this table cannot do without is missing or unreadable."""
    match source:
        case "labels":
            return bool(_said_at(fields)) and "event_time" not in moment
        case "repairs":
            day = times.parse_time(fields.get("day", "")[:10], "UTC")
            return day is None or not (fields.get("node") and fields.get("part"))
        case _:
            return False


def _said_at(fields: dict[str, str]) -> str:
    """The cell of a label that says when it was given."""
    return next((fields[name] for name in ("labelled_at", "when") if fields.get(name)), "")


def _moment(fields: dict[str, str], ctx: StreamContext) -> dict[str, Any]:
    """Time columns of the `time` cell, of labels of that which says when: ISO or epoch seconds."""
    text = _said_at(fields) if ctx.source == "labels" else fields.get("time", "")
    epoch = times.epoch_micros(text) if text.replace(".", "", 1).isdecimal() else None
    if epoch is not None:
        return {"event_time": epoch, "time_basis": times.EPOCH}
    found = times.parse_time(text, ctx.zone)
    return {"event_time": found[0], "time_basis": found[1]} if found else {"time_basis": times.NONE}
