"""`nvidia-smi dmon`, `pmon` and `nvlink`: tables whose headers repeat, and counters of links below their GPU.

Samples are `nvidia_smi.dmon.<column>` and `nvidia_smi.nvlink.<what>`; `-` is no value. A row has a time only with
`-o D`, `T` or `DT`. The GPU is the driver's index: a label, as no address is told.
"""

import re
from typing import Any

import pyarrow as pa

from firstfault.transforms.formats import times
from firstfault.transforms.formats.context import StreamContext
from firstfault.transforms.formats.nvidia_smi import ERROR_CELL, PREFIX, cell_value, is_error
from firstfault.transforms.formats.rows import BLANK, FIELD_COUNT, HEADER, Line, Rows, each_line, file_moment

_HEADER = re.compile(r"#\s*(?:(?:Date|Time)\s+)*gpu\s", re.IGNORECASE)
_UNITS = re.compile(r"#\s*(?:(?:YYYYMMDD|HH:MM:SS)\s+)*Idx\s", re.IGNORECASE)
_GPU = re.compile(r"GPU (?P<index>\d+): (?P<name>.*?) \(UUID: (?P<uuid>GPU-[0-9A-Fa-f-]+)\)\s*$")
_LINK = re.compile(r"\s+Link (?P<link>\d+)(?:, (?P<what>[^:]+))?: (?P<text>.*?)\s*$")
_COUNT = re.compile(r"(?P<what>[A-Za-z][\w ]*?)(?: Errors?)?: (?P<text>\S.*)$")
_SLUG = re.compile(r"[^a-z0-9]+")
_LABELS = ("pid", "type", "command")
_DAY, _CLOCK = "date", "time"
_SPEED = "speed_gbs"


def is_monitor(head: str) -> bool:
    """Whether a text begins as one of these tables."""
    first = next((line for line in head.splitlines() if line.strip()), "")
    return _HEADER.match(first) is not None or _GPU.match(first) is not None


def read(data: bytes, ctx: StreamContext) -> pa.Table:
    """Samples a row; lines that are no row land as text."""
    rows, names, gpu = Rows(), list[str](), dict[str, str]()
    for line in each_line(data, ctx):
        about, link = {"node": ctx.node} | file_moment(ctx), _LINK.match(line.text)
        found = _GPU.match(line.text)
        if not line.text.strip():
            rows.drop(line, BLANK)
        elif _HEADER.match(line.text):
            names = line.text.lstrip("# ").lower().split()
            rows.drop(line, HEADER)
        elif _UNITS.match(line.text):
            rows.drop(line, HEADER)
        elif found is not None:
            gpu = {"index": found["index"], "name": found["name"], "uuid": found["uuid"]}
            rows.log(line, text=line.text.strip(), fields=gpu, **about)
        elif link is not None and gpu:
            _link(rows, line, link, gpu, about)
        elif names and line.text.split()[0].isdecimal():
            _row(rows, line, names, ctx)
        else:
            rows.log(line, text=line.text.strip(), **about)
    return rows.table()


def _row(rows: Rows, line: Line, names: list[str], ctx: StreamContext) -> None:
    """A row of dmon or pmon; the last column, a command, may hold spaces."""
    words = line.text.split(None, len(names) - 1)
    if len(words) != len(names):
        rows.quarantine(line, FIELD_COUNT)
        return
    cells = {name: word.strip() for name, word in zip(names, words, strict=True)}
    day, clock, index = cells.pop(_DAY, None), cells.pop(_CLOCK, None), cells.pop("gpu")
    labels = {"index": index} | {name: cells.pop(name) for name in _LABELS if cells.get(name, "-") != "-"}
    found = times.parse_layout(f"{day} {clock}", "%Y%m%d %H:%M:%S", ctx.zone) if day and clock else None
    about: dict[str, Any] = {"node": ctx.node, "labels": labels} | file_moment(ctx)
    about |= {"event_time": found[0], "time_basis": found[1]} if found else {}
    errors = [(name, text) for name, text in cells.items() if is_error(text)]
    if errors:
        labels |= {"column": errors[0][0], "text": errors[0][1]}
        rows.samples(line, {ERROR_CELL: 1.0}, **about)
        return
    values = {f"{PREFIX}dmon.{name}": value for name, text in cells.items() if (value := cell_value(text)) is not None}
    rows.samples(line, values, **about)


def _link(rows: Rows, line: Line, link: re.Match[str], gpu: dict[str, str], about: dict[str, Any]) -> None:
    """`Link 0: 25 GB/s`, `Link 0: <inactive>` or `Link 0: Replay Errors: 0`."""
    count, what, text = _COUNT.match(link["text"]), link["what"], link["text"]
    if count is not None and what is None:
        what, text = count["what"], count["text"]
    name = _SLUG.sub("_", what.lower()).strip("_") if what else _SPEED
    value = 0.0 if text.startswith("<") else cell_value(text)
    labels = gpu | {"nvlink": link["link"]}
    values = {} if value is None else {f"{PREFIX}nvlink.{name}": value}
    rows.samples(line, values, labels=labels, **about)
