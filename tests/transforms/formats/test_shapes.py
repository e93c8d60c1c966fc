from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from firstfault.transforms.formats.headers import strip_headers
from firstfault.transforms.formats.shapes import Shape, all_shapes
from tests.transforms.formats.reading import context

HITS = [pytest.param(s, hit, id=f"{s.id}-{i}") for s in all_shapes() for i, hit in enumerate(s.tests["hit"])]
MISSES = [
    pytest.param(s, miss, id=f"{s.id}-{i}") for s in all_shapes() for i, miss in enumerate(s.tests.get("miss", ()))
]


@pytest.mark.parametrize(("shape", "hit"), HITS)
def test_shape_gives_what_its_line_says(shape: Shape, hit: dict[str, Any]):
    headers = strip_headers(pa.array([hit["line"]]), shape.formats[:1], context("x", zone=hit.get("zone", "UTC")))
    assert {key: getattr(headers, key)[0].as_py() for key in hit["gives"]} == hit["gives"]


@pytest.mark.parametrize(("shape", "miss"), MISSES)
def test_shape_leaves_other_lines(shape: Shape, miss: str):
    assert pc.extract_regex(pa.array([miss]), shape.regex).null_count == 1


def test_every_shape_has_a_hit_and_at_most_five_groups():
    assert all(shape.tests["hit"] for shape in all_shapes())
    assert all(shape.regex.count("(?P<") <= 5 for shape in all_shapes())


def test_ids_are_unique():
    ids = [shape.id for shape in all_shapes()]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("repeat", [1, 5000])
def test_many_lines_give_what_one_gives(repeat: int):
    lines = [hit["line"] for s in all_shapes() if "app" in s.formats for hit in s.tests["hit"]] * repeat
    together = strip_headers(pa.array(lines[:20000]), ("app",), context("app"))
    for at in range(0, len(together.body), max(1, len(together.body) // 60)):
        alone = strip_headers(pa.array([lines[at]]), ("app",), context("app"))
        for key in ("event_time", "time_basis", "node", "rank", "body", "collected_at", "boot_us", "tod_us"):
            assert getattr(together, key)[at] == getattr(alone, key)[0] or not getattr(together, key)[at].is_valid


def test_no_lines_give_empty_columns():
    headers = strip_headers(pa.array([], pa.string()), ("app",), context("app"))
    assert len(headers.body) == len(headers.event_time) == 0


def test_an_ambiguous_hour_is_the_earlier_one():
    headers = strip_headers(
        pa.array(["2026-11-01 01:30:00 x", "2026-03-08 02:30:00 x"]), ("app",), context("app", zone="America/New_York")
    )
    assert headers.event_time.to_pylist()[0] == datetime(2026, 11, 1, 5, 30, tzinfo=UTC)
    assert headers.event_time[1].is_valid
