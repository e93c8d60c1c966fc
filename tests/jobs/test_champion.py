"""Which rule set the nights of a lake judge by."""

import json
import shutil

import pytest

from firstfault.jobs.champion import RuleSets, UsageError
from firstfault.jobs.knowledge import RULES_ROOT, load_knowledge
from firstfault.jobs.nightly import rules_of
from firstfault.jobs.settings import load_settings
from firstfault.rules.engine.load import ruleset_version


@pytest.fixture
def sets(lake):
    return RuleSets(str(lake))


@pytest.fixture
def other(tmp_path):
    """A rule set that differs from the shipped one in a number."""
    root = tmp_path / "other"
    shutil.copytree(RULES_ROOT, root, ignore=shutil.ignore_patterns("engine", "__pycache__"))
    file = root / "scoring.yaml"
    file.write_text(file.read_text("utf-8").replace("unknown_below: 0.5", "unknown_below: 0.51"), encoding="utf-8")
    return root


def test_without_a_champion_the_shipped_rules_judge(sets, lake):
    assert sets.champion_root() == RULES_ROOT
    assert rules_of(load_settings(None, lake=str(lake))) == RULES_ROOT


def test_a_champion_is_read_from_the_lake_whatever_becomes_of_its_folder(sets, other, lake):
    version = sets.keep(other)
    assert version == ruleset_version(other) != ruleset_version(RULES_ROOT)
    sets.crown(version, by="ann", why="better on September")
    shutil.rmtree(other)
    root = rules_of(load_settings(None, lake=str(lake)))
    assert load_knowledge(root).version == version
    assert not list(root.rglob("*.py"))


def test_a_roll_back_returns_to_the_shipped_rules_and_forth(sets, other):
    sets.crown(sets.keep(other), by="ann", why="better")
    after = sets.roll_back(by="bob", why="worse")
    assert [r.version for r in after.reigns] == [
        shipped := ruleset_version(RULES_ROOT),
        ruleset_version(other),
        shipped,
    ]
    assert [r.by for r in after.reigns] == ["shipped with the package", "ann", "bob"]
    assert load_knowledge(sets.champion_root()).version == shipped
    assert sets.roll_back(by="ann", why="better after all").champion.version == ruleset_version(other)


def test_there_is_nothing_to_go_back_to_before_the_first_promotion(sets):
    with pytest.raises(UsageError, match="nothing to go back to"):
        sets.roll_back(by="bob", why="worse")


def test_rules_that_changed_in_the_lake_judge_nobody(sets, other):
    version = sets.keep(other)
    sets.crown(version, by="ann", why="better")
    file = sets.champion_root() / "scoring.yaml"
    file.write_text(file.read_text("utf-8").replace("0.51", "0.01"), encoding="utf-8")
    with pytest.raises(UsageError, match=f"{version} is not that rule set"):
        sets.champion_root()


def test_a_cut_copy_judges_nobody(sets, other):
    version = sets.keep(other)
    (sets.root_of(version) / "scoring.yaml").unlink()
    with pytest.raises(UsageError, match="promote it again"):
        sets.root_of(version)
    assert sets.keep(other) == version
    assert sets.root_of(version)


@pytest.mark.parametrize("content", ["", "{}", '{"reigns": []}', '{"reigns": [{"version": "../../etc"}]}'])
def test_a_champion_file_that_nobody_wrote_is_told(sets, lake, content):
    (lake / "_rules").mkdir()
    (lake / "_rules" / "champion.json").write_text(content, encoding="utf-8")
    with pytest.raises(UsageError, match=r"champion\.json: .*shipped rules"):
        sets.champion_root()


def test_the_file_says_who_and_why(sets, other, lake):
    sets.crown(sets.keep(other), by="ann", why="12 gains, 1 loss")
    told = json.loads((lake / "_rules" / "champion.json").read_text("utf-8"))
    assert told["reigns"][-1] | {"since": None} == {
        "version": ruleset_version(other), "since": None, "by": "ann", "why": "12 gains, 1 loss",
    }  # fmt: skip
