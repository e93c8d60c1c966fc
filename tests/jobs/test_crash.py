"""A night that is cut anywhere and run again gives the tables of an undisturbed one."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

from firstfault.jobs import cli, nightly
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
    # Longer than the head that a stream's id is made from, so that it has one id however little of it is there.
    log = zone.root / GROWING
    warm_up = "".join(f"{asctime(T0 - timedelta(seconds=600))} - INFO - warm-up {n}\n" for n in range(40))
    log.write_text(f"{warm_up}{log.read_text()}{asctime(T0)} - INFO - one more line\n")
    return zone.close()


@pytest.fixture(scope="module")
def whole_lake(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("whole") / "lake"


@pytest.fixture(scope="module")
def undisturbed(spark, landing, whole_lake) -> dict[str, list[str]]:
    """Content per table of a night that nothing cut, over the files as they are in the end."""
    settings = load_settings(None, landing=str(landing), lake=str(whole_lake))
    run_night(spark, settings)
    return everything(settings)


@pytest.fixture(scope="module")
def whole_kb(undisturbed, whole_lake) -> int:
    """Kilobytes that the lake of an undisturbed night takes on a disk."""
    assert undisturbed
    return int(subprocess.run(["du", "-sk", whole_lake], capture_output=True, text=True, check=True).stdout.split()[0])


def everything(settings: Settings) -> dict[str, list[str]]:
    return {t: content(str(settings.lake), t) for t in tables(str(settings.lake)) if t not in NOT_CONTENT}


def assert_read_once(settings: Settings) -> None:
    keys = [(r["stream_id"], r["byte_offset"]) for r in rows(str(settings.lake), "raw_logs")]
    assert len(keys) == len(set(keys))


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_better_clock_whose_night_was_cut_still_moves_events_of_before(
    spark, landing, undisturbed, tmp_path, monkeypatch
):
    zone = Path(shutil.copytree(landing, tmp_path / "landing"))
    settings = load_settings(None, landing=str(zone), lake=str(tmp_path / "lake"))
    telemetry, away = zone / "nodes/node-0103/chrony-tracking.log", tmp_path / "chrony-tracking.log"
    shutil.move(telemetry, away)
    run_night(spark, settings)
    assert content(str(settings.lake), "events") != undisturbed["events"]
    shutil.move(away, telemetry)

    def die(*_args):
        raise RuntimeError("power cut")

    with monkeypatch.context() as patched:
        patched.setattr(nightly, "place_events", die)
        with pytest.raises(RuntimeError, match="power cut"):
            run_night(spark, settings)
    run_night(spark, settings)
    ours = everything(settings)
    # Lines that are dropped are counted by batch, and these came in two.
    assert {t for t in undisturbed if ours[t] != undisturbed[t]} <= {"dropped_lines"}


def started_night(settings: Settings) -> subprocess.Popen:
    """A night in a process of its own."""
    command = [sys.executable, "-m", "firstfault.jobs.cli", "nightly", "--master", "local[2]"]
    command += ["--landing", str(settings.landing), "--lake", str(settings.lake)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)


def rewrite(file: Path, data: bytes, written_ns: int) -> None:
    file.write_bytes(data)
    os.utime(file, ns=(written_ns, written_ns))


def kill(night: subprocess.Popen) -> None:
    """As a power cut would: the JVM and the Python workers with it."""
    os.killpg(night.pid, signal.SIGKILL)
    night.wait()


def at_once(settings: Settings) -> Settings:
    """The settings of a night that does not wait until a dead one's lock is stale."""
    return settings.model_copy(update={"lock_stale_s": 0})


def assert_made_whole(spark, settings: Settings, undisturbed: dict[str, list[str]]) -> None:
    run_night(spark, at_once(settings))
    assert everything(settings) == undisturbed
    assert_read_once(settings)


@pytest.mark.parametrize(
    ("after", "grows"), [("raw_logs", True), pytest.param("scoped_events", False, marks=pytest.mark.slow)]
)
def test_a_night_that_is_killed_once_a_table_appears_is_made_whole(spark, landing, undisturbed, tmp_path, after, grows):
    """Also when a file has grown between the kill and the rerun: planned ranges are landed exactly as planned."""
    copy = tmp_path / "landing"
    subprocess.run(["cp", "-rp", str(landing), str(copy)], check=True)
    whole, written_ns = (copy / GROWING).read_bytes(), (copy / GROWING).stat().st_mtime_ns
    before = whole[: whole.rindex(b"\n", 0, -1) + 1] if grows else whole
    rewrite(copy / GROWING, before, written_ns)
    settings = load_settings(None, landing=str(copy), lake=str(tmp_path / "lake"))
    first_commit = Path(str(settings.lake)) / after / "_delta_log" / f"{0:020d}.json"
    begun, night = time.monotonic(), started_night(settings)
    while not first_commit.exists() and night.poll() is None and time.monotonic() - begun < 200:
        time.sleep(0.01)
    time.sleep(random.uniform(0, 1))
    assert night.poll() is None, "the night was over before it could be killed"
    kill(night)
    rewrite(copy / GROWING, whole, written_ns)
    assert_made_whole(spark, settings, undisturbed)
    landed = [r["message"] for r in rows(str(settings.lake), "raw_logs") if r["file"] == GROWING]
    assert len(landed) == whole.count(b"\n")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_a_night_that_is_killed_at_a_random_moment_is_made_whole(spark, landing, undisturbed, tmp_path, seed):
    settings = load_settings(None, landing=str(landing), lake=str(tmp_path / "lake"))
    night = started_night(settings)
    time.sleep(random.Random(seed).uniform(6, 60))
    kill(night)
    assert_made_whole(spark, settings, undisturbed)


class SmallDisk:
    """A file system of few kilobytes."""

    def __init__(self, place: Path) -> None:
        self.place = place
        place.mkdir()

    def hold(self, size_kb: int) -> None:
        """Mounts it, or gives it another size."""
        how = f"remount,size={size_kb}k" if self.place.is_mount() else f"size={size_kb}k"
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", how, "tmpfs", str(self.place)], capture_output=True, check=False
        )
        if done.returncode:
            pytest.skip(f"this machine lets nobody mount a small disk: {done.stderr.decode().strip()}")

    def free(self) -> None:
        if self.place.is_mount():
            subprocess.run(["umount", "-l", str(self.place)], check=True)


@pytest.fixture
def small_disk(tmp_path):
    disk = SmallDisk(tmp_path / "disk")
    yield disk
    disk.free()


@pytest.mark.parametrize("share", [pytest.param(0.15, marks=pytest.mark.slow), 0.6])
def test_a_disk_that_fills_up_is_told_and_what_is_written_stays_readable(
    spark, landing, undisturbed, tmp_path, small_disk, whole_kb, share
):
    small_disk.hold(int(whole_kb * share))
    settings = load_settings(None, landing=str(landing), lake=str(small_disk.place / "lake"))
    command = ["nightly", "--landing", str(landing), "--lake", str(settings.lake)]
    told = CliRunner().invoke(cli.app, command)
    assert told.exit_code == cli.FAILED
    assert "no space left on the disk" in " ".join(told.stderr.split())
    for table in tables(str(settings.lake)):
        assert rows(str(settings.lake), table) is not None
    small_disk.hold(whole_kb * 8)
    assert_made_whole(spark, settings, undisturbed)
