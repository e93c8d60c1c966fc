"""ptp4l and phc2sys: offsets in nanoseconds, local minus master, as `clock.offset_s`; other lines land as text.

The stamp `[512.345]` is seconds since boot: the time is the syslog header's where there is one, else it counts back
from the file's. phc2sys may also set a NIC's clock by the system's: that one is `clock.phc_offset_s`.
"""

import re
from typing import Any

import pyarrow as pa

from firstfault.transforms.formats import times
from firstfault.transforms.formats.chrony import OFFSET
from firstfault.transforms.formats.context import StreamContext
from firstfault.transforms.formats.headers import strip_headers
from firstfault.transforms.formats.rows import BLANK, Line, Rows, each_line

PHC_OFFSET, RMS = "clock.phc_offset_s", "clock.offset_rms_s"

_BOOT = re.compile(r"(?:(?:ptp4l|phc2sys)\S*?:? ?)?\[(?P<boot>\d{1,12}\.\d+)\]:? ")
_MASTER = re.compile(
    r"\bmaster offset\s+(?P<offset>-?\d{1,18}) s(?P<state>[0-3]) freq\s+[+-]?\d+ path delay\s+(?P<delay>-?\d{1,18})\b"
)
_SYSTEM = re.compile(
    r"(?<!\S)(?P<clock>\S{1,64}) (?P<source>phc|sys) offset\s+(?P<offset>-?\d{1,18}) s(?P<state>[0-3]) freq\s+[+-]?\d+"
)
_SUMMARY = re.compile(r"\brms\s+(?P<rms>\d{1,18}) max\s+\d+ freq\s")
_STATES = ("unlocked", "step", "locked", "locked_stable")
_REALTIME = "CLOCK_REALTIME"
_NANO = 1e-9


def read(data: bytes, ctx: StreamContext) -> pa.Table:
    """Samples of the clock and the lines that say how its state changes."""
    rows, lines = Rows(), list(each_line(data, ctx))
    headers = strip_headers(pa.array([line.text for line in lines], pa.string()), ("kernel",), ctx)
    columns = (headers.event_time.cast(pa.int64()), headers.time_basis, headers.node, headers.body)
    told = list(zip(lines, *(column.to_pylist() for column in columns), strict=True))
    boots = [_boot(line.text) for line in lines]
    latest = max((boot for boot in boots if boot is not None), default=0)
    for (line, written, basis, node, body), boot in zip(told, boots, strict=True):
        moment: dict[str, Any] = {"event_time": written, "time_basis": basis}
        if written is None and boot is not None:
            counted = times.to_micros(ctx.file_time) - (latest - boot)
            moment = {"event_time": max(0, counted), "time_basis": times.BOOT_RELATIVE}
        if not line.text.strip():
            rows.drop(line, BLANK)
        elif body is None or not _sample(rows, line, body, moment | {"node": ctx.node or node}):
            rows.log(line, text=_BOOT.sub("", body or "", count=1) or None, node=ctx.node or node, **moment)
    return rows.table()


def _boot(text: str) -> int | None:
    """Microseconds since boot of a line."""
    match = _BOOT.search(text)
    return times.epoch_micros(match["boot"]) if match else None


def _sample(rows: Rows, line: Line, body: str, about: dict[str, Any]) -> bool:
    """Lands the offset of a line that has one."""
    master, system, summary = _MASTER.search(body), _SYSTEM.search(body), _SUMMARY.search(body)
    if master is not None:
        labels = {"program": "ptp4l", "clock": "phc", "state": _STATES[int(master["state"])]}
        values = {OFFSET: int(master["offset"]) * _NANO, "clock.path_delay_s": int(master["delay"]) * _NANO}
    elif system is not None:
        labels = {"program": "phc2sys", "clock": system["clock"], "state": _STATES[int(system["state"])]}
        metric = OFFSET if system["clock"] == _REALTIME else PHC_OFFSET
        values = {metric: int(system["offset"]) * _NANO}
    elif summary is not None:
        labels = {}
        values = {RMS: int(summary["rms"]) * _NANO}
    else:
        return False
    rows.samples(line, values, labels=labels, **about)
    return True
