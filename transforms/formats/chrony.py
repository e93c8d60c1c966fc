"""chrony: `tracking.log`, `statistics.log`, `measurements.log`, and `chronyc`'s `tracking`, `-c tracking`, `sources`.

Stored: `clock.offset_s` and `clock.freq_ppm`, local minus true (+ is a fast clock), and `clock.max_error_s`.
The program has two conventions: offsets it measured are + for fast, corrections still to make are + for slow, and
so is the raw measurement of `measurements.log`. A source that chrony did not select is `clock.peer_offset_s`.
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
    HEADER,
    NO_VALUE,
    Cell,
    Line,
    Rows,
    each_line,
    file_moment,
)

OFFSET, MAX_ERROR, FREQUENCY = "clock.offset_s", "clock.max_error_s", "clock.freq_ppm"
PEER_OFFSET = "clock.peer_offset_s"

_LOGGED = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d ")
_BANNER = re.compile(r"=+$|\s+Date \(UTC\) Time")
_FIELD = re.compile(r"(?P<name>[A-Z][\w ()]*?)\s*: (?P<value>.*)$")
_NUMBER = re.compile(r"\d+(?:\.\d+)?(?= )")
_WORDED = re.compile(r"(?P<number>\d+(?:\.\d+)?) (?:seconds|ppm) (?P<word>fast|slow)")
_WORDED_METRICS = {"System time": OFFSET, "Frequency": FREQUENCY}
_SOURCE = re.compile(
    r"[\^=#](?P<state>[*+\-?x~]) (?P<name>\S+)\s+\d+\s+\d+\s+(?P<reach>[0-7]+)\s+\S+\s+"
    r"(?P<offset>[+-]?\d{1,12})(?P<unit>ns|us|ms|s)\[\s*[+-]?\d+(?:ns|us|ms|s)\]\s+\+/-\s*(?P<error>\d{1,12})(?P<error_unit>ns|us|ms|s)"
)
_SOURCES_HEADER = re.compile(r"(?:MS|S) Name/IP address|\d+ Number of sources|210 Number of sources")
_UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
_LEAPS = {"N", "+", "-", "?"}
_TESTED = re.compile(r"1+$")
_FIELD_ONLY, _REFUSED = "structure.field", "telemetry.refused"
_CSV_FIELDS = 14
_SIGN = {"fast": 1.0, "slow": -1.0}


def read(data: bytes, ctx: StreamContext) -> pa.Table:
    """Clock samples; every time is UTC by design."""
    rows = Rows()
    parts: dict[str, float] = {}
    for line in each_line(data, ctx):
        text = line.text.strip()
        source = _SOURCE.match(text)
        if not text:
            rows.drop(line, BLANK)
        elif _BANNER.match(line.text):
            rows.drop(line, BANNER)
        elif _LOGGED.match(text):
            _log_row(rows, line, text.split(), ctx)
        elif text.count(",") == _CSV_FIELDS - 1:
            _land(rows, line, listed, text.split(","), node=ctx.node, **file_moment(ctx))
        elif source is not None:
            _listed_source(rows, line, source, ctx)
        elif _SOURCES_HEADER.match(text):
            rows.drop(line, HEADER)
        else:
            _told(rows, line, parts, ctx)
    return rows.table()


def _log_row(rows: Rows, line: Line, words: list[str], ctx: StreamContext) -> None:
    """A row of one of the three logs; which one, its fourth word says: a stratum, a leap status or a deviation."""
    found = times.parse_time(" ".join(words[:2]), "UTC")
    about = {"event_time": found[0] if found else None, "time_basis": times.ZONED if found else times.NONE}
    parse, kind = logged, words[3] if len(words) > 3 else ""
    if kind in _LEAPS:
        parse = measured
    elif kind and not kind.isdecimal():
        parse = estimated
    if parse is measured and not all(_TESTED.match(word) for word in words[5:7]):
        rows.drop(line, _REFUSED)
        return
    labels = {"source": words[2]} if len(words) > 2 else None
    _land(rows, line, parse, words, node=ctx.node, labels=labels, **about)


def logged(words: list[str]) -> dict[str, float]:
    """A row of tracking.log: date time ip stratum freq skew offset leap n sd remaining delay disp. error."""
    freq, offset = float(words[4]), float(words[6])
    values = {OFFSET: offset, FREQUENCY: freq}
    if len(words) >= 14:
        values[MAX_ERROR] = float(words[13])
    elif len(words) >= 13:
        values[MAX_ERROR] = abs(offset) + float(words[11]) / 2 + float(words[12])
    return values


def estimated(words: list[str]) -> dict[str, float]:
    """A row of statistics.log: date time ip deviation offset ...; the offset is + for fast."""
    float(words[3])
    return {OFFSET: float(words[4])}


def measured(words: list[str]) -> dict[str, float]:
    """A row of measurements.log: date time ip leap stratum tests (3) polls (2) score theta delay dispersion ...

    Theta is the correction, + for a slow clock.
    """
    offset = -float(words[11])
    values = {OFFSET: offset}
    if len(words) >= 16:
        delay, dispersion, root_delay, root_dispersion = (float(word) for word in words[12:16])
        values[MAX_ERROR] = abs(offset) + (delay + root_delay) / 2 + dispersion + root_dispersion
    return values


def listed(cells: list[str]) -> dict[str, float]:
    """`chronyc -c tracking`: the fifth field is the correction still to make, + for a slow clock."""
    offset = -float(cells[4])
    error = abs(offset) + float(cells[10]) / 2 + float(cells[11])
    return {OFFSET: offset, MAX_ERROR: error, FREQUENCY: float(cells[7])}


def _listed_source(rows: Rows, line: Line, source: re.Match[str], ctx: StreamContext) -> None:
    """A line of `chronyc sources`: offsets are + for fast; reach 0 is a lost source."""
    if int(source["reach"], 8) == 0 or source["state"] in "?x":
        rows.drop(line, NO_VALUE)
        return
    offset = int(source["offset"]) * _UNITS[source["unit"]]
    values = {PEER_OFFSET: offset}
    if source["state"] == "*":
        values = {OFFSET: offset, MAX_ERROR: abs(offset) + int(source["error"]) * _UNITS[source["error_unit"]]}
    labels = {"source": source["name"], "state": source["state"]}
    rows.samples(line, values, node=ctx.node, labels=labels, **file_moment(ctx))


def _land(
    rows: Rows, line: Line, parse: Callable[[list[str]], dict[str, float]], words: list[str], **about: Cell
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
