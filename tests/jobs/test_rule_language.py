"""The rule language in full, each part through the real plan: what must match, and what must not."""

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from firstfault.jobs.knowledge import load_knowledge
from firstfault.jobs.rules_cli import rule_failures
from firstfault.rules.engine.checks import findings
from firstfault.rules.engine.model import Rule

PARTS = yaml.safe_load(Path(__file__).with_name("rule_language.yaml").read_text())
COMMON = {
    "title": "t",
    "status": "experimental",
    "category": "gpu_hardware",
    "base": 1,
    "conclusion": {"en": "some conclusion"},
    "action": {"en": "some action"},
}
SEQUENCE = {"relation": "job", "window_s": [0, 1]}
SILENCE = {"event": "train.step", "relation": "same_node", "before_s": 1, "window_s": [0, 1]}
CANCEL = {"event": "sys.boot", "relation": "job", "within_s": 1}
RULES = [Rule.model_validate(COMMON | body) for body in PARTS]


def test_every_part_of_the_language_finds_what_it_asks_for(spark):
    knowledge = replace(load_knowledge(), rules=RULES)
    failures, n = rule_failures(spark, knowledge, RULES)
    assert failures == []
    assert n == sum(len(rule.tests) for rule in RULES)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"sequence": [SEQUENCE | {"steps": [{"event": "no.such"}, {"anchor": True}]}]}, "no.such is not in"),
        ({"silence": [SILENCE | {"needs_coverage": "x"}]}, "x is no kind"),
        ({"support": [{"event": "gpu.xid", "relation": "job", "window_s": [0, 1], "min_jobs": 2}]}, "one job only"),
        ({"anchor": {"event": "gpu.xid", "suppress": [CANCEL | {"where": {"hue": 1}}]}}, "hue is no attribute"),
        (
            {"anchor": {"event": "gpu.xid", "suppress": [CANCEL | {"relation": "attr:pname"}]}},
            "pname is no attribute of",
        ),
        ({"blame": {"scope": "gpu", "from": "stopped"}}, "stopped names no gpu"),
    ],
)
def test_what_a_part_cannot_mean_is_said(change, said):
    rule = Rule.model_validate(COMMON | PARTS[-1] | change)
    assert [text for _, text in findings(rule, rule.id, load_knowledge().vocabulary) if said in text]


@pytest.mark.parametrize(
    "change",
    [
        {"sequence": [SEQUENCE | {"steps": [{"anchor": True}, {"anchor": True}]}]},
        {"sequence": [SEQUENCE | {"steps": [{"event": "gpu.xid"}]}]},
        {"sequence": [SEQUENCE | {"steps": [{}, {"anchor": True}]}]},
        {"support": [{"event": "gpu.xid", "relation": "job", "window_s": [0, 1], "min_nodes": 2, "min_ranks": 2}]},
        {"anchor": {"event": "gpu.xid", "suppress": [CANCEL | {"relation": "cluster"}]}},
    ],
)
def test_what_no_rule_may_say_is_refused(change):
    with pytest.raises(ValueError, match="validation error"):
        Rule.model_validate(COMMON | PARTS[-1] | change)
