"""`dmesg`: its lines in any of the program's time formats, and `dmesg -J`, one document of `{pri, time, msg}`."""

import re
from typing import Any

import pyarrow as pa

from firstfault.transforms.formats import loglines, times
from firstfault.transforms.formats.context import StreamContext
from firstfault.transforms.formats.jsonwalk import is_json_file, walk_items
from firstfault.transforms.formats.rows import BAD_JSON, Line, Rows

_CALLER = re.compile(r"^\[ *[TC]\d+\] ")


def read(data: bytes, ctx: StreamContext) -> pa.Table:
    """Records of the kernel's ring; the last one was written before the file."""
    if not is_json_file(ctx.file):
        return loglines.read(data, ctx)
    items = [(item, _boot_us(item.value)) for item in walk_items(data, ("dmesg",))]
    latest = max((boot for _, boot in items if boot is not None), default=0)
    rows, end = Rows(), times.to_micros(ctx.file_time)
    for item, boot in items:
        line = Line(item.offset + ctx.byte_from, item.length, None, item.text)
        if isinstance(item.value, dict) and boot is not None:
            rows.log(line, **_columns(item.value, boot, max(0, end - (latest - boot)), ctx))
        else:
            rows.quarantine(line, BAD_JSON)
    return rows.table()


def _boot_us(record: object) -> int | None:
    """Microseconds since boot: `time` is seconds, whatever `--time-format` asked for."""
    stamp = record.get("time") if isinstance(record, dict) else None
    return round(stamp * times.SECOND_US) if isinstance(stamp, int | float) and 0 <= stamp < times.LAST_SECOND else None


def _columns(record: dict[str, Any], boot: int, moment: int, ctx: StreamContext) -> dict[str, Any]:
    """What one record says."""
    text = record.get("msg")
    fields = {"boot_s": str(boot / times.SECOND_US), "priority": str(record.get("pri", ""))}
    return {
        "node": ctx.node,
        "event_time": moment,
        "time_basis": times.BOOT_RELATIVE,
        "text": _CALLER.sub("", text) if isinstance(text, str) and text else None,
        "fields": {name: value for name, value in fields.items() if value},
    }
