"""A night that is cut anywhere and run again gives the tables of an undisturbed one."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from firstfault.jobs import nightly
from firstfault.jobs.nightly import run_night
from firstfault.jobs.settings import Settings, load_settings
from tests.jobs.zones import NOT_CONTENT, T0, Zone, asctime, content, healthy, rows, tables, textbook

GROWING = "jobs/84213/node-0118/rank-16.worker.log"


@pytest.fixture(scope="module", autouse=True)
def one_masking_key():
    """Lakes are compared, so their pseudonyms must be made with one key."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("FIRSTFAULT_MASKING_KEY", "a key for the lakes of these tests")
        yield


@pytest.fixture(scope="module")
def landing(tmp_path_factory) -> Path:
    zone = Zone(tmp_path_factory.mktemp("crash") / "landing")
    textbook(zone)
    healthy(zone, "84214")
    return zone.close()


@pytest.fixture(scope="module")
def undisturbed(spark, landing, tmp_path_factory) -> dict[str, list[str]]:
    """Content per table of a night that nothing cut, over the files as they are in the end."""
    settings = load_settings(None, landing=str(landing), lake=str(tmp_path_factory.mktemp("whole") / "lake"))
    run_night(spark, settings)
    return everything(settings)


def everything(settings: Settings) -> dict[str, list[str]]:
    return {t: content(str(settings.lake), t) for t in tables(str(settings.lake)) if t not in NOT_CONTENT}


def assert_read_once(settings: Settings) -> None:
    keys = [(r["stream_id"], r["byte_offset"]) for r in rows(str(settings.lake), "raw_logs")]
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize("cut", ["place_events", "attribute_and_publish"])
def test_a_night_cut_between_stages_is_made_whole_by_the_next(spark, landing, undisturbed, tmp_path, monkeypatch, cut):
    settings = load_settings(None, landing=str(landing), lake=str(tmp_path / "lake"))

    def die(*_args):
        raise RuntimeError("power cut")

    with monkeypatch.context() as patched:
        patched.setattr(nightly, cut, die)
        with pytest.raises(RuntimeError, match="power cut"):
            run_night(spark, settings)
    run_night(spark, settings)
    assert everything(settings) == undisturbed
    assert_read_once(settings)


def test_a_file_that_grew_between_the_cut_and_the_next_night_loses_nothing(spark, landing, tmp_path, monkeypatch):
    copy = tmp_path / "landing"
    subprocess.run(["cp", "-rp", str(landing), str(copy)], check=True)
    settings = load_settings(None, landing=str(copy), lake=str(tmp_path / "lake"))

    def die(*_args):
        raise RuntimeError("power cut")

    with monkeypatch.context() as patched:
        patched.setattr(nightly, "update_attempts", die)
        with pytest.raises(RuntimeError, match="power cut"):
            run_night(spark, settings)
    with (copy / GROWING).open("a") as log:
        log.write(f"{asctime(T0)} - INFO - one more line\n")
    report = run_night(spark, settings)
    assert report.books.balance
    assert_read_once(settings)
    landed = sum(1 for r in rows(str(settings.lake), "raw_logs") if r["file"] == GROWING)
    assert landed == len((copy / GROWING).read_text().splitlines())
    assert [r["category"] for r in rows(str(settings.lake), "results")] == ["gpu_hardware"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_kill_9_at_a_random_moment(spark, landing, undisturbed, tmp_path, seed):
    settings = load_settings(None, landing=str(landing), lake=str(tmp_path / "lake"))
    command = [sys.executable, "-m", "firstfault.jobs.cli", "nightly"]
    command += ["--landing", str(landing), "--lake", str(settings.lake), "--master", "local[1]"]
    night = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    time.sleep(random.Random(seed).uniform(6, 60))
    os.killpg(night.pid, signal.SIGKILL)
    night.wait()
    run_night(spark, settings.model_copy(update={"lock_stale_s": 0}))
    assert everything(settings) == undisturbed
    assert_read_once(settings)
