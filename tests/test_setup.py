"""The set-up holds together: Makefile, lock file, packages, and every command that the documents name."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
DOCUMENTS = ("README.md", "CONTRIBUTING.md", "OPERATIONS.md")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")


def code_lines() -> Iterator[tuple[str, str]]:
    """(document, line) of every fenced block, continued lines joined, comments dropped."""
    for document in DOCUMENTS:
        text = (ROOT / document).read_text(encoding="utf-8")
        for block in re.findall(r"^```[a-z]*\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
            for line in block.replace("\\\n", " ").splitlines():
                yield document, line.split(" #")[0]


def commands(program: str) -> list[Any]:
    """The words after `program`, for each line that starts it."""
    found = re.compile(rf"(?:^|[\s/]){program} ([a-z][^|&;>]*)")
    return [
        pytest.param(match.group(1).split(), id=f"{document}:{match.group(0).strip()}")
        for document, line in code_lines()
        for match in [found.search(line)]
        if match
    ]


def make_targets() -> dict[str, str]:
    return dict(re.findall(r"^([a-z-]+):.*?## (.+)$", MAKEFILE, re.MULTILINE))


def make(*words: str) -> subprocess.CompletedProcess[str]:
    """Run make as from a shell, also when a make runs these tests."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    command = ["make", "--no-print-directory", *words]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("words", commands("make"))
def test_make_commands_exist(words: list[str]) -> None:
    assert words[0] in make_targets()


@pytest.mark.parametrize("words", commands("firstfault"))
def test_cli_commands_and_their_options_exist(words: list[str]) -> None:
    from firstfault.jobs.cli import app

    command: Any = typer.main.get_command(app)
    rest = list(words)
    while hasattr(command, "commands"):
        assert rest, f"{command.name} needs a command"
        name = rest.pop(0)
        assert name in command.commands
        command = command.commands[name]
    options = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    assert {word.split("=")[0] for word in rest if word.startswith("--")} <= options


def test_documents_name_the_two_commands() -> None:
    assert {"make demo", "make test"} <= {line.strip() for document, line in code_lines() if document == "README.md"}


def test_help_is_the_default_and_lists_every_target() -> None:
    phony = re.search(r"^\.PHONY: (.+)$", MAKEFILE, re.MULTILINE)
    assert phony is not None
    assert set(phony.group(1).split()) == set(make_targets())
    done = make()
    assert all(f"make {target} " in done.stdout for target in make_targets())


def test_setup_refuses_an_old_python_in_one_sentence(tmp_path: Path) -> None:
    done = make("setup", f"PYTHON={tmp_path}/python", f"VENV={tmp_path}/venv")
    first, *rest = done.stderr.strip().splitlines()
    assert done.returncode == 2
    assert first.startswith("setup: ")
    assert "is Python 3.11, 3.12 or 3.13" in first
    assert all(line.startswith("make:") for line in rest)


def locked() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, pinned in re.findall(r"^([A-Za-z0-9_.-]+)==([^ \\;]+)", LOCK, re.MULTILINE):
        found.setdefault(canonicalize_name(name), []).append(pinned)
    return found


def requirements() -> list[Requirement]:
    lines = list(PROJECT["project"]["dependencies"])
    for group in PROJECT["dependency-groups"].values():
        lines += [line for line in group if isinstance(line, str)]
    return [Requirement(line) for line in lines]


@pytest.mark.parametrize("requirement", requirements(), ids=str)
def test_the_lock_holds_every_dependency(requirement: Requirement) -> None:
    versions = locked().get(canonicalize_name(requirement.name), [])
    assert versions
    assert all(requirement.specifier.contains(version) for version in versions)


def test_every_locked_package_has_hashes() -> None:
    entries = re.split(r"^(?=[A-Za-z0-9])", LOCK, flags=re.MULTILINE)
    assert [entry.split()[0] for entry in entries if "==" in entry and "--hash=sha256:" not in entry] == []


def test_the_lock_names_no_place() -> None:
    assert [line for line in LOCK.splitlines() if "/" in line or re.search("https?:|--find|--index", line)] == []


def test_the_wheel_holds_every_package() -> None:
    declared = set(PROJECT["tool"]["setuptools"]["packages"])
    mapping = PROJECT["tool"]["setuptools"]["package-dir"]
    present = {
        ".".join((package, *init.parent.relative_to(ROOT / folder).parts))
        for package, folder in mapping.items()
        for init in (ROOT / folder).rglob("__init__.py")
    }
    assert declared == present


@pytest.mark.slow
def test_the_wheel_holds_every_data_file(tmp_path: Path) -> None:
    mapping = PROJECT["tool"]["setuptools"]["package-dir"]
    for folder in mapping.values():
        shutil.copytree(ROOT / folder, tmp_path / "source" / folder)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path / "source")
    pip = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--no-deps",
        "--no-build-isolation",
        "--wheel-dir",
        str(tmp_path),
    ]
    subprocess.run([*pip, str(tmp_path / "source")], capture_output=True, check=True)
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        shipped = set(wheel.namelist())
    expected = {
        f"{package.replace('.', '/')}/{path.relative_to(ROOT / folder).as_posix()}"
        for package, folder in mapping.items()
        for path in (ROOT / folder).rglob("*")
        if path.suffix in {".py", ".yaml", ".sql", ".j2", ".json"}
    }
    assert expected <= shipped


def test_ci_runs_what_people_run() -> None:
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert script.read_text(encoding="utf-8").splitlines()[-1] == "make test"
