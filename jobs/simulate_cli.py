"""`firstfault simulate` at the command line: a knob an option, and what was made."""

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.filesize import decimal

if TYPE_CHECKING:
    from firstfault.jobs.fleet import FleetReport

MARKER = ".firstfault-fleet"
SOURCES = (
    "accounting", "application", "board_controller", "chrony", "controller", "exporter", "fabric_manager",
    "flight_recorder", "kernel", "labels", "metrics", "nvidia_smi", "ports", "readiness", "slurmd", "storage_client",
    "switches", "syslog", "topology",
)  # fmt: skip
FLEET, CLOCKS, DAMAGE, LABELS = "The fleet", "Clocks and noise", "What gets lost", "Labels"

Out = Annotated[
    Path, typer.Option("--out", help="Folder for landing/, truth.json, labels.csv and fleet.json; emptied first.")
]
Name = Annotated[
    str,
    typer.Option(
        "--profile", help="pretrain, research, operations, wide, demo, or a YAML file.", rich_help_panel=FLEET
    ),
]
Seed = Annotated[
    int | None, typer.Option(help="Same seed, same bytes; the profile's by default.", rich_help_panel=FLEET)
]
Attempts = Annotated[
    int | None, typer.Option(help="Attempts in all, drawn from the profile's shares.", rich_help_panel=FLEET)
]
Nodes = Annotated[int | None, typer.Option(help="Nodes of the cluster.", rich_help_panel=FLEET)]
Days = Annotated[int | None, typer.Option(help="Days; by default as many as the attempts need.", rich_help_panel=FLEET)]
Day = Annotated[datetime | None, typer.Option(help="First day (UTC).", formats=["%Y-%m-%d"], rich_help_panel=FLEET)]
Healthy = Annotated[float | None, typer.Option(help="Share of attempts that end well, 0 to 1.", rich_help_panel=FLEET)]
Unknown = Annotated[
    float | None,
    typer.Option(help="Share of the failures that leave no usable evidence, 0 to 1.", rich_help_panel=FLEET),
]
Lemons = Annotated[int | None, typer.Option(help="Nodes that fail again, in three jobs each.", rich_help_panel=FLEET)]
Pairs = Annotated[
    int | None, typer.Option(help="Attempts that two independent faults strike at once.", rich_help_panel=FLEET)
]
Skew = Annotated[
    float | None, typer.Option(help="Seconds that wrong clocks are off at most; 0: all true.", rich_help_panel=CLOCKS)
]
Noise = Annotated[
    float | None, typer.Option(help="Factor of harmless trouble; 1 is the profile's, 0 none.", rich_help_panel=CLOCKS)
]
Lines = Annotated[
    int | None,
    typer.Option(help="Lines a day has, filled up with chatter of about 110 bytes each.", rich_help_panel=CLOCKS),
]
Loss = Annotated[
    float | None, typer.Option(help="Share of log lines lost, singly and in bursts, 0 to 0.9.", rich_help_panel=DAMAGE)
]
Duplicates = Annotated[
    float | None,
    typer.Option(help="Share of lines, and of log files, delivered twice, 0 to 0.9.", rich_help_panel=DAMAGE),
]
Missing = Annotated[
    list[str] | None,
    typer.Option(
        help="A source that is not delivered; repeatable. kernel:0.3 is on 3 nodes of 10, kernel:0.3:0.5 there on half "
        f"of the days. Sources: {', '.join(SOURCES)}.",
        rich_help_panel=DAMAGE,
    ),
]
Labels = Annotated[
    float | None, typer.Option(help="Share of the failures that operators label, 0 to 1.", rich_help_panel=LABELS)
]
LabelErrors = Annotated[
    float | None,
    typer.Option(help="Share of the labels that are wrong or in conflict, 0 to 1.", rich_help_panel=LABELS),
]
Deliver = Annotated[
    bool, typer.Option("--deliver-labels", help="Put labels.csv into the landing zone, too.", rich_help_panel=LABELS)
]


def simulate_command(
    *,
    out: Out = Path("build/fleet"),
    profile: Name = "pretrain",
    seed: Seed = None,
    attempts: Attempts = None,
    nodes: Nodes = None,
    days: Days = None,
    day: Day = None,
    healthy: Healthy = None,
    unknown: Unknown = None,
    lemons: Lemons = None,
    pairs: Pairs = None,
    skew: Skew = None,
    noise: Noise = None,
    lines_per_day: Lines = None,
    loss: Loss = None,
    duplicates: Duplicates = None,
    missing: Missing = None,
    labels: Labels = None,
    label_errors: LabelErrors = None,
    deliver_labels: Deliver = False,
) -> None:
    """Rehearse a fleet: raw files as a site has them, with the truth beside them."""
    from firstfault.jobs.fleet import generate
    from firstfault.jobs.fleet.knobs import chosen_profile
    from firstfault.jobs.fleet.mix import draw
    from firstfault.jobs.folders import emptied

    chosen = chosen_profile(
        profile,
        seed=seed, attempts=attempts, nodes=nodes, days=days, day=day.date() if day else None,
        healthy=healthy, unknown=unknown, lemons=lemons, pairs=pairs, skew=skew, noise=noise,
        lines_per_day=lines_per_day, loss=loss, duplicates=duplicates, missing=missing, labels=labels,
        label_errors=label_errors, deliver_labels=deliver_labels,
    )  # fmt: skip
    drawn = draw(chosen)
    emptied(out, MARKER, "fleet", "--out")
    console = Console()
    with console.status("rehearsing a fleet", spinner="dots"):
        report = generate(drawn, out)
    console.print(told(report), highlight=False, soft_wrap=True)


def told(report: "FleetReport") -> str:
    """What was made, in a few lines.

    Args:
        report: The report.

    Returns:
        Counts of the fleet, of what was lost, and the command that reads it.
    """
    days = f"{report.day}" + (f" and {report.days - 1} more days" if report.days > 1 else "")
    fates = f"{report.healthy} healthy, {len(report.mechanisms)} kinds of fault, {report.labelled} labels"
    made = (
        f"fleet of {days}: {report.attempts} attempts, {fates}",
        f"{report.files:,} files, {report.lines:,} lines, {decimal(report.size_bytes)} in {report.landing}",
    )
    gone = {"lost": report.lost, "delivered twice": report.repeated, "files missing": report.missing}
    harm = [f"{what}: {sum(by.values()):,} ({', '.join(sorted(by))})" for what, by in gone.items() if by]
    return "\n".join([*made, *harm, f"truth: {report.truth}"])
