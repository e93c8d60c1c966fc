"""Columns of time stamps: fixed layouts, clock times, boot stamps, epochs; read byte column by byte column."""

import re
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import TypeAlias
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from firstfault.transforms.formats.times import LAST_SECOND, SECOND_US

Micros: TypeAlias = npt.NDArray[np.int64]
Bytes: TypeAlias = npt.NDArray[np.uint8]

NO_TIME = np.iinfo(np.int64).min
"""Marks a missing time in an array of microseconds since the epoch."""

_LAST_US = LAST_SECOND * SECOND_US
_SCALES = {
    "epoch_s": SECOND_US,
    "epoch_ms": 1000,
    "epoch_us": 1,
    "boot_s": SECOND_US,
    "boot_us": 1,
    "delta_s": SECOND_US,
}
_WIDTHS = {"Y": 4, "y": 2, "m": 2, "d": 2, "e": 2, "H": 2, "M": 2, "S": 2, "b": 3, "a": 3}
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_LEAP_CYCLE_YEARS = 8  # the longest wait for a 29 February


def plausible(micros: Micros) -> Micros:
    """Times before 1970 or after 2100 become missing."""
    return np.where((micros >= 0) & (micros < _LAST_US), micros, NO_TIME)


def time_array(micros: Micros) -> pa.TimestampArray:
    """UTC timestamps; the missing mark becomes null."""
    return pa.array(micros, pa.int64(), mask=micros == NO_TIME).cast(pa.timestamp("us", tz="UTC"))


@dataclass(frozen=True)
class Layout:
    """A fixed-width layout of date and time: field -> (first column, width)."""

    width: int
    columns: dict[str, tuple[int, int]]

    @property
    def has_year(self) -> bool:
        """Whether the layout names the year."""
        return bool(self.columns.keys() & {"Y", "y"})


@cache
def layout(form: str) -> Layout:
    """Compiles a strftime-like form; `%e` and short fields may be space-padded or cut at the left."""
    columns, at = {}, 0
    for literal, code in re.findall(r"([^%]*)%(.)|[^%]+$", form):
        at += len(literal)
        if code:
            columns[code] = (at, _WIDTHS[code])
            at += _WIDTHS[code]
    return Layout(at, columns)


def read_numbers(texts: pa.StringArray, form: str) -> Micros:
    """Epoch or boot stamps as microseconds."""
    micros = np.rint(pc.cast(texts, pa.float64()).to_numpy(zero_copy_only=False) * _SCALES[form])
    return np.where(np.abs(micros) < _LAST_US, micros, float(NO_TIME)).astype(np.int64)


def read_clock(texts: pa.StringArray) -> Micros:
    """`HH:MM:SS` with an optional fraction as microseconds since midnight."""
    digits = _digits(_columns(texts, 8))
    hour, minute, second = (_number(digits, at, 2) for at in (0, 3, 6))
    valid = (hour < 24) & (minute < 60) & (second < 61)
    micros = ((hour * 60 + minute) * 60 + second) * SECOND_US
    return np.where(valid, micros + _all_fractions(texts, 8), NO_TIME)


def read_layout(texts: pa.StringArray, form: str, zone: str, latest: int) -> tuple[Micros, npt.NDArray[np.bool_]]:
    """Times of one layout, each perhaps followed by a fraction and a zone.

    Args:
        texts: The stamps, without nulls.
        form: Layout, see `layout`.
        zone: IANA zone of stamps that name none.
        latest: A time without year is the last one not after this.

    Returns:
        UTC microseconds, and whether the stamp named its zone.
    """
    micros = np.full(len(texts), NO_TIME)
    zoned = np.zeros(len(texts), bool)
    sizes = pc.binary_length(texts).to_numpy(zero_copy_only=False)
    for size in np.flatnonzero(np.bincount(sizes)):
        rows = np.flatnonzero(sizes == size)
        group = texts if len(rows) == len(texts) else texts.take(pa.array(rows))
        micros[rows], zoned[rows] = _read_width(group, layout(form), zone, latest)
    return plausible(micros), zoned


def _read_width(texts: pa.StringArray, lay: Layout, zone: str, latest: int) -> tuple[Micros, npt.NDArray[np.bool_]]:
    """`read_layout` for stamps of one length."""
    columns = _columns(texts, lay.width)
    digits = _digits(columns)
    values = {f: _number(digits, at, width) for f, (at, width) in lay.columns.items() if f not in "ab"}
    if "b" in lay.columns:
        values["m"] = _months(columns[lay.columns["b"][0] :][:3])
    values["d"] = values.get("d", values.get("e", np.ones(len(texts), np.int64)))
    if "y" in values:
        values["Y"] = values["y"] + 2000
    fraction, offset, zoned = _tail(columns[lay.width :], digits[lay.width :])
    if lay.has_year:
        local = _local(values, values["Y"])
        utc = np.where(zoned & (local != NO_TIME), local - offset, to_utc(local, zone))
    else:
        utc = _latest_year(values, zone, latest)
    return np.where(utc == NO_TIME, NO_TIME, utc + fraction), zoned


def _latest_year(values: dict[str, Micros], zone: str, latest: int) -> Micros:
    """Gives each date the last year in which it is not after `latest`."""
    year = datetime.fromtimestamp(latest / SECOND_US, ZoneInfo(zone)).year
    found = np.full(len(values["m"]), NO_TIME)
    for back in range(_LEAP_CYCLE_YEARS + 1):
        open_rows = np.flatnonzero(found == NO_TIME)
        if not len(open_rows):
            break
        part = {field: column[open_rows] for field, column in values.items()}
        utc = to_utc(_local(part, np.full(len(open_rows), year - back)), zone)
        found[open_rows] = np.where(utc <= latest, utc, NO_TIME)
    return found


def to_utc(local: Micros, zone: str) -> Micros:
    """Local wall time to UTC; the ambiguous hour of autumn is taken as the earlier one."""
    if zone == "UTC":
        return local
    naive = pa.array(local, pa.int64(), mask=local == NO_TIME).cast(pa.timestamp("us"))
    return micros_of(pc.assume_timezone(naive, zone, ambiguous="earliest", nonexistent="earliest"))


def micros_of(column: pa.Array) -> Micros:
    """A time column, or one of microseconds, with the missing mark for null."""
    micros: Micros = pc.fill_null(column.cast(pa.int64()), int(NO_TIME)).to_numpy(zero_copy_only=False)
    return micros


def _local(values: dict[str, Micros], year: Micros) -> Micros:
    """Microseconds of wall-clock fields; impossible dates become missing."""
    month, day = values["m"], values["d"]
    hour, minute, second = (values.get(f, np.zeros_like(month)) for f in "HMS")
    good = (year >= 1970) & (month >= 1) & (month <= 12)
    first = ((np.where(good, year, 1970) - 1970) * 12 + np.where(good, month, 1) - 1).astype("M8[M]")
    days = first.astype("M8[D]").astype(np.int64)
    length = (first + 1).astype("M8[D]").astype(np.int64) - days
    good &= (day >= 1) & (day <= length) & (hour < 24) & (minute < 60) & (second < 61)
    seconds = (((days + day - 1) * 24 + hour) * 60 + minute) * 60 + second
    return np.where(good, seconds * SECOND_US, NO_TIME)


def _columns(texts: pa.StringArray, width: int) -> Bytes:
    """Bytes of the strings by column, cut at the shortest; below `width`, zeros are put at the left."""
    sizes = pc.binary_length(texts).to_numpy(zero_copy_only=False)
    size = int(sizes.min()) if len(sizes) else width
    buffers = texts.buffers()
    offsets = np.frombuffer(buffers[1], np.int32)[texts.offset :][: len(texts)]
    codes = np.frombuffer(buffers[2], np.uint8) if buffers[2] else np.zeros(0, np.uint8)
    if len(texts) and len(texts) * size == int(sizes.sum()):
        columns = np.ascontiguousarray(codes[offsets[0] :][: len(texts) * size].reshape(len(texts), size).T)
    else:
        columns = codes[offsets + np.arange(size)[:, None]]
    if size < width:
        columns = np.pad(columns, ((width - size, 0), (0, 0)), constant_values=ord("0"))
    return columns


def _digits(columns: Bytes) -> Bytes:
    """Digit values; anything but a digit counts as zero."""
    digits: Bytes = columns - np.uint8(ord("0"))
    digits[digits > 9] = 0
    return digits


def _number(digits: Bytes, at: int, width: int) -> Micros:
    """A decimal field of two or four columns."""
    pairs = [digits[place] * np.uint8(10) + digits[place + 1] for place in range(at, at + width, 2)]
    value: Micros = pairs[0].astype(np.int64)
    for pair in pairs[1:]:
        value = value * 100 + pair
    return value


def _months(letters: Bytes) -> Micros:
    """Number of an English month name, 0 for any other letters."""
    first, second, third = (letters | 0x20).astype(np.int64)
    codes = (first << 16) | (second << 8) | third
    months = np.zeros(codes.shape, np.int64)
    for number, name in enumerate(_MONTHS, start=1):
        months[codes == int.from_bytes(name.encode())] = number
    return months


def _tail(columns: Bytes, digits: Bytes) -> tuple[Micros, Micros, npt.NDArray[np.bool_]]:
    """Fraction in microseconds, zone offset in microseconds and whether a zone is named."""
    width, rows = columns.shape
    zone_width, offset = np.zeros(rows, np.int64), np.zeros(rows, np.int64)
    if width:
        zone_width[(columns[-1] | 0x20) == ord("z")] = 1
    for size in (5, 6):  # +0500 and +05:00
        if width >= size:
            negative = columns[-size] == ord("-")
            signed = negative | (columns[-size] == ord("+"))
            minutes = _number(digits, width - size + 1, 2) * 60 + _number(digits, width - 2, 2)
            offset[signed] = (np.where(negative, -minutes, minutes) * (60 * SECOND_US))[signed]
            zone_width[signed] = size
    return _fraction(digits, width - zone_width), offset, zone_width > 0


def _fraction(digits: Bytes, ends: Micros) -> Micros:
    """Microseconds of `.123` or `,123`, up to column `ends`; padding spaces count as zero."""
    micros = np.zeros(digits.shape[1], np.int64)
    for place in range(1, min(7, len(digits))):
        micros += np.where(place < ends, digits[place], 0).astype(np.int64) * 10 ** (6 - place)
    return micros


def _all_fractions(texts: pa.StringArray, width: int) -> Micros:
    """Fractions of stamps of any length."""
    sizes = pc.binary_length(texts).to_numpy(zero_copy_only=False)
    micros = np.zeros(len(texts), np.int64)
    for size in np.flatnonzero(np.bincount(sizes)) if len(sizes) else ():
        rows = np.flatnonzero(sizes == size)
        tail = _digits(_columns(texts.take(pa.array(rows)), int(size)))[width:]
        micros[rows] = _fraction(tail, np.full(len(rows), len(tail)))
    return micros
