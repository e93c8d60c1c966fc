"""The whole of a rehearsed day: same bytes for one seed, rows that read back, nothing told in the zone."""

import csv
import hashlib
import json
from datetime import UTC, date, datetime
from itertools import pairwise
from pathlib import Path

import pytest
from ClusterShell.NodeSet import NodeSet

from firstfault.jobs.fleet import FleetReport, ProfileError, generate, load_profile
from firstfault.jobs.fleet.generate import build_world
from firstfault.jobs.fleet.hostlist import compress
from firstfault.jobs.fleet.model import AttemptKey
from firstfault.jobs.fleet.profile import AttemptsProfile
from firstfault.jobs.fleet.world import World


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> FleetReport:
    return generate("demo", tmp_path_factory.mktemp("demo"))


@pytest.fixture(scope="module")
def world() -> World:
    return build_world(load_profile("demo"))


def digest(landing: Path) -> dict[str, tuple[str, float]]:
    return {
        str(file.relative_to(landing)): (hashlib.sha256(file.read_bytes()).hexdigest(), file.stat().st_mtime)
        for file in sorted(landing.rglob("*"))
        if file.is_file()
    }


def test_same_profile_and_seed_give_the_same_bytes_and_file_times(demo: FleetReport, tmp_path: Path) -> None:
    again = generate("demo", tmp_path)
    assert digest(again.landing) == digest(demo.landing)
    assert again.truth.read_bytes() == demo.truth.read_bytes()


def test_another_seed_or_day_gives_another_zone(tmp_path: Path) -> None:
    small = AttemptsProfile(mechanisms={"user_exception": 1}, healthy=0, sizes={1: 1.0})
    profile = load_profile("demo").model_copy(update={"attempts": small, "noise": {}})
    first = generate(profile, tmp_path / "first")
    other = generate(profile, tmp_path / "seed", seed=1)
    assert other.truth.read_bytes() != first.truth.read_bytes()
    moved = generate(profile, tmp_path / "day", day=date(2027, 1, 1))
    assert moved.day == date(2027, 1, 1)
    assert (moved.landing / "scheduler" / "sacct-20270101.txt").exists()


def test_demo_keeps_its_promises(demo: FleetReport) -> None:
    assert 28 <= demo.attempts <= 34
    assert demo.healthy == 8
    assert len(demo.mechanisms) >= 8
    assert demo.size_bytes < 15_000_000


def test_truth_lies_beside_the_zone_and_never_in_it(demo: FleetReport) -> None:
    assert demo.truth.parent == demo.landing.parent
    names = {file.name for file in demo.landing.rglob("*")}
    assert not any("truth" in name for name in names)
    told = {truth["mechanism"] for truth in json.loads(demo.truth.read_text()) if truth["mechanism"]}
    text = b"".join(file.read_bytes() for file in demo.landing.rglob("*.log"))
    assert not [name for name in told if name not in {"preempted", "walltime"} and name.encode() in text]


def test_there_is_one_truth_an_attempt(demo: FleetReport, world: World) -> None:
    truths = json.loads(demo.truth.read_text())
    assert [(t["job_id"], t["attempt"]) for t in truths] == [a.key for a in world.attempts]
    assert sum(t["category"] is None for t in truths) == demo.healthy


def test_sacct_rows_read_back_to_the_attempts(demo: FleetReport, world: World) -> None:
    text = (demo.landing / "scheduler" / "sacct-20261107.txt").read_text()
    rows = list(csv.DictReader(text.splitlines(), delimiter="|"))
    jobs = [row for row in rows if "." not in row["JobID"]]
    seen: dict[str, int] = {}
    read: dict[AttemptKey, tuple[str, tuple[str, ...], datetime, datetime]] = {}
    for row in jobs:
        number = seen[row["JobID"]] = seen.get(row["JobID"], -1) + 1
        assert int(row["Restarts"]) == number
        nodes = tuple(sorted(NodeSet(row["NodeList"])))
        times = [datetime.fromisoformat(row[name]).replace(tzinfo=UTC) for name in ("Start", "End")]
        read[row["JobID"], number] = (row["State"], nodes, times[0], times[1])
    assert read == {
        a.key: (a.state, tuple(sorted(a.nodes)), a.start, a.end.replace(microsecond=0)) for a in world.attempts
    }
    assert len(rows) == 3 * len(jobs)


def test_requeued_jobs_have_a_folder_an_attempt(demo: FleetReport, world: World) -> None:
    again = [a for a in world.attempts if a.attempt == 1]
    assert len(again) == 3
    for attempt in again:
        folders = sorted(p.name for p in (demo.landing / "jobs" / attempt.job_id).iterdir())
        assert folders == ["attempt-0", "attempt-1"]


def test_no_two_attempts_hold_a_node_at_once(world: World) -> None:
    for node in world.topology.nodes:
        windows = world.windows(node.name)
        assert all(a.end < b.start for a, b in pairwise(windows))


def test_a_skewed_victim_looks_earliest_somewhere(world: World) -> None:
    """The trap the clock work exists for: by written time, a node that only suffered speaks first."""
    fooled = 0
    for truth in world.truths:
        lines = [
            o
            for o in world.occurrences
            if o.job == (truth.job_id, truth.attempt) and o.node and o.role in {"origin", "cascade", "teardown"}
        ]
        places = {o.split("/")[0] for o in truth.origin}
        if lines and truth.origin_scope in {"gpu", "node"}:
            fooled += min(lines, key=world.written).node not in places
    assert fooled >= 1


def test_host_lists_expand_to_what_was_compressed() -> None:
    names = ["gpu-r01-n01", "gpu-r01-n02", "gpu-r01-n04", "gpu-r02-n09", "login"]
    assert compress(reversed(names)) == "gpu-r01-n[01-02,04],gpu-r02-n09,login"
    assert sorted(NodeSet(compress(names))) == names


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("mechanisms: {gremlins: 1}", "no such mechanism: gremlins"),
        ("mechanisms: {gpu_off_bus: -1}", "attempts.mechanisms.gpu_off_bus"),
        ("mechanism: {}", "attempts.mechanism: Extra inputs"),
    ],
)
def test_a_wrong_profile_says_which_key(tmp_path: Path, change: str, says: str) -> None:
    file = tmp_path / "wrong.yaml"
    file.write_text(f"name: wrong\nseed: 1\nday: 2026-11-07\nattempts:\n  {change}\n")
    with pytest.raises(ProfileError, match=says):
        load_profile(file)


def test_an_unknown_profile_names_the_shipped_ones() -> None:
    with pytest.raises(ProfileError, match="demo"):
        load_profile("nowhere")


def test_more_requeues_than_retries_is_refused(tmp_path: Path) -> None:
    profile = load_profile("demo")
    attempts = profile.attempts.model_copy(update={"healthy": 1, "requeued": 2})
    with pytest.raises(ProfileError, match="requeued"):
        generate(profile.model_copy(update={"attempts": attempts}), tmp_path)
