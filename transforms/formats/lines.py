"""Physical lines of a byte range: where they are in the stream, and their text as one Arrow array."""

import re
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from firstfault.transforms.formats.context import StreamContext

Ints: TypeAlias = npt.NDArray[np.integer[Any]]

_NEWLINE = 10
_GLUED = re.compile(rb"(?<!\n)<\d{1,3}>(?=(?:\d{4}-\d\d-\d\dT|[A-Z][a-z]{2} [ \d]\d )\d\d:\d\d)")
_SCAN_BYTES = 1 << 18  # newline masks that stay in the processor's cache are ten times faster


@dataclass(frozen=True)
class Lines:
    """Lines of one range, in order.

    Attributes:
        offsets: Of the line's first byte in the uncompressed stream.
        lengths: Bytes of the line, end of line included.
        numbers: 1-based in the stream.
        text: The line as UTF-8 without its end of line; redraws (bare carriage returns) stay inside.
        units: Physical lines that each accounts for, where that is not one.
    """

    offsets: npt.NDArray[np.int64]
    lengths: npt.NDArray[np.int32]
    numbers: npt.NDArray[np.int64]
    text: pa.StringArray
    units: npt.NDArray[np.int32] | None = None

    def __len__(self) -> int:
        """Number of lines."""
        return len(self.offsets)


def newlines(data: bytes) -> npt.NDArray[np.int64]:
    """Positions of the newline bytes."""
    return byte_places(np.frombuffer(data, np.uint8), _NEWLINE)


def byte_places(codes: npt.NDArray[np.uint8], wanted: int) -> npt.NDArray[np.int64]:
    """Positions of one byte."""
    parts = [np.flatnonzero(codes[at : at + _SCAN_BYTES] == wanted) + at for at in range(0, len(codes), _SCAN_BYTES)]
    return np.concatenate(parts).astype(np.int64, copy=False) if parts else np.zeros(0, np.int64)


def literal_places(codes: npt.NDArray[np.uint8], literal: bytes) -> npt.NDArray[np.int64]:
    """Positions where the literal begins: those of its rarest byte, then the others tested there."""
    if codes.tobytes().find(literal) < 0:  # most literals stand nowhere, which one fast search shows
        return np.zeros(0, np.int64)
    counts = np.bincount(codes[:_SCAN_BYTES], minlength=256)
    rarest = min(range(len(literal)), key=lambda place: counts[literal[place]])
    places = byte_places(codes, literal[rarest]) - rarest
    places = places[(places >= 0) & (places + len(literal) <= len(codes))]
    for place, wanted in enumerate(literal):
        if place != rarest:
            places = places[codes[places + place] == wanted]
    return places


def split_lines(data: bytes, ctx: StreamContext) -> Lines:
    """Splits at newlines; a last line without one counts."""
    ends = newlines(data) + 1
    if len(data) and not data.endswith(b"\n"):
        ends = np.append(ends, len(data))
    starts = np.concatenate(([0], ends[:-1])).astype(np.int64) if len(ends) else ends
    return Lines(
        offsets=starts + ctx.byte_from,
        lengths=(ends - starts).astype(np.int32),
        numbers=np.arange(1, len(ends) + 1, dtype=np.int64) + ctx.lines_before,
        text=line_texts(_valid_utf8(data)),
    )


def split_glued(lines: Lines, data: bytes, ctx: StreamContext) -> Lines:
    """Records that a forwarder wrote one behind the other, each with its priority and time, as lines of their own."""
    places = np.array([found.start() for found in _GLUED.finditer(data)], np.int64)
    if not len(places):
        return lines
    firsts = lines.offsets - ctx.byte_from
    starts = np.union1d(firsts, places)
    ends = np.append(starts[1:], len(data))
    texts = [data[at:end].rstrip(b"\r\n").decode(errors="replace") for at, end in zip(starts, ends, strict=True)]
    return Lines(
        offsets=starts + ctx.byte_from,
        lengths=(ends - starts).astype(np.int32),
        numbers=lines.numbers[np.searchsorted(firsts, starts, side="right") - 1],
        text=pa.array(texts, pa.string()),
        units=np.isin(starts, firsts).astype(np.int32),
    )


def line_texts(data: bytes) -> pa.StringArray:
    """The lines of valid UTF-8 as strings: one copy of the bytes, no loop over lines."""
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n")
        if data.endswith(b"\r"):
            data = data[:-1] + b"\n"
    ends = newlines(data)
    offsets = np.zeros(len(ends) + 1, np.int32)
    offsets[1:] = ends - np.arange(len(ends))
    text = data.replace(b"\n", b"")
    if data and not data.endswith(b"\n"):
        offsets = np.append(offsets, np.int32(len(text)))
    return pa.StringArray.from_buffers(len(offsets) - 1, pa.py_buffer(offsets.tobytes()), pa.py_buffer(text))


def _valid_utf8(data: bytes) -> bytes:
    """The same lines with every invalid sequence replaced by U+FFFD."""
    if data.isascii():
        return data
    try:
        data.decode()
    except UnicodeDecodeError:
        return data.decode(errors="replace").encode()
    return data
