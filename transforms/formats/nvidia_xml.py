"""`nvidia-smi -q -x`: documents one after another (`-l`), a GPU an element.

No document type is fetched, and one that defines entities of its own is refused before any of them is used.
"""

import re
from collections.abc import Iterator
from typing import Any
from xml.parsers import expat

import pyarrow as pa

from firstfault.transforms.formats.context import StreamContext
from firstfault.transforms.formats.linebook import LineBook
from firstfault.transforms.formats.nvidia_dump import Gpu, dump_moment, land_gpu
from firstfault.transforms.formats.rows import Rows

BAD_XML, HOSTILE = "bad_xml", "hostile_xml"

_END = re.compile(rb"</nvidia_smi_log\s*>")
_START = re.compile(rb"<(?:\?xml|!DOCTYPE|nvidia_smi_log)")
_ROOT = "nvidia_smi_log"
_MAX_DEPTH = 32
_MAX_TEXT = 4096
_SKIPPED = {"processes", "accounted_processes", "supported_clocks", "mig_devices", "vgpus"}


class HostileXmlError(ValueError):
    """The document defines entities, or nests without end."""


class _Document:
    """Handlers of one document; `gpus` and the header fill as its elements close."""

    def __init__(self, start: int) -> None:
        self.gpus: list[tuple[int, int, Gpu]] = []
        self.header: dict[str, str] = {}
        self._start, self._path, self._text = start, [""], ""
        self._leaf = self._gpu_at = 0
        self._gpu: Gpu | None = None
        self._parser = expat.ParserCreate()
        self._parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
        self._parser.StartElementHandler = self._open
        self._parser.EndElementHandler = self._close
        self._parser.CharacterDataHandler = self._say
        self._parser.EntityDeclHandler = self._refuse

    def read(self, data: bytes) -> None:
        """Parses the bytes.

        Raises:
            HostileXmlError: See there.
            expat.ExpatError: It is no XML, or cut.
        """
        self._parser.Parse(data, True)

    def _refuse(self, *_: object) -> None:
        raise HostileXmlError("entity")

    def _open(self, name: str, attributes: dict[str, str]) -> None:
        if len(self._path) > _MAX_DEPTH:
            raise HostileXmlError("depth")
        if len(self._path) == 2 and name == "gpu":
            self._gpu, self._gpu_at = Gpu(attributes.get("id", "")), self._parser.CurrentByteIndex
        self._path.append(name)
        self._text, self._leaf = "", self._parser.CurrentByteIndex

    def _say(self, text: str) -> None:
        if len(self._text) < _MAX_TEXT:
            self._text += text

    def _close(self, name: str) -> None:
        self._path.pop()
        inner, end = [*self._path[3:], name], self._parser.CurrentByteIndex
        if self._gpu is not None and len(self._path) == 2:
            end += len(f"</{name}>")
            self.gpus.append((self._start + self._gpu_at, self._start + end, self._gpu))
            self._gpu = None
        elif self._gpu is not None and self._text.strip() and not _SKIPPED.intersection(inner):
            self._gpu.say(".".join(inner), self._text.strip(), (self._start + self._leaf, end - self._leaf))
        elif self._gpu is None and len(self._path) == 2:
            self.header[name] = self._text.strip()
        self._text = ""


def read(data: bytes, ctx: StreamContext) -> pa.Table:
    """Samples named `nvidia_smi.<column>`, as the reader of the query's table names them."""
    rows = Rows()
    book = LineBook(rows, data, ctx)
    for start, end in _documents(data):
        document, refused = _Document(start), None
        try:
            document.read(data[start:end])
        except HostileXmlError:
            document.gpus, refused = [], HOSTILE
        except (expat.ExpatError, ValueError, RecursionError):
            refused = BAD_XML
        _land(rows, book, document, ctx)
        if refused:
            book.skip_to(end, refused, refuse=True)
    if _START.search(data) is None:
        book.finish(BAD_XML, refuse=True)
    book.finish()
    return rows.table()


def _documents(data: bytes) -> Iterator[tuple[int, int]]:
    """Places of the documents; text before one belongs to none."""
    at = 0
    while start := _START.search(data, at):
        end = _END.search(data, start.start())
        at = end.end() if end else len(data)
        yield start.start(), at


def _land(rows: Rows, book: LineBook, document: _Document, ctx: StreamContext) -> None:
    """Lands the GPUs that are whole."""
    labels = {name: document.header[name] for name in ("driver_version",) if document.header.get(name)}
    about: dict[str, Any] = {"node": ctx.node, "labels": labels} | dump_moment(document.header.get("timestamp"), ctx)
    for start, end, gpu in document.gpus:
        gpu.places = {path: (at + ctx.byte_from, size) for path, (at, size) in gpu.places.items()}
        land_gpu(rows, book.record(start, end), gpu, about)
