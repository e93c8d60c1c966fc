"""`journalctl -o json`: one object a line; values are strings, arrays of bytes or of strings."""

import json
from typing import Any

import pyarrow as pa

from firstfault.transforms.formats import times
from firstfault.transforms.formats.context import StreamContext
from firstfault.transforms.formats.hosts import short_host
from firstfault.transforms.formats.rows import BAD_JSON, BLANK, Rows, each_line

_STAMPS = ("_SOURCE_REALTIME_TIMESTAMP", "__REALTIME_TIMESTAMP")  # the sender's own time first
_KEPT = ("_TRANSPORT", "PRIORITY", "SYSLOG_IDENTIFIER", "_SYSTEMD_UNIT", "UNIT", "_BOOT_ID", "_PID")
_MONOTONIC = "_SOURCE_MONOTONIC_TIMESTAMP"


def read(data: bytes, ctx: StreamContext) -> pa.Table:
    """Journal records; the message matched is `MESSAGE`, the one kept is the line."""
    rows = Rows()
    for line in each_line(data, ctx):
        if not line.text.strip():
            rows.drop(line, BLANK)
            continue
        try:
            record = json.loads(line.text)
        except (ValueError, RecursionError):
            record = None
        if isinstance(record, dict):
            rows.log(line, **_columns(record, ctx))
        else:
            rows.quarantine(line, BAD_JSON)
    return rows.table()


def _columns(record: dict[str, Any], ctx: StreamContext) -> dict[str, Any]:
    """What the record says."""
    stamps = (times.epoch_micros(journal_text(record.get(name)), scale=1) for name in _STAMPS)
    moment = next((stamp for stamp in stamps if stamp is not None), None)
    seen = times.epoch_micros(journal_text(record.get("__REALTIME_TIMESTAMP")), scale=1)
    fields = {name: text for name in _KEPT if (text := journal_text(record.get(name)))}
    boot = times.epoch_micros(journal_text(record.get(_MONOTONIC)), scale=1)
    if boot is not None:
        fields["boot_s"] = str(boot / times.SECOND_US)
    return {
        "node": ctx.node or short_host(journal_text(record.get("_HOSTNAME"))),
        "event_time": moment,
        "time_basis": times.NONE if moment is None else times.EPOCH,
        "collected_at": seen if seen != moment else None,
        "text": journal_text(record.get("MESSAGE")) or None,
        "fields": fields,
    }


def journal_text(value: object) -> str | None:
    """A field's text: bytes are decoded, a repeated field is joined by newlines."""
    if value is None or isinstance(value, dict | bool):
        return None
    if not isinstance(value, list):
        return str(value)
    if value and all(isinstance(byte, int) and 0 <= byte < 256 for byte in value):
        return bytes(value).decode(errors="replace")
    return "\n".join(text for item in value if (text := journal_text(item))) or None
