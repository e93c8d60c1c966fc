"""Masking rules: their own tests, what is wrong with a file, and that no pattern of events loses its line."""

from pathlib import Path

import pyarrow as pa
import pytest

import firstfault.rules
from firstfault.rules.engine.masking import load_masking, run_masking_tests
from firstfault.rules.engine.patterns import load_patterns
from firstfault.rules.engine.vocabulary import Vocabulary
from firstfault.rules.engine.yaml_io import KnowledgeError
from firstfault.transforms.matching import match

ROOT = Path(next(iter(firstfault.rules.__path__)))
RULES = load_masking(ROOT / "masking.yaml")
MASKER = RULES.masker(b"a key of the tests", "t")


def test_every_rule_masks_its_hits_and_nothing_else() -> None:
    assert run_masking_tests(RULES) == []


def test_rules_are_named_once() -> None:
    names = [rule.id for rule in RULES.written]
    assert sorted(set(names)) == sorted(names)


def test_a_rule_that_fails_its_test_is_told(tmp_path: Path) -> None:
    wrong = written(tmp_path, "regex: 'x=(?P<secret>a+)', tests: {hit: [{line: x=b, secret: b}], miss: [x=a]}")
    first, second = run_masking_tests(load_masking(wrong))
    assert first.startswith("t.x: 'x=b' gives 'x=b', not 'x=<user:t:")
    assert second.startswith("t.x: 'x=a' must stay, gives 'x=<user:t:")


def written(folder: Path, rest: str, networks: str = "[10.0.0.0/8]", prefilter: str = "prefilter: [x=], ") -> Path:
    file = folder / "masking.yaml"
    text = f"keep_networks: {networks}\nrules:\n  - {{id: t.x, kind: user, {prefilter}{rest}}}\n"
    file.write_text(text, encoding="utf-8")
    return file


TESTS = "tests: {hit: [{line: a, secret: a}], miss: [b]}"


@pytest.mark.parametrize(
    ("rest", "told"),
    [
        (f"regex: 'x=(a)', {TESTS}", "names no group secret"),
        (f"regex: 'x=(?P<secret>a', {TESTS}", "stay in RE2"),
        (f"regex: '(?P<secret>a*)', {TESTS}", "matches the empty text"),
        (f"regex: 'x=(?P<secret>a)', formats: [nosuch], {TESTS}", "unknown format nosuch"),
        (f"regex: 'x=(?P<secret>a)', colour: red, {TESTS}", "unknown key"),
        (TESTS, "looks nowhere"),
    ],
)
def test_what_is_wrong_with_a_rule_is_told_with_its_place(tmp_path: Path, rest: str, told: str) -> None:
    with pytest.raises(KnowledgeError, match=told) as raised:
        load_masking(written(tmp_path, rest))
    assert f"{tmp_path / 'masking.yaml'}:3: rules.0" in str(raised.value)


def test_a_network_that_is_none_and_a_rule_without_prefilter_are_told(tmp_path: Path) -> None:
    good = f"regex: 'x=(?P<secret>a)', {TESTS}"
    with pytest.raises(KnowledgeError, match=r"keep_networks\.0: .*write a network such as"):
        load_masking(written(tmp_path, good, networks="[10.0.0.1/8]"))
    with pytest.raises(KnowledgeError, match="would look at every line"):
        load_masking(written(tmp_path, good, prefilter=""))


def test_masked_lines_give_the_events_of_the_lines_as_written() -> None:
    library = load_patterns(ROOT / "patterns", Vocabulary.load(ROOT / "vocabulary.yaml"))
    lines = {(hit.line, form) for p in library for form in p.formats for hit in p.tests.hit}
    for line, form in sorted(lines):
        parts = pa.array(line.split("\n"), pa.string())
        masked = MASKER.texts(parts, form)
        if not masked.equals(parts):
            assert match(masked, None, form, library.compiled).equals(match(parts, None, form, library.compiled)), line
