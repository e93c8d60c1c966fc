"""py-spy dumps, text and `--json`: a row a thread, with the file's time as they name none.

Canonical text: `stack pid=4301 thread=MainThread state=active+gil top=f (file.py:12) frames=f < g < h`.
"""

import re
from typing import Any

import pyarrow as pa

from firstfault.transforms.formats.context import StreamContext
from firstfault.transforms.formats.hosts import rank_in_name
from firstfault.transforms.formats.jsonwalk import Json, load_json, nested_spans
from firstfault.transforms.formats.linebook import LineBook
from firstfault.transforms.formats.rows import BAD_JSON, Rows, each_line, file_moment

_PROCESS = re.compile(r"Process (?P<pid>\d+):")
_THREAD = re.compile(r"Thread (?P<id>\S+) \((?P<state>[a-z+]+)\)(?:: \"(?P<name>[^\"]*)\")?")
_FRAME = re.compile(r"\s{2,}(?P<name>\S.*?) \((?P<place>[^()]*:\d+)\)\s*$")
_KEPT_FRAMES = 40
_HOLDER = '{"":'
_NO_DUMP = "not_read"


def read(data: bytes, ctx: StreamContext) -> pa.Table:
    """Stacks of threads, innermost frame first."""
    rows = Rows()
    book = LineBook(rows, data, ctx)
    if data.lstrip()[:1] == b"[":
        _read_json(rows, book, data, ctx)
    else:
        _read_text(rows, book, data, ctx)
    return rows.table()


def _read_json(rows: Rows, book: LineBook, data: bytes, ctx: StreamContext) -> None:
    """Threads of the list, as far as it is whole."""
    for start, end in nested_spans(_HOLDER + data.decode("latin-1"), 0, ("",)):
        line, units = book.record(start - len(_HOLDER), end - len(_HOLDER))
        thread = load_json(line.text)
        if not isinstance(thread, dict):
            rows.quarantine(line, BAD_JSON, units)
            continue
        state = ("active" if thread.get("active") else "idle") + ("+gil" if thread.get("owns_gil") else "")
        frames = [_frame(frame) for frame in thread.get("frames") or [] if isinstance(frame, dict)]
        told = {"pid": thread.get("pid"), "thread": thread.get("thread_name"), "state": state}
        rows.log(line, units, **_columns(told, frames, ctx))
    whole = load_json(data.decode(errors="replace"))
    book.finish(BAD_JSON, refuse=True) if whole is None else book.finish()


def _frame(frame: dict[str, Json]) -> tuple[str, str]:
    name = frame.get("short_filename") or frame.get("filename")
    return str(frame.get("name")), f"{name}:{frame.get('line')}"


def _read_text(rows: Rows, book: LineBook, data: bytes, ctx: StreamContext) -> None:
    """Threads and the frames indented below each."""
    pid: str | None = None
    open_thread: tuple[int, int, dict[str, Any], list[tuple[str, str]]] | None = None
    for line in each_line(data, ctx):
        process, thread, frame = _PROCESS.match(line.text), _THREAD.match(line.text), _FRAME.match(line.text)
        start = line.offset - ctx.byte_from
        pid = process["pid"] if process else pid
        if open_thread is not None and frame is not None:
            open_thread[3].append((frame["name"], frame["place"]))
            open_thread = (open_thread[0], start + line.length, open_thread[2], open_thread[3])
            continue
        _land(rows, book, open_thread, ctx)
        told = {"pid": pid, "thread": thread["name"] or thread["id"], "state": thread["state"]} if thread else None
        open_thread = (start, start + line.length, told, []) if told else None
    _land(rows, book, open_thread, ctx)
    book.finish(_NO_DUMP, refuse=not rows.landed)


def _land(
    rows: Rows,
    book: LineBook,
    thread: tuple[int, int, dict[str, Any], list[tuple[str, str]]] | None,
    ctx: StreamContext,
) -> None:
    if thread is not None:
        line, units = book.record(thread[0], thread[1])
        rows.log(line, units, **_columns(thread[2], thread[3], ctx))


def _columns(told: dict[str, Any], frames: list[tuple[str, str]], ctx: StreamContext) -> dict[str, Any]:
    """What one thread was doing."""
    fields = {name: str(value) for name, value in told.items() if value is not None}
    if frames:
        fields["top"] = "{} ({})".format(*frames[0])
        fields["frames"] = " < ".join(name for name, _ in frames[:_KEPT_FRAMES])
    text = " ".join(["stack", *(f"{name}={value}" for name, value in fields.items())])
    rank = ctx.rank if ctx.rank is not None else rank_in_name(ctx.file)
    return {"text": text, "fields": fields, "node": ctx.node, "rank": rank} | file_moment(ctx)
