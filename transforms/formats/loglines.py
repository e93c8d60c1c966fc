"""Plain-text logs: every physical line lands, with what its header says and the written times around it."""

import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from firstfault.transforms.formats import ignored, stamps, times
from firstfault.transforms.formats.context import StreamContext
from firstfault.transforms.formats.headers import BASES, Headers, basis_words, strip_headers
from firstfault.transforms.formats.ignored import silence_ignored
from firstfault.transforms.formats.lines import Lines, split_glued, split_lines
from firstfault.transforms.formats.relative import after_anchors, settle_repeated_hour, since_start
from firstfault.transforms.formats.stamps import NO_TIME, Micros
from firstfault.transforms.staged import LANDED_LOG, READ_SCHEMA

_SLICE_BYTES = 8 << 20  # a slice's arrays stay small whatever the range holds
_READINESS = "readiness"
_KMSG = re.compile(rb"\d{1,4},(?P<seq>\d{1,18}),\d{1,16},[^;\n]{1,40};")
_NONE = BASES.index(times.NONE)
_YEARLESS = BASES.index(times.NO_YEAR)
_DATED = (BASES.index(times.ZONED), BASES.index(times.EPOCH))  # the first and last of those with a year


def read(data: bytes, ctx: StreamContext) -> pa.Table:
    """Lines of `ctx.source` with their headers cut off."""
    slices = [(lines, strip_headers(lines.text, (ctx.source,), ctx)) for lines in _slices(data, ctx)]
    if not slices:
        return READ_SCHEMA.empty_table()
    lost = _KMSG.match(data) if ctx.lines_before == 0 else None
    if lost is not None and int(lost["seq"]):
        slices[0] = (slices[0][0], _say_wrapped(slices[0][1], int(lost["seq"])))
    event, basis = _event_times([headers for _, headers in slices], ctx)
    ranks = np.concatenate([pc.fill_null(h.rank, -1).to_numpy() for _, h in slices])
    before, after, others = neighbours(event, ranks)
    untimed = event == NO_TIME
    before, after = (np.where(untimed, side, NO_TIME) for side in (before, after))
    placed = (basis == _NONE) & ((before != NO_TIME) | (after != NO_TIME))
    basis[placed] = np.where(others, BASES.index(times.OTHER_NEIGHBOUR), BASES.index(times.NEIGHBOUR))[placed]
    columns = {
        "event_time": stamps.time_array(event),
        "time_basis": basis_words(basis),
        "t_prev": stamps.time_array(before),
        "t_next": stamps.time_array(after),
    }
    table = _tables(slices, columns, ctx)
    return silence_ignored(table) if ignored.MARK.encode() in data else table


def _say_wrapped(headers: Headers, lost: int) -> Headers:
    """The headers with a word before the first body: a dump whose first record is not number 0 lost those before."""
    first = f"kernel ring wrapped: {lost} records lost; {headers.body[0].as_py() or ''}"
    return replace(headers, body=pa.concat_arrays([pa.array([first]), headers.body[1:]]))


def neighbours(event: Micros, ranks: npt.NDArray[np.int32]) -> tuple[Micros, Micros, npt.NDArray[np.bool_]]:
    """Last written time before and next after each line, of the same rank, else of any; whether one is of another."""
    before, after = _fill(event), _fill(event[::-1])[::-1]
    others = np.zeros(len(event), bool)
    if len(event) and ranks.max() != ranks.min():
        order = np.argsort(ranks, kind="stable")
        starts = np.flatnonzero(np.diff(ranks[order], prepend=ranks[order[0]] - 1))
        ends = len(order) - np.append(starts[1:], len(order))[::-1]
        own_before, own_after = np.empty_like(event), np.empty_like(event)
        own_before[order] = _fill(event[order], starts)
        own_after[order] = _fill(event[order][::-1], ends)[::-1]
        others = ((own_before == NO_TIME) & (before != NO_TIME)) | ((own_after == NO_TIME) & (after != NO_TIME))
        before = np.where(own_before != NO_TIME, own_before, before)
        after = np.where(own_after != NO_TIME, own_after, after)
    return before, after, others


def _fill(event: Micros, starts: npt.NDArray[np.int64] | None = None) -> Micros:
    """Last time seen up to each place; groups that begin at `starts` do not see each other."""
    places = np.where(event != NO_TIME, np.arange(len(event)), -1)
    last = np.maximum.accumulate(places) if len(event) else places
    if starts is not None:
        first = np.zeros(len(event), np.int64)
        first[starts] = starts
        last = np.where(last >= np.maximum.accumulate(first), last, -1)
    return np.where(last >= 0, event[last], NO_TIME)


def _slices(data: bytes, ctx: StreamContext) -> Iterator[Lines]:
    """The lines of the range, some megabytes at a time."""
    at, count = 0, 0
    while at < len(data):
        end = data.find(b"\n", min(at + _SLICE_BYTES, len(data) - 1)) + 1 or len(data)
        part = data if end - at == len(data) else data[at:end]
        lines = split_lines(part, ctx)
        whole = len(lines)
        if part.startswith(b"<"):
            lines = split_glued(lines, part, ctx)
        yield Lines(lines.offsets + at, lines.lengths, lines.numbers + count, lines.text, lines.units)
        at, count = end, count + whole


def _event_times(headers: list[Headers], ctx: StreamContext) -> tuple[Micros, npt.NDArray[np.int8]]:
    """Written times and their basis; boot stamps count back from the file time."""
    event = np.concatenate([stamps.micros_of(h.event_time) for h in headers])
    boot = np.concatenate([stamps.micros_of(h.boot_us) for h in headers])
    basis = np.concatenate([h.basis for h in headers])
    event = _settle_years(event, basis)
    if ctx.zone != "UTC":
        event = settle_repeated_hour(event, np.concatenate([h.local for h in headers]), ctx.zone)
    delta = np.concatenate([stamps.micros_of(h.delta_us) for h in headers])
    if (delta != NO_TIME).any():
        placed = after_anchors(event, delta)
        basis[placed != NO_TIME] = _YEARLESS
        event = np.where(placed != NO_TIME, placed, event)
        boot = np.where(boot == NO_TIME, since_start(delta), boot)
    file_time = times.to_micros(ctx.file_time)
    relative = (event == NO_TIME) & (boot != NO_TIME)
    if relative.any():
        event = np.where(relative, stamps.plausible(file_time - (boot[relative].max() - boot)), event)
    if ctx.source == _READINESS:
        basis[event == NO_TIME] = BASES.index(times.FILE_TIME)
        event = np.where(event == NO_TIME, file_time, event)
    return event, basis


def _settle_years(event: Micros, basis: npt.NDArray[np.int8]) -> Micros:
    """Moves times without year to the year of the dated lines around, when the file time was a copy's."""
    yearless, dated = basis == _YEARLESS, (basis >= _DATED[0]) & (basis <= _DATED[-1])
    if not (yearless.any() and dated.any()):
        return event
    away = np.rint((np.median(event[dated]) - event[yearless]) / times.YEAR_US).astype(np.int64)
    moments = event[yearless].view("M8[us]")
    months = moments.astype("M8[M]")
    settled = event.copy()
    settled[yearless] = ((months + 12 * away).astype("M8[us]") + (moments - months)).view(np.int64)
    return settled


def _tables(slices: list[tuple[Lines, Headers]], columns: dict[str, pa.Array], ctx: StreamContext) -> pa.Table:
    """One table, a chunk a slice."""
    tables, at = [], 0
    for lines, headers in slices:
        part = {name: column.slice(at, len(lines)) for name, column in columns.items()}
        tables.append(_table(lines, headers, part, ctx))
        at += len(lines)
    return pa.concat_tables(tables)


def _table(lines: Lines, headers: Headers, part: dict[str, pa.Array], ctx: StreamContext) -> pa.Table:
    """Rows of one slice."""
    n = len(lines)
    columns = part | {
        "disposition": pa.repeat(LANDED_LOG, n),
        "units": pa.array(lines.units) if lines.units is not None else pa.repeat(pa.scalar(1, pa.int32()), n),
        "byte_offset": pa.array(lines.offsets),
        "length": pa.array(lines.lengths),
        "line_no": pa.array(lines.numbers),
        "node": headers.node if ctx.node is None else pa.repeat(ctx.node, n),
        "rank": headers.rank if ctx.rank is None else pc.fill_null(headers.rank, ctx.rank),
        "collected_at": headers.collected_at,
        "message": lines.text,
        "text": headers.body,
        "fields": _fields(headers),
    }
    arrays = [columns.get(field.name, pa.nulls(n, field.type)) for field in READ_SCHEMA]
    return pa.table(arrays, schema=READ_SCHEMA)


def _fields(headers: Headers) -> pa.Array:
    """Stamps that are no time of their own: seconds since boot and seconds of the day."""
    n = len(headers.body)
    stamps = {"boot_s": headers.boot_us, "tod_s": headers.tod_us}
    known = {name: column for name, column in stamps.items() if column.null_count < n}
    if not known:
        return pa.nulls(n, READ_SCHEMA.field("fields").type)
    present = np.stack([column.is_valid().to_numpy(zero_copy_only=False) for column in known.values()], axis=1)
    offsets = np.concatenate(([0], np.cumsum(present.sum(axis=1)))).astype(np.int32)
    names = np.broadcast_to(np.array(list(known)), present.shape)[present]
    micros = np.stack([pc.fill_null(column, 0).to_numpy() for column in known.values()], axis=1)[present]
    texts = pa.array(micros / times.SECOND_US).cast(pa.string())
    maps = pa.MapArray.from_arrays(pa.array(offsets), pa.array(names, pa.string()), texts)
    return pc.if_else(pa.array(present.any(axis=1)), maps, pa.nulls(n, maps.type))
