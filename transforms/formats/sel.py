"""BMC event logs: `ipmitool sel elist`, `list` and `-c`.

The canonical text is what stands behind the time, cells joined by ` | `. Record ids are hexadecimal; the BMC's clock
is its own, and before it is set (Pre-Init) a record has no time.
"""

import re
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa

from firstfault.transforms.formats import times
from firstfault.transforms.formats.context import StreamContext
from firstfault.transforms.formats.rows import BANNER, BLANK, COMMENT, FIELD_COUNT, Line, Rows, each_line

_RECORD = re.compile(r"\s*(?P<id>[0-9a-fA-F]{1,4})\s*(?P<separator>[|,])")
_DATE = re.compile(r"(?P<a>\d{1,4})(?P<mark>[/.-])(?P<b>\d{1,2})(?P=mark)(?P<c>\d{2,4})$")
_TIME = re.compile(
    r"(?P<clock>\d{1,2}:\d\d:\d\d)(?:\s*(?P<half>[AaPp])\.?[Mm]\.?)?(?:\s+(?P<zone>[A-Za-z+-][\w+:-]*))?$"
)
_PRE_INIT = "pre-init"
_EMPTY = "SEL has no entries"
_NAMES = ("sensor", "event", "state", "reading")
_UTC = {"UTC", "GMT", "Z"}


def read(data: bytes, ctx: StreamContext) -> pa.Table:
    """Records with a canonical text; a record without a set clock has no time."""
    rows = Rows()
    lines = [(line, _cells(line.text)) for line in each_line(data, ctx)]
    day_first = any(cells is not None and _day_first(cells[1]) for _, cells in lines)
    for line, cells in lines:
        text = line.text.strip()
        if not text:
            rows.drop(line, BLANK)
        elif text.startswith("#"):
            rows.drop(line, COMMENT)
        elif text.startswith(_EMPTY):
            rows.drop(line, BANNER)
        elif cells is None:
            rows.quarantine(line, FIELD_COUNT)
        else:
            _record(rows, line, cells, ctx, day_first=day_first)
    return rows.table()


def _cells(text: str) -> list[str] | None:
    """Cells of a record (id, date, time, sensor ...), or None when the line is none."""
    match = _RECORD.match(text)
    cells = [cell.strip() for cell in text.split(match["separator"])] if match else []
    return cells if len(cells) > 3 else None


def _record(rows: Rows, line: Line, cells: list[str], ctx: StreamContext, *, day_first: bool) -> None:
    """Lands one record."""
    told = [cell for cell in cells[3:] if cell]
    fields = {"record": cells[0].lower()} | dict(zip(_NAMES, told, strict=False))
    stamp: dict[str, Any] = {"time_basis": times.NONE}
    if cells[1].lower() == _PRE_INIT:
        fields["since_init_s"] = cells[2].lstrip("0") or "0"
    else:
        found = bmc_time(cells[1], cells[2], ctx.zone, day_first=day_first)
        stamp = {"event_time": found[0], "time_basis": found[1]} if found else stamp
    rows.log(line, text=" | ".join(told) or None, fields=fields, node=ctx.node, **stamp)


def _day_first(date: str) -> bool:
    """Whether a date can only be day, month, year; it speaks for the whole dump, which has one locale."""
    match = _DATE.match(date)
    return match is not None and match["mark"] == "/" and len(match["a"]) <= 2 and int(match["a"]) > 12


def bmc_time(date: str, clock: str, zone: str, *, day_first: bool = False) -> tuple[int, str] | None:
    """UTC microseconds and basis of the two cells.

    Args:
        date: `%x` of some locale: 11/29/2026, 11/29/26, 29.11.2026 or 2026-11-29.
        clock: `13:30:00`, or `%X %Z` as `01:30:00 PM EST`.
        zone: IANA zone of times that name none. A zone word counts where it is UTC, or a name that this zone has.
        day_first: Dates with slashes begin with the day.
    """
    parts, time = _DATE.match(date), _TIME.match(clock)
    if parts is None or time is None:
        return None
    numbers = [int(parts[name]) for name in "abc"]
    if len(parts["a"]) == 4:
        year, month, day = numbers
    elif day_first or parts["mark"] == ".":
        day, month, year = numbers
    else:
        month, day, year = numbers
    hour, minute, second = (int(part) for part in time["clock"].split(":"))
    if time["half"]:
        hour = hour % 12 + (12 if time["half"] in "pP" else 0)
    year += 2000 if year < 100 else 0
    try:
        local = datetime(year, month, day, hour, minute, second)  # noqa: DTZ001
    except ValueError:
        return None
    return _placed(local, time["zone"], zone)


def _placed(local: datetime, word: str | None, zone: str) -> tuple[int, str] | None:
    """The wall time in UTC; the word of its zone decides the hour that autumn repeats."""
    if word in _UTC:
        return times.parse_time(local.isoformat() + "Z", "UTC")
    for fold in (0, 1):
        moment = local.replace(tzinfo=ZoneInfo(zone), fold=fold)
        if word and moment.tzname() == word:
            return times.to_micros(moment), times.ZONED
    return times.parse_time(local.isoformat(), zone)
