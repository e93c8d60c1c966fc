"""`firstfault label` at the command line: one statement, what was said before, ticket exports, or an RMA list."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from firstfault.jobs.label_words import LabelError

LakeOption = Annotated[str | None, typer.Option(help="Lake that holds the tables.")]
_MODES = ("--show", "--from", "--repairs", "--withdraw", "--category")


def label_command(
    *,
    job: Annotated[str | None, typer.Argument(help="Job id.")] = None,
    lake: LakeOption = None,
    category: Annotated[str | None, typer.Option(help="What the root cause was.")] = None,
    origin: Annotated[list[str] | None, typer.Option(help="Where: n1, n1/0000:3b:00, leaf1:35; repeatable.")] = None,
    scope: Annotated[str | None, typer.Option(help="What the origin names; taken from its form by default.")] = None,
    attempt: Annotated[int | None, typer.Option(help="Attempt, from 0; the last one by default.")] = None,
    cluster: Annotated[str | None, typer.Option(help="Cluster, where a job id exists on several.")] = None,
    note: Annotated[str | None, typer.Option(help="Why, in words.")] = None,
    who: Annotated[str | None, typer.Option(help="Who says so; the user of this process by default.")] = None,
    withdraw: Annotated[bool, typer.Option("--withdraw", help="Take back what WHO said of the attempt.")] = False,
    show: Annotated[bool, typer.Option("--show", help="Print what was said of the attempt, and conflicts.")] = False,
    source: Annotated[Path | None, typer.Option("--from", help="Ticket export, CSV or JSON.")] = None,
    mapping: Annotated[
        str | None, typer.Option(help="Mapping of the export: a YAML file, or jira or servicenow.")
    ] = None,
    repairs: Annotated[Path | None, typer.Option(help="RMA list: CSV with node, part, day, device, serial.")] = None,
    steal: Annotated[bool, typer.Option("--steal", help="Take a lake that a dead run still holds.")] = False,
    config: Annotated[Path | None, typer.Option(help="Settings file; firstfault.yaml by default.")] = None,
) -> None:
    """Say what the cause of a job's failure was, show what was said, or take it from tickets."""
    _one_mode(show, source, repairs, withdraw, category)
    if source and not mapping:
        raise LabelError(
            "--mapping is missing: give the YAML file that names the export's fields, or jira or servicenow."
        )
    if bool(job) == bool(source or repairs):
        raise LabelError("give a JOB with --category, --withdraw or --show; --from and --repairs take none.")
    from firstfault.jobs.labeller import Labeller
    from firstfault.jobs.settings import load_settings

    settings = load_settings(config, **({"lake": lake} if lake else {}))
    if not settings.lake:
        raise LabelError("--lake is missing: give it, or set FIRSTFAULT_LAKE.")
    labeller = Labeller(settings, Console(), steal=steal)
    if source:
        labeller.take_tickets(source, str(mapping))
    elif repairs:
        labeller.take_repairs(repairs)
    elif show:
        labeller.show(str(job), attempt, cluster)
    elif withdraw:
        labeller.withdraw(str(job), attempt, cluster, who, note)
    else:
        labeller.say(
            str(job),
            attempt,
            cluster,
            category=str(category),
            origin=";".join(origin or ()).split(";"),
            scope=scope,
            who=who,
            note=note,
        )


def _one_mode(*given: Any) -> None:  # noqa: ANN401
    """Refuses a call that asks for two things, or for none."""
    asked = [name for name, value in zip(_MODES, given, strict=True) if value]
    if len(asked) != 1:
        two = f"{' and '.join(asked)} do not go together" if asked else "nothing is asked for"
        raise LabelError(f"{two}: give one of {', '.join(_MODES)}.")
