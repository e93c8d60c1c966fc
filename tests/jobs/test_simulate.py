"""`firstfault simulate`: each knob does what it says, and only folders of its own are emptied."""

import json
from pathlib import Path
from typing import Any, get_args

import pytest
from typer.testing import CliRunner

from firstfault.jobs import cli
from firstfault.jobs.fleet.asks import SourceName
from firstfault.jobs.fleet.knobs import chosen_profile
from firstfault.jobs.folders import UsageError, emptied
from firstfault.jobs.simulate_cli import MARKER, SOURCES

runner = CliRunner()
SMALL = """
name: site
seed: 5
day: 2026-11-09
topology: {racks: 4, gpus: 2, hcas: 2}
attempts: {sizes: {2: 1}, minutes: [12, 20]}
mix: {attempts: 8, healthy: 0.25, weights: {gpu_off_bus: 1, user_exception: 2}}
clocks: {seconds_off: 2}
sampling: {metrics_s: 600, nvidia_smi_s: 600, dumps_s: 7200, switch_csv_s: 21600, switch_dumps_s: 43200}
noise: {session: 20, backfill: 5}
labels: 1.0
"""


@pytest.fixture
def site(tmp_path: Path) -> str:
    (tmp_path / "site.yaml").write_text(SMALL)
    return str(tmp_path / "site.yaml")


def simulate(site: str, out: Path, *flags: str) -> str:
    done = runner.invoke(cli.app, ["simulate", "--profile", site, "--out", str(out), *flags])
    assert done.exit_code == 0, done.output
    return done.output


def files(out: Path) -> dict[str, bytes]:
    return {str(f.relative_to(out)): f.read_bytes() for f in sorted(out.rglob("*")) if f.is_file()}


def test_it_writes_landing_truth_and_labels_and_the_same_twice(site: str, tmp_path: Path) -> None:
    said = simulate(site, tmp_path / "a", "--seed", "7", "--attempts", "10")
    simulate(site, tmp_path / "b", "--seed", "7", "--attempts", "10")
    assert files(tmp_path / "a") == files(tmp_path / "b")
    assert {p.name for p in (tmp_path / "a").iterdir()} == {"landing", "truth.json", "labels.csv", "fleet.json", MARKER}
    assert len(json.loads((tmp_path / "a" / "truth.json").read_text())) == 10
    assert "10 attempts" in said
    simulate(site, tmp_path / "b", "--seed", "8", "--attempts", "10")
    assert files(tmp_path / "a") != files(tmp_path / "b")


def test_damage_and_labels_are_told(site: str, tmp_path: Path) -> None:
    flags = ("--loss", "0.1", "--duplicates", "0.1", "--missing", "chrony", "--missing", "syslog:0.5")
    said = simulate(site, tmp_path / "a", *flags, "--deliver-labels", "--label-errors", "0.5")
    assert "lost:" in said
    assert "delivered twice:" in said
    assert "files missing:" in said
    assert (tmp_path / "a" / "landing" / "labels.csv").read_bytes() == (tmp_path / "a" / "labels.csv").read_bytes()
    assert not list((tmp_path / "a" / "landing").glob("nodes/*/chrony*"))


def test_what_was_asked_for_and_the_clocks_lie_beside_the_zone(site: str, tmp_path: Path) -> None:
    simulate(site, tmp_path / "a", "--loss", "0.2", "--seed", "6")
    told = json.loads((tmp_path / "a" / "fleet.json").read_text())
    assert (told["profile"]["seed"], told["profile"]["damage"]["loss"]) == (6, 0.2)
    assert len(told["clocks"]) == 16
    assert sum(clock["kind"] == "seconds_off" for clock in told["clocks"].values()) == 2
    assert told["lost"]["application"] > 0


def test_help_names_every_source() -> None:
    assert set(SOURCES) == set(get_args(SourceName))


def test_it_empties_only_what_it_wrote(site: str, tmp_path: Path) -> None:
    simulate(site, tmp_path / "a")
    (tmp_path / "a" / "landing" / "old").touch()
    simulate(site, tmp_path / "a")
    assert not (tmp_path / "a" / "landing" / "old").exists()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("x")
    with pytest.raises(UsageError, match="no fleet wrote it"):
        emptied(tmp_path / "mine", MARKER, "fleet", "--out")
    assert (tmp_path / "mine" / "thesis.tex").exists()


def test_a_wrong_knob_leaves_the_last_fleet_alone(site: str, tmp_path: Path) -> None:
    simulate(site, tmp_path / "a")
    before = files(tmp_path / "a")
    done = runner.invoke(cli.app, ["simulate", "--profile", site, "--out", str(tmp_path / "a"), "--skew", "-1"])
    assert done.exit_code == cli.USAGE
    assert files(tmp_path / "a") == before


@pytest.mark.parametrize(
    ("knob", "read", "gives"),
    [
        ({"seed": 9}, lambda p: p.seed, 9),
        ({"nodes": 40}, lambda p: (p.topology.count, p.clocks.seconds_off, p.noise["session"]), (40, 5, 50)),
        ({"nodes": 5}, lambda p: (p.topology.count, p.topology.racks), (5, 2)),
        ({"nodes": 2000}, lambda p: p.topology.count, 2000),
        ({"days": 4}, lambda p: p.days, 4),
        ({"skew": 0.0}, lambda p: (p.clocks.good_ms, p.clocks.seconds_off, p.clocks.stepped), (0.0, 0, 0)),
        ({"skew": 8.0}, lambda p: (p.clocks.seconds, p.clocks.step_s), ((2.0, 8.0), 2.0)),
        ({"noise": 3.0}, lambda p: p.noise, {"session": 60, "backfill": 15}),
        ({"noise": 0.0}, lambda p: p.noise, {"session": 0, "backfill": 0}),
        ({"lines_per_day": 5000}, lambda p: p.volume.lines_per_day, 5000),
        ({"labels": 0.2, "label_errors": 0.1}, lambda p: (p.labels, p.label_errors), (0.2, 0.1)),
        (
            {"missing": ["kernel:0.5:0.25"]},
            lambda p: (p.damage.missing[0].places, p.damage.missing[0].days),
            (0.5, 0.25),
        ),
        ({}, lambda p: (p.seed, p.topology.count, p.days, p.damage.loss, p.deliver_labels), (5, 16, 1, 0.0, False)),
    ],
)
def test_a_knob_changes_what_it_names(site: str, knob: dict[str, Any], read: Any, gives: object) -> None:
    assert read(chosen_profile(site, **knob)) == gives


def test_a_wrong_clock_shows_in_the_files(site: str, tmp_path: Path) -> None:
    simulate(site, tmp_path / "true", "--skew", "0")
    simulate(site, tmp_path / "wrong", "--skew", "30")
    for name, right in (("true", True), ("wrong", False)):
        rows = [
            f.read_text().splitlines()[3].split() for f in (tmp_path / name).glob("landing/nodes/*/chrony-tracking.log")
        ]
        assert rows
        assert all(abs(float(row[6])) < 0.001 for row in rows) == right
