"""The rule library, and what the loader says of rule files that are wrong."""

import shutil
from collections import Counter
from pathlib import Path

import pytest
import yaml

from firstfault.rules.engine.load import load_rules, rule_files, ruleset_version
from firstfault.rules.engine.scoring import load_scoring
from firstfault.rules.engine.vocabulary import Vocabulary
from firstfault.rules.engine.yaml_io import KnowledgeError

ROOT = Path(__file__).parents[2] / "rules"
VOCABULARY = Vocabulary.load(ROOT / "vocabulary.yaml")
RULES = load_rules(ROOT, VOCABULARY)
GOOD = ROOT / "gpu" / "gpu_off_bus.yaml"


def wrong(tmp_path, change, name="gpu_off_bus"):
    """Problems of a copy of a good rule after a change of its text."""
    folder = tmp_path / "gpu"
    folder.mkdir(exist_ok=True)
    text = change(GOOD.read_text())
    assert text != GOOD.read_text() or name != "gpu_off_bus"
    (folder / f"{name}.yaml").write_text(text)
    with pytest.raises(KnowledgeError) as error:
        load_rules(tmp_path, VOCABULARY)
    return error.value.problems


def test_every_file_is_a_rule_and_every_domain_has_some():
    assert len(RULES) == len(rule_files(ROOT))
    domains = Counter(file.parent.name for file in rule_files(ROOT))
    expected = "gpu nvlink power network storage host software scheduler workload data"
    assert set(domains) == set(expected.split())
    assert [r.id for r in RULES] == sorted({r.id for r in RULES})


def test_every_category_that_a_rule_can_find_is_covered():
    assert {r.category for r in RULES} >= set(VOCABULARY.categories) - {"unknown"}


@pytest.mark.parametrize("rule", RULES, ids=lambda r: r.id)
def test_rule_can_be_acted_upon(rule):
    assert rule.conclusion.en.endswith(".")
    assert len(rule.action.en) > 60
    assert rule.false_positives
    assert rule.references
    assert rule.explains
    assert not any("http" in text for text in rule.references)


@pytest.mark.parametrize("rule", RULES, ids=lambda r: r.id)
def test_rule_keeps_points_in_their_range(rule):
    assert 1 <= rule.base <= 6
    assert sum(s.weight for s in rule.support) <= 6


def test_single_ambiguous_symptoms_cannot_be_sure():
    for rule in RULES:
        required = any(s.required for s in rule.support)
        if rule.base <= 2 and not required and not rule.absence:
            assert rule.cap < 0.7, rule.id


def test_an_unknown_event_is_told_with_file_and_line(tmp_path):
    problems = wrong(tmp_path, lambda text: text.replace("event: gpu.query_lost", "event: gpu.queri_lost"))
    assert len(problems) == 1
    line = (
        GOOD.read_text()
        .splitlines()
        .index(next(x for x in GOOD.read_text().splitlines() if "event: gpu.query_lost" in x))
    )
    assert problems[0].startswith(f"{tmp_path}/gpu/gpu_off_bus.yaml:{line + 1}: support.1.event: ")
    assert "gpu.queri_lost is not in the vocabulary" in problems[0]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("where: {class: off_bus}", "where: {clas: off_bus}", "anchor.where.clas: clas is no attribute of gpu.xid"),
        ("category: gpu_hardware", "category: gpu_hard", "category: gpu_hard is no category"),
        ("status: experimental", "status: experimental\noutcome: broke", "outcome: broke is no outcome"),
        ("explains: [comm.*,", "explains: [com.*,", "explains.0: com.* matches no event type"),
        ("from: anchor.device", "from: anchor.rank", "blame.scope: anchor.rank names no gpu, write rank"),
        ("from: anchor.device", "from: 'attr:disk'", "blame.from: disk is no attribute of gpu.xid"),
        ("relation: same_device", "relation: 'attr:seq'", "support.1.relation: seq is no attribute of gpu.xid"),
        ("relation: same_device", "relation: nearby", "support.1.relation: "),
        ('en: "GPU {origin} fell', 'en: "GPU {gpu} fell', "conclusion.en: {gpu} cannot be filled in"),
        ("+600 n2#8 comm", "soon n2#8 comm", "tests.0.events.1: 'soon n2#8 comm.collective_timeout seq=10': soon is"),
        ("window_s: [-5, 7200]", "window_s: [7200, -5]", "support.0: window_s must be [from, to]"),
        ("expect: none", "expect: match", "tests need at least one"),
        ("base: 5", "base: 5\nbonus: 3", "bonus: unknown key"),
        ("id: gpu_off_bus", "id: gpu_off_buss", "id: gpu_off_buss is not the file's name, write gpu_off_bus"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_place(tmp_path, old, new, said):
    problems = wrong(tmp_path, lambda text: text.replace(old, new))
    assert any(said in p for p in problems), problems
    assert all(p.startswith(f"{tmp_path}/gpu/gpu_off_bus.yaml:") for p in problems)
    assert all(p.removeprefix(f"{tmp_path}/gpu/gpu_off_bus.yaml:")[0].isdigit() for p in problems)


def test_a_source_that_no_coverage_knows(tmp_path):
    absence = "absence:\n  - {event: gpu.xid, relation: job, window_s: [-1, 1], needs_coverage: kern}\n"
    problems = wrong(tmp_path, lambda text: text.replace("explains:", absence + "explains:"))
    assert any("absence.0.needs_coverage: kern is no kind of source" in p for p in problems)


def test_all_problems_of_all_files_come_at_once(tmp_path):
    (tmp_path / "gpu").mkdir()
    (tmp_path / "gpu" / "gpu_empty.yaml").write_text("")
    (tmp_path / "gpu" / "gpu_cut.yaml").write_text("id: [gpu_cut\n")
    text = GOOD.read_text()
    (tmp_path / "gpu" / "gpu_off_bus.yaml").write_text(text)
    (tmp_path / "gpu" / "gpu_twin.yaml").write_text(text)
    with pytest.raises(KnowledgeError) as error:
        load_rules(tmp_path, VOCABULARY)
    said = "\n".join(error.value.problems)
    assert "gpu_empty.yaml:1: document: empty" in said
    assert "gpu_cut.yaml:" in said
    assert "gpu_twin.yaml:1: id: gpu_off_bus is not the file's name" in said
    assert "gpu_twin.yaml:1: id: gpu_off_bus is used by another file" in said


def test_patterns_signals_and_catalogues_are_no_rules(tmp_path):
    for name in ("patterns", "signals", "catalogues", "engine"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.yaml").write_text("- 1\n")
    (tmp_path / "vocabulary.yaml").write_text("- 1\n")
    assert load_rules(tmp_path, VOCABULARY) == []


def test_the_version_follows_content_and_place_only(tmp_path):
    copy = tmp_path / "rules"
    shutil.copytree(ROOT, copy)
    before = ruleset_version(ROOT)
    assert ruleset_version(copy) == before
    assert len(before) == 12
    (copy / "engine" / "note.txt").write_text("no part of the rules")
    assert ruleset_version(copy) == before
    (copy / "gpu" / "gpu_off_bus.yaml").rename(copy / "power" / "gpu_off_bus.yaml")
    moved = ruleset_version(copy)
    (copy / "scoring.yaml").write_text((copy / "scoring.yaml").read_text() + "\n")
    assert len({before, moved, ruleset_version(copy)}) == 3


def test_scoring_is_read_with_margins_falling():
    scoring = load_scoring(ROOT / "scoring.yaml")
    margins = [margin for margin, _ in scoring.calibration]
    assert margins == sorted(margins, reverse=True)
    assert 0 < scoring.unknown_below < scoring.undecidable_cap < 1


def test_a_rule_set_kept_before_doubts_had_parameters_means_what_it_meant(tmp_path):
    said = yaml.safe_load((ROOT / "scoring.yaml").read_text())
    del said["doubts"]
    (tmp_path / "scoring.yaml").write_text(yaml.safe_dump(said))
    kept = load_scoring(tmp_path / "scoring.yaml").doubts
    assert (kept.doubted_cap, kept.overcome_penalty, kept.teardown_penalty) == (0.65, 3.0, 3.0)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"calibration": [[0, 0.5], [1, 0.4]]}, "calibration must rise"),
        ({"calibration": [[0, 1.5]]}, "calibration.0.1: "),
        ({"undecidable_cap": None}, "undecidable_cap: "),
        ({"bar": 3}, "bar: unknown key"),
        ({"doubts": {"doubted_cap": 2}}, "doubts.doubted_cap: "),
    ],
)
def test_wrong_scoring_is_told_with_its_place(tmp_path, change, said):
    file = tmp_path / "scoring.yaml"
    file.write_text(yaml.safe_dump(yaml.safe_load((ROOT / "scoring.yaml").read_text()) | change))
    with pytest.raises(KnowledgeError) as error:
        load_scoring(file)
    assert any(said in p and p.startswith(f"{file}:") for p in error.value.problems)
