"""A run holds the lake alone, says so, and lets go whatever happens."""

import errno
import json
import os
import re
import time

import pytest

from firstfault.jobs import lock as locks
from firstfault.jobs import runs
from firstfault.jobs.lake import Lake
from firstfault.jobs.lock import CUT_FILE, LOCK_FILE, Heart, LakeBusyError, Lock
from firstfault.jobs.runs import open_run
from firstfault.transforms.runs import RUNS
from tests.frames import rows


@pytest.fixture
def file(tmp_path):
    return tmp_path / "lake" / LOCK_FILE


def opened(lake, **given):
    return open_run(lake, "nightly", **({"day": None, "stale_s": 900, "heartbeat_s": 60} | given))


def cut_run(lake) -> None:
    """A run after one that ended well, which fails."""
    with opened(lake) as run:
        assert not run.redo
        raise ValueError("cut in the middle")


def age(file, seconds) -> None:
    """Makes the last heartbeat that old."""
    then = time.time() - seconds
    os.utime(file, (then, then))


def test_a_second_taker_is_told_who_holds_the_lake_and_what_to_do(file):
    assert Lock(file, "first").take(900, steal=False) is False
    with pytest.raises(LakeBusyError) as error:
        Lock(file, "second").take(900, steal=False)
    text = str(error.value)
    assert re.search(rf"held by run first of \S+ \(process {os.getpid()}\), last heartbeat 0 s ago", text)
    assert "--steal" in text
    assert json.loads(file.read_text())["run_id"] == "first"


def test_a_stale_lock_is_taken_over_and_a_beating_one_is_not(file):
    first = Lock(file, "first")
    first.take(900, steal=False)
    age(file, 901)
    first.beat()
    with pytest.raises(LakeBusyError):
        Lock(file, "second").take(900, steal=False)
    age(file, 901)
    assert Lock(file, "second").take(900, steal=False) is True
    assert json.loads(file.read_text())["run_id"] == "second"


def test_a_lock_that_was_cut_while_it_was_written_is_stale_in_time(file):
    file.parent.mkdir()
    file.write_text('{"run_id": "fir')
    with pytest.raises(LakeBusyError, match="held by run"):
        Lock(file, "second").take(900, steal=False)
    age(file, 901)
    assert Lock(file, "second").take(900, steal=False) is True


def test_a_lock_can_be_stolen_and_the_robbed_run_does_not_release_it(file):
    first, second = Lock(file, "first"), Lock(file, "second")
    first.take(900, steal=False)
    assert second.take(900, steal=True) is True
    first.release()
    assert json.loads(file.read_text())["run_id"] == "second"
    second.release()
    assert not file.exists()


def test_a_beat_of_a_run_that_lost_its_lock_makes_no_new_one(file):
    first = Lock(file, "first")
    first.take(900, steal=False)
    file.unlink()
    first.beat()
    assert not file.exists()


def test_the_heart_beats_until_it_is_stopped(file):
    lock = Lock(file, "first")
    lock.take(900, steal=False)
    age(file, 500)
    heart = Heart(lock, 0.02)
    until = time.monotonic() + 5
    while time.time() - file.stat().st_mtime > 100 and time.monotonic() < until:
        time.sleep(0.01)
    assert time.time() - file.stat().st_mtime < 100
    heart.stop()
    time.sleep(0.1)
    age(file, 500)
    time.sleep(0.1)
    assert time.time() - file.stat().st_mtime > 400


def test_runs_are_recorded_the_lake_is_held_meanwhile_and_a_failure_is_to_be_redone(spark, tmp_path):
    lake = Lake(spark, str(tmp_path / "lake"))
    file = tmp_path / "lake" / LOCK_FILE
    with opened(lake) as first:
        assert not first.redo
        with pytest.raises(LakeBusyError, match=f"held by run {first.run_id} "), opened(lake):
            raise AssertionError("two runs hold the lake")
        with first.stage("land"):
            pass
        first.facts["lines_read"] = 7
        assert file.exists()
    assert not file.exists()

    with pytest.raises(ValueError, match="cut"):
        cut_run(lake)
    assert not file.exists()

    with opened(lake) as third:
        assert third.redo
        age(file, 901)
        with opened(lake) as fourth:
            assert fourth.redo
    assert not file.exists()

    found = lake.read(RUNS).orderBy("started_at").select("run_id", "job", "status", "error", "lines_read", "pid")
    first_row, second_row, *later = (tuple(r) for r in found.collect())
    assert first_row == (first.run_id, "nightly", "done", None, 7, os.getpid())
    assert second_row[1:] == ("nightly", "failed", "cut in the middle", None, os.getpid())
    assert [(r[0], r[2]) for r in later] == [(third.run_id, "done"), (fourth.run_id, "done")]
    (durations, versions) = next(
        r[1:] for r in rows(lake.read(RUNS), "run_id", "durations_s", "versions") if r[0] == first.run_id
    )
    assert list(durations) == ["land"]
    assert set(versions) == {"firstfault", "pyspark", "delta-spark", "python"}
    with opened(lake) as fifth:
        assert not fifth.redo


def test_a_run_that_cannot_even_say_that_it_failed_is_redone(spark, tmp_path, monkeypatch):
    lake = Lake(spark, str(tmp_path / "lake"))
    with opened(lake):
        pass

    def full(*_args):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(runs, "local_frame", full)
        with pytest.raises(ValueError, match="cut in the middle"):
            cut_run(lake)
    for _ in range(2):  # also when the next one is cut in the same way
        assert [p.name for p in (tmp_path / "lake").glob("_*.json")] == [CUT_FILE]
        with monkeypatch.context() as patched:
            patched.setattr(runs, "local_frame", full)
            with pytest.raises(OSError, match="No space left"), opened(lake) as again:
                assert again.redo
    with opened(lake) as after:
        assert after.redo
    with opened(lake) as last:
        assert not last.redo
    assert not list((tmp_path / "lake").glob("_*.json"))


def test_the_text_of_an_error_is_masked_before_it_is_kept(spark, tmp_path):
    lake = Lake(spark, str(tmp_path / "lake"))

    def fail():
        with opened(lake) as run:
            run.mask = lambda text: text.replace("velvetfox", "<user>")
            raise ValueError("cannot cast 'velvetfox'")

    with pytest.raises(ValueError, match="velvetfox"):
        fail()
    assert rows(lake.read(RUNS), "error") == [("cannot cast '<user>'",)]


def test_a_lock_that_does_not_fit_on_the_disk_is_not_left_behind(tmp_path, monkeypatch):
    lock = Lock(tmp_path / LOCK_FILE, "r1")

    def full(*_args):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(locks.json, "dumps", full)
        with pytest.raises(OSError, match="No space left"):
            lock.take(900, steal=False)
    assert not lock.path.exists()
    lock.take(900, steal=False)
    assert lock.held


def test_a_stage_that_comes_twice_adds_up(spark):
    from firstfault.jobs.runs import Run

    run = Run("nightly")
    for _ in range(2):
        with run.stage("plan"):
            time.sleep(0.02)
    assert run.durations_s["plan"] >= 0.04
