"""What the envelopes of log shippers hold: inner line, times and attributes, in one shape for all of them."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from firstfault.transforms.formats import times
from firstfault.transforms.formats.journald import journal_text
from firstfault.transforms.formats.jsonwalk import Json, nested_spans
from firstfault.transforms.formats.kube import leaves
from firstfault.transforms.formats.kube_text import parts

Spans: TypeAlias = Callable[[str], Iterator[tuple[int, int]]]

_BODIES = ("message", "log", "MESSAGE", "msg", "line", "body", "event.original")
_TIMES = ("date", "timestamp", "@timestamp", "time", "ts", "@t", "__REALTIME_TIMESTAMP")
_OTLP = (("resourceLogs",), ("scopeLogs",), ("logRecords",))
_OTLP_OLD = (("resourceLogs",), ("instrumentationLibraryLogs",), ("logRecords",))
_PUSH = (("streams",), ("values",))
_QUERY = (("data", "result"), ("values",))
_PAIR = 2
_HOLDER = '{"":'


@dataclass(frozen=True)
class Record:
    """One inner line.

    Attributes:
        body: The line.
        time: Microseconds the envelope gives for the event.
        observed: Microseconds at which a collector saw it, where the envelope tells both.
        attributes: Everything else, by dotted name.
        spans: Places of all records of the envelope, in order, for a view of its bytes.
    """

    body: str
    time: int | None
    observed: int | None
    attributes: dict[str, str]
    spans: Spans


def records_of(value: Json) -> Iterator[Record]:
    """Records of one document, whichever shipper wrote it."""
    if isinstance(value, list):
        yield from _listed(value)
    elif isinstance(value.get("resourceLogs"), list):
        yield from _otlp(value)
    elif isinstance(value.get("streams"), list):
        yield from _loki(value["streams"], _PUSH)
    elif isinstance(value.get("data"), Mapping) and isinstance(value["data"].get("result"), list):
        yield from _loki(value["data"]["result"], _QUERY)
    else:
        yield _plain(value)


def _otlp(document: Mapping[str, Json]) -> Iterator[Record]:
    """OpenTelemetry logs: resources hold scopes hold records."""
    for resource in parts(document, "resourceLogs"):
        about = _attributes(_object(resource, "resource"))
        old = "scopeLogs" not in resource
        for scope in parts(resource, "instrumentationLibraryLogs" if old else "scopeLogs"):
            for record in parts(scope, "logRecords"):
                yield _otlp_record(record, about, _spans(_OTLP_OLD if old else _OTLP))


def _otlp_record(record: Mapping[str, Json], about: dict[str, str], spans: Spans) -> Record:
    body = _any_value(record.get("body"))
    attributes = about | _attributes(record)
    if record.get("severityText"):
        attributes["severity"] = str(record["severityText"])
    if isinstance(body, Mapping):
        attributes |= dict(leaves({name: part for name, part in body.items() if name not in _BODIES}))
        body = _body(body)
    time, observed = (times.scaled_epoch(record.get(f"{name}UnixNano")) for name in ("time", "observedTime"))
    return Record(_text(body), time if time is not None else observed, observed, attributes, spans)


def _attributes(holder: Mapping[str, Json]) -> dict[str, str]:
    """`attributes` of a resource or record: a list of keys with typed values."""
    pairs = ((str(part.get("key")), _any_value(part.get("value"))) for part in parts(holder, "attributes"))
    return {name: _text(value) for name, value in pairs if value not in (None, "")}


def _any_value(value: Json) -> Json:
    """The value in its typed box; lists and maps are opened one level a time."""
    if not isinstance(value, Mapping):
        return value
    for kind, inner in value.items():
        if kind == "kvlistValue" and isinstance(inner, Mapping):
            return {str(part.get("key")): _any_value(part.get("value")) for part in parts(inner, "values")}
        if kind == "arrayValue" and isinstance(inner, Mapping):
            return inner.get("values")
        if kind.endswith("Value"):
            return inner
    return value


def _loki(streams: list[Json], paths: tuple[tuple[str, ...], ...]) -> Iterator[Record]:
    """Loki: streams of `[nanoseconds, line]`, perhaps with more labels as a third member."""
    for stream in streams:
        if not isinstance(stream, Mapping):
            continue
        labels = {str(name): _text(text) for name, text in _object(stream, "stream").items()}
        values = stream.get("values")
        for entry in values if isinstance(values, list) else ():
            told = entry if isinstance(entry, list) and len(entry) >= _PAIR else [None, entry]
            extra = dict(leaves(told[2])) if len(told) > _PAIR else {}
            yield Record(_text(told[1]), times.scaled_epoch(told[0]), None, labels | extra, _spans(paths))


def _listed(entries: list[Json]) -> Iterator[Record]:
    """Fluent Bit: `[time, {record}]`, `[[time, {metadata}], {record}]`, or an array of records."""
    if len(entries) == _PAIR and isinstance(entries[1], Mapping) and not isinstance(entries[0], Mapping):
        stamp = entries[0][0] if isinstance(entries[0], list) and entries[0] else entries[0]
        yield _plain(entries[1], stamp)
        return
    for entry in entries:
        yield _plain(entry if isinstance(entry, Mapping) else {"message": entry})


def _plain(record: Mapping[str, Json], stamp: Json = None) -> Record:
    """Fluent Bit, Vector and the like: one object with a message and a time."""
    stamps = (_moment(record.get(name)) for name in _TIMES)
    time = _moment(stamp) or next((moment for moment in stamps if moment is not None), None)
    told = {name: part for name, part in record.items() if name not in _TIMES and name not in _BODIES}
    return Record(_text(_body(record)), time, None, dict(leaves(told)), _array)


def _body(record: Mapping[str, Json]) -> Json:
    """The inner line; an object without one is its own text."""
    body = next((record[name] for name in _BODIES if record.get(name) not in (None, "")), dict(record))
    return journal_text(body) or body if isinstance(body, list) else body


def _moment(stamp: Json) -> int | None:
    """Microseconds of an epoch number or an ISO text."""
    if isinstance(stamp, str) and not stamp.replace(".", "", 1).isdecimal():
        found = times.parse_time(stamp, "UTC")
        return found[0] if found else None
    return times.scaled_epoch(stamp) if stamp is not None else None


def _spans(paths: tuple[tuple[str, ...], ...]) -> Spans:
    return lambda view: nested_spans(view, len(view) - len(view.lstrip()), *paths)


def _array(view: str) -> Iterator[tuple[int, int]]:
    """Records of a bare array."""
    return ((start - len(_HOLDER), end - len(_HOLDER)) for start, end in nested_spans(_HOLDER + view, 0, ("",)))


def _object(holder: Mapping[str, Json], name: str) -> Mapping[str, Any]:
    value = holder.get(name)
    return value if isinstance(value, Mapping) else {}


def _text(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
