"""Each notebook is committed without outputs, and runs on a small lake from the first cell to the last."""

import re
from datetime import timedelta
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from firstfault.transforms.clock_faults import CLOCK_FAULTS
from firstfault.transforms.clock_offsets import CLOCK_OFFSETS
from firstfault.transforms.results import RESULTS
from tests.jobs.test_answer import verdict
from tests.jobs.test_clock_plot import DAY, offset
from tests.jobs.test_report import fault, put
from tests.notebooks.fleet_lake import GPU_JOB, reviewed

FOLDER = Path(__file__).parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


@pytest.fixture
def small(lake) -> Path:
    """A lake with a clock that is right, one an hour off, one that stepped, and a verdict on an unsure order."""
    before = {name: offset()[name] - timedelta(days=1) for name in ("day", "t_from", "t_to")}
    step = offset("stepped", 1, offset_s=20.0, step_s=40.0, error_s=20.1)
    put(
        lake, CLOCK_OFFSETS, offset("good"), offset("hour_off", 1, offset_s=3600.0, error_s=0.25, n=7),
        offset("stepped", 0), step, offset("stepped", 2, offset_s=40.0), offset("old", **before),
    )  # fmt: skip
    put(lake, CLOCK_FAULTS, fault("hour_off"))
    unsure = verdict("84214", day=DAY, order_certain=False, origin=["hour_off/0000:3b:00"])
    put(lake, RESULTS, verdict("84213", day=DAY), unsure)
    return lake


@pytest.fixture(scope="module")
def fleet(spark, tmp_path_factory) -> str:
    """The lake of a rehearsed fleet, with labels and a review."""
    return reviewed(spark, tmp_path_factory.mktemp("fleet"))


@pytest.fixture
def shown(fleet, tmp_path, monkeypatch):
    """What a notebook shows of the fleet, given more parameters."""
    monkeypatch.setenv("FIRSTFAULT_LAKE", fleet)
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    for name in ("DAY", "MONTH", "JOB"):
        monkeypatch.delenv(f"FIRSTFAULT_{name}", raising=False)

    def run(name: str, **given: str) -> str:
        for key, value in given.items():
            monkeypatch.setenv(f"FIRSTFAULT_{key}", value)
        return outputs(FOLDER / name)

    return run


def read(path: Path) -> nbformat.NotebookNode:
    return nbformat.read(path, as_version=4)


def outputs(path: Path) -> str:
    """All that the cells of an executed notebook show."""
    notebook = read(path)
    resources = {"metadata": {"path": str(FOLDER)}}
    NotebookClient(notebook, kernel_name="python3", timeout=60, resources=resources).execute()
    shown = [o for cell in notebook.cells for o in cell.get("outputs", [])]
    return "\n".join(text for o in shown for text in (o.get("text", ""), *o.get("data", {}).values()))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_notebook_is_committed_without_outputs_and_named_in_the_readme(path):
    notebook = read(path)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.outputs == [] and cell.execution_count is None for cell in code)
    assert sum("parameters" in cell.metadata.get("tags", []) for cell in code) == 1
    assert f"`{path.name}`" in (FOLDER / "README.md").read_text(encoding="utf-8")


def test_clock_offsets_shows_the_clocks_of_the_newest_day(small, tmp_path, monkeypatch):
    monkeypatch.setenv("FIRSTFAULT_LAKE", str(small))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.delenv("FIRSTFAULT_DAY", raising=False)
    shown = outputs(FOLDER / "clock_offsets.ipynb")
    assert "2026-11-20: 5 intervals of 3 clocks" in shown
    assert "<svg" in shown
    assert re.search(r"whole_hour +hour_off", shown)
    assert re.search(r"0 +hour_off +\* +3600\.000 +3600\.000 +0\.25", shown)
    assert re.search(r"1 +stepped +\* +0\.002 +40\.000 +0\.00\d* +1 +telemetry", shown)
    assert re.search(r"84214 +0 +gpu_hardware +0\.9 +0\.25 +hour_off", shown)


def test_rule_quality_shows_what_to_decide_and_every_month(shown):
    text = shown("rule_quality.ipynb")
    assert "**2026-11**: 5 verdicts, 4 with a label" in text
    assert text.count("<svg") == 5
    assert {"2026-09", "2026-10", "2026-11"} <= set(re.findall(r">(\d{4}-\d\d)<", text))
    assert re.search(r"84302 +0 +user_code +network_link", text)  # the operator says otherwise
    assert re.search(rf"{GPU_JOB} +0 +gpu_hardware +0\.\d+ +\[gpu_hardware, network_link\]", text)


def test_incident_walkthrough_goes_from_the_verdict_to_the_lines(shown):
    text = shown("incident_walkthrough.ipynb", JOB=GPU_JOB)
    assert re.search(r"gpu_hardware +gpu gpu-r01-n01/0000:19:00", text)
    assert text.count("<svg") >= 2
    assert "origin: where the fault began" in text
    assert re.search(r"origin\s+gpu-r01-n01\s", text)
    assert re.search(r"nodes/gpu-r01-n01/messages:1\s", text)  # the raw line of the origin
    assert "GPU serial number is" in text  # and what stands around it
    assert re.search(rf"{GPU_JOB} +0 +gpu_hardware +2 +2026-11-09", text)  # its neighbours, itself among them


def test_incident_walkthrough_finds_an_incident_of_its_own(shown):
    assert "job 84302 attempt 0 on main" in shown("incident_walkthrough.ipynb")


def test_sql_cookbook_answers_every_question(shown):
    text = shown("sql_cookbook.ipynb")
    assert "**2026-11**: 5 failed attempts of 5 jobs" in text
    assert re.search(r"0 +gpu-r01-n01 +1 +0\.\d +\[gpu_hardware\]", text)
    assert re.search(r"84305 +0 +failed +0\.\d+ +\[kernel_log\]", text)
    assert re.search(rf"{GPU_JOB} +0 +gpu_hardware +network_link", text)  # labels in conflict
    assert "off by up to -5.9" in text
    assert "Xid  79" in text
    assert text.count("<svg") >= 6
