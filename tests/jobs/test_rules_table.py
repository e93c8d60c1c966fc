"""The table rules of a lake: a row per rule of each rule set, added once."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from deltalake import DeltaTable

from firstfault.jobs.gates import CriticalExpectationError, Gates
from firstfault.jobs.knowledge import load_knowledge
from firstfault.jobs.lake import Lake
from firstfault.jobs.rules_table import publish_rules, rule_rows
from firstfault.transforms.rules import RULES
from tests.jobs.zones import rows


@pytest.fixture(scope="module")
def knowledge():
    return load_knowledge()


@pytest.fixture
def night(spark, lake, knowledge):
    """What publishing needs of a night."""
    gates = Gates.of(knowledge, on=True)
    return SimpleNamespace(spark=spark, lake=Lake(spark, str(lake)), knowledge=knowledge, gates=gates)


def test_the_same_rule_set_is_added_once_and_another_one_beside_it(night, knowledge):
    root = night.lake.root
    assert publish_rules(night)
    first = rows(root, "rules")
    assert {r["rule_id"] for r in first} == {r.id for r in knowledge.rules}
    assert not publish_rules(night)
    assert DeltaTable(f"{root}/rules").version() == 1
    assert rows(root, "rules") == first
    night.knowledge = replace(knowledge, version="0123456789ab")
    assert publish_rules(night)
    assert len(rows(root, "rules")) == 2 * len(first)


def test_a_row_is_the_rule_as_it_was_loaded(knowledge):
    row = next(r for r in rule_rows(knowledge) if r["rule_id"] == "gpu_off_bus")
    assert row["text"] == (knowledge.root / "gpu" / "gpu_off_bus.yaml").read_text(encoding="utf-8")
    assert row["ruleset_version"] == knowledge.version
    assert row["version"] == knowledge.rule_versions["gpu_off_bus"]
    assert len(row["sha256"]) == 64
    assert len(row["catalogue_version"]) == 12
    assert (row["category"], row["title"]) == ("gpu_hardware", "A GPU fell off the bus")


def test_rules_that_break_a_promise_are_not_written(night, knowledge):
    night.knowledge = replace(knowledge, rule_texts=dict.fromkeys(knowledge.rule_texts, "id: another"))
    with pytest.raises(CriticalExpectationError, match="text_is_of_the_rule"):
        publish_rules(night)
    assert not night.lake.exists(RULES)
