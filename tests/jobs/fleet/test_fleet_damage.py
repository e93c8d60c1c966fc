"""Losses, repeats and missing sources: as large as asked for, and nowhere else."""

from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

from firstfault.jobs.fleet import FleetReport, Profile, generate
from firstfault.jobs.fleet.asks import DamageProfile, Missing
from firstfault.jobs.fleet.damage import Way, is_missing
from tests.jobs.fleet.small import small

MANY = [str(i) for i in range(200_000)]


def arrived(damage: DamageProfile, part: int) -> tuple[list[str], Way]:
    way = Way(Random(5), damage)
    return [line for i in range(0, len(MANY), part) for line in way.carry(MANY[i : i + part])], way


def fleet(out: Path, **damage: object) -> FleetReport:
    return generate(damaged(**damage), out)


def damaged(**damage: object) -> Profile:
    return small(days=1, damage=DamageProfile.model_validate(damage))


def lines(report: FleetReport, glob: str) -> dict[str, list[str]]:
    return {str(f.relative_to(report.landing)): f.read_text().splitlines() for f in sorted(report.landing.glob(glob))}


@pytest.mark.parametrize("share", [0.01, 0.1, 0.4])
def test_as_many_lines_are_lost_as_asked_for(share: float) -> None:
    kept, way = arrived(DamageProfile(loss=share), 1000)
    assert len(kept) + way.lost == len(MANY)
    assert way.lost / len(MANY) == pytest.approx(share, rel=0.15)
    gaps = [int(b) - int(a) for a, b in pairwise(kept)]
    assert all(gap > 0 for gap in gaps)
    assert max(gaps) > 20  # some are lost in bursts
    assert sum(gap == 2 for gap in gaps) > way.lost / 10  # and some one by one


@pytest.mark.parametrize("share", [0.02, 0.3])
def test_as_many_lines_come_twice_as_asked_for(share: float) -> None:
    kept, way = arrived(DamageProfile(duplicates=share), 1000)
    assert len(kept) - way.repeated == len(MANY)
    assert way.repeated / len(MANY) == pytest.approx(share, rel=0.15)
    assert sorted(set(kept), key=int) == MANY


def test_nothing_is_asked_and_nothing_happens() -> None:
    kept, way = arrived(DamageProfile(), 777)
    assert kept == MANY
    assert (way.lost, way.repeated) == (0, 0)


def test_only_logs_lose_lines_and_headers_stay(tmp_path: Path) -> None:
    whole, torn = fleet(tmp_path / "whole"), fleet(tmp_path / "torn", loss=0.3)
    assert whole.lost == {}
    assert torn.truth.read_bytes() == whole.truth.read_bytes()
    for glob in ("scheduler/sacct*", "topology.csv", "metrics/*.json"):
        assert lines(torn, glob) == lines(whole, glob)
    assert 0.5 < torn.lines / whole.lines < 0.9
    full, left = lines(whole, "nodes/*/nvidia-smi.csv"), lines(torn, "nodes/*/nvidia-smi.csv")
    assert all(left[path][0] == rows[0] for path, rows in full.items())
    ranks = lines(whole, "jobs/**/rank-*.log")
    assert all(set(lines(torn, "jobs/**/rank-*.log")[path]) <= set(text) for path, text in list(ranks.items())[:3])


def test_files_come_twice_under_a_rotated_name(tmp_path: Path) -> None:
    report = fleet(tmp_path, duplicates=0.5)
    again = [f for f in report.landing.rglob("*.1") if f.is_file()]
    assert again
    for file in again:
        first = file.with_suffix("")
        assert file.read_bytes() == first.read_bytes()
        assert file.stat().st_mtime == first.stat().st_mtime


def test_a_missing_source_is_missing_and_the_others_are_not(tmp_path: Path) -> None:
    whole, without = fleet(tmp_path / "whole"), fleet(tmp_path / "without", missing=[{"source": "kernel"}])
    gone = set(lines(whole, "**/*.*")) - set(lines(without, "**/*.*"))
    assert gone
    assert all(Path(path).name.startswith(("kern.log", "messages", "dmesg", "journal")) for path in gone)
    assert without.missing["kernel"] >= len(gone)
    assert whole.missing == {}


def test_a_source_is_missing_at_a_share_of_places_and_days() -> None:
    half = (Missing(source="kernel", places=0.5, days=0.5),)
    hits = [[is_missing(1, half, "kernel", f"n{i}", day) for i in range(200)] for day in range(40)]
    on = [row for row in hits if any(row)]
    assert 10 <= len(on) <= 30
    assert all(row == on[0] for row in on)
    assert 70 <= sum(on[0]) <= 130
    assert not any(is_missing(1, half, "syslog", f"n{i}", 0) for i in range(50))
