"""Logs in a shipper's envelope, a JSON document a line: OpenTelemetry, Fluent Bit, Vector and Loki.

The line kept is the envelope, or the item of an envelope that holds several. The text matched is the inner line with
its own header cut off; the inner line's own time comes before the envelope's, which is then a collector's stamp.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from firstfault.transforms.formats import times
from firstfault.transforms.formats.context import StreamContext
from firstfault.transforms.formats.envelopes import Record, records_of
from firstfault.transforms.formats.headers import strip_headers
from firstfault.transforms.formats.hosts import short_host
from firstfault.transforms.formats.rows import BAD_JSON, BLANK, Line, Rows, each_line

_INNER = ("app", "kernel", "slurmctld", "slurmd", "fabricmanager", "kubelet")
_OWN_TIMES = frozenset({times.ZONED, times.ASSUMED_ZONE, times.EPOCH, times.NO_YEAR})
_RANKS = re.compile(r"(?:^|[._/-])(?:global_)?rank$", re.IGNORECASE)
_HOSTS = (
    "k8s.node.name",
    "kubernetes.host",
    "kubernetes.pod_node_name",
    "kubernetes.node_name",
    "node_name",
    "node",
    "nodename",
    "host.name",
    "hostname",
    "host.hostname",
    "host",
    "_HOSTNAME",
)
"""Names under which an envelope says where a line comes from; in containers the host may be the pod, so nodes first."""
_EMPTY = "no_records"


def read(data: bytes, ctx: StreamContext) -> pa.Table:
    """One row an inner line; an envelope of several is one unit of the books."""
    rows, found = Rows(), []
    for line in each_line(data, ctx):
        if not line.text.strip():
            rows.drop(line, BLANK)
            continue
        try:
            records = _records(line.text)
        except (ValueError, RecursionError):
            rows.quarantine(line, BAD_JSON)
            continue
        if not records:
            rows.quarantine(line, _EMPTY)
        placed = enumerate(_placed(line, records, data, ctx))
        found += [(place, record, int(at == 0)) for at, (place, record) in placed]
    if found:
        _land(rows, found, ctx)
    return rows.table()


def _records(text: str) -> list[Record]:
    """Records of one line.

    Raises:
        ValueError: It is no JSON.
    """
    value = json.loads(text)
    return list(records_of(value)) if isinstance(value, dict | list) else []


def _placed(line: Line, records: list[Record], data: bytes, ctx: StreamContext) -> Iterator[tuple[Line, Record]]:
    """Each record with its place: the line's, or its own inside an envelope of several."""
    if len(records) <= 1:
        yield from ((line, record) for record in records)
        return
    raw = data[line.offset - ctx.byte_from :][: line.length]
    spans = list(records[0].spans(raw.decode("latin-1")))
    if len(spans) != len(records):  # a key that stands twice, or items that are no records
        spans = [(min(at, len(raw) - 1), len(raw)) for at in range(len(records))]
    for record, (start, end) in zip(records, spans, strict=True):
        text = raw[start:end].decode(errors="replace")
        yield Line(line.offset + start, end - start, line.number, text), record


def _land(rows: Rows, found: list[tuple[Line, Record, int]], ctx: StreamContext) -> None:
    """Cuts the headers of all inner lines at once and lands them."""
    bodies = [record.body.rstrip("\r\n").encode(errors="replace").decode() for _, record, _ in found]
    headers = strip_headers(pa.array(bodies, pa.string()), _INNER, ctx)
    columns = (headers.event_time.cast(pa.int64()), headers.time_basis, headers.collected_at.cast(pa.int64()))
    names = (headers.node, headers.rank, headers.body)
    told = zip(found, *(column.to_pylist() for column in (*columns, *names)), strict=True)
    for (line, record, units), own, basis, seen, node, rank, text in told:
        moment = _times(record, own if basis in _OWN_TIMES else None, basis, seen)
        where = next((host for name in _HOSTS if (host := record.attributes.get(name))), None)
        rows.log(
            line,
            units,
            text=text,
            node=ctx.node or short_host(where) or node,
            rank=_rank(record.attributes, rank, ctx),
            fields=record.attributes or None,
            **moment,
        )


def _times(record: Record, own: int | None, basis: str, seen: int | None) -> dict[str, Any]:
    """The inner line's own time, else the envelope's; a stamp that tells nothing new is left out."""
    event = own if own is not None else record.time
    observed = record.observed if record.observed is not None else seen
    if observed is None and own is not None:
        observed = record.time
    known = basis if own is not None else times.EPOCH if event is not None else times.NONE
    return {"event_time": event, "time_basis": known, "collected_at": observed if observed != event else None}


def _rank(attributes: dict[str, str], own: int | None, ctx: StreamContext) -> int | None:
    """Global rank by the line's prefix, the envelope or the path."""
    if own is not None:
        return own
    named = (text for name, text in attributes.items() if _RANKS.search(name) and "local" not in name.lower())
    return next((int(text) for text in named if text.isdecimal() and len(text) < 8), ctx.rank)
