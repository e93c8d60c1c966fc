"""`dcgmi diag -j` of DCGM 3 and 4, and `dcgmi dmon` tables; any other output of the tool lands line by line.

Canonical text of a result: `dcgmi diag pcie status=FAIL gpu=3 severity=2: what it said`. Test names change their case
between versions; a skipped test did not pass; text may stand before the document.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

import pyarrow as pa

from firstfault.transforms.formats.context import StreamContext
from firstfault.transforms.formats.jsonwalk import Json, load_json, nested_spans
from firstfault.transforms.formats.linebook import LineBook
from firstfault.transforms.formats.nvidia_smi import cell_value
from firstfault.transforms.formats.rows import BAD_JSON, BANNER, BLANK, HEADER, Rows, each_line, file_moment

Object: TypeAlias = Mapping[str, Any]
Span: TypeAlias = tuple[int, int]

_ROOT = re.compile(rb'\{\s*"(?P<root>DCGM (?:GPU )?Diagnostic)"\s*:')
_RUNTIME_ERROR = re.compile(r'"runtime_error"\s*:\s*"(?P<text>(?:[^"\\]|\\.)*)"')
_CATEGORIES = "test_categories"
_DMON_HEADER = re.compile(r"#\s*Entity\s+(?P<names>\S.*)$")
_DMON_ROW = re.compile(r"\s*(?P<kind>GPU|GPU-I|GPU-CI|Switch|CPU|Link)\s+(?P<id>[\d/]+)\s+(?P<cells>\S.*)$")
_UNITS_ROW = re.compile(r"\s*ID(?:\s+\S+)*\s*$")
_TABLE = ("+", "=")
_NO_VALUES = {"n/a", "-", ""}


def read(data: bytes, ctx: StreamContext) -> pa.Table:
    """Results of a diagnosis as records, a table of counters as samples `dcgmi.<column>`."""
    rows = Rows()
    root = _ROOT.search(data)
    if root is not None:
        _diagnosis(rows, data, root, ctx)
    else:
        _lines(rows, data, ctx)
    return rows.table()


def _diagnosis(rows: Rows, data: bytes, root: re.Match[bytes], ctx: StreamContext) -> None:
    """Results in the order they stand, as far as the document is whole."""
    book, view, about = LineBook(rows, data, ctx), data.decode("latin-1"), {"node": ctx.node} | file_moment(ctx)
    name, found = root["root"].decode(), 0
    for test, span in _results(view, root.start(), name):
        line, units = book.record(*span)
        result = load_json(line.text)
        if isinstance(result, dict):
            fields = _fields(test, result)
            rows.log(line, units, text=_text(fields), fields=fields, **about)
            found += 1
        else:
            rows.quarantine(line, BAD_JSON, units)
    refusal = _RUNTIME_ERROR.search(view, root.start()) if not found else None
    if refusal is not None:
        line, units = book.record(*refusal.span())
        rows.log(line, units, text=f"dcgmi diag status=NOT_RUN: {line.text.partition(':')[2].strip()}", **about)
    book.finish(BAD_JSON, refuse=not found and refusal is None)


def _results(view: str, start: int, root: str) -> Iterator[tuple[Object, Span]]:
    """Each test with the place of one of its results; iterations hold documents of their own."""
    places = [(at, (_CATEGORIES,)) for at, _ in nested_spans(view, start, (root, "iterations"))]
    paths: list[tuple[int, tuple[str, ...]]] = [*places] or [(start, (root, _CATEGORIES))]
    for at, path in paths:
        for category, _ in nested_spans(view, at, path):
            for test in nested_spans(view, category, ("tests",)):
                value = load_json(_utf8(view, test))
                if isinstance(value, dict):
                    inner = list(nested_spans(view, test[0], ("results",)))
                    yield from ((value, span) for span in inner or [test])


def _utf8(view: str, span: Span) -> str:
    return view[span[0] : span[1]].encode("latin-1").decode(errors="replace")


def _fields(test: Object, result: Object) -> dict[str, str]:
    """What one result says; a test without results speaks by its summary."""
    summary = test.get("test_summary")
    told = result if "status" in result or not isinstance(summary, dict) else summary
    warnings = told.get("warnings") or told.get("warning") or []
    listed: list[Json] = warnings if isinstance(warnings, list) else [warnings]
    texts = [str(part.get("warning", "")) if isinstance(part, dict) else str(part) for part in listed]
    fields = {
        "test": "_".join(str(test.get("name", "")).lower().split()),
        "status": str(told.get("status", "")).upper(),
        "gpu": told.get("gpu_id", told.get("gpu_ids", told.get("entity_id"))),
        "entity": told.get("entity_group"),
        "warning": "; ".join(text for text in texts if text),
    }
    for name in ("error_id", "error_category", "error_severity"):
        fields[name] = next((part[name] for part in listed if isinstance(part, dict) and name in part), None)
    return {name: str(value) for name, value in fields.items() if value not in (None, "")}


def _text(fields: dict[str, str]) -> str:
    words = ["dcgmi diag", fields.get("test"), f"status={fields.get('status')}"]
    words += [
        f"{key}={fields[name]}" for key, name in (("gpu", "gpu"), ("severity", "error_severity")) if name in fields
    ]
    text = " ".join(word for word in words if word)
    return f"{text}: {' '.join(fields['warning'].split())}" if "warning" in fields else text


def _lines(rows: Rows, data: bytes, ctx: StreamContext) -> None:
    """Rows of `dmon`, whose header names the columns; all else lands as it is."""
    names: list[str] = []
    about = {"node": ctx.node} | file_moment(ctx)
    for line in each_line(data, ctx):
        header, row = _DMON_HEADER.match(line.text), _DMON_ROW.match(line.text)
        if not line.text.strip():
            rows.drop(line, BLANK)
        elif header is not None:
            names = header["names"].split()
            rows.drop(line, HEADER)
        elif names and _UNITS_ROW.match(line.text):
            rows.drop(line, HEADER)
        elif row is not None and len(row["cells"].split()) == len(names):
            cells = zip(names, row["cells"].split(), strict=True)
            known = {f"dcgmi.{n}": value for n, cell in cells if (value := _value(cell)) is not None}
            rows.samples(line, known, labels={"entity": f"{row['kind']} {row['id']}"}, **about)
        elif line.text.startswith(_TABLE):
            rows.drop(line, BANNER)
        else:
            rows.log(line, text=line.text.strip(), **about)


def _value(cell: str) -> float | None:
    return None if cell.lower() in _NO_VALUES else cell_value(cell)
