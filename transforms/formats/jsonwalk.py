"""Items of JSON documents with the bytes they came from, as far as the documents are whole."""

import json
import re
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

Json: TypeAlias = Any
"""Any decoded value."""

_GAP = re.compile(r"[ \t\r\n,]*")
_DECODER = json.JSONDecoder()
_LOOK_CHARACTERS, _LOOK_LINES = 1 << 20, 20


@dataclass(frozen=True)
class Item:
    """One unit of a document.

    Attributes:
        offset: Of its first byte.
        length: In bytes.
        text: Verbatim.
        value: Decoded, or None when it is no JSON.
        kind: `kind` of the document around it.
    """

    offset: int
    length: int
    text: str
    value: Json
    kind: str | None = None


def is_json_file(name: str) -> bool:
    """Whether a file is one JSON document, by its name."""
    return re.search(r"\.json(\.gz|\.zst)?$", name) is not None


def walk_items(data: bytes, path: Sequence[str]) -> Iterator[Item]:
    """Items of the array at `path` of each document, of a bare array, else each document itself.

    In JSON lines each physical line is one item, blank ones too. What cannot be decoded is an item without
    value: the line in JSON lines, else the rest of the data.
    """
    view = data.decode("latin-1")  # one character a byte, so places are offsets
    if _is_json_lines(view):
        yield from _lines(data)
        return
    at = _skip(view, 0)
    while at < len(view):
        try:
            value, end = _DECODER.raw_decode(view, at)
        except (ValueError, RecursionError):
            at = yield from _salvage(data, view, at, path)
        else:
            yield from _items(data, view, (at, end), value, path)
            at = _skip(view, end)


def nested_spans(view: str, start: int, *paths: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Places of the innermost items: each path leads to an array of the object at `start`, then of its items.

    Args:
        view: The bytes, one character each.
        start: Where the outer object begins.
        paths: Keys to an array, one path a level.
    """
    place = _locate(view, start, paths[0])
    if place is None:
        return
    for span in _spans(view, place):
        if len(paths) > 1:
            yield from nested_spans(view, span[0], *paths[1:])
        else:
            yield span


def _lines(data: bytes) -> Iterator[Item]:
    """One item a physical line."""
    at = 0
    for line in _split(data):
        text = line.decode(errors="replace").rstrip("\r\n")
        yield Item(at, len(line), text, load_json(text))
        at += len(line)


def _split(data: bytes) -> Iterator[bytes]:
    """Physical lines end at newlines only."""
    parts = data.split(b"\n")
    yield from (part + b"\n" for part in parts[:-1])
    if parts[-1]:
        yield parts[-1]


def _items(data: bytes, view: str, span: tuple[int, int], value: object, path: Sequence[str]) -> Iterator[Item]:
    """Items of a whole document."""
    place = span[0] if isinstance(value, list) else _locate(view, span[0], path)
    if place is None:
        yield _item(data, span)
        return
    kind = value.get("kind") if isinstance(value, dict) else None
    for start, end in _spans(view, place):
        yield _item(data, (start, end), kind if isinstance(kind, str) else None)


def _salvage(data: bytes, view: str, at: int, path: Sequence[str]) -> Generator[Item, None, int]:
    """Whole items before the damage, then one item without value; returns where to go on."""
    end = len(view) if view[at] in "{[" else view.find("\n", at) + 1 or len(view)  # a stray line of text
    place = at if view[at] == "[" else _locate(view, at, path)
    if place is not None:
        at = _skip(view, place + 1)
        for start, stop in _spans(view, place):
            yield _item(data, (start, stop))
            at = _skip(view, stop)
    # Even where nothing stands after the last whole item, the document was not whole, and that must show.
    rest = data[at:end].decode(errors="replace").rstrip("\r\n")
    yield Item(min(at, end), max(0, end - at), rest, None)
    return _skip(view, max(at, end))


def _item(data: bytes, span: tuple[int, int], kind: str | None = None) -> Item:
    """The item at a span, decoded as UTF-8."""
    start, end = span
    text = data[start:end].decode(errors="replace")
    return Item(start, end - start, text, load_json(text), kind)


def load_json(text: str) -> Json:
    """The value, or None when the text is no JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _spans(view: str, place: int) -> Iterator[tuple[int, int]]:
    """Places of an array's items, up to its end or the first damage."""
    at = _skip(view, place + 1)
    while at < len(view) and view[at] != "]":
        try:
            _, end = _DECODER.raw_decode(view, at)
        except (ValueError, RecursionError):
            return
        yield at, end
        at = _skip(view, end)


def _locate(view: str, at: int, path: Sequence[str]) -> int | None:
    """Place of the array at `path` of the object at `at`, or None."""
    try:
        if view[at] != "{":
            return None
        at = _skip(view, at + 1)
        while view[at] != "}":
            key, at = _DECODER.raw_decode(view, at)
            at = _skip(view, view.index(":", at) + 1)
            if key == path[0]:
                if len(path) > 1:
                    return _locate(view, at, path[1:])
                return at if view[at] == "[" else None
            _, at = _DECODER.raw_decode(view, at)
            at = _skip(view, at)
    except (ValueError, IndexError, RecursionError):
        return None
    return None


def _skip(view: str, at: int) -> int:
    """Next place that is neither space nor comma."""
    match = _GAP.match(view, at)
    return match.end() if match else at


def _is_json_lines(view: str) -> bool:
    """Whether several lines stand there and one of the first is an object of its own."""
    lines = [line for line in view[:_LOOK_CHARACTERS].split("\n") if line.strip()]
    heads = [line for line in lines[:_LOOK_LINES] if line.startswith("{")]
    return len(lines) > 1 and any(isinstance(load_json(line), dict) for line in heads)


def pair_spans(data: bytes) -> Iterator[tuple[int, int, tuple[str, Json] | None]]:
    """Members of one object with their places; None for the place where it is damaged."""
    view = data.decode("latin-1")
    at = _skip(view, 0)
    try:
        if view[at] != "{":
            raise ValueError(view[at])
        at = _skip(view, at + 1)
        while view[at] != "}":
            _, end = _DECODER.raw_decode(view, at)
            _, end = _DECODER.raw_decode(view, _skip(view, view.index(":", end) + 1))
            pair = load_json("{" + data[at:end].decode(errors="replace") + "}")
            yield at, end, next(iter(pair.items()), None) if isinstance(pair, dict) else None
            at = _skip(view, end)
    except (ValueError, IndexError, RecursionError):
        if data:
            yield min(at, len(data)), len(data), None
