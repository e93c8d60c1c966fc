"""error.json of torchrun's workers."""

import json

import pytest

from tests.transforms.formats.reading import landed, read_table, reasons, units, utc

DOCUMENT = {
    "message": {
        "message": "KeyError: 'x'",
        "extraInfo": {"py_callstack": "Traceback (most recent call last):\n  ...\n", "timestamp": "1795977000"},
    }
}


@pytest.mark.parametrize("indent", [None, 2])
def test_the_exception_and_the_second_it_was_raised_in(indent):
    text = json.dumps(DOCUMENT, indent=indent) + "\n"
    row = landed("torch_error", text, rank=3)[0]
    assert (row["text"], row["rank"]) == ("KeyError: 'x'", 3)
    assert (row["event_time"], row["time_basis"]) == (utc("2026-11-29T18:30:00Z"), "epoch")
    assert json.loads(row["message"]) == DOCUMENT
    assert units(read_table("torch_error", text.encode())) == text.count("\n")


@pytest.mark.parametrize("stamp", [None, "", "soon", "0", [1], 1e30])
def test_without_a_stamp_the_files_time_counts(stamp):
    text = json.dumps({"message": {"message": "KeyError: 1", "extraInfo": {"timestamp": stamp}}})
    assert landed("torch_error", text)[0]["time_basis"] == "file_time"


def test_older_writers_leave_a_text():
    assert landed("torch_error", json.dumps({"message": "ValueError: boom\nmore"}))[0]["text"] == "ValueError: boom"


@pytest.mark.parametrize("text", ["{", "[]", "5", "{}", '{"message": 5}', '{"message": {"message": null}}'])
def test_another_document_is_set_aside(text):
    assert reasons("torch_error", text) == ["bad_json"]
