"""Retention rules: their own tests, what is wrong with a file, and that no rule accounts for a line of a pattern."""

from pathlib import Path

import pyarrow as pa
import pytest

import firstfault.rules
from firstfault.rules.engine.patterns import load_patterns
from firstfault.rules.engine.retention import RetentionRules, load_retention, run_retention_tests
from firstfault.rules.engine.vocabulary import Vocabulary
from firstfault.rules.engine.yaml_io import KnowledgeError
from firstfault.transforms.retention import Retention
from firstfault.transforms.staged import HIT_TYPE

ROOT = Path(next(iter(firstfault.rules.__path__)))
VOCABULARY = Vocabulary.load(ROOT / "vocabulary.yaml")
RULES = load_retention(ROOT / "retention.yaml", VOCABULARY)
ROLES = "{" + ", ".join(f"{role}: {{before: 2, after: 1}}" for role in VOCABULARY.roles) + "}"
GOOD = "regex: 'ping \\d+', tests: {hit: [ping 1], miss: [pong 1]}"


def written(folder: Path, rule: str = GOOD, keep: str = f"roles: {ROLES}", first: int = 1, last: int = 2) -> Path:
    file = folder / "retention.yaml"
    file.write_text(
        f"keep: {{first_lines: {first}, last_lines: {last}, max_line_bytes: 100, {keep}}}\nrules:\n"
        f"  - {{id: chatter.x, formats: [app], status: active, reason: nobody ever needs this line, {rule}}}\n",
        encoding="utf-8",
    )
    return file


def loaded(folder: Path, **given: str | int) -> RetentionRules:
    return load_retention(written(folder, **given), VOCABULARY)


def test_every_rule_drops_its_hits_and_leaves_its_misses() -> None:
    assert run_retention_tests(RULES) == []


def test_rules_are_named_once_and_say_why() -> None:
    names = [rule.id for rule in RULES.written]
    assert sorted(set(names)) == sorted(names)
    assert {rule.status for rule in RULES.written} == {"active", "inactive"}


def test_no_rule_accounts_for_a_line_that_a_pattern_knows() -> None:
    """Such a line is kept for its event; this holds that the rules do not even ask for it."""
    alone = Retention(RULES.compiled, {}, (0, 0), 0, 0, 1 << 20, ())
    for pattern in load_patterns(ROOT / "patterns", VOCABULARY):
        for form in pattern.formats:
            lines = pa.array([line for hit in pattern.tests.hit for line in hit.line.split("\n")], pa.string())
            gone = alone.dropped(lines, pa.nulls(len(lines), pa.list_(HIT_TYPE)), form)
            assert not len(gone.rows), (pattern.id, lines.take(pa.array(gone.rows)).to_pylist())


def test_a_rule_that_fails_its_test_is_told(tmp_path: Path) -> None:
    rules = loaded(tmp_path, rule="regex: 'ping \\d+', tests: {hit: [pong 1], miss: [ping 1]}")
    assert run_retention_tests(rules) == ["chatter.x: 'pong 1' stays", "chatter.x: 'ping 1' must stay"]


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        ("regex: '(ping', tests: {hit: [a], miss: [b]}", "stay in RE2"),
        ("regex: '(?=a)a', tests: {hit: [a], miss: [b]}", "stay in RE2"),
        ("regex: 'a*', tests: {hit: [a], miss: [b]}", "matches the empty text"),
        ("regex: '{{WHO}} x', tests: {hit: [a], miss: [b]}", "no word WHO"),
        (f"colour: red, {GOOD}", "unknown key"),
        ("regex: a, tests: {hit: [a]}", "missing, add it"),
    ],
)
def test_what_is_wrong_with_a_rule_is_told_with_its_place(tmp_path: Path, rule: str, told: str) -> None:
    with pytest.raises(KnowledgeError, match=told) as raised:
        loaded(tmp_path, rule=rule)
    assert f"{tmp_path / 'retention.yaml'}:3: rules.0" in str(raised.value)


def test_an_unknown_format_is_told(tmp_path: Path) -> None:
    file = written(tmp_path)
    file.write_text(file.read_text().replace("[app]", "[nosuch]"))
    with pytest.raises(KnowledgeError, match="unknown format nosuch"):
        load_retention(file, VOCABULARY)


def test_what_is_kept_must_cover_every_role_and_every_cut(tmp_path: Path) -> None:
    with pytest.raises(KnowledgeError, match=r"keep\.roles\.cascade: cascade is missing"):
        loaded(tmp_path, keep="roles: " + ROLES.replace("cascade", "casc"))
    with pytest.raises(KnowledgeError, match="nosuch matches no event type"):
        loaded(tmp_path, keep=f"roles: {ROLES}, events: {{nosuch: {{before: 1, after: 1}}}}")
    with pytest.raises(KnowledgeError, match=r"last_lines is below the largest `before` \(2\), write 2 or more"):
        loaded(tmp_path, last=1)
    with pytest.raises(KnowledgeError, match=r"first_lines is below the largest `after` \(1\), write 1 or more"):
        loaded(tmp_path, first=0)


def test_distance_is_that_of_the_role_unless_the_type_has_its_own(tmp_path: Path) -> None:
    keep = f"roles: {ROLES}, events: {{'gpu.xid|nosuch*': {{before: 0, after: 1}}, 'gpu.*': {{before: 1, after: 0}}}}"
    around = loaded(tmp_path, keep=keep).around
    assert (around["gpu.xid"], around["gpu.identity"], around["train.step"]) == ((0, 1), (1, 0), (2, 1))
    assert set(around) == set(VOCABULARY.events)


def test_a_site_turns_rules_on_and_off_by_name() -> None:
    active = {rule.id for rule in RULES.retention().rules}
    assert "chatter.nccl_collectives" not in active
    site = {r.id for r in RULES.retention(on=["chatter.nccl_collectives"], off=["chatter.sessions"]).rules}
    assert site ^ active == {"chatter.nccl_collectives", "chatter.sessions"}
    with pytest.raises(KnowledgeError, match=r"no retention rule chatter\.nosuch, take one of chatter"):
        RULES.retention(off=["chatter.nosuch"])
