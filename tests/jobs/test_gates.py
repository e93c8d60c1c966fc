"""Gates in the night: what is critical ends it, what is poor is noted, and what is switched off does nothing."""

from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest
from pyspark.sql import Row
from pyspark.sql import functions as F
from typer.testing import CliRunner

from firstfault.expectations.model import Severity
from firstfault.expectations.verdict import Failure, Poor
from firstfault.jobs import cli, take
from firstfault.jobs.batch import Batch
from firstfault.jobs.gates import DOCUMENTS, CriticalExpectationError, Gates
from firstfault.jobs.knowledge import load_knowledge
from firstfault.jobs.lake import Lake
from firstfault.jobs.nightly import run_night
from firstfault.jobs.quality import WHOLE, note, quality_rows, source_spans
from firstfault.jobs.settings import load_settings
from firstfault.transforms.attempts import ATTEMPTS
from firstfault.transforms.data_quality import DATA_QUALITY
from firstfault.transforms.labels import LABELS
from firstfault.transforms.quarantine import QUARANTINE, build_quarantine
from firstfault.transforms.raw_telemetry import RAW_TELEMETRY
from firstfault.transforms.staged import STAGED
from tests.frames import frame, rows
from tests.jobs.test_batch import planned
from tests.jobs.zones import Zone, damaged, tables
from tests.jobs.zones import rows as stored

LABEL = {
    "cluster": "c", "job_id": "1", "attempt": 0, "category": "gpu_hardware", "origin_scope": "gpu", "origin": ["n1/d"],
    "source": "labels.csv", "kind": "operator",
}  # fmt: skip
SAMPLE = {
    "job_id": "_node", "hour": "2026-11-20-03", "cluster": "c", "node": "n1", "metric": "m", "source": "prometheus",
    "stream_id": "s", "byte_offset": 0, "file": "f", "line_no": 1, "units": 1, "event_time": "03:00:00",
    "time_basis": "epoch", "value": 1.0,
}  # fmt: skip


@pytest.fixture
def gates() -> Gates:
    return Gates.of(load_knowledge(), on=True)


def test_a_broken_promise_names_table_expectation_and_rows(spark, gates):
    twice = frame(spark, LABELS, [LABEL, LABEL])
    with pytest.raises(
        CriticalExpectationError, match=r"labels\.key_unique \(critical\): 2 of 2.*job_id=1.*not written"
    ):
        gates.check(LABELS, twice)


def test_rows_that_break_a_warning_are_left_out_and_told(spark, gates):
    given = frame(spark, LABELS, [LABEL, LABEL | {"job_id": "2", "category": "gremlins"}])
    kept, warnings = gates.without_failing(LABELS, given)
    assert rows(kept, "job_id") == [("1",)]
    assert [(w.check, w.failed) for w in warnings] == [("category_in_vocabulary", 1)]
    assert gates.warnings == list(warnings)
    assert gates.took_s > 0


def test_gates_that_are_off_let_everything_pass(spark, tmp_path):
    off = Gates.of(load_knowledge(), on=False)
    given = frame(spark, LABELS, [LABEL, LABEL])
    kept, warnings = off.without_failing(LABELS, given)
    assert (kept.count(), warnings) == (2, ())
    off.document(str(tmp_path))
    assert not list(tmp_path.iterdir())


def test_warnings_are_noted_once_a_batch_and_stage_with_their_rows_and_times(spark, gates, tmp_path):
    lake = Lake(spark, str(tmp_path))
    samples = [SAMPLE, SAMPLE | {"byte_offset": 9, "value": float("nan")}]
    warned = [(RAW_TELEMETRY, gates.check(RAW_TELEMETRY, frame(spark, RAW_TELEMETRY, samples)))]
    batch = Batch("b1", [], None, {})
    for _ in range(2):
        note(lake, gates, batch, "land", warned)
    assert rows(lake.read(QUARANTINE), "stream_id", "byte_offset", "units", "reason", "expectation", "file") == [
        ("s", 9, 0, "raw_telemetry.value_is_finite", "raw_telemetry.value_is_finite", "f")
    ]
    assert rows(lake.read(DATA_QUALITY), "batch_id", "table_name", "check", "failed", "total") == [
        ("b1", "raw_telemetry", "value_is_finite", 1, 2)
    ]
    note(lake, gates, batch, "events", [])
    assert lake.read(DATA_QUALITY).count() == 1


def test_a_source_s_times_span_its_ranges():
    times = [datetime(2026, 11, 20, hour, tzinfo=UTC) for hour in (3, 4, 5)]
    ranges = [planned("s1"), planned("s1", 100), planned("s2", node="n2"), planned("s3", node="n3")]
    reports = {("s1", 0): times[1:2], ("s1", 100): times[:1], ("s2", 0): times[2:], ("s3", 0): [None]}
    books = {key: Row(first_time=told[0], last_time=told[0]) for key, told in reports.items()}
    assert source_spans(Batch("b", ranges, None, books)) == {
        ("c", "n1", "kernel"): (times[0], times[1]),
        ("c", "n2", "kernel"): (times[2], times[2]),
        ("c", None, "kernel"): (times[0], times[2]),
        WHOLE: (times[0], times[2]),
    }


def test_a_source_that_fell_silent_is_poor_no_longer_than_the_batch_that_missed_it():
    stale = Failure("inputs", "source_is_fresh", Severity.WARNING, 1, groups=[Poor("c", "n9", "kernel", 9.0, "late")])
    spans = {WHOLE: (1, 5), ("c", "n1", "kernel"): (2, 3)}
    [row] = quality_rows(stale, "b", spans)
    assert (row["node"], row["t_from"], row["t_to"], row["text"]) == ("n9", 1, 5, "late")
    [own] = quality_rows(replace(stale, groups=[Poor("c", "n1", "kernel", 9.0, "late")]), "b", spans)
    assert (own["t_from"], own["t_to"]) == (2, 3)
    [counted] = quality_rows(replace(stale, groups=[]), "b", spans)
    assert (counted["t_from"], counted["t_to"], counted["node"]) == (1, 5, None)


def test_a_label_of_an_attempt_that_lands_in_the_same_batch_is_kept(spark, gates, tmp_path):
    lake = Lake(spark, str(tmp_path))
    old = {"cluster": "c", "job_id": "old", "attempt": 0, "scope_source": "scheduler"}
    lake.append(ATTEMPTS, frame(spark, ATTEMPTS, [old]))
    fields = {"job_id": "new", "attempt": "0", "category": "storage", "origin_scope": "", "origin": ""}
    line = {"source": "labels", "cluster": "c", "fields": fields, "file": "labels.csv", "file_time": "05:00:00"}
    staged = frame(spark, STAGED, [line | {"disposition": "landed_log", "byte_offset": 1}])
    batch = Batch("b", [planned("labels.csv", format="labels")], staged, {})
    night = SimpleNamespace(lake=lake, gates=gates, spark=spark)
    assert [len(warnings) for _, warnings in take._merge_given(night, batch)] == [0]
    assert rows(lake.read(LABELS), "job_id") == [("new",)]


def test_a_night_that_would_break_a_promise_writes_nothing_of_it_and_exits_3(spark, tmp_path, monkeypatch):
    zone = Zone(tmp_path / "landing")
    damaged(zone)
    zone.write(
        "labels.csv", "cluster,job_id,attempt,category,origin_scope,origin", "main,1,0,gremlins,,", "main,2,0,storage,,"
    )
    lake = tmp_path / "lake"
    command = ["nightly", "--landing", str(zone.close()), "--lake", str(lake)]

    def negative(staged):
        return build_quarantine(staged).withColumn("units", -F.col("units"))

    with monkeypatch.context() as patched:
        patched.setattr(take, "build_quarantine", negative)
        told = CliRunner().invoke(cli.app, command)
    assert told.exit_code == cli.CRITICAL
    said = " ".join(told.stderr.split())
    assert "quarantine.units_in_range (critical)" in said
    assert "stream_id=" in said
    assert tables(str(lake)) == ["inputs", "runs"]
    assert [r["status"] for r in stored(str(lake), "runs")] == ["failed"]

    settings = load_settings(None, landing=str(zone.root), lake=str(lake))
    report = run_night(spark, settings)
    assert report.books.balance
    assert any("labels.category_in_vocabulary" in warning for warning in report.warnings)
    assert [r["job_id"] for r in stored(str(lake), "labels")] == ["2"]
    refused = [r["excerpt"] for r in stored(str(lake), "quarantine") if r["reason"] == "labels.category_in_vocabulary"]
    assert len(refused) == 1
    assert '"job_id":"1"' in refused[0]
    pages = list((lake / DOCUMENTS).rglob("*.html"))
    assert (lake / DOCUMENTS / "index.html").exists()
    assert any("labels" in page.read_text() for page in pages)
