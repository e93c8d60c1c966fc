"""Books of a batch, and where the next one starts."""

from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest
from pyspark.sql import Row

from firstfault.jobs import take
from firstfault.jobs.batch import Batch, Books, BooksError
from firstfault.jobs.gates import Gates
from firstfault.jobs.intents import known_streams, mark_landed, pending_ranges, write_intent
from firstfault.jobs.lake import Lake
from firstfault.jobs.plan import Range, Reached
from firstfault.jobs.take import land_batch
from firstfault.transforms.inputs import INPUTS
from firstfault.transforms.staged import STAGED
from tests.frames import frame, moment, rows


def planned(stream, start=0, end=100, **given) -> Range:
    plain = {
        "batch_id": "b1", "stream_id": stream, "identity": f"of {stream}", "head_bytes": 10, "from_byte": start,
        "to_byte": end, "lines_before": 0, "state": "planned", "format": "kernel", "zone": "UTC", "owner": "node:n1",
        "cluster": "c", "job_id": "_node", "attempt_hint": None, "node": "n1", "rank": None, "file": stream,
        "file_time": datetime(2026, 11, 20, 5, tzinfo=UTC), "compression": "none",
    }  # fmt: skip
    return Range(**(plain | given))


def counts(read, log=0, sample=0, quarantined=0, dropped=0, first_time=None) -> Row:
    return Row(read=read, landed_log=log, landed_sample=sample, quarantined=quarantined, dropped=dropped,
               first_time=first_time, last_time=first_time)  # fmt: skip


def test_books_balance_when_every_unit_is_accounted_for():
    assert Books(10, 6, 3, 1).balance
    assert Books().balance
    assert not Books(10, 6, 3, 0).balance
    assert not Books(10, 6, 3, 2).balance


def test_books_add_up_and_name_their_columns():
    assert Books(10, 6, 3, 1) + Books(5, 5) == Books(15, 11, 3, 1)
    assert Books(10, 6, 3, 1).columns() == {
        "lines_read": 10, "lines_landed": 6, "lines_quarantined": 3, "lines_dropped": 1,
    }  # fmt: skip


def test_the_books_of_a_batch_are_those_of_its_ranges():
    ranges = [planned("s1"), planned("s2", format="prometheus")]
    by_range = {("s1", 0): counts(10, log=7, quarantined=2, dropped=1), ("s2", 0): counts(4, sample=4)}
    made = Batch("b1", ranges, None, by_range)
    assert made.books == Books(14, 11, 2, 1)
    assert (made.counted("landed_log"), made.counted("landed_sample")) == (7, 4)
    assert made.formats == {"kernel", "prometheus"}


def test_an_unread_lake_knows_no_stream_and_has_nothing_pending(spark, tmp_path):
    lake = Lake(spark, str(tmp_path))
    assert known_streams(lake).by_stream == {}
    assert pending_ranges(lake) == []


def test_what_was_planned_and_not_landed_is_pending_exactly_as_planned(spark, tmp_path):
    lake = Lake(spark, str(tmp_path))
    night = SimpleNamespace(spark=spark, lake=lake)
    cut = planned("s3", 100, 250, lines_before=9, attempt_hint=2, rank=3)
    write_intent(night, [planned("s1"), planned("s2"), cut], [planned("notes", state="unmatched")])
    write_intent(night, [], [planned("notes", state="unmatched"), planned("more", state="unmatched")])
    landed = [planned("s1"), planned("s1", 100, 180, lines_before=10), planned("s2")]
    by_range = {("s1", 0): counts(10, log=9, dropped=1), ("s1", 100): counts(3, log=3)}
    mark_landed(night, Batch("b1", landed, None, by_range))
    assert pending_ranges(lake) == [replace(cut, file_time=cut.file_time.replace(tzinfo=None))]
    assert known_streams(lake).by_stream == {
        "s1": Reached("of s1", 10, 180, 13),
        # A range of which nothing came back is read all the same.
        "s2": Reached("of s2", 10, 100, 0),
    }
    inputs = lake.read(INPUTS)
    columns = ("stream_id", "from_byte", "lines_read", "lines_landed", "lines_dropped")
    assert rows(inputs.where("state = 'landed'"), *columns) == [
        ("s1", 0, 10, 9, 1), ("s1", 100, 3, 3, 0), ("s2", 0, 0, 0, 0),
    ]  # fmt: skip
    assert rows(inputs.where("state = 'unmatched'"), "stream_id") == [("more",), ("notes",)]


def report(stream, start, read, log, quarantined=0) -> dict:
    figures = {"read": read, "landed_log": log, "landed_sample": 0, "quarantined": quarantined, "dropped": 0}
    return {"stream_id": stream, "range_from": start, "disposition": "report", "report": figures}


def landing(spark, tmp_path, monkeypatch, reports):
    """A night whose tasks report these figures."""
    knowledge = SimpleNamespace(
        patterns=SimpleNamespace(compiled=()),
        masking=None,
        vocabulary=SimpleNamespace(folding={}),
        retention=SimpleNamespace(retention=lambda **_: None),
        clock_marks=(),
    )
    night = SimpleNamespace(
        spark=spark,
        lake=Lake(spark, str(tmp_path)),
        landing=None,
        settings=SimpleNamespace(retention_on=(), retention_off=()),
        knowledge=knowledge,
        gates=Gates(None),
    )
    monkeypatch.setattr(take, "make_masker", lambda *_: None)
    monkeypatch.setattr(take, "stage", lambda *_: frame(spark, STAGED, reports))
    return night


def test_the_segments_of_a_range_are_one_account(spark, tmp_path, monkeypatch):
    told = [report("s1", 0, 10, 10), report("s1", 0, 5, 4, quarantined=1), report("s1", 90, 7, 7)]
    told[0]["report"]["first_time"] = "03:00:00"
    told[1]["report"]["first_time"] = "02:00:00"
    monkeypatch.setattr(take, "_write", lambda *_: None)
    batch = land_batch(landing(spark, tmp_path, monkeypatch, told), [planned("s1"), planned("s1", 90)])
    assert batch.books == Books(22, 21, 1, 0)
    total = batch.books_by_range["s1", 0]
    assert (total["read"], total["landed_log"], total["first_time"]) == (
        15,
        14,
        moment("02:00:00").replace(tzinfo=None),
    )


def test_the_first_sample_is_that_of_the_ranges_that_hold_samples():
    by_range = {("s", n): counts(1, sample=n % 2, first_time=moment(f"{n}d 00:00:00")) for n in range(5)}
    assert Batch("b", [], None, by_range).first_sample == moment("1d 00:00:00")
    assert Batch("b", [], None, {}).first_sample is None


def test_books_that_do_not_balance_stop_the_night_before_a_raw_table_is_written(spark, tmp_path, monkeypatch):
    night = landing(spark, tmp_path, monkeypatch, [report("s1", 0, 3, 1, quarantined=1)])
    with pytest.raises(BooksError, match=r"b1 do not balance: Books\(read=3, landed=1, quarantined=1, dropped=0\)"):
        land_batch(night, [planned("s1")])
    assert night.lake.tables() == []
