"""The wide profile: every mechanism, nodes that fail again, faults that coincide."""

import json
from itertools import pairwise
from pathlib import Path

import pytest

from firstfault.jobs.fleet import generate, load_profile
from firstfault.jobs.fleet.generate import build_world
from firstfault.jobs.fleet.mechanisms import MECHANISMS
from firstfault.jobs.fleet.model import after
from firstfault.jobs.fleet.profile import AttemptsProfile, Profile, SamplingProfile, TopologyProfile
from firstfault.jobs.fleet.signals import tracks, value
from firstfault.jobs.fleet.world import World
from tests.jobs.fleet.lone import lone


@pytest.fixture(scope="module")
def wide() -> World:
    return build_world(load_profile("wide"))


def few(attempts: AttemptsProfile) -> Profile:
    coarse = SamplingProfile(metrics_s=600, nvidia_smi_s=600, dumps_s=7200, switch_csv_s=21600, switch_dumps_s=43200)
    size = TopologyProfile(racks=2, gpus=2, hcas=2)
    return lone("gpu_off_bus", 4).model_copy(update={"attempts": attempts, "sampling": coarse, "topology": size})


def test_it_has_every_mechanism_twice_and_healthy_controls(wide: World) -> None:
    named = [t.mechanism for t in wide.truths]
    assert named.count(None) == 12
    assert all(named.count(name) >= 2 for name in MECHANISMS)


def test_it_fits_into_its_day_and_no_node_is_shared(wide: World) -> None:
    assert max(a.end for a in wide.attempts) < after(wide.midnight, 86400.0)
    for node in wide.topology.nodes:
        assert all(a.end < b.start for a, b in pairwise(wide.windows(node.name)))


def test_no_incident_reaches_into_a_healthy_attempt(wide: World) -> None:
    told = {"origin", "cascade", "teardown"}
    well = {(t.job_id, t.attempt) for t in wide.truths if t.category is None}
    windows = [(node, a.start, a.end) for a in wide.attempts if a.key in well for node in a.nodes]
    lines = [o for o in wide.occurrences if o.role in told and o.node]
    for node, start, end in windows:
        assert not [o for o in lines if o.node == node and start <= o.t <= end]


def test_no_healthy_attempt_runs_on_broken_hardware(wide: World) -> None:
    found = tracks(wide)
    well = {(t.job_id, t.attempt) for t in wide.truths if t.category is None}
    for attempt in (a for a in wide.attempts if a.key in well):
        for rank in attempt.ranks:
            place = (rank.node, rank.device)
            for name in ("gpu_lost", "gpu_absent", "throttle", "row_remap_failure"):
                assert not value(found, name, place, attempt.end), (name, place, attempt.job_id)


def test_nothing_is_printed_by_a_rank_outside_its_attempt(wide: World) -> None:
    spans = {a.key: (a.start, a.end) for a in wide.attempts}
    for line in wide.occurrences:
        if line.rank is not None and line.job is not None:
            assert spans[line.job][0] <= line.t <= spans[line.job][1], (line.kind, line.job)


def test_the_same_gpu_faults_under_unrelated_jobs(wide: World) -> None:
    hits = [t for t in wide.truths if t.mechanism == "gpu_page_fault_hardware"]
    by_gpu: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for truth in hits:
        by_gpu.setdefault(truth.origin, []).append(truth.acceptable)
    assert all(seen == [("user_code",), ()] for seen in by_gpu.values())


def test_a_lemon_fails_in_job_after_job() -> None:
    series = ("gpu_off_bus", "nic_link_down", "gpu_ecc_contained")
    world = build_world(few(AttemptsProfile(mechanisms={}, healthy=2, lemons=(series,), sizes={2: 1.0})))
    struck = [t for t in world.truths if t.category]
    assert [t.mechanism for t in struck] == list(series)
    assert len({t.origin[0].split("/")[0] for t in struck}) == 1


def test_two_faults_at_once_are_both_true(tmp_path: Path) -> None:
    pair = ("gpu_off_bus", "nic_link_down")
    report = generate(few(AttemptsProfile(mechanisms={}, healthy=0, pairs=(pair,), sizes={2: 1.0})), tmp_path)
    (truth,) = json.loads(report.truth.read_text())
    (also,) = truth["also"]
    assert {truth["category"], also["category"]} == {"gpu_hardware", "network_link"}
    assert truth["origin"][0].split("/")[0] != also["origin"][0].split("/")[0]
    assert sorted(truth["mechanism"].split("+")) == sorted(pair)
    kernel = [
        f.read_text() for f in report.landing.rglob("*") if f.name in {"kern.log", "messages"} or "dmesg" in f.name
    ]
    assert any("GPU has fallen off the bus" in text for text in kernel)
    assert any("Link down" in text for text in kernel)


def test_an_unknown_name_in_a_pair_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "wrong.yaml"
    file.write_text("name: w\nseed: 1\nday: 2026-11-07\nattempts: {mechanisms: {}, pairs: [[gpu_off_bus, gremlins]]}\n")
    with pytest.raises(ValueError, match="no such mechanism: gremlins"):
        load_profile(file)
