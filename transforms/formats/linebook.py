"""Deals the physical lines of a file to the records that lie across them, so that its books are kept in lines."""

import numpy as np

from firstfault.transforms.formats.context import StreamContext
from firstfault.transforms.formats.lines import newlines
from firstfault.transforms.formats.rows import Line, Rows

STRUCTURE = "structure.frame"
_EXCERPT = 512


class LineBook:
    """Lines dealt out in order; those between records are dropped as structure."""

    def __init__(self, rows: Rows, data: bytes, ctx: StreamContext) -> None:
        self._rows, self._data, self._ctx = rows, data, ctx
        ends = newlines(data) + 1
        self._ends = np.append(ends, len(data)) if data and not data.endswith(b"\n") else ends
        self._next = 0

    def record(self, start: int, end: int) -> tuple[Line, int]:
        """The record at these bytes, and the lines that nothing before it took; records come in order."""
        end = min(end, len(self._data))
        first, last = (int(np.searchsorted(self._ends, at, side="right")) for at in (start, max(start, end - 1)))
        self._skip(first, STRUCTURE, refuse=False)
        units = max(0, last + 1 - self._next)
        self._next = max(self._next, last + 1)
        text = self._data[start:end].decode(errors="replace")
        number = first + 1 + self._ctx.lines_before
        return Line(start + self._ctx.byte_from, end - start, number, text), units

    def skip_to(self, end: int, reason: str = STRUCTURE, *, refuse: bool = False) -> None:
        """Drops the lines up to the one that holds the byte before `end`, or sets them aside."""
        self._skip(int(np.searchsorted(self._ends, end - 1, side="right")) + 1, reason, refuse=refuse)

    def finish(self, reason: str = STRUCTURE, *, refuse: bool = False) -> None:
        """Drops what is left, or sets it aside."""
        self._skip(len(self._ends), reason, refuse=refuse)

    def _skip(self, line: int, reason: str, *, refuse: bool) -> None:
        line = min(line, len(self._ends))
        if line <= self._next:
            return
        start = int(self._ends[self._next - 1]) if self._next else 0
        end = int(self._ends[line - 1])
        text = self._data[start : min(end, start + _EXCERPT)].decode(errors="replace").rstrip("\r\n")
        place = Line(start + self._ctx.byte_from, end - start, self._next + 1 + self._ctx.lines_before, text)
        (self._rows.quarantine if refuse else self._rows.drop)(place, reason, line - self._next)
        self._next = line
