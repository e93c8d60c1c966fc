"""Builds a reader's table row by row; for structured files, where a loop over lines is fine."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa

from firstfault.transforms.formats import times
from firstfault.transforms.formats.context import StreamContext
from firstfault.transforms.formats.lines import split_lines
from firstfault.transforms.staged import DROPPED, LANDED_LOG, LANDED_SAMPLE, QUARANTINED, READ_SCHEMA

Cell: TypeAlias = Any

HEADER, BLANK, COMMENT, BANNER = (
    "structure.header",
    "structure.blank",
    "structure.comment",
    "structure.banner",
)
NO_VALUE = "telemetry.blank"
FIELD_COUNT, NO_HEADER, BAD_VALUE, BAD_JSON = "field_count", "no_header", "bad_value", "bad_json"


@dataclass(frozen=True)
class Line:
    """One unit of a file: where it lies and its text."""

    offset: int
    length: int
    number: int | None
    text: str

    def join(self, after: "Line") -> "Line":
        """This line and the one after it as one record."""
        return Line(self.offset, self.length + after.length, self.number, f"{self.text}\n{after.text}")


def each_line(data: bytes, ctx: StreamContext) -> Iterator[Line]:
    """The physical lines."""
    lines = split_lines(data, ctx)
    columns = (lines.offsets.tolist(), lines.lengths.tolist(), lines.numbers.tolist(), lines.text.to_pylist())
    for offset, length, number, text in zip(*columns, strict=True):
        yield Line(offset, length, number, text)


class Rows:
    """Rows of `READ_SCHEMA` being collected; times are microseconds, maps are dicts."""

    def __init__(self) -> None:
        self._rows: list[dict[str, Cell]] = []

    def add(self, disposition: str, line: Line, units: int = 1, **values: object) -> None:
        """Appends a row that accounts for `units` units at the place of `line`."""
        place = {"byte_offset": line.offset, "length": line.length, "line_no": line.number}
        self._rows.append({"disposition": disposition, "units": units} | place | values)

    def log(self, line: Line, units: int = 1, **values: object) -> None:
        """Lands a record with its verbatim text."""
        self.add(LANDED_LOG, line, units, **({"message": line.text} | values))

    def drop(self, line: Line, reason: str, units: int = 1) -> None:
        """Drops structure by a named rule."""
        self.add(DROPPED, line, units, message=line.text, reason=reason)

    def quarantine(self, line: Line, reason: str, units: int = 1) -> None:
        """Sets aside what cannot be used."""
        self.add(QUARANTINED, line, units, message=line.text, reason=reason)

    def samples(self, line: Line, values: Mapping[str, float], units: int = 1, **common: object) -> None:
        """Lands a sample a metric; together they are `units` units, which are dropped if there are none."""
        if not values:
            self.drop(line, NO_VALUE, units)
        for at, (metric, value) in enumerate(values.items()):
            self.add(LANDED_SAMPLE, line, 0 if at else units, metric=metric, value=value, **common)

    @property
    def landed(self) -> bool:
        """Whether anything landed."""
        return any(row["disposition"] in (LANDED_LOG, LANDED_SAMPLE) for row in self._rows)

    def table(self) -> pa.Table:
        """The rows as a table."""
        return pa.table([self._column(field) for field in READ_SCHEMA], schema=READ_SCHEMA)

    def _column(self, field: pa.Field) -> pa.Array:
        values = [row.get(field.name) for row in self._rows]
        if pa.types.is_map(field.type):
            values = [None if value is None else list(value.items()) for value in values]
        try:
            return pa.array(values, field.type)
        except UnicodeEncodeError:  # half a surrogate pair, written as an escape in JSON
            return pa.array(storable(values), field.type)


def storable(value: Cell) -> Cell:
    """The value with what UTF-8 cannot hold replaced."""
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, list | tuple):
        return type(value)(storable(part) for part in value)
    return value


def file_moment(ctx: StreamContext) -> dict[str, Any]:
    """Time columns of a snapshot that names no time of its own."""
    return {"event_time": times.to_micros(ctx.file_time), "time_basis": times.FILE_TIME}


def moment(text: str | None, ctx: StreamContext) -> dict[str, Any]:
    """Time columns of an ISO-like stamp; basis `none` when it cannot be read."""
    found = times.parse_time(text, ctx.zone)
    return {"event_time": found[0], "time_basis": found[1]} if found else {"time_basis": times.NONE}
