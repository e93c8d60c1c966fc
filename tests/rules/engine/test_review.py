"""review.yaml: what it may say, and that no verdict depends on it."""

import shutil
from pathlib import Path

import pytest

from firstfault.jobs.knowledge import RULES_ROOT
from firstfault.rules.engine.load import REVIEW_FILE, ruleset_version
from firstfault.rules.engine.review import load_review
from firstfault.rules.engine.yaml_io import KnowledgeError


def changed(tmp_path: Path, old: str, new: str) -> Path:
    text = (RULES_ROOT / REVIEW_FILE).read_text(encoding="utf-8")
    assert old in text
    (tmp_path / REVIEW_FILE).write_text(text.replace(old, new), encoding="utf-8")
    return tmp_path


def test_the_shipped_file():
    review = load_review(RULES_ROOT)
    assert (review.bins[0], review.bins[-1]) == (0.0, 1.0)
    assert review.months >= review.drift.months + 1
    assert set(review.bars.rule_precision) == {"stable", "test", "experimental"}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[0.0, 0.5,", "[0.5, 0.0,", r"review.yaml:\d+: calibration_bins: .*must rise"),
        (
            "false_discovery_rate: 0.10",
            "false_discovery_rate: 10",
            "drift.false_discovery_rate: .*less than or equal to 1",
        ),
        ("    stable: 0.90", "    perfect: 0.90", "bars.rule_precision"),
        ("least_fall", "last_fall", "drift.last_fall: unknown key"),
        ("\\b0x[0-9a-fA-F]+\\b", "\\b0x[0-9a-fA-F+\\b", "masks: .*no regular expression"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path, old, new, said):
    with pytest.raises(KnowledgeError, match=said):
        load_review(changed(tmp_path, old, new))


def test_no_verdict_depends_on_it(tmp_path):
    for name in ("scoring.yaml", REVIEW_FILE):
        shutil.copy(RULES_ROOT / name, tmp_path)
    before = ruleset_version(tmp_path)
    changed(tmp_path, "least_fall: 0.10", "least_fall: 0.20")
    assert ruleset_version(tmp_path) == before
    (tmp_path / "scoring.yaml").write_text("version: 2\n", encoding="utf-8")
    assert ruleset_version(tmp_path) != before
