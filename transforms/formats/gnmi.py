"""gNMI notifications as gnmic prints them, in its `json` and its `event` format: `switch.<leaf>` samples of a port.

Times are nanoseconds of the device. 64-bit counters are strings; the port stands in a path, in the prefix or in a tag.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from firstfault.transforms.formats import times
from firstfault.transforms.formats.context import StreamContext
from firstfault.transforms.formats.counters import counter_value
from firstfault.transforms.formats.hosts import instance_host
from firstfault.transforms.formats.jsonwalk import Json, is_json_file, load_json, walk_items
from firstfault.transforms.formats.rows import BAD_JSON, BLANK, NO_VALUE, Cell, Line, Rows, each_line

_KEY = re.compile(r"\[(?:name|interface-name|interface_name|port)=(?P<port>[^\]]+)\]")
_TAGS = ("interface_name", "interface-name", "name", "port")
_STATES = {"UP": 1.0, "DOWN": 0.0, "LOWER_LAYER_DOWN": 0.0}
_SYNC, _DELETES = "structure.sync", "structure.deletes"
_NO_UPDATE = "no_update"


def read(data: bytes, ctx: StreamContext) -> pa.Table:
    """Samples; a notification is a unit, whatever the number of its values."""
    rows = Rows()
    if is_json_file(ctx.file):
        for item in walk_items(data, ()):
            _notification(rows, Line(item.offset + ctx.byte_from, item.length, None, item.text), item.value)
        return rows.table()
    for line in each_line(data, ctx):
        if line.text.strip():
            _notification(rows, line, load_json(line.text))
        else:
            rows.drop(line, BLANK)
    return rows.table()


def _notification(rows: Rows, line: Line, value: Json) -> None:
    """Lands one notification, or a line of several events."""
    parts = value if isinstance(value, list) else [value]
    known = [part for part in parts if isinstance(part, Mapping)]
    found = [sample for part in known for sample in _samples(part)]
    if not known:
        rows.quarantine(line, BAD_JSON)
    elif found:
        for at, (values, about) in enumerate(found):
            rows.samples(line, values, 0 if at else 1, **about)
    elif any("sync-response" in part for part in known):
        rows.drop(line, _SYNC)
    elif any("updates" in part or "values" in part for part in known):
        rows.drop(line, NO_VALUE)
    elif any("deletes" in part for part in known):
        rows.drop(line, _DELETES)
    else:
        rows.quarantine(line, _NO_UPDATE)


def _samples(part: Mapping[str, Json]) -> Iterator[tuple[dict[str, float], dict[str, Cell]]]:
    """Values with port and time, by update; events carry tags and values directly."""
    tags = part.get("tags") if isinstance(part.get("tags"), Mapping) else {}
    source = part.get("source") or (tags or {}).get("source")
    moment = times.scaled_epoch(part.get("timestamp"))
    updates = part.get("updates") or [{"values": part.get("values")}]
    for update in updates if isinstance(updates, list) else ():
        values = update.get("values") if isinstance(update, Mapping) else None
        if not isinstance(values, Mapping) or moment is None:
            continue
        where = f"{part.get('prefix') or ''}/{update.get('Path') or ''}/{next(iter(values), '')}"
        key, tag = _KEY.search(where), next((str(tags[name]) for name in _TAGS if tags and name in tags), None)
        port = (key["port"] if key else tag or "").lower()
        switch = instance_host(str(source)) if source else None
        numbers = {metric_of(path): number for path, text in values.items() if (number := _number(text)) is not None}
        if numbers:
            yield numbers, _about(switch, port, moment)


def _about(switch: str | None, port: str, moment: int) -> dict[str, Any]:
    labels = {name: text for name, text in (("switch", switch), ("interface", port)) if text}
    place = f"{switch}:{port}" if switch and port else None
    return {"port": place, "labels": labels, "event_time": moment, "time_basis": times.EPOCH}


def metric_of(path: str) -> str:
    """`switch.in_errors` of `.../state/counters/in-errors`; the state of an interface is `switch.oper_up`."""
    leaf = path.rstrip("/").rsplit("/", 1)[-1].rsplit(":", 1)[-1].replace("-", "_")
    return "switch.oper_up" if leaf == "oper_status" else f"switch.{leaf}"


def _number(value: Json) -> float | None:
    """A number, one in a string, or the word for a state."""
    if isinstance(value, bool):
        return float(value)
    text = str(value) if isinstance(value, str | int | float) else ""
    return _STATES.get(text.upper(), counter_value(text) if text else None)
