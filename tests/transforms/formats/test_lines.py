import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstfault.transforms.formats.lines import line_texts, literal_places, split_lines
from tests.transforms.formats.reading import context

PIECES = st.lists(st.sampled_from([b"a", b"\r", b"\n", b"\xff", b"\xc3\xa9", b"\xe2\x82", b"\x00", b"  "]), max_size=12)


@given(PIECES)
def test_offsets_and_lengths_rebuild_the_bytes(pieces):
    data = b"".join(pieces)
    lines = split_lines(data, context("app", byte_from=100, lines_before=7))
    spans = zip(lines.offsets.tolist(), lines.lengths.tolist(), strict=True)
    assert b"".join(data[at - 100 : at - 100 + length] for at, length in spans) == data
    assert lines.numbers.tolist() == list(range(8, 8 + len(lines)))


@given(PIECES)
def test_texts_are_the_decoded_lines(pieces):
    data = b"".join(pieces)
    expected = (data[:-1] if data.endswith(b"\n") else data).split(b"\n") if data else []
    texts = split_lines(data, context("app")).text
    texts.validate(full=True)
    assert texts.to_pylist() == [line.removesuffix(b"\r").decode(errors="replace") for line in expected]


def test_a_redraw_stays_inside_its_line():
    assert line_texts(b"10%|#\r20%|##\r\nnext\n").to_pylist() == ["10%|#\r20%|##", "next"]


def test_a_very_long_line_is_one_line():
    data = b"x" * (10 << 20) + b"\nend"
    lines = split_lines(data, context("app"))
    assert lines.lengths.tolist() == [(10 << 20) + 1, 3]
    assert lines.text[1].as_py() == "end"


@pytest.mark.parametrize("literal", [b"ab", b"b", b"] x: "])
def test_literal_places_finds_what_find_finds(literal):
    data = b"ab] x: xxbab] x: " * 3
    expected = [at for at in range(len(data)) if data.startswith(literal, at)]
    assert literal_places(np.frombuffer(data, np.uint8), literal).tolist() == expected
