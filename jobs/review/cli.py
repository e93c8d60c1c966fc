"""`firstfault review` at the command line: its options, and what it prints."""

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from firstfault.jobs.review.run import Reviewed

MAX_TOLD = 20


def review_command(
    *,
    month: Annotated[str, typer.Option(help="Month to review, as 2026-11.")],
    lake: Annotated[str | None, typer.Option(help="Lake that holds the tables.")] = None,
    tracking_uri: Annotated[
        str | None, typer.Option(help="MLflow tracking server; a SQLite file in the lake by default.")
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Write the report there as well.")] = None,
    candidate: Annotated[
        Path | None, typer.Option(help="Try this rules folder on the month, beside the live one, and register it.")
    ] = None,
    months: Annotated[int, typer.Option(min=1, max=24, help="With --candidate: months to try it on, back.")] = 1,
    as_of: Annotated[
        datetime | None, typer.Option(help="With --candidate: take the lake as it was then (UTC).")
    ] = None,
    master: Annotated[str | None, typer.Option(help="Spark master URL; local[*] by default.")] = None,
    config: Annotated[Path | None, typer.Option(help="Settings file; firstfault.yaml by default.")] = None,
) -> None:
    """Tell how good the rules were in a month, what changed, and what to decide; as a report and an MLflow run."""
    from firstfault.jobs.review.months import UsageError, checked
    from firstfault.jobs.settings import load_settings

    settings = load_settings(config, lake=lake, master=master, tracking_uri=tracking_uri)
    if not settings.lake:
        raise UsageError("--lake is missing: give it, or set FIRSTFAULT_LAKE.")
    checked(month)
    if candidate is not None:
        from firstfault.jobs.review.trial_cli import try_candidate

        try_candidate(settings, candidate, month, months, as_of)
        return
    from firstfault.jobs.review.run import review_month
    from firstfault.jobs.session import spark_session

    console = Console()
    with console.status("starting Spark", spinner="dots") as status:
        spark = spark_session(settings)
        done = review_month(spark, settings, month, say=lambda step: status.update(f"review: {step}"))
    if html is not None:
        _copy(done.report, html)
    print_review(done, console)


def _copy(report: str, html: Path) -> None:
    from firstfault.jobs.raw_files import lake_filesystem
    from firstfault.jobs.review.months import UsageError

    fs, path = lake_filesystem(report)
    try:
        with fs.open_input_stream(path) as text:
            html.write_bytes(text.read())
    except OSError as error:
        raise UsageError(
            f"--html: {html} cannot be written ({error.strerror}); the report lies at {report}."
        ) from error


def print_review(done: "Reviewed", console: Console) -> None:
    """The month in three lines, what is to be decided, and where the rest lies.

    Args:
        done: The review.
        console: Where to.
    """
    from firstfault.jobs.review.changes import counted
    from firstfault.jobs.review.report import decisions, head
    from firstfault.jobs.show import safe
    from firstfault.transforms.review_findings import NEVER_FIRED

    month = head(done.figures)
    console.print(
        f"{done.figures.month}: {month.verdicts:,} verdicts, {month.labelled:,} labelled "
        f"({month.conflicts} in conflict), "
        f"right {counted(month.right, month.judged)}, left unknown {month.unknown:,}",
        highlight=False,
    )
    table = Table(show_edge=False, title="To decide", title_justify="left")
    for name in ("kind", "what", "found"):
        table.add_column(name, overflow="fold")
    told = decisions(done.figures)
    rows = [(kind, row) for kind, _, _, found in told if kind != NEVER_FIRED for row in found]
    for kind, row in rows[:MAX_TOLD]:
        where = "" if row["cluster"] == "*" else f" ({row['cluster']})"
        other = f" and {row['other']}" if row["other"] else ""
        table.add_row(kind, safe(f"{row['name']}{other}{where}"), safe(row["note"]))
    if rows:
        console.print(table)
    more = [f"{len(rows) - MAX_TOLD} more findings"] if len(rows) > MAX_TOLD else []
    silent = sum(len(found) for kind, _, _, found in told if kind == NEVER_FIRED)
    more += [f"{silent} rules never fired"] if silent else []
    more += [f"drafts of rules: {len(done.unknowns.proposals)}"] if done.unknowns.proposals else []
    if more:
        console.print(", ".join(more), highlight=False)
    places = (
        f"report: {done.report}",
        f"MLflow: run {done.run_id} (mlflow ui --backend-store-uri {done.uri})",
        ", ".join(f"{step} {s:.1f} s" for step, s in done.figures.seconds.items()),
    )
    for line in places:
        console.print(line, style="dim", highlight=False, markup=False, soft_wrap=True)
