"""What becomes of attempts whose rules are taken away: silence, another rule that is right, or a wrong accusation."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from rich.table import Table

from tests.benchmarks.leave_out_worlds import Verdict, Verdicts
from tests.benchmarks.rehearsed_lake import NOTHING, Fact, Key

ABSTAINED, RIGHT, WRONG, SURELY_WRONG = "abstained", "right", "wrong", "confidently wrong"
FATES = (ABSTAINED, RIGHT, WRONG, SURELY_WRONG)
BEFORE = ("right before", "surely wrong before")
SURE = 0.7


@dataclass(frozen=True)
class LeftOut:
    """Rules that are taken away, and the attempts that they were for."""

    name: str
    rules: frozenset[str]
    attempts: tuple[Key, ...]


@dataclass
class Fates:
    """What became of the attempts of one leave-out.

    Attributes:
        before: How they ended with all rules.
        after: How they ended without.
        others: Attempts that it was not for.
        changed: Those of them with another category or origin.
        kept_rule: Those of the changed whose own deciding rule was left in place.
        spoilt: Those of the changed that were right and are so no longer.
        blamed: Rules that are wrong without, by how often.
        accused: Attempts that are confidently wrong only without: mechanism, verdict with all rules and without.
    """

    left_out: LeftOut
    before: Counter[str] = field(default_factory=Counter)
    after: Counter[str] = field(default_factory=Counter)
    others: int = 0
    changed: int = 0
    kept_rule: int = 0
    spoilt: int = 0
    blamed: Counter[str] = field(default_factory=Counter)
    accused: list[tuple[str, Verdict, Verdict]] = field(default_factory=list)


def fate(fact: Fact, verdict: Verdict | None) -> str:
    """How an attempt ended."""
    if verdict is None or verdict.category == NOTHING:
        return ABSTAINED
    if verdict.category in fact.right:
        return RIGHT
    return SURELY_WRONG if verdict.confidence >= SURE else WRONG


def without_category(facts: dict[Key, Fact], rules: dict[str, str]) -> list[LeftOut]:
    """One leave-out per category that the truth holds.

    Args:
        facts: Attempts in which something went wrong.
        rules: Rule id -> its category.
    """
    return [
        LeftOut(name, frozenset(rule for rule, of in rules.items() if of == name), attempts)
        for name, attempts in _grouped(facts, "category")
    ]


def without_mechanism(facts: dict[Key, Fact], full: Verdicts) -> list[LeftOut]:
    """One leave-out per mechanism: the rules that decide its attempts when all are there."""
    every = []
    for name, attempts in _grouped(facts, "mechanism"):
        deciding = (full[key].rule_id for key in attempts if key in full)
        every.append(LeftOut(name, frozenset(rule for rule in deciding if rule), attempts))
    return [left_out for left_out in every if left_out.rules]


def _grouped(facts: dict[Key, Fact], by: str) -> Iterator[tuple[str, tuple[Key, ...]]]:
    """Attempts by a field of their facts; those that nothing could tell are left aside: silence is right there."""
    told = {key: getattr(fact, by) for key, fact in facts.items() if fact.category != NOTHING}
    for name in sorted(set(told.values())):
        yield name, tuple(key for key, own in told.items() if own == name)


def judge(left_out: LeftOut, facts: dict[Key, Fact], full: Verdicts, now: Verdicts) -> Fates:
    """What the verdicts say without the rules, beside those with all of them."""
    result = Fates(left_out)
    for key in left_out.attempts:
        start, end = fate(facts[key], full.get(key)), fate(facts[key], now.get(key))
        result.before[start] += 1
        result.after[end] += 1
        if end == SURELY_WRONG != start:
            result.accused.append((facts[key].mechanism, full[key], now[key]))
        if end in {WRONG, SURELY_WRONG}:
            result.blamed[str(now[key].rule_id)] += 1
    for key in full.keys() - set(left_out.attempts):
        result.others += 1
        if (now[key].category, now[key].origin) == (full[key].category, full[key].origin):
            continue
        result.changed += 1
        result.kept_rule += full[key].rule_id not in left_out.rules
        known = key in facts
        result.spoilt += known and fate(facts[key], full[key]) == RIGHT != fate(facts[key], now[key])
    return result


def summed(every: Sequence[Fates]) -> Fates:
    """All leave-outs together."""
    total = Fates(LeftOut("all", frozenset(), tuple(key for one in every for key in one.left_out.attempts)))
    for one in every:
        for name in ("before", "after", "blamed"):
            getattr(total, name).update(getattr(one, name))
        total.accused += one.accused
        for name in ("others", "changed", "kept_rule", "spoilt"):
            setattr(total, name, getattr(total, name) + getattr(one, name))
    return total


def table_of(title: str, every: Sequence[Fates]) -> Table:
    """One line a leave-out and one for all."""
    table = Table(title=title, title_justify="left", show_edge=False)
    table.add_column("left out", no_wrap=True)
    for name in ("rules", "n", *BEFORE, *FATES, "others changed", "own rule kept", "right no more"):
        table.add_column(name, justify="right")
    table.add_column("mostly by", no_wrap=True)
    for one in (*every, summed(every)):
        wrong_by = ", ".join(f"{rule} {n}" for rule, n in one.blamed.most_common(1))
        figures = (
            len(one.left_out.rules) or "", len(one.left_out.attempts), one.before[RIGHT], one.before[SURELY_WRONG],
            *(one.after[name] for name in FATES), one.changed, one.kept_rule, one.spoilt,
        )  # fmt: skip
        table.add_row(one.left_out.name, *(str(figure) for figure in figures), wrong_by)
    return table


def table_of_accused(title: str, every: Sequence[Fates]) -> Table:
    """One line an attempt that is confidently wrong only without the rules."""
    table = Table(title=title, title_justify="left", show_edge=False)
    for name in ("left out", "mechanism", "said with all", "by", "said without", "by"):
        table.add_column(name)
    for name in ("confidence", "margin"):
        table.add_column(name, justify="right")
    for one in every:
        for mechanism, before, after in one.accused:
            said = (text for verdict in (before, after) for text in (verdict.category, verdict.rule_id or "-"))
            figures = (f"{after.confidence:.2f}", "-" if after.margin is None else f"{after.margin:.1f}")
            table.add_row(one.left_out.name, mechanism, *said, *figures)
    return table
