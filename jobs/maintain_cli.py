"""`firstfault maintain` at the command line: its options, and the table it prints."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.filesize import decimal
from rich.table import Table

if TYPE_CHECKING:
    from firstfault.jobs.upkeep import Report

Days = Annotated[int | None, typer.Option(min=0, help="Days that raw data of jobs stays that all ended well; 7.")]
Hours = Annotated[int | None, typer.Option(min=0, help="Hours that removed files stay for readers; 168.")]


def maintain_command(
    *,
    lake: Annotated[str | None, typer.Option(help="Lake that holds the tables.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Tell what would be done, and do nothing.")] = False,
    keep_healthy_days: Days = None,
    retention_hours: Hours = None,
    force: Annotated[bool, typer.Option("--force", help="Allow fewer hours than 168.")] = False,
    steal: Annotated[bool, typer.Option("--steal", help="Take a lake that a dead run still holds.")] = False,
    master: Annotated[str | None, typer.Option(help="Spark master URL; local[*] by default.")] = None,
    config: Annotated[Path | None, typer.Option(help="Settings file; firstfault.yaml by default.")] = None,
) -> None:
    """Remove what is past its time, compact small files, and free what no reader needs."""
    from firstfault.jobs.maintain import maintain
    from firstfault.jobs.session import spark_session
    from firstfault.jobs.settings import load_settings
    from firstfault.jobs.upkeep import Policy, UsageError

    settings = load_settings(config, lake=lake, master=master)
    if not settings.lake:
        raise UsageError("--lake is missing: give it, or set FIRSTFAULT_LAKE.")
    given = {"keep_healthy_days": keep_healthy_days, "retention_hours": retention_hours}
    policy = Policy(force=force, **{k: v for k, v in given.items() if v is not None}).checked()
    console = Console()
    with console.status("starting Spark", spinner="dots"):
        spark = spark_session(settings)
    report = maintain(spark, settings, say=_sayer(console), policy=policy, dry_run=dry_run, steal=steal)
    print_report(report, console, dry_run=dry_run)


def _sayer(console: Console) -> Callable[[str], None]:
    return lambda text: console.print(text, highlight=False, markup=False, soft_wrap=True)


def print_report(report: "Report", console: Console, *, dry_run: bool) -> None:
    """One line a table that was changed, and the sum.

    Args:
        report: What was done.
        console: Where to.
        dry_run: Whether it was done at all.
    """
    table = Table(show_edge=False, title="would be done" if dry_run else None, title_justify="left")
    for name in ("table", "rows removed", "partitions", "compacted", "files before", "after", "freed", "bytes"):
        table.add_column(name, justify="left" if name == "table" else "right")
    for t in report.changed:
        removed = (f"{t.rows_removed:,}", f"{t.partitions_removed:,}", f"{t.partitions_compacted:,}")
        files = (f"{t.files_before:,}", f"{t.files_after:,}", f"{t.files_freed:,}")
        table.add_row(t.name, *removed, *files, decimal(t.bytes_freed))
    if report.changed:
        console.print(table)
    verb = "would be freed" if dry_run else "freed"
    console.print(
        f"{len(report.changed)} of {len(report.tables)} tables, {decimal(report.bytes_freed)} {verb}", highlight=False
    )
