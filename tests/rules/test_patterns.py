"""The pattern library: its inline tests, its errors, and lines that nobody expects."""

from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import firstfault.rules
from firstfault.rules.engine.patterns import FORMATS, PatternLibrary, load_patterns, run_pattern_tests
from firstfault.rules.engine.signals import load_signals
from firstfault.rules.engine.vocabulary import Vocabulary
from firstfault.rules.engine.yaml_io import KnowledgeError
from firstfault.transforms import literal_scan
from firstfault.transforms.flight_events import BEHIND, MISMATCH, MISSING, UNFINISHED
from firstfault.transforms.matching import match

RULES = Path(next(iter(firstfault.rules.__path__)))
VOCABULARY = Vocabulary.load(RULES / "vocabulary.yaml")
LIBRARY = load_patterns(RULES / "patterns", VOCABULARY)

GOOD = """\
- id: t.one
  event: gpu.xid
  formats: [kernel]
  literal: "NVRM: Xid"
  regex: 'NVRM: Xid (?P<code>\\d+)'
  tests:
    hit: [{line: "NVRM: Xid 79", gives: {code: 79}}]
    miss: ["NVRM: Xid"]
"""


@pytest.mark.parametrize("pattern_id", [p.id for p in LIBRARY])
def test_inline_tests(pattern_id: str) -> None:
    assert run_pattern_tests(LIBRARY, pattern_id) == []


def test_the_library_is_as_large_as_promised() -> None:
    assert len(LIBRARY) >= 110


def test_every_word_of_the_vocabulary_is_told_by_a_pattern_a_signal_or_a_comparison() -> None:
    signals = load_signals(RULES / "signals", VOCABULARY)
    compared = {BEHIND, MISSING, MISMATCH, UNFINISHED}
    assert set(VOCABULARY.events) == {p.event for p in LIBRARY} | {s.event for s in signals} | compared


def load(tmp_path: Path, text: str) -> PatternLibrary:
    (tmp_path / "p.yaml").write_text(text, encoding="utf-8")
    return load_patterns(tmp_path, VOCABULARY)


def test_the_example_is_good(tmp_path: Path) -> None:
    assert len(load(tmp_path, GOOD)) == 1


@pytest.mark.parametrize(
    ("old", "new", "want"),
    [
        ("gpu.xid", "gpu.xyz", "p.yaml:2: 0.event: gpu.xyz is not in the vocabulary, correct it"),
        ("?P<code>", "?P<colour>", "p.yaml:5: 0.regex: colour is no attribute of gpu.xid, take one of"),
        ("(?P<code>", "(?=x)(?P<code>", "p.yaml:5: 0.regex: Invalid regular expression"),
        ("(?P<code>", "()(?P<code>", "p.yaml:5: 0.regex: Regular expression contains unnamed groups"),
        ('"NVRM: Xid"\n', '"NVRM"\n', "p.yaml:4: 0.literal: 'NVRM' has fewer than 5 bytes"),
        ('    miss: ["NVRM: Xid"]\n', "", "p.yaml:6: 0.tests.miss: missing, add it"),
        ('["NVRM: Xid"]', "[]", "p.yaml:8: 0.tests.miss: List should have at least 1 item"),
        ("[kernel]", "[kernal]", "p.yaml:3: 0.formats: unknown format kernal, take one of kernel"),
        ("  tests:", "  as: {code: colour}\n  tests:", "p.yaml:6: 0.as.code: unknown conversion colour"),
        ("  tests:", "  as: {pid: int}\n  tests:", "p.yaml:6: 0.as.pid: no group of this name in the regex"),
        ("  tests:", "  set: {colour: red}\n  tests:", "p.yaml:6: 0.set: colour is no attribute of gpu.xid"),
        ("  tests:", "  join: {until: '(?<x'}\n  tests:", "p.yaml:6: 0.join.until: Invalid regular expression"),
        ("  tests:", "  join: {lines: 1000}\n  tests:", "p.yaml:6: 0.join.lines: Input should be less than"),
        ("  tests:", "  colour: red\n  tests:", "p.yaml:6: 0.colour: unknown key, remove it"),
        ("t.one", "T one", "p.yaml:1: 0.id: String should match pattern"),
    ],
)
def test_errors_name_file_line_and_key(tmp_path: Path, old: str, new: str, want: str) -> None:
    with pytest.raises(KnowledgeError) as caught:
        load(tmp_path, GOOD.replace(old, new, 1))
    assert [p for p in caught.value.problems if p.startswith(f"{tmp_path}/{want}")], caught.value.problems


def test_a_second_pattern_of_one_id_is_refused(tmp_path: Path) -> None:
    with pytest.raises(KnowledgeError, match=r"p\.yaml:9: 1\.id: t\.one exists at .*p\.yaml:1"):
        load(tmp_path, GOOD + GOOD)


def test_a_file_that_is_no_list_is_refused(tmp_path: Path) -> None:
    with pytest.raises(KnowledgeError, match="is no list"):
        load(tmp_path, "id: t.one\n")


def test_a_failing_inline_test_is_told(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(GOOD.replace("code: 79", "code: 80"), encoding="utf-8")
    library = load_patterns(tmp_path, VOCABULARY)
    assert run_pattern_tests(library) == ["t.one: kernel: 'NVRM: Xid 79' gives code='79', not 80"]


WORDS = sorted({x for p in LIBRARY.compiled for x in p.literals})
LOUD = [h.line for p in LIBRARY for h in p.tests.hit]
HOSTILE = (
    st.text(max_size=40)
    | st.sampled_from(WORDS)
    | st.sampled_from(LOUD)
    | st.sampled_from(["\0", "\n", "'", "\U0010ffff"])
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.none() | st.lists(HOSTILE, max_size=4).map("".join), max_size=6), st.sampled_from(FORMATS))
def test_hostile_text_gives_sound_hits(lines: list[str | None], form: str) -> None:
    texts = pa.array([x.encode("utf-8", "replace").decode() if x else x for x in lines], pa.string())
    found = match(texts, None, form, LIBRARY.compiled)
    found.validate(full=True)
    assert len(found) == len(texts)
    for hits in found.to_pylist():
        for k, hit in enumerate(hits or []):
            assert hit["ordinal"] == k
            assert {name for name, _ in hit["attrs"]} <= set(VOCABULARY.events[hit["event_type"]].attrs) | {
                "derived_from"
            }
    if literal_scan.hyperscan is not None:
        assert found.equals(match(texts, None, form, LIBRARY.compiled, engine="re2"))
