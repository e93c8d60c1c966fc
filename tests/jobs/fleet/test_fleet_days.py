"""Days that follow each other: what rises, what goes on, and what is renamed at midnight."""

import gzip
import hashlib
import json
import re
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from firstfault.jobs.fleet import FleetReport, generate
from firstfault.jobs.fleet.days import worlds
from firstfault.jobs.fleet.mix import draw
from firstfault.jobs.fleet.world import World
from firstfault.jobs.fleet.writers.paths import after_day, kind_of, place_of
from tests.jobs.fleet.small import small

DAYS = 3


@pytest.fixture(scope="module")
def days() -> list[World]:
    return list(worlds(draw(small(days=DAYS))))


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> FleetReport:
    return generate(small(days=DAYS), tmp_path_factory.mktemp("days"))


def digest(landing: Path) -> dict[str, tuple[str, float]]:
    files = (file for file in sorted(landing.rglob("*")) if file.is_file())
    return {str(f.relative_to(landing)): (hashlib.sha256(f.read_bytes()).hexdigest(), f.stat().st_mtime) for f in files}


def test_the_same_seed_gives_the_same_bytes_twice(fleet: FleetReport, tmp_path: Path) -> None:
    again = generate(small(days=DAYS), tmp_path)
    assert digest(again.landing) == digest(fleet.landing)
    assert again.truth.read_bytes() == fleet.truth.read_bytes()
    assert digest(generate(small(days=DAYS), tmp_path / "other", seed=8).landing) != digest(fleet.landing)


def test_each_day_holds_what_happens_on_it(days: list[World]) -> None:
    assert len(days) == DAYS
    for world in days[1:-1]:
        assert all(o.kind.startswith("set.") or world.holds(o.t) for o in world.occurrences)
    truths = days[-1].truths
    assert len({(t.job_id, t.attempt) for t in truths}) == len(truths) == 12


def test_job_ids_rise_with_the_days(days: list[World]) -> None:
    seen = {a.key: a for world in days for a in world.attempts}
    ordered = sorted((a for a in seen.values() if a.attempt == 0), key=lambda a: int(a.job_id))
    assert all(a.submit <= b.submit for a, b in pairwise(ordered))
    assert len({a.submit.date() for a in ordered}) == DAYS


def test_no_two_attempts_hold_a_node_at_once_over_midnight(days: list[World]) -> None:
    seen = {a.key: a for world in days for a in world.attempts}
    for node in days[0].topology.nodes:
        held = sorted((a.start, a.end) for a in seen.values() if node.name in a.nodes)
        assert all(a[1] < b[0] for a, b in pairwise(held))


def test_clocks_go_on(days: list[World]) -> None:
    first, last = days[0], days[-1]
    assert first.clocks == last.clocks
    for name, clock in first.clocks.items():
        gone_s = clock.drift_ppm * 1e-6 * 86400 * (DAYS - 1)
        stepped = clock.step_s if clock.step_at and clock.step_at > first.midnight else 0.0
        assert last.clock(name).offset(last.end) - clock.offset(first.end) == pytest.approx(
            gone_s, abs=abs(stepped) + 1e-6
        )


def test_counters_never_go_back_at_midnight(fleet: FleetReport) -> None:
    last: dict[str, int] = {}
    for file in sorted(fleet.landing.glob("network/perfquery-*.txt"), key=lambda f: f.name):
        switch = re.sub(r"-\d{8}T\d{6}\.txt", "", file.name)
        words = int(re.findall(r"PortXmitData:\.+(\d+)", file.read_text())[0])
        assert words >= last.get(switch, 0), file.name
        last[switch] = words


def test_a_gauge_keeps_the_xid_of_yesterday(days: list[World]) -> None:
    shown = {(o.node, o.device): o.attrs["value"] for o in days[0].occurrences if o.kind == "set.xid"}
    cleared = {(o.node, o.device) for o in days[0].occurrences if o.kind == "clear.xid"}
    assert shown
    left = {
        (o.node, o.device): o.attrs["value"]
        for o in days[1].occurrences
        if o.kind == "set.xid" and o.t < days[1].midnight
    }
    assert {k: v for k, v in shown.items() if k not in cleared}.items() <= left.items()


def test_noise_differs_from_day_to_day(days: list[World]) -> None:
    def times(world: World) -> list[timedelta]:
        return [o.t - world.midnight for o in world.occurrences if o.kind == "sys.session"]

    assert times(days[0]) != times(days[1])


def test_logs_are_renamed_and_files_of_jobs_grow(fleet: FleetReport) -> None:
    names = {file.name for file in fleet.landing.rglob("*") if file.is_file()}
    assert {"slurmctld.log", "slurmctld.log-20261109", "slurmctld.log-20261110"} <= names
    assert {f"sacct-2026111{i}.txt" for i in range(2)} | {"sacct-20261109.txt"} <= names
    for file in fleet.landing.glob("jobs/**/rank-*.log"):
        stamps = re.findall(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}", file.read_text(), re.MULTILINE)
        assert stamps == sorted(stamps)


def test_rotated_logs_are_packed_where_asked(fleet: FleetReport, tmp_path: Path) -> None:
    packed = generate(small(days=DAYS, compress=True), tmp_path)
    found = list(packed.landing.rglob("*.gz"))
    assert found
    for file in found:
        plain = fleet.landing / file.relative_to(packed.landing).with_suffix("")
        assert gzip.decompress(file.read_bytes()) == plain.read_bytes()
        assert file.stat().st_mtime == plain.stat().st_mtime
        assert not file.with_suffix("").exists()
    assert packed.files == fleet.files


def test_accounting_has_each_attempt_once(fleet: FleetReport) -> None:
    texts = [file.read_text() for file in fleet.landing.glob("scheduler/sacct-*.txt")]
    jobs = [
        line.split("|")[1]
        for text in texts
        for line in text.splitlines()[1:]
        if ".0|" not in line and ".batch" not in line
    ]
    truths = json.loads(fleet.truth.read_text())
    assert sorted(jobs) == sorted(t["job_id"] for t in truths)


@pytest.mark.parametrize(
    ("path", "renamed", "source", "place"),
    [
        ("nodes/n1/kern.log", "nodes/n1/kern.log-20261109", "kernel", "n1"),
        ("nodes/n1/journal.json", "nodes/n1/journal.json-20261109", "kernel", "n1"),
        ("metrics/X.json", "metrics/X-20261109.json", "metrics", ""),
        ("metrics/dcgm-20261109T01.prom", "metrics/dcgm-20261109T01.prom", "exporter", ""),
        ("jobs/7/n1/rank-0.worker.log", "jobs/7/n1/rank-0.worker.log", "application", "7"),
        ("jobs/7/flight-recorder/x.json", "jobs/7/flight-recorder/x.json", "flight_recorder", "7"),
        (
            "network/perfquery-leaf-r01-20261109T000000.txt",
            "network/perfquery-leaf-r01-20261109T000000.txt",
            "switches",
            "leaf-r01",
        ),
        ("topology.csv", "topology.csv", "topology", ""),
    ],
)
def test_a_path_tells_its_source_and_its_name_after_midnight(path: str, renamed: str, source: str, place: str) -> None:
    assert after_day(path, small().day) == renamed
    assert kind_of(path).source == source
    assert place_of(path) == place
