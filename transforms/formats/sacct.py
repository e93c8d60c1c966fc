"""Slurm accounting: `sacct -P` or `-p` tables of any columns and delimiter, and the JSON documents."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from firstfault.transforms.formats import sacct_json
from firstfault.transforms.formats.context import StreamContext
from firstfault.transforms.formats.rows import FIELD_COUNT, HEADER, NO_HEADER, Line, Rows, each_line
from firstfault.transforms.formats.sacct_row import land

TRUNCATED = "truncated_row"

_NAME = re.compile(r"[A-Za-z]\w*")
_NEEDED = {"JobID", "State"}
_BOM = "\ufeff"


@dataclass(frozen=True)
class Header:
    """Columns of a table.

    Attributes:
        names: Column names.
        delimiter: Text between fields.
        closing: Whether a delimiter follows the last field (`-p`).
    """

    names: tuple[str, ...]
    delimiter: str
    closing: bool

    @property
    def delimiters(self) -> int:
        """Delimiters of a whole row."""
        return len(self.names) - (not self.closing)


def read(data: bytes, ctx: StreamContext) -> pa.Table:
    """Job and step rows; `fields` maps column to value, the canonical text is given for jobs only."""
    if data[:64].lstrip()[:1] in (b"{", b"["):
        return sacct_json.read(data, ctx)
    rows, header = Rows(), parse_header(ctx.header.decode(errors="replace").rstrip("\r\n"))
    pending: list[Line] = []
    for line in each_line(data, ctx):
        found = parse_header(line.text)
        if found is not None:
            _close(rows, header, pending, ctx)
            header, pending = found, []
            rows.drop(line, HEADER)
        elif header is None:
            rows.quarantine(line, NO_HEADER)
        else:
            pending.append(line)
    _close(rows, header, pending, ctx)
    return rows.table()


def parse_header(text: str) -> Header | None:
    """The columns if the line is a header row, else None."""
    text = text.removeprefix(_BOM)
    first = _NAME.match(text)
    if first is None:
        return None
    delimiter = re.match(r"[^A-Za-z]*", text[first.end() :])
    mark = delimiter[0] if delimiter else ""
    parts = text.split(mark) if mark else [text]
    closing = parts[-1] == ""
    names = tuple(parts[:-1] if closing else parts)
    if not _NEEDED.issubset(names) or not all(_NAME.fullmatch(name) for name in names):
        return None
    return Header(names, mark or "|", closing)


def _close(rows: Rows, header: Header | None, lines: list[Line], ctx: StreamContext) -> None:
    """Lands the rows of one table."""
    for record, units in reassemble(lines, header) if header else ():
        count = record.text.count(header.delimiter) if header else 0
        if header is None or count != header.delimiters:
            reason = TRUNCATED if header and count < header.delimiters else FIELD_COUNT
            rows.quarantine(record, reason, units)
            continue
        values = record.text.split(header.delimiter)
        fields = {name: value for name, value in zip(header.names, values, strict=False) if value}
        land(rows, record, units, fields, ctx)


def reassemble(lines: list[Line], header: Header) -> Iterator[tuple[Line, int]]:
    """Joins physical lines to rows by counting delimiters; fields may hold newlines."""
    record: Line | None = None
    units = have = 0
    for line in lines:
        count = line.text.count(header.delimiter)
        tail = have == header.delimiters and count == 0 and not header.closing  # newline in the last field
        if record is not None and ((have < header.delimiters and have + count <= header.delimiters) or tail):
            record, units, have = record.join(line), units + 1, have + count
            continue
        if record is not None:
            yield record, units
        record, units, have = line, 1, count
    if record is not None:
        yield record, units
