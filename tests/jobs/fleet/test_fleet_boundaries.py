"""The fleet knows nothing of the rules and transforms that will read what it writes."""

import ast
from pathlib import Path

from firstfault.jobs import fleet

FOLDER = Path(fleet.__file__).parent


def imported(file: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(("." * node.level) + (node.module or ""))
    return names


def test_it_imports_nothing_of_rules_or_transforms() -> None:
    for file in FOLDER.rglob("*.py"):
        ours = {name for name in imported(file) if name.startswith(("firstfault", "."))}
        assert all(name.startswith("firstfault.jobs.fleet") for name in ours), (file.name, ours)


def test_it_starts_no_spark() -> None:
    for file in FOLDER.rglob("*.py"):
        assert not any(name.startswith(("pyspark", "delta")) for name in imported(file)), file.name


def test_modules_and_functions_stay_small() -> None:
    for file in FOLDER.rglob("*.py"):
        text = file.read_text()
        assert len(text.splitlines()) <= 250, file.name
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef):
                assert (node.end_lineno or 0) - node.lineno < 60, (file.name, node.name)
