"""Dumps of an InfiniBand fabric: `ibqueryerrors`, and `ibnetdiscover` as a port list (`-p`) or as topology.

A switch's port is `switch:port`, a host's `node/hca/port` with the name that its description gives the HCA.
Canonical text of a link: `ib link leaf-r07:10 to n03/HCA-1/1 4x EDR`, or `ib link leaf-r07:37 down`.
"""

import re
from typing import Any

import pyarrow as pa

from firstfault.transforms.formats.context import StreamContext
from firstfault.transforms.formats.counters import counter_value
from firstfault.transforms.formats.hosts import short_host
from firstfault.transforms.formats.rows import (
    BAD_VALUE,
    BLANK,
    COMMENT,
    HEADER,
    Line,
    Rows,
    each_line,
    file_moment,
)
from firstfault.transforms.formats.saturation import land_counters

_OWNER = re.compile(r"Errors for (?:(?P<guid>0x[0-9a-fA-F]+) )?\"(?P<name>[^\"]*)\"")
_PORT = re.compile(r"\s+(?:GUID (?P<guid>0x[0-9a-fA-F]+) )?port (?P<port>\d+|ALL):(?P<rest>(?:\s*\[[^\]]*\])+)\s*$")
_COUNTER = re.compile(r"\[(?P<name>\w+) == (?P<value>\w+)(?: \([^)]*\))?\]")
_LINK_INFO = re.compile(r"\s*Link info:")
_SUM, _CONTEXT = "structure.port_sum", "structure.context"

_LISTED = re.compile(
    r"(?P<kind>CA|SW|RT)\s+(?P<lid>\d+)\s+(?P<port>\d+)\s+(?P<guid>0x[0-9a-fA-F]+)\s+(?P<rate>\d+x \S+)\s*"
    r"(?:- (?P<peer_kind>CA|SW|RT)\s+\d+\s+(?P<peer_port>\d+)\s+0x[0-9a-fA-F]+\s+"
    r"\(\s*'(?P<name>.*?)' - '(?P<peer>.*?)'\s*\)|'?(?P<alone>[^'].*?)'?)\s*$"
)
_OWNER_OF_LINKS = re.compile(r"(?P<kind>Switch|Ca|Rt)\s+\d+\s+\"[^\"]*\"\s*#\s*\"(?P<name>[^\"]*)\"")
_WIRED = re.compile(
    r"\[(?P<port>\d+)\](?:\([0-9a-f]+\))?\s+\"(?P<peer_kind>[SHR])-[0-9a-f]+\"\[(?P<peer_port>\d+)\](?:\([0-9a-f]+\))?"
    r"\s*#\s*(?:lid \d+ lmc \d+ )?\"(?P<peer>[^\"]*)\"(?: lid \d+)?(?: (?P<rate>\d+x\S+))?"
)
_FRAME = re.compile(r"\w+=\S")
_MANAGED = re.compile(r"MF0;(?P<name>[^:]+):")  # a managed switch's description: name, model and unit
_HOST_WORDS = 2
_HOST_KINDS = {"CA", "Ca", "H"}


def read_errors(data: bytes, ctx: StreamContext) -> pa.Table:
    """Counters over their threshold as `ib.<counter>`; the sum over all ports of a switch is dropped."""
    rows, owner, host = Rows(), "", False
    for line in each_line(data, ctx):
        found, port = _OWNER.search(line.text), _PORT.match(line.text)
        if not line.text.strip():
            rows.drop(line, BLANK)
        elif found is not None:
            owner, host = found["name"], found["guid"] is None
            rows.drop(line, HEADER)
        elif line.text.startswith("#"):
            rows.drop(line, COMMENT)
        elif _LINK_INFO.match(line.text):
            rows.drop(line, _CONTEXT)
        elif port is None or not owner:
            rows.quarantine(line, BAD_VALUE)
        elif port["port"] == "ALL":
            rows.drop(line, _SUM)
        else:
            _counters(rows, line, port, place(owner, port["port"], host=host), ctx)
    return rows.table()


def _counters(rows: Rows, line: Line, port: re.Match[str], at: tuple[str | None, str], ctx: StreamContext) -> None:
    """The counters of one port; together they are one line of the books."""
    told = ((found["name"], counter_value(found["value"])) for found in _COUNTER.finditer(port["rest"]))
    values = {f"ib.{name}": value for name, value in told if value is not None}
    labels = {"guid": port["guid"]} if port["guid"] else None
    land_counters(rows, line, values, node=at[0], port=at[1], labels=labels, **file_moment(ctx))


def read_links(data: bytes, ctx: StreamContext) -> pa.Table:
    """A row a link end."""
    rows, owner, host = Rows(), "", False
    for line in each_line(data, ctx):
        listed, heads, wired = _LISTED.match(line.text), _OWNER_OF_LINKS.match(line.text), _WIRED.match(line.text)
        if not line.text.strip():
            rows.drop(line, BLANK)
        elif line.text.startswith("#"):
            rows.drop(line, COMMENT)
        elif listed is not None:
            _land(rows, line, listed, (listed["name"] or listed["alone"], listed["kind"] in _HOST_KINDS), ctx)
        elif heads is not None:
            owner, host = heads["name"], heads["kind"] in _HOST_KINDS
            rows.drop(line, HEADER)
        elif wired is not None and owner:
            _land(rows, line, wired, (owner, host), ctx)
        elif _FRAME.match(line.text):
            rows.drop(line, _CONTEXT)
        else:
            rows.quarantine(line, BAD_VALUE)
    return rows.table()


def _land(rows: Rows, line: Line, link: re.Match[str], owner: tuple[str, bool], ctx: StreamContext) -> None:
    """One end of a link and what it is wired to."""
    node, port = place(owner[0], link["port"], host=owner[1])
    fields: dict[str, Any] = {"port": port, "rate": link["rate"]}
    if link["peer"] is not None:
        fields["peer"] = place(link["peer"], link["peer_port"], host=link["peer_kind"] in _HOST_KINDS)[1]
        text = f"ib link {port} to {fields['peer']} {link['rate'] or ''}".rstrip()
    else:
        text = f"ib link {port} down"
    told = {name: value for name, value in fields.items() if value}
    rows.log(line, text=text, node=node, port=port, fields=told, **file_moment(ctx))


def place(name: str, port: str, *, host: bool) -> tuple[str | None, str]:
    """Node and port of a description such as `gpu-r07-n03 HCA-1` or `leaf-r07`; a switch is no node."""
    managed = _MANAGED.match(name)
    words = (managed["name"] if managed else name).split()
    if not host or len(words) != _HOST_WORDS:  # a switch's aggregation node is a channel adapter of no host
        return None, f"{short_host('_'.join(words)) or 'unknown'}:{port}"
    return short_host(words[0]), f"{short_host(words[0])}/{words[1]}/{port}"
