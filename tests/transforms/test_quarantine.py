"""What could not be used, with its reason."""

import hashlib

from firstfault.transforms import quarantine
from firstfault.transforms.events import EVENTS
from firstfault.transforms.labels import LABELS
from firstfault.transforms.quarantine import build_quarantine, failing_rows
from firstfault.transforms.staged import STAGED
from tests.frames import frame, rows


def test_refused_units_keep_pointer_reason_hash_and_a_bounded_excerpt(spark):
    long = "ä" * 600
    refused = {
        "disposition": "quarantined", "stream_id": "s", "file": "f", "file_time": "05:00:00", "units": 1,
    }  # fmt: skip
    given = [
        refused | {"byte_offset": 0, "length": 1200, "reason": "bad_json", "message": long, "line_no": 3},
        refused | {"byte_offset": 1200, "reason": "binary", "units": 12},
        refused | {"disposition": "landed_log", "byte_offset": 5},
    ]
    columns = ("byte_offset", "length", "units", "line_no", "reason", "excerpt", "sha256")
    assert rows(build_quarantine(frame(spark, STAGED, given)), *columns) == [
        (0, 1200, 1, 3, "bad_json", "ä" * 512, hashlib.sha256(long.encode()).hexdigest()),
        (1200, None, 12, None, "binary", None, hashlib.sha256(b"").hexdigest()),
    ]


def test_a_document_refused_twice_at_one_place_is_one_row_with_all_its_units(spark):
    refused = {"disposition": "quarantined", "stream_id": "s", "file": "f", "byte_offset": 7, "file_time": "05:00:00"}
    given = [
        refused | {"reason": "bad_json", "units": 2, "message": "b", "line_no": 2},
        refused | {"reason": "bad_json", "units": 3, "message": "a", "line_no": 1},
        refused | {"reason": "bad_value", "units": 1},
    ]
    for order in (given, given[::-1]):
        assert rows(build_quarantine(frame(spark, STAGED, order)), "reason", "units", "excerpt", "line_no") == [
            ("bad_json", 5, "b", 2), ("bad_value", 1, None, None),
        ]  # fmt: skip


def test_rows_that_broke_an_expectation_point_at_their_line_or_carry_their_key(spark):
    event = {"event_id": "e1", "stream_id": "s", "byte_offset": 7, "file": "f", "line_no": 3, "text": "NVRM: Xid"}
    columns = ("stream_id", "byte_offset", "units", "reason", "expectation", "excerpt", "file", "line_no")
    assert rows(failing_rows(frame(spark, EVENTS, [event]), EVENTS, "node_has_form"), *columns) == [
        ("s", 7, 0, "events.node_has_form", "events.node_has_form", "NVRM: Xid", "f", 3)
    ]
    label = {"cluster": "c", "job_id": "1", "attempt": 0, "source": "labels.csv", "kind": "operator"}
    [found] = rows(failing_rows(frame(spark, LABELS, [label, label]), LABELS, "category_in_vocabulary"), *columns)
    assert (len(found[0]), found[1:4], found[6]) == (16, (0, 0, "labels.category_in_vocabulary"), "table labels")
    assert '"job_id":"1"' in found[5]


def test_of_very_many_failing_rows_some_are_kept(spark, monkeypatch):
    monkeypatch.setattr(quarantine, "NOTED_ROWS", 2)
    events = [{"event_id": f"e{n}", "stream_id": "s", "byte_offset": n} for n in (3, 1, 2)]
    found = failing_rows(frame(spark, EVENTS, events), EVENTS, "node_has_form")
    assert rows(found, "byte_offset") == [(1,), (2,)]
