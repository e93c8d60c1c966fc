"""`nvidia-smi --query-gpu=... --format=csv`: a row a GPU, units in the header and perhaps in the cells."""

import re
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from firstfault.transforms.formats.context import StreamContext
from firstfault.transforms.formats.hosts import short_host
from firstfault.transforms.formats.pci import normalise_pci_text
from firstfault.transforms.formats.rows import (
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
from firstfault.transforms.staged import LANDED_SAMPLE

PREFIX = "nvidia_smi."
ERROR_CELL = f"{PREFIX}error_cell"

_ERRORS = {"unknown error", "gpu is lost", "gpu requires reset", "err!"}
_WORDS = {"active": 1.0, "not active": 0.0, "enabled": 1.0, "disabled": 0.0, "yes": 1.0, "no": 0.0}
_LABELS = {
    "index",
    "uuid",
    "gpu_uuid",
    "serial",
    "name",
    "gpu_name",
    "mig.mode.current",
    "driver_version",
    "pstate",
    "hostname",
    "gpu_serial",
    "pid",
    "process_name",
    "retired_pages.address",
    "retired_pages.cause",
    "retired_pages.timestamp",
}
_NOT_VALUES = {"timestamp", "pci.bus_id", "gpu_bus_id", "pci.bus", "pci.domain", "pci.device", "count"}
_PROCESS = "process_name"
_UNIT = re.compile(r"\s*\[[^\]]*\]$")
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?=$|\s)")
_HEX = re.compile(r"0x[0-9a-fA-F]{1,16}$")
_COLUMN = re.compile(r"[a-z][\w.]*$", re.IGNORECASE)
_LOST_GPU = re.compile(r"Unable to determine the device handle for GPU\s*(?P<device>[0-9A-Fa-f:.]+): (?P<text>.+)")


@dataclass(frozen=True)
class _Cells:
    """A row's cells by kind."""

    values: dict[str, float]
    errors: dict[str, str]
    labels: dict[str, str]


def read(data: bytes, ctx: StreamContext) -> pa.Table:
    """Samples named `nvidia_smi.<column>`; an error cell is a sample of its own."""
    rows = Rows()
    columns = parse_header(ctx.header.decode(errors="replace").rstrip("\r\n"))
    for line in each_line(data, ctx):
        header = parse_header(line.text)
        lost = _LOST_GPU.search(line.text)
        if not line.text.strip():
            rows.drop(line, BLANK)
        elif header is not None:
            columns = header
            rows.drop(line, HEADER)
        elif lost is not None:
            about = {"device": normalise_pci_text(lost["device"]), "node": ctx.node} | file_moment(ctx)
            rows.samples(line, {ERROR_CELL: 1.0}, labels={"text": lost["text"]}, **about)
        elif columns is None:
            rows.quarantine(line, NO_HEADER)
        else:
            _row(rows, line, columns, ctx)
    return rows.table()


def parse_header(text: str) -> list[str] | None:
    """Column names without units, or None when the line is no header."""
    names = [_UNIT.sub("", name.strip()) for name in text.split(",")]
    known = {"timestamp", "index", "pci.bus_id", "uuid", "gpu_uuid", "gpu_bus_id", "name"}
    if known.intersection(names) and all(_COLUMN.match(name) for name in names):
        return names
    return None


def _row(rows: Rows, line: Line, columns: list[str], ctx: StreamContext) -> None:
    """Lands the cells of one row."""
    cells = _joined([cell.strip() for cell in line.text.split(",")], columns)
    if len(cells) != len(columns):
        rows.quarantine(line, FIELD_COUNT)
        return
    row = dict(zip(columns, cells, strict=True))
    found = _read_cells(row)
    stamp = moment(row.get("timestamp"), ctx) if "timestamp" in row else file_moment(ctx)
    about: dict[str, Any] = {"node": ctx.node or short_host(row.get("hostname")), **stamp}
    about["device"] = normalise_pci_text(row.get("pci.bus_id") or row.get("gpu_bus_id"))
    if found.values or not found.errors:
        rows.samples(line, found.values, labels=found.labels, **about)
    for at, (column, text) in enumerate(found.errors.items()):
        labels = found.labels | {"column": column, "text": text}
        units = int(at == 0 and not found.values)
        rows.add(LANDED_SAMPLE, line, units, metric=ERROR_CELL, value=1.0, labels=labels, **about)


def _joined(cells: list[str], columns: list[str]) -> list[str]:
    """The cells, with a process's name in one: nothing is quoted, and a name may hold commas."""
    extra = len(cells) - len(columns)
    if extra <= 0 or _PROCESS not in columns:
        return cells
    at = columns.index(_PROCESS)
    return [*cells[:at], ", ".join(cells[at : at + extra + 1]), *cells[at + extra + 1 :]]


def _read_cells(row: dict[str, str]) -> _Cells:
    """Sorts cells into values, errors and labels; `[N/A]` and other texts are none of them."""
    values, errors, labels = {}, {}, {}
    for column, cell in row.items():
        if is_error(cell):
            errors[column] = cell
        elif column in _LABELS:
            if not cell.startswith("[") and cell != "N/A":
                labels[column] = cell
        elif column not in _NOT_VALUES and (value := cell_value(cell)) is not None:
            values[f"{PREFIX}{column}"] = value
    return _Cells(values, errors, labels)


def is_error(cell: str) -> bool:
    """Whether a cell says that the GPU does not answer; dumps leave out the brackets of queries."""
    return cell.strip("[]").lower() in _ERRORS


def cell_value(cell: str) -> float | None:
    """`629.12 W`, `0 %`, `0x0000000000000004`, `Active`; None for what is no value."""
    if _HEX.match(cell):
        return float(int(cell, 16))
    number = _NUMBER.match(cell)
    return float(number[0]) if number else _WORDS.get(cell.lower())
