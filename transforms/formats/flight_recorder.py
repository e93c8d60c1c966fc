"""PyTorch Flight Recorder dumps, JSON or pickle: a row a collective, and one a process group for its last numbers.

The rank is in the file's name only. Times are epoch nanoseconds; JSON writes 0 where a pickle has None. A pickle is
read as data (see `plainpickle`). The message of a group's row is composed: its parts lie apart in the dump.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any, TypeAlias

import pyarrow as pa

from firstfault.transforms.formats import times
from firstfault.transforms.formats.context import StreamContext
from firstfault.transforms.formats.flight_groups import STATUS_KEYS, Group, groups
from firstfault.transforms.formats.hosts import rank_in_name
from firstfault.transforms.formats.jsonwalk import Item, Json, load_json, walk_items
from firstfault.transforms.formats.plainpickle import HostilePickle, PickleError, load
from firstfault.transforms.formats.rows import BAD_JSON, Line, Rows, file_moment

Entry: TypeAlias = Mapping[Any, Any]

HOSTILE, BAD_PICKLE, NO_ENTRY = "hostile_pickle", "bad_pickle", "no_entry"
_LAST_NUMBER = re.compile(r"(\d{1,6})(?:\.[A-Za-z]\w*)*$")
_STATUS = re.compile(r'"(?P<pg>[^"\\]{0,200})"\s*:\s*(?P<body>\{[^{}]{0,500}"last_enqueued_collective"[^{}]{0,500}\})')
_CONFIG = re.compile(r'"(?P<pg>[^"\\]{0,200})"\s*:\s*(?P<body>\{[^{}]{0,1000}"ranks"\s*:[^{}]{0,1000000}\})')
_TIMES = ("time_discovered_completed_ns", "time_discovered_started_ns", "time_created_ns")
_FIELDS = (*_TIMES, "duration_ms", "timeout_ms", "retired", "record_id", "op_id", "input_dtypes", "output_dtypes")
_GROWTH = 64
_ROOM = 400  # characters of a nested value that are shown


def read(data: bytes, ctx: StreamContext) -> pa.Table:
    """Entries with a canonical text `fr pg=0 seq=1580 op=all_reduce state=started rank=3 sizes=[[4661]]`."""
    rows = Rows()
    if data.lstrip()[:1] in (b"{", b"["):
        _read_json(rows, data, ctx)
    elif data:
        _read_pickle(rows, data, ctx)
    return rows.table()


def _read_json(rows: Rows, data: bytes, ctx: StreamContext) -> None:
    """Entries as far as the document is whole, and what stands of its groups."""
    entries = []
    for item in walk_items(data, ("entries",)):
        line = Line(item.offset + ctx.byte_from, item.length, None, item.text)
        if _is_entry(item.value):
            entries.append(item.value)
            _land(rows, line, item.value, ctx)
        elif not _is_document(item):
            rows.quarantine(line, BAD_JSON if item.value is None else NO_ENTRY)
    view = data.decode("latin-1")
    found = {kind: list(kind.finditer(view)) for kind in (_CONFIG, _STATUS)}
    config, status = ({m["pg"]: load_json(m["body"]) for m in found[kind]} for kind in (_CONFIG, _STATUS))
    places = {id(status[m["pg"]]): m.start() for m in found[_STATUS]}
    places |= {id(config[m["pg"]]): m.start() for m in found[_CONFIG]}
    for group in groups(config, status, entries):
        at = places.get(id(group.source), 0)
        _land_group(rows, Line(at + ctx.byte_from, 0, None, group.message()), group, ctx)


def _is_document(item: Item) -> bool:
    """Whether the item is a dump without a list of entries, whose status is all it says."""
    return isinstance(item.value, dict) and "pg_status" in item.value


def _read_pickle(rows: Rows, data: bytes, ctx: StreamContext) -> None:
    """Entries of a pickle, each with the place of its map."""
    whole = Line(ctx.byte_from, len(data), None, "")
    try:
        dump, places = load(data)
    except HostilePickle:
        rows.quarantine(whole, HOSTILE)
        return
    except PickleError:
        rows.quarantine(whole, BAD_PICKLE)
        return
    if not isinstance(dump, dict):
        rows.quarantine(whole, NO_ENTRY)
        return
    config, status = (told if isinstance(told := dump.get(key), dict) else {} for key in ("pg_config", "pg_status"))
    for group in groups(config, status, dump.get("entries")):
        line = Line(ctx.byte_from + places.get(id(group.source), 0), 0, None, group.message())
        _land_group(rows, line, group, ctx)
    _entries(rows, dump.get("entries"), places, (len(data) * _GROWTH, ctx))


def _entries(rows: Rows, entries: Json, places: dict[int, int], told: tuple[int, StreamContext]) -> None:
    """Entries until they have grown far beyond the dump's bytes: one map can stand in a list a million times."""
    room, ctx = told
    for at, entry in enumerate(entries if isinstance(entries, list) else ()):
        line = Line(ctx.byte_from + places.get(id(entry), 0), 0, None, shown(entry, _ROOM * 100))
        room -= len(line.text) + _ROOM
        if room < 0:
            rows.quarantine(Line(line.offset, 0, None, ""), HOSTILE, len(entries) - at)
            return
        if _is_entry(entry):
            _land(rows, line, entry, ctx)
        else:
            rows.quarantine(line, NO_ENTRY)


def _is_entry(value: Json) -> bool:
    return isinstance(value, dict) and "profiling_name" in value and "state" in value


def _land(rows: Rows, line: Line, entry: Entry, ctx: StreamContext) -> None:
    """Lands one collective."""
    rank, name = _rank(ctx), str(entry.get("profiling_name"))
    op, _, peers = name.rpartition(":")[2].partition(" ")
    group = entry.get("process_group")
    pg, desc = (*group, None, None)[:2] if isinstance(group, list) else (entry.get("pg_id"), None)
    seq = entry.get("p2p_seq_id") if entry.get("is_p2p") is True else entry.get("collective_seq_id")
    told = {"pg": pg, "seq": seq, "op": op, "state": entry.get("state"), "rank": rank, "peers": peers or None}
    told["sizes"] = entry.get("input_sizes")
    fields = {key: shown(value) for key, value in (told | _kept(entry, desc)).items() if value is not None}
    text = " ".join(f"{key}={fields[key]}" for key in told if key in fields)
    rows.log(line, text=f"fr {text}", fields=fields, node=ctx.node, rank=rank, **_moment(entry, ctx))


def _kept(entry: Entry, desc: Json) -> dict[str, Json]:
    kept: dict[str, Json] = {"desc": desc}
    return kept | {name: entry.get(name) for name in _FIELDS}


def _land_group(rows: Rows, line: Line, group: Group, ctx: StreamContext) -> None:
    """Lands the last numbers of one process group, or at least who belongs to it."""
    rank = _rank(ctx)
    pg = group.name if group.name is not None else f"#{group.number}"
    told = {key.removesuffix("_collective"): group.status.get(key) for key in STATUS_KEYS}
    words = [f"pg={pg}", *(f"{key}={value}" for key, value in told.items() if value is not None)]
    words += [] if rank is None else [f"rank={rank}"]
    fields = {"pg": pg} | {key: str(value) for key, value in group.status.items()}
    fields |= {} if group.desc is None else {"desc": group.desc}
    text = " ".join(["fr status", *words])
    rows.log(line, text=text, fields=fields, node=ctx.node, rank=rank, **file_moment(ctx))


def _rank(ctx: StreamContext) -> int | None:
    """Rank of the path or of the file's name."""
    if ctx.rank is not None:
        return ctx.rank
    named, last = rank_in_name(ctx.file), _LAST_NUMBER.search(PurePath(ctx.file).name)
    return named if named is not None else int(last[1]) if last else None


def _moment(entry: Entry, ctx: StreamContext) -> dict[str, Any]:
    """When the entry was last heard of."""
    stamps = (int(value) for name in _TIMES if isinstance(value := entry.get(name), int) and value)
    micros = next((m for stamp in stamps if (m := times.epoch_micros(stamp // 1000, scale=1)) is not None), None)
    return file_moment(ctx) if micros is None else {"event_time": micros, "time_basis": times.EPOCH}


def shown(value: Json, room: int = _ROOM) -> str:
    """The value as JSON, cut where it grows too long: a dump can hold itself."""
    return value if isinstance(value, str) else "".join(_pieces(value, room))


def _pieces(value: Json, room: int) -> Iterator[str]:
    """Parts of the text until the room is used up; no recursion, whatever the depth."""
    waiting: list[tuple[bool, Json]] = [(False, value)]
    while waiting and room > 0:
        literal, part = waiting.pop()
        if literal:
            piece = part
        elif isinstance(part, dict | list):
            piece, inner = _opened(part)
            waiting += reversed(inner)
        else:
            piece = _scalar(part, room)
        room -= len(piece)
        yield piece
    if waiting:
        yield "..."


def _opened(part: Json) -> tuple[str, list[tuple[bool, Json]]]:
    """The opening bracket, and what follows it: literal texts and values."""
    inner: list[tuple[bool, Json]] = []
    named = isinstance(part, dict)
    pairs = part.items() if named else enumerate(part)
    for at, (key, value) in enumerate(pairs):
        if at >= _ROOM * 10:
            break
        inner.append((True, ("," if at else "") + (f"{_scalar(key, _ROOM)}:" if named else "")))
        inner.append((False, value))
    return ("{", [*inner, (True, "}")]) if named else ("[", [*inner, (True, "]")])


def _scalar(value: Json, room: int) -> str:
    if isinstance(value, str | bytes):
        text = value if isinstance(value, str) else value[:room].decode(errors="replace")
        return json.dumps(text[:room], ensure_ascii=False)
    if isinstance(value, int) and value.bit_length() > 1024:
        return "..."
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
