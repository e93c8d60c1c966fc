"""Every rule's own tests, through the real join plan, and the shape of that plan."""

import pytest
from rich.console import Console

from firstfault.jobs.knowledge import load_knowledge
from firstfault.jobs.rules_cli import rule_failures
from firstfault.jobs.rules_show import UsageError, explain, rules_table
from firstfault.rules.engine.model import RuleTest


@pytest.fixture(scope="module")
def knowledge():
    return load_knowledge()


def test_every_rule_passes_its_own_tests(spark, knowledge):
    failures, n = rule_failures(spark, knowledge, knowledge.rules)
    assert failures == []
    assert n >= 2 * len(knowledge.rules)


def test_there_are_rules_over_all_domains(knowledge):
    live = [r for r in knowledge.rules if r.status != "deprecated"]
    assert len(live) >= 20
    assert {r.category for r in live} >= set(knowledge.vocabulary.categories) - {"unknown"}


def test_a_rule_that_does_not_do_what_its_tests_say_is_told(spark, knowledge):
    rule = next(r for r in knowledge.rules if r.id == "gpu_off_bus")
    wrong = [
        RuleTest(name="turned", events=["0 n1/0000:3b:00 gpu.xid code=79"], expect="none"),
        RuleTest(name="misses", events=["0 n1/0000:3b:00 gpu.xid code=43"], expect="match"),
        RuleTest(name="names", events=["0 n1/0000:3b:00 gpu.xid code=79"], expect="match", origin=["n2"]),
    ]
    failures, n = rule_failures(spark, knowledge, [rule.model_copy(update={"tests": wrong})])
    assert n == 3
    assert [f.split(": ")[1] for f in failures] == ["turned", "misses", "names"]


def test_list_and_explain_tell_of_a_rule(knowledge):
    console = Console(record=True, width=160)
    console.print(rules_table(knowledge))
    explain(knowledge, "gpu_off_bus", console)
    text = console.export_text()
    assert "gpu_off_bus" in text
    assert "blames" in text
    with pytest.raises(UsageError, match="no rule gpu_off_buss; near: gpu_off_bus"):
        explain(knowledge, "gpu_off_buss", console)
