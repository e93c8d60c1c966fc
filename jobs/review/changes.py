"""What changed since the month before: figures that moved, and rules that came, went or were edited."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from firstfault.jobs.review.month import Figures, Rows, live
from firstfault.jobs.review.months import back

SMALL_N = 10
"""Up to here a share is told as `3 of 4`: a percentage of four attempts claims what it cannot know."""
_LEAST_SHARE, _LEAST_HOURS = 0.02, 1.0


@dataclass(frozen=True)
class Change:
    """A figure that moved.

    Attributes:
        level: rule, category or all.
        name: Whose it is.
        figure: precision, recall, share of verdicts or GPU hours lost.
        before: In words.
        now: In words.
        change: Now less before.
        is_small: Either side rests on so few attempts that the change may be chance.
    """

    level: str
    name: str
    figure: str
    before: str
    now: str
    change: float
    is_small: bool


def changes(figures: Figures) -> list[Change]:
    """The figures that moved since the month before, those that rest on many attempts first, then by how far."""
    found: list[Change] = []
    for level in ("all", "category", "rule"):
        then = {row["name"]: row for row in live(figures, level, month=back(figures.month, 1))}
        for row in live(figures, level):
            old = then.get(row["name"])
            if old is not None:
                found += _of(row, old)
    return sorted(
        found, key=lambda c: (c.is_small, -abs(c.change) / (100 if c.figure == HOURS else 1), c.level, c.name)
    )


HOURS = "GPU hours lost"


def _of(row: dict[str, Any], old: dict[str, Any]) -> Iterable[Change]:
    for figure, k, n in (("precision", "tp", _judged), ("recall", "tp", lambda r: r["support"])):
        before_n, now_n = n(old), n(row)
        if before_n and now_n:
            change = row[k] / now_n - old[k] / before_n
            if abs(change) >= _LEAST_SHARE:
                words = (counted(old[k], before_n), counted(row[k], now_n))
                yield Change(row["level"], row["name"], figure, *words, change, min(before_n, now_n) < SMALL_N)
    before, now = (r["gpu_hours_lost"] or 0.0 for r in (old, row))
    if row["level"] != "rule" and abs(now - before) >= max(_LEAST_HOURS, 0.1 * before):
        yield Change(row["level"], row["name"], HOURS, f"{before:,.0f}", f"{now:,.0f}", now - before, False)


def _judged(row: dict[str, Any]) -> int:
    return int(row["tp"] + row["fp"])


def counted(part: int, whole: int) -> str:
    """A share in words: few attempts are counted, many are given in percent too."""
    if not whole:
        return "-"
    return f"{part} of {whole}" if whole < SMALL_N else f"{part} of {whole} ({100 * part / whole:.0f} %)"


def edited_rules(rules: tuple[Rows, Rows]) -> list[tuple[str, str, str]]:
    """Rule, what happened to it, and how, between the rule sets of two months.

    Args:
        rules: Rows of the rules table of this month's set, and of that of the month before.
    """
    now, then = ({row["rule_id"]: row for row in of_set} for of_set in rules)
    told = [(name, "new", now[name]["status"]) for name in now.keys() - then.keys()]
    told += [(name, "gone", then[name]["status"]) for name in then.keys() - now.keys()]
    for name in now.keys() & then.keys():
        if now[name]["sha256"] != then[name]["sha256"]:
            told.append((name, "edited", f"version {then[name]['version']} to {now[name]['version']}"))
        if now[name]["status"] != then[name]["status"]:
            told.append((name, "status", f"{then[name]['status']} to {now[name]['status']}"))
    return sorted(told, key=lambda row: (row[1], row[0]))
