"""What a night says in the terminal: its stages while it works, then its books and its verdicts."""

from collections import defaultdict
from datetime import date
from typing import Any

from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError
from rich.console import Console
from rich.table import Table
from rich.text import Text

from firstfault.jobs.night import NightReport
from firstfault.jobs.nightly import check_inputs, run_night
from firstfault.jobs.session import spark_session
from firstfault.jobs.settings import Settings
from firstfault.jobs.show import safe
from firstfault.transforms.clock_offsets import EVERY_SOURCE
from firstfault.transforms.results import RESULTS

MAX_ROWS = 60
MAX_NAMED = 5
MAX_CLOCK_LINES, MAX_CLOCKS = 5, 3
_FAULTS = {
    "whole_hour": "off like a wrong zone",
    "off": "off",
    "step": "stepped",
    "drift": "drifting",
    "unsynchronised": "not synchronised",
    "contradiction": "contradicted by witnesses",
    "frozen_collector": "whose collector stands still",
    "unsure": "known too poorly to order events",
}
"""Fault of a clock -> how it is said after a count, the worst first."""


def watched_night(settings: Settings, *, days: tuple[date, date] | None, steal: bool, console: Console) -> NightReport:
    """Runs a night and shows its stages while it works."""
    check_inputs(settings)
    with console.status("starting Spark", spinner="dots") as status:
        spark = spark_session(settings)

        def say(stage: str) -> None:
            status.update(f"night: {stage}")
            if not console.is_terminal:
                console.print(f"stage {stage}", style="dim", highlight=False)

        return run_night(spark, settings, days=days, steal=steal, say=say)


def night_summary(lake: str, report: NightReport, console: Console) -> None:
    """Prints the books, the files that nothing matched, and the table of verdicts."""
    b = report.books
    console.print(
        f"lines read {b.read:,} = landed {b.landed:,} + quarantined {b.quarantined:,} + dropped {b.dropped:,}",
        highlight=False,
    )
    for name, files in (
        ("no source matches", report.unmatched),
        ("incomplete last line waits", report.waiting_tails),
    ):
        if files:
            console.print(f"{len(files)} files: {name}", safe(", ".join(files[:MAX_NAMED])), style="yellow")
    if report.warnings:
        console.print(f"{len(report.warnings)} warnings of the gates, see data_quality:", style="yellow")
        for warning in report.warnings[:MAX_NAMED]:
            console.print(safe(f"  {warning}"), style="yellow", highlight=False)
    for line in clock_lines(report.clock_faults):
        console.print(safe(line), style="yellow", highlight=False)
    console.print(f"attempts looked at {report.attempts:,}, verdicts {report.diagnosed:,}", highlight=False)
    rows = verdicts(lake)
    if rows:
        console.print(verdict_table(rows))
    if report.page:
        console.print(f"report: {report.page}", style="dim", highlight=False, markup=False, soft_wrap=True)
    seconds = ", ".join(f"{stage} {s:.1f} s" for stage, s in report.durations_s.items())
    console.print(f"tables: {lake} ({seconds})", style="dim", highlight=False, soft_wrap=True)


def clock_lines(rows: list[dict[str, Any]]) -> list[str]:
    """A line per kind of fault: how many clocks have it, and the first of them.

    Args:
        rows: Rows of `clock_faults`.
    """
    found: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for row in rows:
        name = row["node"] if row["source"] == EVERY_SOURCE else f"{row['node']} {row['source']}"
        found[row["fault"]].add((name, row["cluster"]))
    order = list(_FAULTS)
    faults = sorted(found, key=lambda f: (order.index(f) if f in _FAULTS else len(order), f))
    lines = []
    for fault in faults[:MAX_CLOCK_LINES]:
        clocks = [name for name, _ in sorted(found[fault])]
        more = f" and {len(clocks) - MAX_CLOCKS} more" if len(clocks) > MAX_CLOCKS else ""
        lines.append(f"clocks: {len(clocks):,} {_FAULTS.get(fault, fault)} ({', '.join(clocks[:MAX_CLOCKS])}{more})")
    if len(faults) > MAX_CLOCK_LINES:
        lines.append(f"clocks: {len(faults) - MAX_CLOCK_LINES} more kinds of fault, see clock_faults")
    return lines


def verdicts(lake: str) -> list[dict[str, Any]]:
    """The rows of `results`, newest first."""
    try:
        table = DeltaTable(f"{lake.rstrip('/')}/{RESULTS.name}").to_pyarrow_dataset().to_table()
    except TableNotFoundError:
        return []
    return sorted(table.to_pylist(), key=lambda r: (-r["day"].toordinal(), r["job_id"], r["attempt"]))


def verdict_table(rows: list[dict[str, Any]]) -> Table:
    """One line per verdict."""
    table = Table(title=f"Verdicts ({len(rows)})", title_justify="left", show_edge=False)
    for name in ("job", "outcome", "category", "origin", "conf.", "scheduler", "conclusion"):
        table.add_column(
            name, no_wrap=name != "conclusion", overflow="ellipsis", ratio=1 if name == "conclusion" else None
        )
    for row in rows[:MAX_ROWS]:
        origin = ", ".join(row["origin"][:2]) or (row["origin_scope"] or "-")
        job = row["job_id"] if not row["attempt"] else f"{row['job_id']} #{row['attempt']}"
        agrees = {True: "", False: " !=", None: ""}[row["agrees_with_scheduler"]]
        table.add_row(
            safe(job), row["outcome"], row["category"], safe(origin), f"{row['confidence']:.2f}",
            Text(f"{row['scheduler_state'] or '-'}{agrees}"), safe(row["conclusion"]),
        )  # fmt: skip
    return table
