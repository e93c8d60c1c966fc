"""Reasons why our outcome is not the scheduler's: words of the vocabulary, in order."""

from pathlib import Path

import pytest

from firstfault.rules.engine.crosscheck import load_crosscheck, reason_rows
from firstfault.rules.engine.vocabulary import Vocabulary
from firstfault.rules.engine.yaml_io import KnowledgeError
from firstfault.transforms.crosscheck import REASONS

ROOT = Path(__file__).parents[2] / "rules"
VOCABULARY = Vocabulary.load(ROOT / "vocabulary.yaml")


def test_the_reasons_are_rows_of_their_table():
    found = reason_rows(load_crosscheck(ROOT / "crosscheck.yaml", VOCABULARY))
    assert [r["reason_no"] for r in found] == list(range(len(found)))
    assert all(set(r) == set(REASONS.names) for r in found)


def test_no_reason_stands_behind_one_that_fits_all_it_fits():
    found = reason_rows(load_crosscheck(ROOT / "crosscheck.yaml", VOCABULARY))
    for n, late in enumerate(found):
        for early in found[:n]:
            same = early["says"] == late["says"] and early["outcome"] in {None, late["outcome"]}
            assert not (same and not early["category"]), (early["why"], late["why"])


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("{says: lost, why: some reason here}", "lost is no says"),
        ("{says: failed, outcome: gone, why: some reason here}", "gone is no outcome"),
        ("{says: failed, category: [gpu], why: some reason here}", "gpu is no category"),
        ("{says: failed}", "why: missing"),
    ],
)
def test_a_wrong_word_is_told_with_its_line(tmp_path, reason, said):
    file = tmp_path / "crosscheck.yaml"
    file.write_text(f"version: 1\nreasons:\n  - {reason}\n")
    with pytest.raises(KnowledgeError, match=r"crosscheck\.yaml:3: .*" + said):
        load_crosscheck(file, VOCABULARY)
