"""The gate before the nights judge by another rule set."""

from dataclasses import replace

import pytest

from firstfault.jobs.knowledge import RULES_ROOT, load_unlocked
from firstfault.jobs.review.gate import Score, objections, raised_too_early
from firstfault.rules.engine.promotion import load_bar
from firstfault.rules.engine.yaml_io import KnowledgeError

BAR = load_bar(RULES_ROOT / "promotion.yaml")
GOOD = Score(
    attempts=100, changed=14, labelled=60, gains=12, losses=1, live_right=40, candidate_right=51, live_surely_wrong=3,
    candidate_surely_wrong=2, surely_wrong_now=0,
)  # fmt: skip


def test_a_better_one_passes():
    assert objections(GOOD, BAR) == []


def test_few_gains_without_a_loss_pass():
    assert objections(replace(GOOD, gains=3, losses=0), BAR) == []


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"labelled": 29}, "29 labelled attempts"),
        ({"gains": 1, "losses": 12}, "loses 12"),
        ({"gains": 4, "losses": 4}, "loses 4"),
        ({"gains": 0, "losses": 0}, "gains 0"),
        ({"gains": 2, "losses": 0}, "may be chance"),
        ({"gains": 5, "losses": 2}, "may be chance"),
        ({"surely_wrong_now": 1}, "1 verdicts are wrong with confidence"),
    ],
)
def test_a_worse_or_unproven_one_is_refused_with_its_reason(changed, said):
    [reason] = objections(replace(GOOD, **changed), BAR)
    assert said in reason


@pytest.mark.parametrize(
    ("gains", "losses", "p"),
    [(0, 0, 1.0), (1, 0, 1.0), (5, 0, 0.0625), (6, 0, 0.03125), (8, 1, 0.0390625), (3, 3, 1.0)],
)
def test_mcnemars_exact_test(gains, losses, p):
    # 2 x sum of C(n, k) / 2^n over the smaller side and beyond, counted by hand.
    assert replace(GOOD, gains=gains, losses=losses).p_value == pytest.approx(p)


def test_a_rule_is_stable_only_with_enough_right_verdicts():
    rules = load_unlocked().rules[:3]
    raised = [rule.model_copy(update={"status": "stable"}) for rule in rules]
    a, b, c = (rule.id for rule in rules)
    figures = {a: {"n": 40, "low": 0.91}, b: {"n": 9, "low": 0.9}, c: {"n": 40, "low": 0.7}}
    told = raised_too_early(rules, raised, figures, BAR)
    assert [text.split(" ")[0] for text in told] == [b, c]
    assert raised_too_early(raised, raised, {}, BAR) == [], "those that were stable before stay so"
    assert raised_too_early([], rules, {}, BAR) == [], "new ones start lower"


def test_a_bar_that_cannot_be_used_is_told_with_its_line(tmp_path):
    text = (RULES_ROOT / "promotion.yaml").read_text("utf-8")
    (tmp_path / "promotion.yaml").write_text(text.replace("max_p: 0.05", "max_p: 1.5"), encoding="utf-8")
    with pytest.raises(KnowledgeError, match=r"promotion\.yaml:\d+: .*max_p"):
        load_bar(tmp_path / "promotion.yaml")
