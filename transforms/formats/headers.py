"""Cuts the headers off log lines: time, node and rank come from them, the rest is the body.

Columns at a time: cheap tests on the first bytes choose the lines a shape may fit, one RE2 pass decides, and
the remaining text is a view into the same buffer until the body is written once at the end.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from firstfault.transforms.formats import stamps, times
from firstfault.transforms.formats.context import StreamContext
from firstfault.transforms.formats.hosts import short_hosts
from firstfault.transforms.formats.shapes import Shape, shapes_for
from firstfault.transforms.formats.textbuffer import Rows, TextBuffer

BASES = (
    times.NONE,
    times.ZONED,
    times.ASSUMED_ZONE,
    times.EPOCH,
    times.NO_YEAR,
    times.NO_DATE,
    times.BOOT_RELATIVE,
    times.FILE_TIME,
    times.NEIGHBOUR,
    times.OTHER_NEIGHBOUR,
    times.BOOT_WALL,
)
"""How a time is known; the number in a column is the place here."""

_ZONED, _ASSUMED = (np.int8(BASES.index(word)) for word in (times.ZONED, times.ASSUMED_ZONE))

_MAX_LAYERS = 6
_ESCAPE = "\x1b"
_SGR = r"\x1b\[[0-9;]*[A-Za-z]"
_SYSLOG, _OCTAL = "kernel", "#01"
_CONTROLS = {"#012": " ", "#011": "\t", "#015": ""}  # rsyslog writes control characters in octal


@dataclass(frozen=True)
class Headers:
    """What the headers of lines said; every column is as long as the text.

    Attributes:
        event_time: As written, brought to UTC.
        basis: How the time is known, as a place in `BASES`; `none` where the line has no time.
        node: Short host name of the line's header.
        rank: Global rank of the line's prefix.
        body: The text after all headers, colours removed; null when nothing is left.
        collected_at: A collector's or launcher's stamp.
        boot_us: Microseconds since boot, of kernel stamps.
        tod_us: Microseconds since midnight, of stamps without a date.
        delta_us: Microseconds since the line before, of stamps that say only that.
        local: Where the written time names no zone, so that the site's was assumed.
    """

    event_time: pa.TimestampArray
    basis: npt.NDArray[np.int8]
    node: pa.StringArray
    rank: pa.Int32Array
    body: pa.StringArray
    collected_at: pa.TimestampArray
    boot_us: pa.Int64Array
    tod_us: pa.Int64Array
    delta_us: pa.Int64Array
    local: npt.NDArray[np.bool_]

    @property
    def time_basis(self) -> pa.StringArray:
        """The basis in words."""
        return basis_words(self.basis)


def basis_words(basis: npt.NDArray[np.int8]) -> pa.StringArray:
    """Places in `BASES` as words."""
    return pa.array(BASES).take(pa.array(basis))


def strip_headers(text: pa.StringArray, formats: Iterable[str], ctx: StreamContext) -> Headers:
    """Peels the headers that occur in the formats off each line."""
    peeling, formats = _Peeling(text, ctx), frozenset(formats)
    shapes = [s for s in shapes_for(formats) if s.needs is None or peeling.buffer.holds(s.needs)]
    rows = np.arange(len(text), dtype=np.int64)
    for _ in range(_MAX_LAYERS):
        rows = peeling.layer(shapes, rows)
        if not len(rows):
            break
    return peeling.headers(escaped=formats == {_SYSLOG})


class _Peeling:
    """Lines while their headers are being cut off: one array an attribute, one entry a line."""

    def __init__(self, text: pa.StringArray, ctx: StreamContext) -> None:
        n = len(text)
        self.buffer = TextBuffer(text)
        self._ctx = ctx
        self._latest = times.to_micros(ctx.file_time) + times.DAY_US
        self._event = np.full(n, stamps.NO_TIME)
        self._collected = np.full(n, stamps.NO_TIME)
        self._boot = np.full(n, stamps.NO_TIME)
        self._clock = np.full(n, stamps.NO_TIME)
        self._delta = np.full(n, stamps.NO_TIME)
        self._basis = np.zeros(n, np.int8)
        self._local = np.zeros(n, bool)
        self._rank = np.full(n, -1, np.int32)
        self._node = np.full(n, -1, np.int32)
        self._names: list[str | None] = []

    def layer(self, shapes: Iterable[Shape], rows: Rows) -> Rows:
        """Cuts one header off each row that has one; returns the rows that may have another."""
        rows = rows[self.buffer.starts[rows] < self.buffer.ends[rows]]
        first = self.buffer.codes[self.buffer.starts[rows]]
        advanced, gone = [], np.zeros(len(self.buffer), bool)
        for shape in shapes:
            if not len(rows):
                break
            chosen = rows[shape.first[first]]
            if len(chosen):
                taken, cut = self._apply(shape, self._candidates(shape, chosen))
                if len(taken):
                    advanced.append(taken[cut > 0])
                    gone[taken] = True
                    left = ~gone[rows]
                    rows, first = rows[left], first[left]
        return np.concatenate(advanced) if advanced else rows[:0]

    def _candidates(self, shape: Shape, rows: Rows) -> Rows:
        """Rows whose first bytes or literal allow the shape."""
        if shape.outer:
            rows = rows[(self._rank[rows] < 0) & (self._basis[rows] == 0)]
        if shape.needs is not None:
            rows = rows[self.buffer.holding(shape.needs)[rows]]
        if not shape.starts:
            return rows
        fits, starts = np.zeros(len(rows), bool), self.buffer.starts[rows]
        for tests in shape.starts:
            open_rows, at = np.arange(len(rows)), starts
            for place, allowed in tests:
                passed = allowed[self.buffer.codes[at + place]]
                if not passed.all():
                    open_rows, at = open_rows[passed], at[passed]
            fits[open_rows] = True
        return rows[fits]

    def _apply(self, shape: Shape, rows: Rows) -> tuple[Rows, Rows]:
        """Matches the shape, records what it says and cuts the head; returns matched rows and bytes cut."""
        if not len(rows):
            return rows, rows
        groups = pc.extract_regex(self.buffer.remaining(rows, None if shape.anywhere else shape.reach), shape.regex)
        if groups.null_count:
            matched = groups.is_valid()
            rows, groups = rows[matched.to_numpy(zero_copy_only=False)], groups.filter(matched)
        if not len(rows):
            return rows, rows
        names = [field.name for field in groups.type]
        if "ts" in names:
            self._record_time(shape, rows, groups.field("ts"))
        if "rank" in names:
            self._rank[rows] = groups.field("rank").cast(pa.int32()).to_numpy()
        if "node" in names:
            self._record_node(rows, groups.field("node"))
        if "head" not in names:
            return rows, np.zeros(len(rows), np.int64)
        cut = pc.binary_length(groups.field("head")).to_numpy().astype(np.int64)
        self.buffer.starts[rows] += cut
        return rows, cut

    def _record_node(self, rows: Rows, names: pa.StringArray) -> None:
        """The outermost host name wins."""
        codes, hosts = short_hosts(names)
        fresh = self._node[rows] < 0
        self._node[rows[fresh]] = codes.to_numpy()[fresh] + len(self._names)
        self._names += hosts

    def _record_time(self, shape: Shape, rows: Rows, texts: pa.StringArray) -> None:
        """The outermost stamp of a kind wins."""
        form, zoned = shape.time or "", np.ones(len(rows), bool)
        basis: npt.NDArray[np.int8] | int
        if form == "clock":
            basis, kind = BASES.index(times.NO_DATE), self._clock
            micros = stamps.read_clock(texts)
        elif form.startswith("boot"):
            basis, kind = BASES.index(times.BOOT_RELATIVE), self._boot
            micros = stamps.read_numbers(texts, form)
        elif form.startswith("delta"):
            basis, kind = BASES.index(times.BOOT_RELATIVE), self._delta
            micros = stamps.read_numbers(texts, form)
        elif form.startswith("epoch"):
            basis, kind = BASES.index(times.EPOCH), self._event
            micros = stamps.plausible(stamps.read_numbers(texts, form))
        else:
            kind = self._event
            micros, zoned = stamps.read_layout(texts, form, shape.zone or self._ctx.zone, self._latest)
            basis = BASES.index(times.NO_YEAR)
            if stamps.layout(form).has_year:
                basis = np.where(zoned, _ZONED, _ASSUMED)
        if shape.basis:
            basis = BASES.index(shape.basis)
        if shape.collected:
            self._collected[rows] = micros
            return
        fresh = (kind[rows] == stamps.NO_TIME) & (micros != stamps.NO_TIME)
        kind[rows[fresh]] = micros[fresh]
        told = fresh if kind is self._event else fresh & (self._basis[rows] == 0)
        self._basis[rows[told]] = np.broadcast_to(basis, len(rows))[told]
        self._local[rows[told]] = ~zoned[told]

    def headers(self, *, escaped: bool = False) -> Headers:
        """What was found; `escaped` texts hold control characters as rsyslog writes them."""
        body = self.buffer.remaining(np.arange(len(self.buffer)))
        if self.buffer.holds(_ESCAPE):
            body = pc.replace_substring_regex(body, _SGR, "")
        if escaped and self.buffer.holds(_OCTAL):
            for written, meant in _CONTROLS.items():
                body = pc.replace_substring(body, written, meant)
        return Headers(
            event_time=stamps.time_array(self._event),
            basis=self._basis,
            node=pa.array(self._names, pa.string()).take(_nullable(self._node, -1)),
            rank=_nullable(self._rank, -1),
            body=pc.if_else(pc.equal(pc.binary_length(body), 0), None, body),
            collected_at=stamps.time_array(self._collected),
            boot_us=_nullable(self._boot, stamps.NO_TIME),
            tod_us=_nullable(self._clock, stamps.NO_TIME),
            delta_us=_nullable(self._delta, stamps.NO_TIME),
            local=self._local,
        )


def _nullable(values: npt.NDArray[np.signedinteger], missing: int) -> pa.Array:
    """The array with its missing mark as null."""
    return pa.array(values, mask=values == missing)
