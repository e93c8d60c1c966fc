"""Templates: what a rule that uses one stands for, and where a problem is told."""

import pytest
import yaml

from firstfault.rules.engine.load import rule_files
from firstfault.rules.engine.template_use import expand
from firstfault.rules.engine.templates import load_templates
from firstfault.rules.engine.yaml_io import Problems, load_documents
from tests.rules.engine.rule_folder import ROOT, TEMPLATE, load, problems_of, small

USE = {"name": "stall", "with": {"event": "storage.nfs_stall", "back_s": 120}}
OWN = {"id": "storage_x", "title": "t", "status": "experimental", "template": USE}


@pytest.fixture
def root(tmp_path):
    """A rules folder with one template."""
    folder = tmp_path / "rules"
    (folder / "templates").mkdir(parents=True)
    (folder / "templates" / "stall.yaml").write_text(TEMPLATE)
    return folder


def expanded(root, rule):
    """The document that a rule stands for, with the problems of its use."""
    file = root / "rule.yaml"
    file.write_text(rule if isinstance(rule, str) else yaml.safe_dump(rule, sort_keys=False))
    problems = Problems()
    return expand(load_documents(file)[0], load_templates(root, problems), problems), problems.found


def test_parameters_are_filled_in_and_keep_their_type(root):
    found, problems = expanded(root, OWN)
    assert problems == []
    assert found.data == {
        "category": "storage",
        "anchor": {"event": "storage.nfs_stall"},
        "unless": [{"event": "storage.nfs_stall", "relation": "job", "window_s": [0, 120]}],
        "explains": ["comm.*"],
        "settle": "what followed storage.nfs_stall within 120 s",
        "id": "storage_x",
        "title": "t",
        "status": "experimental",
    }


def test_a_parameter_may_be_a_mapping_or_a_list(root):
    use = {"name": "stall", "with": {"event": {"any": ["a", "b"]}, "back_s": [1]}}
    found, _ = expanded(root, OWN | {"template": use})
    assert found.data["anchor"] == {"event": {"any": ["a", "b"]}}
    assert found.data["unless"][0]["window_s"] == [0, [1]]


@pytest.mark.parametrize(
    ("own", "explains", "category"),
    [
        ({"explains": ["proc.*"], "category": "walltime"}, ["comm.*", "proc.*"], "walltime"),
        ({"explains": {"replace": ["proc.*"]}}, ["proc.*"], "storage"),
        ({"explains": {"replace": []}}, [], "storage"),
    ],
)
def test_own_lists_are_appended_and_other_own_keys_replace(root, own, explains, category):
    found, _ = expanded(root, OWN | own)
    assert found.data["explains"] == explains
    assert found.data["category"] == category


def test_a_rule_without_a_template_is_itself(root):
    found, _ = expanded(root, {"id": "storage_x", "explains": ["a"]})
    assert found.data == {"id": "storage_x", "explains": ["a"]}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("name: stall", "name: stal", ":4: template.name: stal is no template, take one of stall"),
        (", back_s: 120", "", ":4: template.with: back_s is missing (seconds until it answers), add it"),
        ("back_s", "back_ms", ":4: template.with.back_ms: back_ms is no parameter of stall, take one of event, back_s"),
        ("name: stall, ", "", ":4: template.name: missing, add it"),
        ("with:", "values:", ":4: template.values: unknown key, remove it or correct its spelling"),
    ],
)
def test_a_wrong_use_is_told_at_its_line_of_the_rule(root, old, new, said):
    text = "id: storage_x\ntitle: t\nstatus: experimental\ntemplate: {name: stall, with: {event: a, back_s: 120}}\n"
    found, problems = expanded(root, text.replace(old, new))
    assert found is None
    assert f"{root}/rule.yaml{said}" in problems


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("template: stall", "template: stalls", ":1: template: stalls is not the file's name, write stall"),
        ("  category: storage", "  id: x", ":6: rule.id: belongs to the rules that use the template, remove it"),
        ("  category: storage", "  template: {name: x}", ":6: rule.template: belongs to the rules"),
        ("  category: storage", "  categori: storage", ":6: rule.categori: unknown key, remove it"),
        ('event: "${event}"}', 'event: "${evnt}"}', ":7: rule.anchor.event: ${evnt} is no parameter, add it to params"),
        ("  back_s: ", "  more: x\n  back_s: ", ":4: params.more: is used nowhere in the rule, remove it"),
        ("rule:", "rules:", ":1: rule: missing, add it"),
    ],
)
def test_a_wrong_template_is_told_once_in_its_own_file(root, old, new, said):
    (root / "templates" / "stall.yaml").write_text(TEMPLATE.replace(old, new))
    found, problems = expanded(root, OWN)
    assert found is None
    assert [p for p in problems if p.startswith(f"{root}/templates/stall.yaml{said}")]
    assert not [p for p in problems if "rule.yaml" in p]


def test_a_template_that_is_no_yaml_is_told_and_none_at_all_is_no_problem(root, tmp_path):
    (root / "templates" / "stall.yaml").write_text("rule: [")
    _, problems = expanded(root, OWN)
    assert len(problems) == 1
    assert "/templates/stall.yaml:" in problems[0]
    (tmp_path / "bare").mkdir()
    _, problems = expanded(tmp_path / "bare", OWN)
    assert "stall is no template" in problems[0]


def place(file, text):
    """`file:line` of the first line that holds the text."""
    return f"{file}:{next(n for n, line in enumerate(file.read_text().splitlines(), 1) if text in line)}"


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("templates/stall", "explains: [comm.*]", "explains: [com.*]", "explains.0: com.* matches no event type"),
        ("templates/stall", "relation: job", "relation: jobs", "unless.0.relation: "),
        ("templates/stall", "  category: ", "  outcome: ", "category: missing, add it"),
        (
            "storage/storage_nfs",
            "event: storage.nfs_stall",
            "event: storage.nfs_stal",
            "anchor.event: storage.nfs_stal",
        ),
        ("storage/storage_nfs", "back_s: 120", "back_s: soon", "unless.0.window_s.1: "),
        ("storage/storage_nfs", "event: net.link_down", "event: net.lnk_down", "unless.1.event: net.lnk_down is not"),
        ("storage/storage_nfs", "base: 3", "base: 33", "base: "),
    ],
)
def test_what_is_wrong_in_the_filled_rule_is_told_where_it_was_written(tmp_path, file, old, new, said):
    root = small(tmp_path)
    wrong = root / f"{file}.yaml"
    wrong.write_text(wrong.read_text().replace(old, new, 1))
    told = [p for p in problems_of(root) if said in p]
    assert told
    # What is missing altogether is told at the rule, which can add it too.
    at = f"{root}/storage/" if said.startswith("category") else place(wrong, new)
    assert all(p.startswith(at) for p in told), told


def test_every_shipped_template_is_used():
    used = {d.data["template"]["name"] for f in rule_files(ROOT) for d in load_documents(f) if "template" in d.data}
    assert used == {f.stem for f in (ROOT / "templates").glob("*.yaml")}
    assert load(ROOT)
