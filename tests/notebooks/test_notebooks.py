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
