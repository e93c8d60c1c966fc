"""What a night says in the terminal: its stages while it works, then its books and its verdicts."""

from datetime import date
from typing import Any

from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError
from rich.console import Console
from rich.table import Table
from rich.text import Text

from firstfault.jobs.nightly import NightReport, check_inputs, run_night
from firstfault.jobs.session import spark_session
from firstfault.jobs.settings import Settings
from firstfault.jobs.show import safe
from firstfault.transforms.results import RESULTS

MAX_ROWS = 60
MAX_NAMED = 5


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
    console.print(f"attempts looked at {report.attempts:,}, verdicts {report.diagnosed:,}", highlight=False)
    rows = verdicts(lake)
    if rows:
        console.print(verdict_table(rows))
    seconds = ", ".join(f"{stage} {s:.1f} s" for stage, s in report.durations_s.items())
    console.print(f"tables: {lake} ({seconds})", style="dim", highlight=False, soft_wrap=True)


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
