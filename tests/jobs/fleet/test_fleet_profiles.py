"""The profiles of public mixes: nothing of the truth in their zones, and the formats they add."""

import gzip
import json
import re
from pathlib import Path

import pytest

from firstfault.jobs.fleet import FleetReport, generate
from firstfault.jobs.fleet.asks import MixProfile
from firstfault.jobs.fleet.knobs import chosen_profile
from firstfault.jobs.fleet.mechanisms import MECHANISMS
from firstfault.jobs.fleet.profile import AttemptsProfile
from tests.jobs.fleet.small import WEIGHTS, small

NATURAL = {"preempted", "walltime"}
TRUTH_WORDS = ("mechanism", "acceptable", "affected_nodes", "origin_scope", '"t0"', "lemon", "rehears", "simulat")


@pytest.fixture(scope="module", params=["pretrain", "research", "operations"])
def fleet(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> FleetReport:
    profile = chosen_profile(request.param, seed=9, attempts=14, nodes=16, days=2, lines_per_day=20_000)
    return generate(profile, tmp_path_factory.mktemp(request.param))


def test_no_truth_leaks_into_the_zone(fleet: FleetReport) -> None:
    words = [*sorted(set(MECHANISMS) - NATURAL), *TRUTH_WORDS]
    told = re.compile("|".join(map(re.escape, words)).encode())
    for file in (f for f in fleet.landing.rglob("*") if f.is_file()):
        data = file.read_bytes()
        found = told.search(gzip.decompress(data) if file.suffix == ".gz" else data)
        assert found is None, (file.name, found)
        assert not told.search(str(file.relative_to(fleet.landing)).encode())


def test_the_truth_lies_beside_the_zone(fleet: FleetReport) -> None:
    names = {file.name for file in fleet.landing.parent.iterdir()}
    assert {"landing", "truth.json", "fleet.json"} <= names <= {"landing", "truth.json", "fleet.json", "labels.csv"}
    assert len(json.loads(fleet.truth.read_text())) == fleet.attempts == 14


def styled(out: Path, **styles: object) -> FleetReport:
    attempts = AttemptsProfile(sizes={2: 1.0}, minutes=(12.0, 20.0), layouts={"single": 1.0}, **styles)
    mix = MixProfile(weights=WEIGHTS, attempts=4, healthy=0.5)
    return generate(
        small(days=1, attempts=attempts, mix=mix, kernel_logs={"journal": 1.0}, accounting={"json": 1.0}), out
    )


def test_a_journal_is_one_object_a_line_with_the_clock_of_its_node(tmp_path: Path) -> None:
    report = styled(tmp_path)
    files = list(report.landing.glob("nodes/*/journal.json"))
    assert files
    assert not list(report.landing.glob("nodes/*/kern.log"))
    records = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    assert {r["_TRANSPORT"] for r in records} == {"kernel", "syslog"}
    assert all(isinstance(value, str) for r in records for value in r.values())
    assert any("NVRM: Xid" in r["MESSAGE"] for r in records)
    for record in (r for r in records if r["_TRANSPORT"] == "kernel"):
        assert int(record["__MONOTONIC_TIMESTAMP"]) > int(record["_SOURCE_MONOTONIC_TIMESTAMP"])


def test_accounting_as_json_says_what_the_truth_knows(tmp_path: Path) -> None:
    report = styled(tmp_path)
    (file,) = report.landing.glob("scheduler/sacct-*.json")
    jobs = json.loads(file.read_text())["jobs"]
    truths = {(t["job_id"], t["attempt"]): t for t in json.loads(report.truth.read_text())}
    assert {(str(j["job_id"]), j["restart_cnt"]) for j in jobs} == set(truths)
    well = {key for key, t in truths.items() if t["category"] is None}
    assert {(str(j["job_id"]), j["restart_cnt"]) for j in jobs if j["state"]["current"] == ["COMPLETED"]} == well
    assert all(j["time"]["start"] <= j["time"]["end"] for j in jobs)


@pytest.mark.parametrize(
    ("loop", "step"),
    [
        ("transformers", r"^\{'loss': \d\.\d{4}, 'grad_norm': 0\.\d{4}, 'learning_rate': 4e-05, 'epoch': \d\.\d\d\}$"),
        (
            "deepspeed",
            r"^\[\d{4}-\d\d-\d\d [\d:,]+\] \[INFO\] \[logging\.py:107:log_dist\] \[Rank 0\] step=\d+, skipped=0",
        ),
    ],
)
def test_other_loops_print_their_own_lines_from_the_first_rank(tmp_path: Path, loop: str, step: str) -> None:
    report = styled(tmp_path, steps={loop: 1.0})
    texts = [f.read_text() for f in report.landing.glob("jobs/*/slurm-*.out")]
    assert texts
    for text in texts:
        said = [line for line in text.splitlines() if re.search(step, re.sub(r"^ *\d+: ", "", line))]
        assert said
        assert {line.split(":")[0].strip() for line in said} == {"0"}
