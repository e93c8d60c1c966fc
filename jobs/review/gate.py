"""gate: whether a candidate rule set may take the place of the live one, on numbers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scipy.stats import binomtest

from firstfault.rules.engine.model import Rule
from firstfault.rules.engine.promotion import Bar

STABLE = "stable"


@dataclass(frozen=True)
class Score:
    """The candidate beside the live rule set; see `verdict_changes.tally`."""

    attempts: int
    changed: int
    labelled: int
    gains: int
    losses: int
    live_right: int
    candidate_right: int
    live_surely_wrong: int
    candidate_surely_wrong: int
    surely_wrong_now: int

    @property
    def p_value(self) -> float:
        """McNemar's exact test, two-sided: how likely such a split of gains and losses is by chance alone.

        Source: McNemar, Psychometrika 12 (1947); exact form: binomial test of the discordant pairs at one half.
        """
        discordant = self.gains + self.losses
        return float(binomtest(self.gains, discordant, 0.5).pvalue) if discordant else 1.0


def objections(score: Score, bar: Bar) -> list[str]:
    """Why the candidate may not be promoted, each a sentence; none when it may.

    Args:
        score: On the attempts that were replayed.
        bar: The numbers of `promotion.yaml`.
    """
    return list(_objections(score, bar))


def _objections(score: Score, bar: Bar) -> Iterator[str]:
    if score.labelled < bar.min_labelled:
        yield (
            f"{score.labelled} labelled attempts were compared, {bar.min_labelled} are needed; "
            "label more, or take more months."
        )
    if score.losses >= score.gains:
        yield f"it loses {score.losses} labelled verdicts and gains {score.gains}."
    elif score.p_value > bar.max_p and not (score.losses == 0 and score.gains >= bar.clean_gains):
        yield (
            f"{score.gains} gains and {score.losses} losses may be chance "
            f"(p = {score.p_value:.2g}, at most {bar.max_p:g})."
        )
    if score.surely_wrong_now > bar.max_newly_surely_wrong:
        yield f"{score.surely_wrong_now} verdicts are wrong with confidence that were not before."


def raised_too_early(
    live: Sequence[Rule], candidate: Sequence[Rule], precision: Mapping[str, Mapping[str, Any]], bar: Bar
) -> list[str]:
    """Why rules that the candidate calls stable, and the live rule set did not, are not yet; each a sentence.

    Args:
        live: Rules of the live rule set.
        candidate: Rules of the candidate.
        precision: Rule id -> its labelled verdicts `n` and the lower end `low` of the interval of its precision.
        bar: The numbers of `promotion.yaml`.
    """
    was = {rule.id: rule.status for rule in live}
    raised = [rule.id for rule in candidate if rule.status == STABLE and was.get(rule.id) != STABLE]
    return [text for name in raised if (text := _too_early(name, precision.get(name, {}), bar))]


def _too_early(rule_id: str, figures: Mapping[str, Any], bar: Bar) -> str | None:
    n, low = int(figures.get("n") or 0), float(figures.get("low") or 0.0)
    if n < bar.stable_min_verdicts:
        return f"{rule_id} is to be stable with {n} labelled verdicts, {bar.stable_min_verdicts} are needed."
    if low < bar.stable_min_precision:
        return (
            f"{rule_id} is to be stable with a precision of {low:.2f} or more for certain, "
            f"{bar.stable_min_precision:g} is needed."
        )
    return None
