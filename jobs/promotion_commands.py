"""`firstfault rules promote`, `rollback` and `champion` at the command line."""

import getpass
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from firstfault.jobs.champion import Succession
    from firstfault.jobs.review.registry import Registry
    from firstfault.jobs.settings import Settings

Lake = Annotated[str | None, typer.Option(help="Lake whose nights judge by the rule set.")]
By = Annotated[str | None, typer.Option(help="Who decides; your login by default.")]
Tracking = Annotated[str | None, typer.Option(help="MLflow tracking server; a SQLite file in the lake by default.")]
Config = Annotated[Path | None, typer.Option(help="Settings file; firstfault.yaml by default.")]


def promote_rules(
    *,
    why: Annotated[str, typer.Option(help="Why, in a sentence; it is kept.")],
    lake: Lake = None,
    by: By = None,
    force: Annotated[bool, typer.Option("--force", help="Promote what the gate refused.")] = False,
    tracking_uri: Tracking = None,
    config: Config = None,
) -> None:
    """Let the nights judge by the challenger, if its trial passed the gate."""
    from firstfault.jobs.review.promote import promote

    settings = _settings(config, lake, tracking_uri)
    after = promote(settings, _registry(settings), by=by or getpass.getuser(), why=why, force=force)
    _tell(after, "promoted")


def roll_back_rules(
    *,
    why: Annotated[str, typer.Option(help="Why, in a sentence; it is kept.")],
    lake: Lake = None,
    by: By = None,
    tracking_uri: Tracking = None,
    config: Config = None,
) -> None:
    """Let the nights judge by the former rule set again."""
    from firstfault.jobs.review.promote import roll_back

    settings = _settings(config, lake, tracking_uri)
    _tell(roll_back(settings, _registry(settings), by=by or getpass.getuser(), why=why), "rolled back to")


def show_champion(*, lake: Lake = None, config: Config = None) -> None:
    """Show which rule set the nights judge by, and which did before."""
    from firstfault.jobs.champion import RuleSets
    from firstfault.jobs.knowledge import RULES_ROOT
    from firstfault.rules.engine.load import ruleset_version

    settings = _settings(config, lake, None)
    succession = RuleSets(str(settings.lake)).succession()
    console = Console()
    if succession is None:
        console.print(f"rule set {ruleset_version(RULES_ROOT)}, shipped with the package", highlight=False)
        return
    table = Table(show_edge=False)
    for name in ("rule set", "since (UTC)", "by", "why"):
        table.add_column(name)
    for reign in reversed(succession.reigns):
        table.add_row(reign.version, f"{reign.since:%Y-%m-%d %H:%M}", *map(_plain, (reign.by, reign.why)))
    console.print(table)


def _plain(text: str) -> Any:  # noqa: ANN401
    from firstfault.jobs.show import safe

    return safe(text)


def _settings(config: Path | None, lake: str | None, tracking_uri: str | None) -> "Settings":
    from firstfault.jobs.champion import UsageError
    from firstfault.jobs.settings import load_settings

    settings = load_settings(config, lake=lake, tracking_uri=tracking_uri)
    if not settings.lake:
        raise UsageError("--lake is missing: give it, or set FIRSTFAULT_LAKE.")
    return settings


def _tell(after: "Succession", did: str) -> None:
    former = after.former.version if after.former else "none"
    Console().print(
        f"{did} rule set {after.champion.version}; before: {former}. The next night judges by it, and the days of its "
        "look-back again.",
        highlight=False,
        soft_wrap=True,
    )


def _registry(settings: "Settings") -> "Registry":
    from firstfault.jobs.review.registry import registry_of

    return registry_of(settings)


COMMANDS: dict[str, Callable[..., None]] = {
    "promote": promote_rules,
    "rollback": roll_back_rules,
    "champion": show_champion,
}
