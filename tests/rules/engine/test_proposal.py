"""Drafts for lines that nothing explains: they load, pass their own tests, and say what they lack."""

import pytest
import yaml

from firstfault.jobs.knowledge import RULES_ROOT
from firstfault.rules.engine.patterns import PatternLibrary, load_patterns, run_pattern_tests
from firstfault.rules.engine.proposal import Seen, propose, regex_of
from firstfault.rules.engine.vocabulary import EventType, Vocabulary

VOCABULARY = Vocabulary.load(RULES_ROOT / "vocabulary.yaml")
LINE = 'kernel: widget 0x1f on gpu-r1-n2: "flange" <b>jammed</b> after 3 s (code [7])'
TEMPLATE = 'kernel: widget <hex> on <host>: "flange" <b>jammed</b> after <n> s (code [<n>])'


def with_event(text: str) -> Vocabulary:
    """The vocabulary with the event that a drafted pattern asks for."""
    name, word = text.splitlines()[0].split("events:  ")[1].split(": ", 1)
    return VOCABULARY.model_copy(update={"events": {**VOCABULARY.events, name: EventType(**yaml.safe_load(word))}})


@pytest.mark.parametrize("source", ["app", "kernel", "syslog", "journal"])
def test_a_draft_loads_and_passes_its_own_tests(tmp_path, source):
    draft = propose(Seen(TEMPLATE, LINE, source, None, "host_hardware"), 1, VOCABULARY)
    file = tmp_path / "draft.yaml"
    file.write_text(draft.pattern, encoding="utf-8")
    words = with_event(draft.pattern)
    own, shipped = load_patterns(file, words), load_patterns(RULES_ROOT / "patterns", words)
    library = PatternLibrary((*shipped.patterns, *own.patterns), (*shipped.compiled, *own.compiled))
    assert run_pattern_tests(library, only=own.patterns[0].id) == []
    rule = yaml.safe_load(draft.rule)
    assert (rule["id"], rule["status"], rule["category"]) == (draft.id, "experimental", "host_hardware")
    assert rule["anchor"]["event"] == own.patterns[0].event


def test_a_line_that_a_pattern_knows_needs_a_rule_only():
    draft = propose(
        Seen("NVRM: Xid (PCI:<pci>): <n>", "NVRM: Xid (PCI:0000:3b:00): 79", "kernel", "gpu.xid", None), 3, VOCABULARY
    )
    assert draft.pattern == ""
    assert yaml.safe_load(draft.rule)["anchor"]["event"] == "gpu.xid"
    assert any(what.startswith("the category: no operator") for what in draft.missing)


def test_what_cannot_be_drafted_is_said():
    draft = propose(Seen("<n> <n> <hex> ab", "1 2 0x3 ab", "sysfs", None, None), 1, VOCABULARY)
    assert {what.split(":")[0] for what in draft.missing} >= {"formats of the pattern", "a literal"}


def test_a_regex_holds_the_words_and_no_more_than_a_line_between_them():
    assert regex_of("took <n> s (of <n>)") == r"took.{0,120}?s\ \(of.{0,120}?\)"
