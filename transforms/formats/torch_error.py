"""`error.json` of torchrun's workers: the exception of one rank, with the second at which it was raised.

`{"message": {"message": "KeyError: 'x'", "extraInfo": {"py_callstack": "...", "timestamp": "1795969423"}}}`. It is the
best witness of who raised first: the launcher's table only knows when its agent looked. Older writers leave `message`
a text.
"""

from typing import Any

import pyarrow as pa

from firstfault.transforms.formats import times
from firstfault.transforms.formats.context import StreamContext
from firstfault.transforms.formats.jsonwalk import Json, load_json
from firstfault.transforms.formats.linebook import LineBook
from firstfault.transforms.formats.rows import BAD_JSON, Rows, file_moment


def read(data: bytes, ctx: StreamContext) -> pa.Table:
    """One record: the exception's own line, as it would end a traceback."""
    rows = Rows()
    book = LineBook(rows, data, ctx)
    told = _told(load_json(data.decode(errors="replace")))
    if told is None:
        book.finish(BAD_JSON, refuse=True)
        return rows.table()
    end = len(data.rstrip(b"\r\n \t")) or len(data)
    line, units = book.record(0, end)
    message, stamp = told
    rows.log(line, units, text=message or None, node=ctx.node, rank=ctx.rank, **_moment(stamp, ctx))
    book.finish()
    return rows.table()


def _told(document: Json) -> tuple[str, Json] | None:
    """The last line of the message, and its stamp; None when the document is of another kind."""
    outer = document.get("message") if isinstance(document, dict) else None
    inner: dict[str, Json] = outer if isinstance(outer, dict) else {"message": outer}
    message, extra = inner.get("message"), inner.get("extraInfo")
    if not isinstance(message, str):
        return None
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    return (lines[0] if lines else ""), extra.get("timestamp") if isinstance(extra, dict) else None


def _moment(stamp: Json, ctx: StreamContext) -> dict[str, Any]:
    """Seconds since the epoch, which are written as a text."""
    micros = times.epoch_micros(stamp) if isinstance(stamp, str | int | float) else None
    return file_moment(ctx) if micros is None else {"event_time": micros, "time_basis": times.EPOCH}
