"""Files of sysfs with their path, as lines `path:value` or as one JSON map: counters and states of HCAs and interfaces.

`ib.<counter>` of a port, `ib.state_id` (1 down, 4 active), `ib.physical_state_id` (2 polling, 5 link up) and
`ib.rate_gbps`; `net.operstate_up`, `net.carrier` and `net.speed_mbps` of an interface, with its carrier counts.
"""

import json
import re
from typing import Any

import pyarrow as pa

from firstfault.transforms.formats.context import StreamContext
from firstfault.transforms.formats.jsonwalk import is_json_file, pair_spans
from firstfault.transforms.formats.rows import (
    BAD_JSON,
    BAD_VALUE,
    BLANK,
    COMMENT,
    NO_VALUE,
    Line,
    Rows,
    each_line,
    file_moment,
)
from firstfault.transforms.formats.saturation import land_counters

CONTEXT = "structure.context"
PATH = re.compile(r"(?P<path>/sys/[^\s:]*(?::[0-9a-f]{2}:[0-9a-f]{2}\.[0-7][^\s:]*)*)[:=\s]\s*(?P<value>.*)$")

_PORT = re.compile(r"/infiniband/(?P<hca>[^/]+)/ports/(?P<port>\d+)/(?P<rest>.+)$")
_COUNTER = re.compile(r"(?:hw_)?counters/(?P<name>\w+)$")
_INTERFACE = re.compile(r"/net/(?P<interface>[^/]+)/(?P<rest>\w+|statistics/\w+)$")
_LEADING = re.compile(r"\d+(?:\.\d+)?")
_STATES = {"state": "state_id", "phys_state": "physical_state_id", "rate": "rate_gbps"}
_LINKS = {
    "carrier": "carrier",
    "speed": "speed_mbps",
    "carrier_down_count": "carrier_down_count",
    "carrier_up_count": "carrier_up_count",
    "carrier_changes": "carrier_changes",
}


def read(data: bytes, ctx: StreamContext) -> pa.Table:
    """Samples, a file of sysfs each; what is no state or counter is context."""
    rows = Rows()
    if is_json_file(ctx.file):
        _map(rows, data, ctx)
        return rows.table()
    for line in each_line(data, ctx):
        found = PATH.search(line.text)
        if not line.text.strip():
            rows.drop(line, BLANK)
        elif line.text.startswith("#"):
            rows.drop(line, COMMENT)
        elif found is None:
            rows.quarantine(line, BAD_VALUE)
        else:
            land(rows, line, found["path"], found["value"], ctx)
    return rows.table()


def _map(rows: Rows, data: bytes, ctx: StreamContext) -> None:
    """One object of paths and texts; a member is a unit."""
    for start, end, pair in pair_spans(data):
        line = Line(start + ctx.byte_from, end - start, None, data[start:end].decode(errors="replace"))
        if pair is None:
            rows.quarantine(line, BAD_JSON)
        elif isinstance(pair[1], str):
            land(rows, line, pair[0], pair[1], ctx)
        else:
            rows.log(line, text=f"{pair[0]} {json.dumps(pair[1])}", node=ctx.node, **file_moment(ctx))


def land(rows: Rows, line: Line, path: str, text: str, ctx: StreamContext) -> None:
    """Lands what one file says: a state, a counter, or nothing that counts."""
    port, interface = _PORT.search(path), _INTERFACE.search(path)
    metric = None
    about: dict[str, Any] = {"node": ctx.node} | file_moment(ctx)
    if port is not None:
        counter = _COUNTER.match(port["rest"])
        metric = f"ib.{counter['name']}" if counter else _named("ib", _STATES, port["rest"])
        about["labels"] = {"hca": port["hca"]}
        about["port"] = f"{ctx.node}/{port['hca']}/{port['port']}" if ctx.node else None
    elif interface is not None:
        metric = _named("net", _LINKS, interface["rest"])
        if interface["rest"] == "operstate":
            metric, text = "net.operstate_up", {"up": "1", "down": "0"}.get(text.strip(), "n/a")
        about["labels"] = {"interface": interface["interface"]}
        about["port"] = f"{ctx.node}/{interface['interface']}/1" if ctx.node else None
    number = _LEADING.match(text.strip())
    if metric is None:
        rows.drop(line, CONTEXT)
    elif number is None:
        rows.drop(line, NO_VALUE)
    else:
        land_counters(rows, line, {metric: float(number[0])}, **about)


def _named(prefix: str, names: dict[str, str], rest: str) -> str | None:
    return f"{prefix}.{names[rest]}" if rest in names else None
