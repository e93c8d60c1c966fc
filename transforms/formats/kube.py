"""Kubernetes objects: a List, an object, or JSON lines; one row an object."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from firstfault.transforms.formats import times
from firstfault.transforms.formats.context import StreamContext
from firstfault.transforms.formats.hosts import short_host
from firstfault.transforms.formats.jsonwalk import walk_items
from firstfault.transforms.formats.kube_text import Object, canonical, dig, first, kind_of, parts
from firstfault.transforms.formats.rows import BAD_JSON, BLANK, Line, Rows

_NOISE = ("metadata.managedFields", "metadata.annotations.kubectl.kubernetes.io/last-applied-configuration")
_EVENT_TIMES = (
    "lastTimestamp",
    "series.lastObservedTime",
    "eventTime",
    "deprecatedLastTimestamp",
    "stageTimestamp",
    "requestReceivedTimestamp",
    "firstTimestamp",
    "deprecatedFirstTimestamp",
    "metadata.creationTimestamp",
)


def read(data: bytes, ctx: StreamContext) -> pa.Table:
    """Objects with a canonical text; `fields` holds every leaf by dotted key."""
    rows = Rows()
    for item in walk_items(data, ("items",)):
        line = Line(item.offset + ctx.byte_from, item.length, None, item.text)
        if isinstance(item.value, dict):
            rows.log(line, **_columns(item.value, kind_of(item.value, item.kind), ctx))
        elif item.length and not item.text.strip():  # of no length: where a document was cut
            rows.drop(line, BLANK)
        else:
            rows.quarantine(line, BAD_JSON if item.value is None else "no_object")
    return rows.table()


def _columns(item: dict[str, Any], kind: str, ctx: StreamContext) -> dict[str, Any]:
    """What one object says."""
    stamp = times.parse_time(moment_of(kind, item), "UTC")
    return {
        "message": json.dumps(item, separators=(",", ":"), ensure_ascii=False),
        "text": canonical(kind, item),
        "fields": {"kind": kind} | dict(leaves(item)),
        "node": ctx.node or short_host(_node(kind, item)),
        "event_time": stamp[0] if stamp else None,
        "time_basis": times.ZONED if stamp else times.NONE,
    }


def moment_of(kind: str, item: Object) -> str | None:
    """When the object last said something."""
    if kind == "Event":
        found = first(item, *_EVENT_TIMES)
        return str(found) if found else None
    stamps = [str(s) for c in parts(item, "status.conditions") if (s := c.get("lastTransitionTime"))]
    if kind == "Pod":
        states = parts(item, "status.containerStatuses") + parts(item, "status.initContainerStatuses")
        ends = (dig(s, f"{state}.terminated.finishedAt") for s in states for state in ("state", "lastState"))
        stamps = [str(end) for end in ends if end] or stamps
    fallback = first(item, "status.completionTime", "status.startTime", "metadata.creationTimestamp")
    return max(stamps, default=None) or (str(fallback) if fallback else None)


def _node(kind: str, item: Object) -> str | None:
    """Node the object speaks for."""
    if kind == "Node":
        return _text(first(item, "metadata.name"))
    if kind != "Event":
        return _text(first(item, "spec.nodeName"))
    about = first(item, "involvedObject", "regarding") or {}
    own = first(about, "name") if first(about, "kind") == "Node" else None
    return _text(own or first(item, "source.host", "deprecatedSource.host"))


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def leaves(value: object, path: str = "") -> Iterator[tuple[str, str]]:
    """Dotted key and text of every filled leaf; places of a list are numbers."""
    if path in _NOISE:
        return
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from leaves(part, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list):
        for at, part in enumerate(value):
            yield from leaves(part, f"{path}.{at}")
    elif value is not None and value != "":
        yield path, str(value).lower() if isinstance(value, bool) else str(value)
