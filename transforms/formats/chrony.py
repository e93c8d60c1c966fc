"""chrony: `tracking.log`, `chronyc tracking` and `chronyc -c tracking`.

Stored: `clock.offset_s` and `clock.freq_ppm`, local minus true (+ is a fast clock), and `clock.max_error_s`.
The program has two conventions: offsets it measured are + for fast, corrections still to make are + for slow.
"""

import re
from collections.abc import Callable

import pyarrow as pa

from firstfault.transforms.formats import times
from firstfault.transforms.formats.context import StreamContext
from firstfault.transforms.formats.rows import (
    BAD_VALUE,
    BANNER,
    BLANK,
    FIELD_COUNT,
    Line,
    Rows,
    each_line,
    file_moment,
)

OFFSET, MAX_ERROR, FREQUENCY = "clock.offset_s", "clock.max_error_s", "clock.freq_ppm"

_LOGGED = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d ")
_BANNER = re.compile(r"=+$|\s+Date \(UTC\) Time")
_FIELD = re.compile(r"(?P<name>[A-Z][\w ()]*?)\s*: (?P<value>.*)$")
_NUMBER = re.compile(r"\d+(?:\.\d+)?(?= )")
_WORDED = re.compile(r"(?P<number>\d+(?:\.\d+)?) (?:seconds|ppm) (?P<word>fast|slow)")
_WORDED_METRICS = {"System time": OFFSET, "Frequency": FREQUENCY}
_FIELD_ONLY = "structure.field"
_CSV_FIELDS = 14
_SIGN = {"fast": 1.0, "slow": -1.0}


def read(data: bytes, ctx: StreamContext) -> pa.Table:
    """Clock samples; every time is UTC by design."""
    rows = Rows()
    parts: dict[str, float] = {}
    for line in each_line(data, ctx):
        text = line.text.strip()
        if not text:
            rows.drop(line, BLANK)
        elif _BANNER.match(line.text):
            rows.drop(line, BANNER)
        elif _LOGGED.match(text):
            found = times.parse_time(text[:19], "UTC")
            about = {"event_time": found[0] if found else None, "time_basis": times.ZONED if found else times.NONE}
            _land(rows, line, logged, text.split(), node=ctx.node, **about)
        elif text.count(",") == _CSV_FIELDS - 1:
            _land(rows, line, listed, text.split(","), node=ctx.node, **file_moment(ctx))
        else:
            _told(rows, line, parts, ctx)
    return rows.table()


def logged(words: list[str]) -> dict[str, float]:
    """A row of tracking.log: date time ip stratum freq skew offset leap n sd remaining delay disp. error."""
    freq, offset = float(words[4]), float(words[6])
    values = {OFFSET: offset, FREQUENCY: freq}
    if len(words) >= 14:
        values[MAX_ERROR] = float(words[13])
    elif len(words) >= 13:
        values[MAX_ERROR] = abs(offset) + float(words[11]) / 2 + float(words[12])
    return values


def listed(cells: list[str]) -> dict[str, float]:
    """`chronyc -c tracking`: the fifth field is the correction still to make, + for a slow clock."""
    offset = -float(cells[4])
    error = abs(offset) + float(cells[10]) / 2 + float(cells[11])
    return {OFFSET: offset, MAX_ERROR: error, FREQUENCY: float(cells[7])}


def _land(
    rows: Rows, line: Line, parse: Callable[[list[str]], dict[str, float]], words: list[str], **about: object
) -> None:
    """Lands the values of one line, or quarantines it."""
    try:
        samples = parse(words)
    except ValueError:
        rows.quarantine(line, BAD_VALUE)
    except IndexError:
        rows.quarantine(line, FIELD_COUNT)
    else:
        rows.samples(line, samples, **about)


def _told(rows: Rows, line: Line, parts: dict[str, float], ctx: StreamContext) -> None:
    """A line of `chronyc tracking`; the bound is known at its last part."""
    field = _FIELD.match(line.text.strip())
    if field is None:
        rows.quarantine(line, BAD_VALUE)
        return
    name, worded, number = field["name"], _WORDED.match(field["value"]), _NUMBER.match(field["value"])
    values = {}
    if worded and name in _WORDED_METRICS:
        values[_WORDED_METRICS[name]] = float(worded["number"]) * _SIGN[worded["word"]]
        parts |= {"offset": abs(values[OFFSET])} if name == "System time" else {}
    elif number and name == "Root delay":
        parts["delay"] = float(number[0]) / 2
    elif number and name == "Root dispersion" and "delay" in parts:
        values[MAX_ERROR] = sum(parts.values()) + float(number[0])
    if values:
        rows.samples(line, values, node=ctx.node, **file_moment(ctx))
    else:
        rows.drop(line, _FIELD_ONLY)
