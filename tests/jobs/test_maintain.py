"""Maintenance: what goes, what stays, what is compacted, and what waits for whom."""

import os
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer
from deltalake import DeltaTable, write_deltalake
from pyspark.sql.pandas.types import to_arrow_schema
from typer.testing import CliRunner

from firstfault.jobs.docs import ALL_TABLES
from firstfault.jobs.expire import AGE_COLUMNS
from firstfault.jobs.intents import known_streams
from firstfault.jobs.lake import Lake
from firstfault.jobs.live_files import Expiry, sql_text, within_budget
from firstfault.jobs.lock import LOCK_FILE, LakeBusyError
from firstfault.jobs.maintain import blocked, maintain, vacuum
from firstfault.jobs.maintain_cli import maintain_command
from firstfault.jobs.readers import FOLDER, live_readers, reading
from firstfault.jobs.runs import open_run
from firstfault.jobs.settings import Settings
from firstfault.jobs.upkeep import Policy, Report, Upkeep, UsageError
from firstfault.transforms.attempts import ATTEMPTS
from firstfault.transforms.contract import Table
from firstfault.transforms.diagnoses import DIAGNOSES
from firstfault.transforms.events import EVENTS
from firstfault.transforms.inputs import INPUTS
from firstfault.transforms.quarantine import QUARANTINE
from firstfault.transforms.raw_logs import RAW_LOGS
from firstfault.transforms.raw_telemetry import RAW_TELEMETRY
from firstfault.transforms.runs import RUNS

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
FREE_ALL = Policy(retention_hours=0, force=True)


def ago(**span: float) -> datetime:
    return NOW - timedelta(**span)


def hour(days: float) -> str:
    return ago(days=days).strftime("%Y-%m-%d-%H")


def write(root: Path, table: Table, *given: dict) -> None:
    """Appends rows, as the task of a night writes raw files; columns that a row does not name are null."""
    schema = to_arrow_schema(table.schema, timezone="UTC")
    rows = [dict.fromkeys(table.columns) | row for row in given]
    data = pa.Table.from_pylist(rows, schema=schema)
    write_deltalake(f"{root}/{table.name}", data, mode="append", partition_by=list(table.partitions) or None)


def read(root: Path, table: Table, *columns: str) -> list[tuple]:
    rows = DeltaTable(f"{root}/{table.name}").to_pyarrow_table().to_pylist()
    return sorted(tuple(r[c] for c in columns) for r in rows)


def line(job_id: str, days: float, offset: int = 0, **more: object) -> dict:
    return {"job_id": job_id, "hour": hour(days), "stream_id": job_id, "byte_offset": offset} | more


def attempt(job_id: str, number: int = 0, **more: object) -> dict:
    done = {"state": "COMPLETED", "is_ended": True, "is_failure": False, "scope_source": "scheduler", "aliases": []}
    return {"cluster": "c", "job_id": job_id, "attempt": number, "day": ago(days=9).date()} | done | more


def failed(job_id: str, number: int = 0) -> dict:
    return attempt(job_id, number, state="FAILED", is_failure=True)


def versions(root: Path) -> dict[str, int]:
    return {p.parent.name: DeltaTable(str(p.parent)).version() for p in sorted(root.glob("*/_delta_log"))}


def everything(root: Path) -> dict[str, int]:
    """Every file of the lake and when it was written."""
    return {str(p): p.stat().st_mtime_ns for p in root.rglob("*") if p.is_file()}


@pytest.fixture
def go(spark, lake):
    """Runs maintenance on the lake of the test; what it said is kept."""

    def run(policy: Policy | None = None, **more: object) -> Report:
        settings = Settings(lake=str(lake), heartbeat_s=1)
        return maintain(spark, settings, say=run.said.append, policy=policy or Policy(), now=NOW, **more)

    run.said = []
    return run


JOBS = ("good", "bad", "retried", "array_1", "512", "_node", "o'dd\\", "unknown", "soft", "going")
"""Ended well; failed; well at the second attempt only; an array and its alias; of no job; odd; never seen by the
scheduler; ended well with a verdict; still running."""


@pytest.fixture
def full(lake):
    write(
        lake, ATTEMPTS, attempt("good"), failed("bad"), failed("retried"), attempt("retried", 1), attempt("o'dd\\"),
        attempt("array_1", aliases=["512"]), attempt("soft"), attempt("going", is_ended=False, state="RUNNING"),
    )  # fmt: skip
    write(lake, DIAGNOSES, *({"cluster": "c", "job_id": j, "attempt": 0, "track": "live"} for j in ("bad", "soft")))
    write(lake, RAW_LOGS, *(line(name, days, message="x") for name in JOBS for days in (40, 20, 3)))
    write(lake, RAW_TELEMETRY, *(line(name, days, metric="m") for name in ("good", "bad") for days in (31, 20)))
    write(lake, EVENTS, *({"event_id": str(d), "day": ago(days=d).date(), "job_id": "bad"} for d in (130, 121, 119, 1)))
    old_and_new = ({"stream_id": str(d), "byte_offset": 0, "reason": "r", "file_time": ago(days=d)} for d in (91, 89))
    write(lake, QUARANTINE, *old_and_new)
    write(
        lake,
        RUNS,
        *({"run_id": str(d), "job": "nightly", "status": "done", "started_at": ago(days=d)} for d in (401, 1)),
    )
    read_once = {
        "batch_id": "b", "stream_id": "s", "identity": "i", "head_bytes": 4, "from_byte": 0, "to_byte": 9,
        "lines_before": 0, "lines_read": 2, "file_time": ago(days=900),
    }  # fmt: skip
    write(lake, INPUTS, *(read_once | {"state": state} for state in ("planned", "landed")))
    return lake


def test_what_is_past_its_time_goes_healthy_jobs_first_and_a_second_run_changes_nothing(spark, full, go):
    before, known = everything(full), known_streams(Lake(spark, str(full)))
    would = go(dry_run=True)
    assert everything(full) == before

    report = go()
    healthy = {"good", "array_1", "512", "o'dd\\"}
    assert read(full, RAW_LOGS, "job_id", "hour") == sorted(
        (job, hour(days)) for job in JOBS for days in (20, 3) if job not in healthy or days < 7
    )
    assert read(full, RAW_TELEMETRY, "job_id", "hour") == [("bad", hour(20))]
    assert read(full, EVENTS, "event_id") == [("1",), ("119",)]
    assert read(full, QUARANTINE, "stream_id") == [("89",)]
    assert [r for (r,) in read(full, RUNS, "run_id") if r in ("1", "401")] == ["1"]
    assert known_streams(Lake(spark, str(full))) == known
    assert len(read(full, INPUTS, "state")) == 2

    told = {name: (t.rows_removed, t.partitions_removed) for name, t in report.tables.items() if t.rows_removed}
    assert told == {
        "raw_logs": (14, 14), "raw_telemetry": (3, 3), "events": (2, 2), "quarantine": (1, 0), "runs": (1, 0),
    }  # fmt: skip
    assert would.tables["raw_logs"].files_after == report.tables["raw_logs"].files_after == 16
    assert {n: (t.rows_removed, t.partitions_removed) for n, t in would.tables.items() if t.rows_removed} == told
    assert "raw_logs: 14 partitions with 14 rows are past their time" in go.said

    first = versions(full)
    assert go().changed == []
    assert {name: v for name, v in versions(full).items() if first[name] != v} == {"runs": first["runs"] + 1}
    assert Counter(read(full, RUNS, "job", "status"))["maintain", "done"] == 2


def live(*partitions: tuple[str, str]) -> pa.Table:
    jobs, hours = zip(*partitions, strict=True) if partitions else ((), ())
    return pa.table({"job_id": pa.chunked_array([pa.array(jobs, pa.string())]), "hour": pa.array(hours, pa.string())})


def test_over_budget_the_oldest_partitions_of_healthy_jobs_go_and_no_others():
    expiry = Expiry("2026-11-01-00", "2026-11-20-00", pa.array(["a", "b"]))
    logs = live(*((job, f"2026-11-2{d}-23") for job in ("a", "bad") for d in range(4)), ("a", "2026-11-19-00"))
    samples = live(("b", "2026-11-21-23"), ("b", "2026-11-25-00"))
    same, over = within_budget([expiry, expiry], [logs, samples], 10)
    assert (same, over) == ([expiry, expiry], 0)
    tighter, over = within_budget([expiry, expiry], [logs, samples], 8)
    assert over == 0
    assert [e.healthy_before for e in tighter] == ["2026-11-22-00"] * 2  # all of an hour goes together
    assert [e.gone(t).to_pylist().count(True) for e, t in zip(tighter, (logs, samples), strict=True)] == [3, 1]
    none_left, over = within_budget([expiry, expiry], [logs, samples], 1)
    assert (none_left[0].healthy_before, over) == ("2026-11-25-01", 3)
    assert within_budget([expiry], [live(("bad", "2026-11-25-00"), ("bad", "2026-11-26-00"))], 1) == ([expiry], 1)
    assert within_budget([], [], 5) == ([], 0)


def test_a_budget_that_cannot_be_kept_is_said(full, go):
    report = go(Policy(live_partitions=11), dry_run=True)
    assert report.tables["raw_logs"].files_after == len(JOBS) * 2 - 8
    assert "2 partitions over the budget of 11" in report.warnings[0]


def test_many_small_files_become_few_sorted_ones_and_the_others_are_not_touched(lake, go):
    for n in range(12):
        write(
            lake,
            EVENTS,
            *({"event_id": f"{n}-{k}", "day": NOW.date(), "job_id": f"j{(n * 5 + k) % 7}"} for k in range(3)),
        )
        write(lake, RAW_LOGS, line("bad", 1, n, message=f"line {n}"))
        write(lake, INPUTS, {"batch_id": "b", "stream_id": str(n), "from_byte": 0, "to_byte": 1, "state": "landed"})
    for n in range(3):
        write(lake, EVENTS, {"event_id": f"x{n}", "day": ago(days=1).date(), "job_id": "j"})
    few = [path for path in DeltaTable(f"{lake}/events").file_uris() if str(ago(days=1).date()) in path]
    before = [read(lake, t, *t.keys) for t in (EVENTS, RAW_LOGS, INPUTS)]
    assert go(dry_run=True).tables["events"].partitions_compacted == 1

    report = go()
    assert [read(lake, t, *t.keys) for t in (EVENTS, RAW_LOGS, INPUTS)] == before
    now = DeltaTable(f"{lake}/events").file_uris()
    assert set(few) < set(now)
    (made,) = set(now) - set(few)
    jobs = pq.ParquetFile(made).read(["job_id"])["job_id"].to_pylist()
    assert jobs == sorted(jobs)
    told = {
        n: (t.partitions_compacted, t.files_before, t.files_after) for n, t in report.tables.items() if t.files_before
    }
    assert told == {"events": (1, 15, 4), "raw_logs": (1, 12, 1), "inputs": (1, 12, 1)}
    assert read(lake, RAW_LOGS, "byte_offset", "message") == [(n, f"line {n}") for n in range(12)]
    first = versions(lake)
    assert go().changed == []
    assert {n for n, v in versions(lake).items() if first[n] != v} == {"runs"}


def test_files_are_freed_when_no_reader_needs_them(lake, go):
    write(lake, RAW_LOGS, *(line("o'dd\\", days, message="x") for days in (40, 20)))
    removed = set(everything(lake))
    orphan, young = (lake / "raw_logs" / f"job_id=bad/hour={hour(3)}/{name}.parquet" for name in ("cut", "new"))
    orphan.parent.mkdir(parents=True)
    for file, age in ((orphan, 169), (young, 167)):
        file.write_bytes(b"never committed")
        then = time.time() - age * 3600
        os.utime(file, (then, then))
    with reading(str(lake), "sql"):
        report = go()  # began after what is freed was removed
    assert (report.tables["raw_logs"].files_freed, report.bytes_freed) == (1, len(b"never committed"))
    assert (orphan.exists(), young.exists()) == (False, True)
    assert removed <= set(everything(lake))

    with reading(str(lake), "show"):
        with pytest.raises(LakeBusyError, match=r"is read by firstfault show on .* give --retention-hours 1 or more"):
            go(FREE_ALL)
        assert removed <= set(everything(lake))
    would = go(FREE_ALL, dry_run=True)
    report = go(FREE_ALL)
    assert {n: t.files_freed for n, t in report.tables.items()} == {"raw_logs": 2, "runs": 0}
    assert would.bytes_freed == report.bytes_freed > len(b"never committed")
    assert read(lake, RAW_LOGS, "hour", "message") == [(hour(20), "x")]
    assert go(FREE_ALL, dry_run=True).changed == []


def test_a_short_retention_must_be_forced(full, go):
    with pytest.raises(UsageError, match="--retention-hours 24 is below 168"):
        go(Policy(retention_hours=24))
    assert go.said == []


def test_a_folder_without_tables_is_no_lake(lake, go):
    with pytest.raises(UsageError, match="holds no tables; give --lake"):
        go()
    assert list(lake.iterdir()) == []


def test_a_lease_lives_while_it_is_renewed(lake):
    assert live_readers(str(lake), 900) == []
    with reading(str(lake), "show", heartbeat_s=1):
        (file,) = (lake / FOLDER).glob("*.json")
        assert blocked(str(lake), Policy(), 900) is None
        assert "is read by firstfault show" in (blocked(str(lake), FREE_ALL, 900) or "")
        then = time.time() - 500
        os.utime(file, (then, then))
        until = time.monotonic() + 5
        while time.time() - file.stat().st_mtime > 100 and time.monotonic() < until:
            time.sleep(0.05)
        assert [r.who.split(" on ")[0] for r in live_readers(str(lake), 100)] == ["firstfault show"]
    assert list((lake / FOLDER).iterdir()) == []


def test_a_stale_lease_is_removed_and_a_cut_one_counts(lake):
    (lake / FOLDER).mkdir()
    stale, cut = lake / FOLDER / "a.json", lake / FOLDER / "b.json"
    for file in (stale, cut):
        file.write_text('{"run_')
    then = time.time() - 901
    os.utime(stale, (then, then))
    (reader,) = live_readers(str(lake), 900)
    assert reader.who.endswith("b.json")
    assert not stale.exists()


def test_a_lake_that_takes_no_lease_can_be_read_all_the_same(tmp_path):
    with reading(str(tmp_path / "nowhere"), "show"), reading("s3://bucket/lake", "show"):
        assert not (tmp_path / "nowhere").exists()


def test_the_lock_is_respected_and_a_cut_night_stays_one(spark, lake, go):
    write(lake, EVENTS, {"event_id": "1", "day": ago(days=130).date(), "job_id": "j"})
    delta = Lake(spark, str(lake))
    night = {"day": None, "stale_s": 900, "heartbeat_s": 60}
    with open_run(delta, "nightly", **night), pytest.raises(LakeBusyError, match="is held by run"):
        go()
    assert len(read(lake, EVENTS, "event_id")) == 1

    with pytest.raises(ValueError, match="cut"), open_run(delta, "nightly", **night):
        raise ValueError("cut")
    go()
    assert read(lake, EVENTS, "event_id") == []
    assert not (lake / LOCK_FILE).exists()
    assert read(lake, RUNS, "job", "status")[-1] == ("nightly", "failed")
    assert ("maintain", "failed") in read(lake, RUNS, "job", "status")
    with open_run(delta, "nightly", **night) as run:
        assert run.redo


def test_a_reader_that_comes_meanwhile_keeps_what_it_may_need(spark, lake):
    write(lake, RAW_LOGS, line("bad", 3, message="x"))
    said: list[str] = []
    upkeep = Upkeep(Lake(spark, str(lake)), FREE_ALL, NOW, said.append, dry_run=False)
    with reading(str(lake), "serve"):
        vacuum(upkeep, 900)
    assert upkeep.report.warnings == said
    assert "no more files are freed" in said[0]


def test_the_command_tells_a_table_of_what_it_would_do(spark, full):
    app = typer.Typer()
    app.command("maintain")(maintain_command)
    before = everything(full)
    said = CliRunner().invoke(app, ["--lake", str(full), "--dry-run"], catch_exceptions=False, terminal_width=200)
    assert said.exit_code == 0
    assert "would be freed" in said.stdout
    assert everything(full) == before
    with pytest.raises(UsageError, match="--lake is missing"):
        CliRunner().invoke(app, [], catch_exceptions=False)


def test_names_are_quoted_as_sql_reads_them(spark):
    for name in ("plain", "o'dd", "back\\slash", "\\'", 'q"q', "a`b", "ü\n"):
        assert spark.sql(f"select {sql_text(name)} as x").first()["x"] == name


def test_every_table_that_is_kept_for_some_days_ages_by_something():
    ageless = [t.name for t in ALL_TABLES if t.keep_days and not {"hour", "day"} & set(t.partitions)]
    assert set(ageless) == set(AGE_COLUMNS)
    assert all(AGE_COLUMNS[t.name] in t.columns for t in ALL_TABLES if t.name in AGE_COLUMNS)
