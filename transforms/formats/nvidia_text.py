"""`nvidia-smi -q` as text: indented `Key : Value` blocks, a GPU a block; also the default table's error cells.

What the program's other tables say: `nvidia_monitor`. A healthy default table, and a topology, say nothing of a fault.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from firstfault.transforms.formats import nvidia_monitor, nvidia_smi, nvidia_xml
from firstfault.transforms.formats.context import StreamContext
from firstfault.transforms.formats.linebook import LineBook
from firstfault.transforms.formats.nvidia_dump import Gpu, dump_moment, land_gpu
from firstfault.transforms.formats.rows import Line, Rows, each_line

_GPU = re.compile(r"GPU (?P<address>[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d)\s*$")
_PAIR = re.compile(r"(?P<indent> *)(?P<key>[A-Za-z][^:]*?)(?:\s+: ?(?P<value>.*))?$")
_TABLE_BUS = re.compile(r"\|\s+(?P<address>[0-9A-Fa-f]{8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d)\s")
_TABLE_ERROR = "ERR!"
_BANNER = "NVSMI LOG"
_SLUG = re.compile(r"[^a-z0-9]+")
_SKIPPED = ("processes", "supported_clocks", "mig_devices")
_KNOWN_HEADS = ("#", "+", "|", "=")
_NOT_READ, _TABLE_REASON = "not_read", "structure.table"
_TABLE = re.compile(
    rb"(?m)^\| NVIDIA-SMI |^\s*(?:\x1b\[4m)?GPU0\s.*(?:CPU Affinity|NUMA)"
)  # the default table, topo -m
_HEAD_BYTES = 4096


@dataclass
class _Block:
    """One GPU and the lines it spans."""

    gpu: Gpu
    start: int
    end: int
    header: dict[str, str]
    steps: list[tuple[int, str]] = field(default_factory=list)

    def say(self, line: Line, indent: int, key: str, value: str | None) -> None:
        """Takes a line of the block: a key belongs to the keys above it that are indented less."""
        while self.steps and self.steps[-1][0] >= indent:
            self.steps.pop()
        self.steps.append((indent, _SLUG.sub("_", key.lower()).strip("_")))
        path = ".".join(step for _, step in self.steps)
        if value and not path.startswith(_SKIPPED):
            self.gpu.say(path, value.strip(), (line.offset, line.length))
        self.end = line.offset + line.length


def read(data: bytes, ctx: StreamContext) -> pa.Table:
    """Samples named `nvidia_smi.<column>`; XML or a query's table under a text file's name is read as such."""
    head = data.lstrip()[:256]
    if head.startswith((b"<?xml", b"<!DOCTYPE", b"<nvidia_smi_log")):
        return nvidia_xml.read(data, ctx)
    if nvidia_smi.parse_header(head.split(b"\n", 1)[0].decode(errors="replace").strip()) is not None:
        return nvidia_smi.read(data, ctx)
    if nvidia_monitor.is_monitor(data[:_HEAD_BYTES].decode(errors="replace")):
        return nvidia_monitor.read(data, ctx)
    rows = Rows()
    book = LineBook(rows, data, ctx)
    for found in _blocks(data, ctx):
        about: dict[str, Any] = {"node": ctx.node, "labels": {}} | dump_moment(found.header.get("timestamp"), ctx)
        if found.header.get("driver_version"):
            about["labels"] = {"driver_version": found.header["driver_version"]}
        start, end = found.start - ctx.byte_from, found.end - ctx.byte_from
        land_gpu(rows, book.record(start, end), found.gpu, about)
    if _TABLE.search(data):
        book.finish(_TABLE_REASON)
    book.finish(_NOT_READ, refuse=not rows.landed)
    return rows.table()


def _blocks(data: bytes, ctx: StreamContext) -> Iterator[_Block]:
    """GPU blocks in order; a GPU of the default table is one where it shows an error."""
    block: _Block | None = None
    header: dict[str, str] = {}
    address = ""
    for line in each_line(data, ctx):
        gpu, bus, pair = _GPU.match(line.text), _TABLE_BUS.search(line.text), _PAIR.match(line.text)
        address = bus["address"] if bus else address
        if gpu or _BANNER in line.text or line.text.startswith(_KNOWN_HEADS):
            if block is not None:
                yield block
            block = _Block(Gpu(gpu["address"]), line.offset, line.offset + line.length, header) if gpu else None
            header = {} if _BANNER in line.text else header
            if _TABLE_ERROR in line.text and line.text.startswith("|"):
                yield _table_row(line, address)
        elif pair and block is not None and pair["indent"]:
            block.say(line, len(pair["indent"]), pair["key"], pair["value"])
        elif pair and block is None and pair["value"]:
            header[_SLUG.sub("_", pair["key"].lower()).strip("_")] = pair["value"].strip()
    if block is not None:
        yield block


def _table_row(line: Line, address: str) -> _Block:
    """A row of the default table in which a cell says that the GPU is lost."""
    gpu = Gpu(address)
    gpu.say("table", _TABLE_ERROR, (line.offset, line.length))
    return _Block(gpu, line.offset, line.offset + line.length, {})
