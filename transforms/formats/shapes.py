"""Header shapes of `header_shapes/*.yaml`, compiled for use on columns."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import yaml

ByteClass: TypeAlias = npt.NDArray[np.bool_]
Place: TypeAlias = tuple[int, ByteClass]

_COMMON = "common.yaml"
_REACH_BYTES = 128  # a head longer than this is not tried
_FRAGMENT = re.compile(r"%\{(\w+)\}")


@dataclass(frozen=True, eq=False)
class Shape:
    """One header shape.

    Attributes:
        id: Name.
        formats: Log formats it occurs in.
        regex: RE2 pattern whose groups are all named; `head` is what is cut off.
        starts: Byte classes of the first bytes, any of; empty: no cheap test.
        first: Bytes the line may begin with.
        needs: Literal the whole range must hold.
        anywhere: Literal the line must hold; the pattern is searched in all of it.
        time: How `ts` is read, or None.
        basis: How the time is known, where its form alone does not say.
        collected: The stamp is a collector's.
        outer: Only before any rank or time was found.
        zone: IANA zone of the stamp, whatever the site's is.
        reach: Bytes of the line the pattern sees.
        priority: Lower is tried first.
        tests: Hit and miss lines.
    """

    id: str
    formats: tuple[str, ...]
    regex: str
    starts: tuple[tuple[Place, ...], ...]
    first: ByteClass
    needs: str | None = None
    anywhere: str | None = None
    time: str | None = None
    basis: str | None = None
    collected: bool = False
    outer: bool = False
    zone: str | None = None
    reach: int = _REACH_BYTES
    priority: int = 100
    tests: Mapping[str, Any] = field(default_factory=dict)


@cache
def all_shapes() -> tuple[Shape, ...]:
    """Every shape, in the order they are tried."""
    folder = Path(__file__).with_name("header_shapes")
    common = yaml.safe_load((folder / _COMMON).read_text(encoding="utf-8"))
    files = sorted(file for file in folder.glob("*.yaml") if file.name != _COMMON)
    entries = [raw for file in files for raw in yaml.safe_load(file.read_text(encoding="utf-8"))]
    shapes = [_compile(raw, common["families"], common["fragments"]) for raw in entries]
    return tuple(sorted(shapes, key=lambda shape: shape.priority))


@cache
def shapes_for(formats: frozenset[str]) -> tuple[Shape, ...]:
    """Shapes that occur in any of the formats."""
    return tuple(shape for shape in all_shapes() if formats.intersection(shape.formats))


def _compile(raw: Mapping[str, Any], families: Mapping[str, list[str]], fragments: Mapping[str, str]) -> Shape:
    """One entry of the file as a shape."""
    formats = raw["formats"]
    regex = _FRAGMENT.sub(lambda match: fragments[match[1]], raw["regex"])
    anywhere = raw.get("anywhere")
    if anywhere is None:
        regex = f"^{regex}" if "(?P<head>" in regex else f"^(?P<head>{regex})"
    starts = tuple(byte_tests(template) for template in raw.get("starts", ()))
    return Shape(
        id=raw["id"],
        formats=tuple(families[formats] if isinstance(formats, str) else formats),
        regex=regex,
        starts=starts,
        first=np.logical_or.reduce([tests[0][1] for tests in starts]) if starts else np.ones(256, bool),
        needs=raw.get("needs", anywhere),
        anywhere=anywhere,
        time=raw.get("time"),
        basis=raw.get("basis"),
        collected=raw.get("gives") == "collected_at",
        outer=raw.get("outer", False),
        zone=raw.get("zone"),
        reach=raw.get("reach", _REACH_BYTES),
        priority=raw["priority"],
        tests=raw["tests"],
    )


def byte_tests(template: str) -> tuple[Place, ...]:
    """Places of a `starts` template and the bytes each allows; the first place is always tested."""
    return tuple((place, _byte_class(symbol)) for place, symbol in enumerate(template) if symbol != "?" or place == 0)


def _byte_class(symbol: str) -> ByteClass:
    """Bytes that a symbol stands for."""
    allowed: Iterable[int] = {
        "?": range(256),
        "9": range(ord("0"), ord("9") + 1),
        "@": [*range(ord("a"), ord("z") + 1), *range(ord("A"), ord("Z") + 1)],
    }.get(symbol, symbol.encode())
    table = np.zeros(256, bool)
    table[list(allowed)] = True
    return table
