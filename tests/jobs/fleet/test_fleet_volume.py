"""The volume of a day: as many lines as asked for, in order, none where nobody can write, and no memory for them."""

import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from firstfault.jobs.fleet import FleetReport, generate
from firstfault.jobs.fleet.asks import VolumeProfile
from firstfault.jobs.fleet.clocks import Clock
from firstfault.jobs.fleet.days import worlds
from firstfault.jobs.fleet.mix import draw
from firstfault.jobs.fleet.writers import bulk
from firstfault.jobs.fleet.writers.sink import Sink, micros
from tests.jobs.fleet.small import small

NOON = datetime(2026, 11, 9, 12, tzinfo=UTC)
ASKED = 120_000


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> FleetReport:
    return generate(small(days=2, volume=VolumeProfile(lines_per_day=ASKED)), tmp_path_factory.mktemp("full"))


def test_a_day_has_as_many_lines_as_asked_for(full: FleetReport) -> None:
    assert full.lines == pytest.approx(2 * ASKED, rel=0.1)


def test_a_day_that_has_enough_gets_no_chatter(tmp_path: Path) -> None:
    plain = generate(small(), tmp_path / "plain")
    same = generate(small(volume=VolumeProfile(lines_per_day=10)), tmp_path / "same")
    assert same.lines == plain.lines


def test_chatter_takes_nothing_away(full: FleetReport, tmp_path: Path) -> None:
    plain = generate(small(days=2), tmp_path)
    for file in list(plain.landing.glob("jobs/**/*.log"))[:5]:
        kept = iter((full.landing / file.relative_to(plain.landing)).read_text().splitlines())
        assert all(line in kept for line in file.read_text().splitlines())


def test_ranks_and_nodes_write_in_order(full: FleetReport) -> None:
    for file in full.landing.glob("jobs/**/rank-*.log"):
        stamps = re.findall(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}", file.read_text(), re.MULTILINE)
        assert stamps == sorted(stamps)


def test_a_job_that_stands_still_has_no_chatter(full: FleetReport) -> None:
    *_, last = worlds(draw(small(days=2)))
    checked = 0
    for truth in (t for t in last.truths if t.mechanism == "gpu_off_bus" and t.t0):
        for file in full.landing.glob(f"jobs/{truth.job_id}/**/rank-*.log"):
            clock = last.clock(file.parent.name)
            late = f"{clock.written(truth.t0):%Y-%m-%d %H:%M:%S},999"
            said = [line for line in file.read_text().splitlines() if " at step " in line]
            assert not [line for line in said if line[:23] > late]
            checked += bool(said)
    assert checked


def test_samples_are_text_with_times_and_stay_in_their_hour(full: FleetReport) -> None:
    files = sorted(full.landing.glob("metrics/dcgm-*.prom"))
    assert len(files) == 48
    for file in files[::7]:
        hour = datetime.strptime(file.stem, "dcgm-%Y%m%dT%H").replace(tzinfo=UTC)
        for line in file.read_text().splitlines()[:50]:
            found = re.fullmatch(r'DCGM_FI_DEV_\w+\{gpu="\d",UUID="GPU-[0-9a-f-]+",.*\} \d+ (\d{13})', line)
            assert found, line
            assert 0 <= int(found[1]) / 1000 - hour.timestamp() < 3600


def test_stamps_of_arrays_are_those_of_the_clock() -> None:
    clock = Clock(1.5, 3.0, NOON, step_s=-1.5, step_at=datetime(2026, 11, 9, 13, tzinfo=UTC))
    times = [datetime(2026, 11, 9, hour, 30, 1, 250_000, UTC) for hour in (12, 13)]
    shown = bulk.shown(clock, np.array([micros(t) for t in times]))
    assert shown.tolist() == [micros(clock.written(t)) for t in times]
    assert bulk.iso_micro(shown)[1] == f"{clock.written(times[1]):%Y-%m-%dT%H:%M:%S.%f}+00:00"
    assert bulk.rfc3164(shown)[0].startswith("Nov  9 12:30:02")


def test_streams_and_lines_of_a_file_are_merged_by_time() -> None:
    sink = Sink()
    sink.stream("a", iter([([micros(NOON) + 10, micros(NOON) + 30], ["x", "z"])]))
    sink.add("a", datetime(2026, 11, 9, 12, 0, 0, 20, UTC), "y")
    sink.add("a", datetime(2026, 11, 9, 12, 0, 1, tzinfo=UTC), "later")
    assert [text for _, texts in sink.blocks("a") for text in texts] == ["x", "y", "z", "later"]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_gigabyte_needs_little_memory(tmp_path: Path) -> None:
    code = (
        "import resource, sys; from pathlib import Path; from firstfault.jobs.fleet import generate;"
        "from firstfault.jobs.fleet.knobs import chosen_profile;"
        "p = chosen_profile('research', attempts=20, days=1, lines_per_day=9_000_000);"
        "print(generate(p, Path(sys.argv[1])).size_bytes, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    size_bytes, peak_kb = map(int, done.stdout.split())
    assert size_bytes > 900e6
    assert peak_kb < 250_000
