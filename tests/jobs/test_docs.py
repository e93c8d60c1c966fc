from pathlib import Path

import pytest

from firstfault.jobs.docs import ALL_TABLES, pages

ROOT = Path(__file__).parents[2]
NOT_STORED = {"label_verdicts"}
"""Contracts of frames that are made where they are read."""


@pytest.mark.parametrize("name", ["TABLES.md", "RULES.md"])
def test_the_generated_pages_are_true(name):
    assert (ROOT / name).read_text(encoding="utf-8") == pages()[name], "run python -m firstfault.jobs.docs"


def test_every_contract_is_in_the_tables_page_and_every_column_explains_itself():
    modules = {p.stem for p in (ROOT / "transforms").glob("*.py") if "= Table(" in p.read_text(encoding="utf-8")}
    assert {t.name for t in ALL_TABLES} == modules - {"contract", *NOT_STORED}
    for table in ALL_TABLES:
        assert all(len(f.metadata["comment"]) > 2 for f in table.fields)
        assert set(table.keys) | set(table.partitions) <= set(table.columns)
