"""Drafts through the real join plan: the two tests of each pass."""

from dataclasses import replace

import pytest
import yaml
from rich.console import Console

from firstfault.jobs import rules_cli
from firstfault.jobs.knowledge import load_unlocked
from firstfault.jobs.rules_cli import rule_failures, run_tests
from firstfault.jobs.rules_edit import new_rule
from firstfault.jobs.settings import Settings
from firstfault.rules.engine.draft import Wanted, draft_rule
from firstfault.rules.engine.model import Rule
from tests.rules.engine.rule_folder import small

BLAMES = (
    ("gpu.xid", "node", "anchor.node"), ("gpu.xid", "job", "job"), ("mem.cuda_oom", "node", "anchor.node"),
    ("net.port_flap", "node", "anchor.node"), ("storage.nfs_stall", "filesystem", "attr:server"),
    ("storage.no_space", "filesystem", "anchor.filesystem"), ("sched.node_fail", "scheduler", "scheduler"),
)  # fmt: skip
"""Event, scope and source of some drafts that do not blame what the event speaks of."""


@pytest.mark.parametrize("every", [13, pytest.param(1, marks=pytest.mark.slow)])
def test_the_drafts_of_events_pass_their_own_tests(spark, every):
    knowledge = load_unlocked()
    asked = [(event, None, None) for event in list(knowledge.vocabulary.events)[::every]] + list(BLAMES)
    wanted = [Wanted(f"draft_{n}", event, "unknown", *blame) for n, (event, *blame) in enumerate(asked)]
    drafts = [Rule.model_validate(yaml.safe_load(draft_rule(w, knowledge.vocabulary))) for w in wanted]
    failures, n = rule_failures(spark, replace(knowledge, rules=drafts), drafts)
    assert failures == []
    assert n == 2 * len(asked)


def test_a_new_rule_of_another_folder_is_tested_by_its_name(spark, tmp_path, monkeypatch):
    root = small(tmp_path, whole=True)
    file = new_rule(root, "gpu", Wanted("gpu_odd_thing", "gpu.xid", "gpu_hardware"))
    monkeypatch.setattr(rules_cli, "spark_session", lambda _: spark)
    console = Console(record=True, width=200)
    assert run_tests(Settings(), "gpu_odd_thing", console, root)
    file.write_text(file.read_text().replace("gpu.xid code=0", "gpu.xid code=1"))
    assert not run_tests(Settings(), "gpu_odd_thing", console, root)
    said = console.export_text()
    assert "2 tests of 1 rules and the tests of 0 patterns: 0 failed" in said
    assert "failed: gpu_odd_thing: a near miss: must not match, blames [['n1/0000:3b:00']]" in said
