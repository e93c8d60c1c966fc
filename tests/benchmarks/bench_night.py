"""A whole night over the demo's fleet, as the command line runs it: a process of its own, from start to verdicts."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from deltalake import DeltaTable

from firstfault.jobs.demo import PROFILE
from firstfault.jobs.fleet import generate
from firstfault.transforms.runs import RUNS
from tests.benchmarks.conftest import CORES, Bench

pytestmark = [pytest.mark.bench, pytest.mark.timeout(3600)]


def test_night(tmp_path: Path, bench: Bench) -> None:
    fleet = generate(PROFILE, tmp_path)
    lake = tmp_path / "lake"
    command = ("nightly", "--landing", str(fleet.landing), "--lake", str(lake), "--master", f"local[{CORES}]")
    program = "from firstfault.jobs.cli import main; main()"
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-c", program, *command], check=True, capture_output=True, env=os.environ)
    took = time.perf_counter() - begun
    [run] = DeltaTable(str(lake / RUNS.name)).to_pyarrow_table().to_pylist()
    stages = dict(run["durations_s"])
    size = f"profile {PROFILE}: {fleet.attempts} attempts, {fleet.files:,} files, {fleet.size_bytes / 1e6:.0f} MB"
    about = {"n": run["lines_read"], "size": size}
    bench.add("night", took, "s", **about)
    assert run["status"] == "done"
    gates = stages.pop("of which gates")
    stages["start and end"] = took - sum(stages.values())
    bench.add("night: of which gates", gates, "s", **about)
    for name, seconds in sorted(stages.items(), key=lambda stage: -stage[1]):
        bench.add(f"night: {name}", seconds, "s", **about)
