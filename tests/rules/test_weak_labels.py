"""weak_labels.yaml: every weight has its reason, and a wrong word is told with its place."""

import pytest

from firstfault.jobs.knowledge import RULES_ROOT
from firstfault.rules.engine.load import ruleset_version
from firstfault.rules.engine.vocabulary import Vocabulary
from firstfault.rules.engine.weak_labels import load_weak_labels
from firstfault.rules.engine.yaml_io import KnowledgeError

FILE = RULES_ROOT / "weak_labels.yaml"
VOCABULARY = Vocabulary.load(RULES_ROOT / "vocabulary.yaml")


def test_the_shipped_file_loads():
    rules = load_weak_labels(FILE, VOCABULARY)
    assert rules.longest_days == 30
    assert rules.repaired.parts[0] == ("nvswitch", "nvlink_fabric")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("category: storage", "category: gremlins", "gremlins is no category"),
        ("diag.reachability", "diag.gremlins", "diag.gremlins is no event"),
        ("supports: 0.6", "supports: 1.6", "less than or equal to 1"),
        ("passed_files: '(?i)diag'", "passed_files: '('", "no expression of RE2"),
        ("least_clean: 2", "least: 2", "unknown key"),
        ("why: >-\n    The same work", "why: x\n  what: >-\n    The same work", "what: unknown key"),
    ],
)
def test_a_wrong_word_is_told_with_its_place(tmp_path, old, new, says):
    file = tmp_path / "weak_labels.yaml"
    text = FILE.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1))
    with pytest.raises(KnowledgeError, match=r"weak_labels\.yaml:\d+: ") as told:
        load_weak_labels(file, VOCABULARY)
    assert says in str(told.value)


def test_weights_are_no_part_of_the_rule_set(tmp_path):
    (tmp_path / "vocabulary.yaml").write_text("a: 1\n")
    before = ruleset_version(tmp_path)
    (tmp_path / "weak_labels.yaml").write_text("version: 1\n")
    assert ruleset_version(tmp_path) == before
