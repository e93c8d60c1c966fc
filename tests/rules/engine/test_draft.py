"""Drafts: what they blame by default, what their tests say, and what cannot be drafted."""

import pytest
import yaml

from firstfault.rules.engine.draft import DraftError, Wanted, draft_rule
from firstfault.rules.engine.model import Rule
from tests.rules.engine.rule_folder import VOCABULARY


def drafted(event, scope=None, source=None):
    """The rule that a draft holds."""
    text = draft_rule(Wanted("odd_thing", event, "unknown", scope, source), VOCABULARY)
    return Rule.model_validate(yaml.safe_load(text))


@pytest.mark.parametrize(
    ("event", "given", "blame", "lines", "origin"),
    [
        (
            "gpu.xid", (None, None), ("gpu", "anchor.device"),
            ["0 n1/0000:3b:00 gpu.xid code=1", "0 n1/0000:3b:00 gpu.xid code=0"], ["n1/0000:3b:00"],
        ),
        (
            "net.port_flap", (None, None), ("port", "anchor.port"),
            ["0 n1/mlx5_0/1 net.port_flap delta=1", "0 n1/mlx5_0/1 net.port_flap delta=0"], ["n1/mlx5_0/1"],
        ),
        ("gpu.fell_off_bus", ("node", None), ("node", "anchor.node"), ["0 n1/0000:3b:00 gpu.fell_off_bus"], ["n1"]),
        ("mem.cuda_oom", (None, "anchor.rank"), ("rank", "anchor.rank"), [], ["rank-3"]),
        ("storage.nfs_stall", ("filesystem", "attr:server"), ("filesystem", "attr:server"), [], ["some"]),
        ("sched.end", (None, None), ("job", "job"), [], []),
        ("sched.end", ("scheduler", None), ("scheduler", "scheduler"), [], []),
        ("storage.no_space", ("filesystem", None), ("filesystem", "anchor.filesystem"), [], None),
    ],
)  # fmt: skip
def test_a_draft_blames_what_its_event_speaks_of_or_what_was_asked(event, given, blame, lines, origin):
    rule = drafted(event, *given)
    assert (rule.status, rule.anchor.event) == ("experimental", event)
    assert (rule.blame.scope, rule.blame.source) == blame
    hit, miss = rule.tests
    assert (hit.expect, miss.expect, hit.origin) == ("match", "none", origin)
    assert [*hit.events, *miss.events][: len(lines)] == lines


def test_a_near_miss_differs_in_what_is_asked_of_the_event():
    asked = drafted("net.port_flap")
    assert {k: t.gte for k, t in asked.anchor.where.items()} == {"delta": 1}
    plain = drafted("gpu.fell_off_bus")
    assert plain.anchor.where == {}
    assert plain.tests[1].events != plain.tests[0].events


def test_a_draft_is_sound_for_every_event():
    for event in VOCABULARY.events:
        rule = drafted(event)
        assert rule.conclusion.en.endswith(".")
        assert rule.cap < 0.7
        assert rule.explains


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (Wanted("odd_thing", "gpu.xidd", "unknown"), "--event: gpu.xidd is not in the vocabulary; near: gpu.xid"),
        (Wanted("odd_thing", "q", "unknown"), "--event: q is not in the vocabulary; see rules/vocabulary.yaml."),
        (Wanted("odd_thing", "gpu.xid", "gremlins"), "--category: gremlins is no category, take one of "),
        (Wanted("Odd", "gpu.xid", "unknown"), "ID: String should match pattern"),
        (Wanted("odd_thing", "gpu.xid", "unknown", "rack"), "--from: --scope rack alone does not tell whom to blame"),
        (Wanted("odd_thing", "gpu.xid", "unknown", None, "attr:pid"), "--scope: --from attr:pid alone does not tell"),
        (Wanted("odd_thing", "gpu.xid", "unknown", "gpu", "attr:disk"), "--from: disk is no attribute of gpu.xid"),
        (Wanted("odd_thing", "gpu.xid", "unknown", "node", "anchor.rank"), "--scope: anchor.rank names no node"),
        (Wanted("odd_thing", "gpu.xid", "unknown", "rank", "silent"), "for silent copy a rule that blames so."),
        (Wanted("odd_thing", "gpu.xid", "unknown", "rack", "common:rack"), "for common:rack copy a rule"),
        (Wanted("odd_thing", "gpu.xid", "unknown", "planet", "job"), "--scope: Input should be 'gpu', 'node'"),
    ],
)
def test_what_is_no_rule_is_told_by_its_option(wanted, said):
    with pytest.raises(DraftError) as error:
        draft_rule(wanted, VOCABULARY)
    assert said in str(error.value)
    assert "\n" not in str(error.value)
