import json

import pytest

from firstfault.transforms.formats.journald import journal_text
from tests.transforms.formats.reading import read, utc

RECORD = {
    "__REALTIME_TIMESTAMP": "1795977002000000",
    "_SOURCE_REALTIME_TIMESTAMP": "1795977001999000",
    "_SOURCE_MONOTONIC_TIMESTAMP": "501230123456",
    "_HOSTNAME": "GPU-r31-n03.site",
    "_TRANSPORT": "kernel",
    "MESSAGE": "NVRM: Xid (PCI:0000:3b:00): 79, pid=7, GPU has fallen off the bus.",
}


def test_the_sender_s_time_wins_and_the_receipt_is_kept():
    line = json.dumps(RECORD)
    row = read("journal", line + "\n")[0]
    assert row["event_time"] == utc("2026-11-29T18:30:01.999Z")
    assert row["collected_at"] == utc("2026-11-29T18:30:02Z")
    assert (row["time_basis"], row["node"], row["message"]) == ("epoch", "gpu-r31-n03", line)
    assert row["text"] == RECORD["MESSAGE"]
    assert row["fields"]["boot_s"] == "501230.123456"


def test_receipt_time_serves_when_there_is_no_other():
    record = {key: value for key, value in RECORD.items() if not key.startswith("_SOURCE")}
    row = read("journal", json.dumps(record))[0]
    assert (row["event_time"], row["collected_at"]) == (utc("2026-11-29T18:30:02Z"), None)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ([72, 105, 255], "Hi\ufffd"),
        (["one", "two"], "one\ntwo"),
        ([[72, 105], "two"], "Hi\ntwo"),
        (None, None),
        (7, "7"),
        ({"a": 1}, None),
        ([], None),
    ],
)
def test_journal_text(value, text):
    assert journal_text(value) == text


@pytest.mark.parametrize("line", ["{", "[1]", "-- No entries --", '{"MESSAGE": "cut'])
def test_damage_is_set_aside(line):
    row = read("journal", line)[0]
    assert (row["disposition"], row["reason"], row["message"]) == ("quarantined", "bad_json", line)


def test_half_a_surrogate_pair_lands():
    assert read("journal", '{"MESSAGE": "x \\ud800 y", "_HOSTNAME": "n1"}')[0]["text"] == "x ? y"


def test_absurd_times_are_no_times():
    row = read("journal", '{"MESSAGE": "x", "__REALTIME_TIMESTAMP": "99999999999999999999"}')[0]
    assert (row["event_time"], row["time_basis"]) == (None, "none")
