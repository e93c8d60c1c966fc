"""Texts as one buffer with moving starts: cutting a head costs no copy."""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from firstfault.transforms.formats.lines import literal_places

Rows: TypeAlias = npt.NDArray[np.int64]

_INLINE_BYTES = 12  # an Arrow view of up to so many bytes holds the text itself
_PAD = bytes(64)  # tests of first bytes may look past the last text


class TextBuffer:
    """The bytes of an Arrow string array.

    Attributes:
        codes: All bytes, and some padding.
        starts: Where each text begins now.
        ends: Where each text ends.
    """

    def __init__(self, text: pa.StringArray) -> None:
        buffers, n = text.buffers(), len(text)
        offsets = np.frombuffer(buffers[1], np.int32)[text.offset :][: n + 1] if n else np.zeros(1, np.int32)
        self._raw = bytes(buffers[2] or b"")
        self.codes = np.frombuffer(self._raw + _PAD, np.uint8)
        self.starts = offsets[:-1].astype(np.int64)
        self.ends = offsets[1:].astype(np.int64)
        self._firsts = self.starts.copy()
        self._holding: dict[str, npt.NDArray[np.bool_]] = {}

    def __len__(self) -> int:
        """Number of texts."""
        return len(self.starts)

    def holds(self, literal: str) -> bool:
        """Whether any text may hold the literal."""
        wanted = literal.encode()
        return wanted[:1] in self._raw and wanted in self._raw  # the search for one byte is the fastest

    def holding(self, literal: str) -> npt.NDArray[np.bool_]:
        """Which texts may hold the literal; looked for in the whole buffer, so that a rare one costs little."""
        found = self._holding.get(literal)
        if found is None:
            places = literal_places(self.codes[: len(self._raw)], literal.encode())
            found = np.zeros(len(self), bool)
            found[np.searchsorted(self._firsts, places, side="right") - 1] = True
            self._holding[literal] = found
        return found

    def remaining(self, rows: Rows, reach: int | None = None) -> pa.StringArray:
        """What is left of the texts, cut at `reach` bytes, as an Arrow array."""
        starts, sizes = self.starts[rows], self.ends[rows] - self.starts[rows]
        if reach is not None:
            sizes = np.minimum(sizes, reach)
        views = np.zeros((len(rows), 4), np.int32)  # size, prefix (unused by casts), buffer, offset
        views[:, 0] = sizes
        views[:, 3] = starts
        short = np.flatnonzero(sizes <= _INLINE_BYTES)
        if len(short):
            cells = views.view(np.uint8).reshape(len(rows), 16)
            places = np.arange(_INLINE_BYTES)
            inside = places < sizes[short, None]
            cells[short, 4:] = np.where(inside, self.codes[starts[short, None] + places], 0)
        buffers = [None, pa.py_buffer(views.tobytes()), pa.py_buffer(self._raw)]
        return pa.Array.from_buffers(pa.string_view(), len(rows), buffers).cast(pa.string())
