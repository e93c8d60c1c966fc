"""`firstfault review --candidate` at the command line: both rule sets in figures, what changed, and what comes next."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from firstfault.jobs.champion import RuleSets
from firstfault.jobs.review.months import back, first_day, last_day
from firstfault.jobs.review.registry import registry_of
from firstfault.jobs.review.trial import Trial, run_trial
from firstfault.jobs.session import spark_session
from firstfault.jobs.settings import Settings
from firstfault.jobs.show import safe

MAX_TOLD = 20


def try_candidate(settings: Settings, candidate: Path, month: str, months: int, as_of: datetime | None) -> None:
    """Tries a rules folder on some months, registers it as the challenger, and prints what it did.

    Args:
        settings: With `lake`.
        candidate: The rules folder.
        month: The last month.
        months: How many, counted back.
        as_of: Takes the lake as it was then, in UTC.

    Raises:
        UsageError: It cannot be tried.
        KnowledgeError: Its rules are wrong.
    """
    first, last = first_day(back(month, months - 1)), last_day(month)
    days = [first + timedelta(days=k) for k in range((last - first).days + 1)]
    console = Console()
    with console.status("starting Spark", spinner="dots") as status:
        spark = spark_session(settings)
        moment = as_of.replace(tzinfo=UTC) if as_of else None
        trial = run_trial(spark, settings, candidate, days, as_of=moment, say=status.update)
        status.update("registering the challenger")
        RuleSets(str(settings.lake)).keep(candidate)
        number = registry_of(settings).submit(trial).number
    print_trial(trial, number, console)


def print_trial(trial: Trial, number: str, console: Console) -> None:
    """Both sides in figures, the changes that matter most, and whether it may be promoted.

    Args:
        trial: What the candidate did.
        number: Its version in the registry.
        console: Where to.
    """
    s = trial.score
    console.print(
        f"{trial.days[0]} to {trial.days[1]}: {s.attempts:,} attempts, {s.labelled:,} labelled; "
        f"{s.changed:,} verdicts differ, {s.gains} gains, {s.losses} losses (p = {s.p_value:.2g})",
        highlight=False,
    )
    table = Table(show_edge=False)
    for name in ("rule set", "right", "surely wrong"):
        table.add_column(name, justify="left" if name == "rule set" else "right")
    table.add_row(f"live {trial.live_version}", f"{s.live_right} of {s.labelled}", str(s.live_surely_wrong))
    table.add_row(
        f"candidate {trial.candidate_version}", f"{s.candidate_right} of {s.labelled}", str(s.candidate_surely_wrong)
    )
    console.print(table)
    if trial.changes:
        console.print(_changes(trial.changes))
    for name in trial.untried:
        console.print(f"not tried: {name} differs, which only a night reads", style="yellow", highlight=False)
    for text in trial.objections:
        console.print(safe(f"refused: {text}"), style="yellow", highlight=False)
    verdict = "it may not be promoted" if trial.objections else "promote it: firstfault rules promote --why TEXT"
    console.print(f"challenger, version {number} of firstfault-rules; {verdict}", highlight=False, soft_wrap=True)


def _changes(rows: list[dict[str, Any]]) -> Table:
    table = Table(show_edge=False, title="Changes, the worst first (all in verdict_changes)", title_justify="left")
    for name in ("job", "effect", "label", "live", "candidate"):
        table.add_column(name, overflow="fold")
    for row in rows[:MAX_TOLD]:
        label = _said(row["label_category"], row["label_origin"]) if row["label_category"] else "-"
        sides = (_said(row[f"{side}_category"], row[f"{side}_origin"]) for side in ("live", "candidate"))
        table.add_row(safe(f"{row['job_id']}.{row['attempt']}"), row["effect"], *map(safe, (label, *sides)))
    return table


def _said(category: str | None, origin: list[str] | None) -> str:
    return f"{category or 'nothing'} {', '.join(origin or [])}".strip()
