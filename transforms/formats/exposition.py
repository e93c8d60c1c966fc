"""Prometheus and OpenMetrics text: a sample a line, timed or read at the file's time."""

import re
from typing import Any

import pyarrow as pa

from firstfault.transforms.formats import times
from firstfault.transforms.formats.context import StreamContext
from firstfault.transforms.formats.rows import (
    BAD_VALUE,
    BLANK,
    COMMENT,
    NO_VALUE,
    Line,
    Rows,
    each_line,
    file_moment,
)
from firstfault.transforms.formats.series import identity, is_blank
from firstfault.transforms.staged import LANDED_SAMPLE

_SAMPLE = re.compile(
    r"^(?P<metric>[A-Za-z_:][\w:.]*)?\s*(?:\{(?P<labels>(?:[^\"}]|\"(?:[^\"\\]|\\.)*\")*)\})?"
    r"\s+(?P<value>\S+)(?:\s+(?P<stamp>-?[\d.eE+]+))?\s*(?:#.*)?$"
)
_LABEL = re.compile(r"\s*([\w.:]+)\s*=\s*\"((?:[^\"\\]|\\.)*)\"\s*,?")
_ESCAPE = re.compile(r"\\(.)")
_SECONDS_BELOW = 1e11  # OpenMetrics writes seconds, the older form milliseconds
_BAD_SAMPLE = "bad_sample"


def read(data: bytes, ctx: StreamContext) -> pa.Table:
    """Samples; comments and blank lines are structure."""
    rows = Rows()
    for line in each_line(data, ctx):
        text = line.text.strip()
        if not text:
            rows.drop(line, BLANK)
        elif text.startswith("#"):
            rows.drop(line, COMMENT)
        else:
            _sample(rows, line, text, ctx)
    return rows.table()


def _sample(rows: Rows, line: Line, text: str, ctx: StreamContext) -> None:
    """Lands one line."""
    match = _SAMPLE.match(text)
    labels = parse_labels(match["labels"] or "") if match else None
    metric = (match["metric"] or (labels or {}).pop("__name__", None)) if match else None
    if match is None or labels is None or not metric:
        rows.quarantine(line, _BAD_SAMPLE)
        return
    try:
        value = float(match["value"])
        moment = _moment(match["stamp"], ctx)
    except (ValueError, OverflowError):
        rows.quarantine(line, BAD_VALUE)
        return
    if is_blank(metric, value):
        rows.drop(line, NO_VALUE)
        return
    about = identity(metric, labels, ctx) | moment
    rows.add(LANDED_SAMPLE, line, metric=metric, labels=labels, value=value, **about)


def parse_labels(text: str) -> dict[str, str] | None:
    """Labels between the braces, or None when malformed."""
    labels: dict[str, str] = {}
    at = 0
    while at < len(text):
        match = _LABEL.match(text, at)
        if match is None:
            return None if text[at:].strip() else labels
        labels[match[1]] = _ESCAPE.sub(lambda m: "\n" if m[1] == "n" else m[1], match[2])
        at = match.end()
    return labels


def _moment(stamp: str | None, ctx: StreamContext) -> dict[str, Any]:
    """Time columns of a sample."""
    if stamp is None:
        return file_moment(ctx)
    seconds = float(stamp)
    micros = times.epoch_micros(seconds if abs(seconds) < _SECONDS_BELOW else seconds / 1000)
    if micros is None:
        raise ValueError(stamp)
    return {"event_time": micros, "time_basis": times.EPOCH}
