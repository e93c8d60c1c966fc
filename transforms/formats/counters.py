"""Counter dumps of links: perfquery, `rdma statistic show`, sysfs files with their path, `ethtool -S`.

A dump is read at the file's time, or at a stamp that stands on a line of its own before a block. The device
comes from the dump, else from the file's name.
"""

import re
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

import pyarrow as pa

from firstfault.transforms.formats import sysfs, times
from firstfault.transforms.formats.context import StreamContext
from firstfault.transforms.formats.jsonwalk import is_json_file, walk_items
from firstfault.transforms.formats.rows import (
    BAD_JSON,
    BAD_VALUE,
    BLANK,
    HEADER,
    NO_VALUE,
    Line,
    Rows,
    each_line,
    file_moment,
)
from firstfault.transforms.formats.saturation import land_counters

_STAMP = re.compile(r"#?\s*(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?)\s*$")
_BLOCK = re.compile(r"#.*\b[Ll]id (?P<lid>\d+) port (?P<port>\d+|ALL)")
_HCA = re.compile(r"\b(?P<hca>(?:mlx|bnxt_re|hfi|irdma|ib|roce)\w*\d)['\"]?(?:/| port |/ports/)(?P<port>\d+)")
_LINK = re.compile(r"link (?P<hca>[\w.-]+)/(?P<port>\d+)(?P<rest>.*)$")
_PAIR = re.compile(r"\s*(?P<name>[A-Za-z][\w.\[\]() -]*?)\s*(?::\.*|=|\s)\s*(?P<value>\S+)\s*$")
_FILE_HCA = re.compile(r"(?:^|[-_.])((?:mlx|bnxt_re|irdma|hfi|roce|ib)\w*?\d)(?=[-.]|$)")
_FILE_INTERFACE = re.compile(r"ethtool[-_]([a-z][a-z0-9]*)(?=[-._])")
_INTERFACE = re.compile(r"(?:#|NIC statistics for|.*ethtool -S)\s+(?P<interface>[a-z][\w.-]*):?\s*$")
_SELECTORS = ("PortSelect", "CounterSelect")
_SELECTOR, _SUM = "structure.selector", "structure.port_sum"
_IDENTITY = {"ifname", "ifindex", "port"}
_NOT_AVAILABLE = {"n/a", "-", "none"}


@dataclass
class _Block:
    """What the lines before say of the counters that follow."""

    about: dict[str, Any]
    port: str | None = None
    summed: bool = False
    labels: dict[str, str] = field(default_factory=dict)


def read_ports(data: bytes, ctx: StreamContext) -> pa.Table:
    """RDMA port counters as `ib.<name>`."""
    rows, block = Rows(), _Block({"node": ctx.node} | file_moment(ctx))
    if is_json_file(ctx.file):
        _statistics(rows, data, ctx)
        return rows.table()
    named = _FILE_HCA.search(PurePath(ctx.file).name)
    if named is not None:
        block.labels = {"hca": named[1]}
    for line in each_line(data, ctx):
        text = line.text.strip()
        link, path = _LINK.match(text), sysfs.PATH.match(text)
        if path is not None:
            sysfs.land(rows, line, path["path"], path["value"], ctx)
        elif link is not None:
            _name_port(block, link["hca"], link["port"], ctx)
            _link_line(rows, line, block, link["rest"].split())
        elif not _structure(rows, line, text, block, ctx):
            _pair(rows, line, block, "ib")
    return rows.table()


def _statistics(rows: Rows, data: bytes, ctx: StreamContext) -> None:
    """`rdma statistic show -j`: an object a link, its counters beside its name and port."""
    for item in walk_items(data, ()):
        line = Line(item.offset + ctx.byte_from, item.length, None, item.text)
        told = item.value if isinstance(item.value, dict) else {}
        hca, port = told.get("ifname"), told.get("port")
        if not hca or port is None:
            rows.quarantine(line, BAD_JSON if item.value is None else BAD_VALUE)
            continue
        kept = {name: value for name, value in told.items() if name not in _IDENTITY}
        values = {f"ib.{name}": float(v) for name, v in kept.items() if isinstance(v, int) and not isinstance(v, bool)}
        about = {"node": ctx.node, "port": f"{ctx.node}/{hca}/{port}" if ctx.node else None, "labels": {"hca": hca}}
        rows.samples(line, values, **about | file_moment(ctx))


def read_interface(data: bytes, ctx: StreamContext) -> pa.Table:
    """Interface counters as `ethtool.<name>`."""
    rows, block = Rows(), _Block({"node": ctx.node} | file_moment(ctx))
    named = _FILE_INTERFACE.match(PurePath(ctx.file).name)
    if named is not None:
        _name_interface(block, named[1], ctx)
    for line in each_line(data, ctx):
        text = line.text.strip()
        interface = _INTERFACE.match(text)
        if interface is not None:
            _name_interface(block, interface["interface"], ctx)
            rows.drop(line, HEADER)
        elif text == "NIC statistics:":
            rows.drop(line, HEADER)
        elif not _structure(rows, line, text, block, ctx):
            _pair(rows, line, block, "ethtool")
    return rows.table()


def _structure(rows: Rows, line: Line, text: str, block: _Block, ctx: StreamContext) -> bool:
    """Takes a line that says where or when the next counters were read."""
    stamp, header, hca = _STAMP.match(text), _BLOCK.match(text), _HCA.search(text)
    found = times.parse_time(stamp[1], ctx.zone) if stamp else None
    if not text:
        rows.drop(line, BLANK)
    elif found is not None:
        block.about |= {"event_time": found[0], "time_basis": found[1]}
        rows.drop(line, HEADER)
    elif header is not None:
        block.summed = header["port"] in ("ALL", "255")
        block.labels = block.labels | {"lid": header["lid"]}
        if block.labels.get("hca") and ctx.node:
            block.port = f"{ctx.node}/{block.labels['hca']}/{header['port']}"
        else:
            block.port = f"lid{header['lid']}:{header['port']}"
        rows.drop(line, HEADER)
    elif hca is not None:
        _name_port(block, hca["hca"], hca["port"], ctx)
        rows.drop(line, HEADER)
    elif text.startswith("#"):
        rows.drop(line, HEADER)
    else:
        return False
    return True


def _name_port(block: _Block, hca: str, port: str, ctx: StreamContext) -> None:
    """The counters that follow are of this HCA's port."""
    block.labels = block.labels | {"hca": hca}
    block.port = f"{ctx.node}/{hca}/{port}" if ctx.node else None


def _name_interface(block: _Block, interface: str, ctx: StreamContext) -> None:
    """The counters that follow are of this interface; it stands for an HCA with one port."""
    block.labels = {"interface": interface}
    block.port = f"{ctx.node}/{interface}/1" if ctx.node else None


def _link_line(rows: Rows, line: Line, block: _Block, words: list[str]) -> None:
    """All counters of one link on a line."""
    values = {
        f"ib.{name}": float(value) for name, value in zip(words[::2], words[1::2], strict=False) if value.isdecimal()
    }
    if words and not values:
        rows.quarantine(line, BAD_VALUE)
    elif not words:
        rows.drop(line, HEADER)
    else:
        land_counters(rows, line, values, port=block.port, labels=block.labels, **block.about)


def _pair(rows: Rows, line: Line, block: _Block, prefix: str) -> None:
    """A name and a value."""
    pair = _PAIR.match(line.text)
    if pair is None:
        rows.quarantine(line, BAD_VALUE)
    elif pair["name"].startswith(_SELECTORS):
        block.summed = block.summed or (pair["name"] == "PortSelect" and pair["value"] == "255")
        rows.drop(line, _SELECTOR)
    elif block.summed:
        rows.drop(line, _SUM)
    else:
        _counter(rows, line, block, (prefix, pair["name"], pair["value"]))


def _counter(rows: Rows, line: Line, block: _Block, told: tuple[str, str, str]) -> None:
    """Lands one counter: prefix, name and text of the value."""
    prefix, name, text = told
    value = counter_value(text)
    if text.lower().startswith(tuple(_NOT_AVAILABLE)):
        rows.drop(line, NO_VALUE)
    elif value is None:
        rows.quarantine(line, BAD_VALUE)
    else:
        labels = block.labels or None
        land_counters(rows, line, {f"{prefix}.{name}": value}, port=block.port, labels=labels, **block.about)


def counter_value(text: str) -> float | None:
    """A decimal, hexadecimal or comma-grouped count."""
    text = text.replace(",", "")
    try:
        return float(int(text, 16)) if text.lower().startswith("0x") else float(text)
    except (ValueError, OverflowError):
        return None
