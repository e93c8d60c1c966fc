"""The command line: every command is thin, every error one clear line."""

import errno
import logging
import os
import secrets
import sys
from collections.abc import Callable
from datetime import date, datetime
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.markup import escape

from firstfault.jobs.label_cli import label_command
from firstfault.jobs.maintain_cli import maintain_command
from firstfault.jobs.promotion_commands import COMMANDS as PROMOTION_COMMANDS
from firstfault.jobs.review.cli import review_command
from firstfault.jobs.rules_commands import COMMANDS
from firstfault.jobs.simulate_cli import simulate_command

DONE, FAILED, USAGE, CRITICAL, BUSY = 0, 1, 2, 3, 4
app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, help=__doc__)
rules_app = typer.Typer(no_args_is_help=True, help="The rule library, and which one judges.")
app.add_typer(rules_app, name="rules")
out, err = Console(), Console(stderr=True)

LandingOption = Annotated[str | None, typer.Option(help="Landing zone: a folder or an object-store URL.")]
LakeOption = Annotated[str | None, typer.Option(help="Lake that holds the tables.")]
SourcesOption = Annotated[Path | None, typer.Option(help="The site's own sources.yaml.")]
MasterOption = Annotated[str | None, typer.Option(help="Spark master URL; local[*] by default.")]
ConfigOption = Annotated[Path | None, typer.Option(help="Settings file; firstfault.yaml by default.")]


def main() -> None:
    """Entry point of the console script."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    if os.environ.get("FIRSTFAULT_DEBUG"):
        logging.getLogger("firstfault").setLevel(logging.DEBUG)
    app()


def _fail(message: str, code: int) -> NoReturn:
    err.print(f"firstfault: {escape(message)}", style="red", highlight=False)
    raise typer.Exit(code)


def _guarded(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command with every known error as one line and its exit code."""

    @wraps(command)
    def guarded(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        try:
            return command(*args, **kwargs)
        except (typer.Exit, typer.Abort):
            raise
        except SystemExit as stop:
            _fail(f"a library ended the process (code {stop.code}) in the middle of the work; run it again.", FAILED)
        except KeyboardInterrupt:
            _fail("interrupted; run it again, what was read is not read twice.", FAILED)
        except Exception as error:
            _fail(*_told(error))

    return guarded


def _told(error: Exception) -> tuple[str, int]:
    """The sentence and the exit code of an error."""
    name = type(error).__name__
    text = str(error).strip()
    if name in _USAGE_ERRORS:
        return text, USAGE
    if name in {"LakeBusyError"}:
        return text, BUSY
    if name in {"BooksError", "ContractError", "CriticalExpectationError"}:
        return text, CRITICAL
    if _disk_is_full(error):
        return "no space left on the disk of the lake or of Spark's scratch folder; free some and run it again.", FAILED
    first = _masked((text.splitlines() or [""])[0])
    logging.getLogger("firstfault").debug("unexpected error", exc_info=error)
    return f"unexpected {name}: {first[:300]}; run with FIRSTFAULT_DEBUG=1 for the whole trace.", FAILED


def _disk_is_full(error: BaseException | None) -> bool:
    """Whether this error, or one behind it, is a full disk; the JVM's say so in their trace only."""
    while error is not None:
        if getattr(error, "errno", None) == errno.ENOSPC or os.strerror(errno.ENOSPC) in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False


def _masked(text: str) -> str:
    """A text that may quote a log line, as it may be shown."""
    from firstfault.jobs.knowledge import load_unlocked

    return load_unlocked().masking.masker(secrets.token_bytes(), "error").text(text)


_USAGE_ERRORS = {
    "LandingError", "SourcesError", "SettingsError", "KnowledgeError", "SessionError", "NoAnswerError",
    "ProfileError", "JarsError", "JavaError", "UsageError", "LabelError",
}  # fmt: skip


class UsageError(ValueError):
    """An option is missing or unusable."""


def _settings(config: Path | None, **flags: Any) -> Any:  # noqa: ANN401
    from firstfault.jobs.settings import load_settings

    return load_settings(config, **{k: v for k, v in flags.items() if v is not None})


def _need(value: str | None, flag: str) -> str:
    if not value:
        raise UsageError(f"{flag} is missing: give it, or set FIRSTFAULT_{flag.strip('-').upper()}.")
    return value


@app.command()
@_guarded
def nightly(
    landing: LandingOption = None,
    lake: LakeOption = None,
    day: Annotated[
        datetime | None, typer.Option(help="Only attempts that ended on this UTC day.", formats=["%Y-%m-%d"])
    ] = None,
    from_day: Annotated[datetime | None, typer.Option("--from", help="First day.", formats=["%Y-%m-%d"])] = None,
    to_day: Annotated[datetime | None, typer.Option("--to", help="Last day.", formats=["%Y-%m-%d"])] = None,
    sources: SourcesOption = None,
    master: MasterOption = None,
    config: ConfigOption = None,
    steal: Annotated[bool, typer.Option("--steal", help="Take a lake that a dead run still holds.")] = False,
) -> None:
    """Land what is new and diagnose the attempts that it touches."""
    settings = _settings(config, landing=landing, lake=lake, sources=sources, master=master)
    _need(settings.landing, "--landing")
    _need(settings.lake, "--lake")
    days = _days(day, from_day, to_day)
    from firstfault.jobs.summary import night_summary, watched_night

    report = watched_night(settings, days=days, steal=steal, console=out)
    night_summary(settings.lake, report, out)


def _days(day: datetime | None, first: datetime | None, last: datetime | None) -> tuple[date, date] | None:
    if day and (first or last):
        raise UsageError("--day goes alone: give either --day or --from and --to.")
    if day:
        return day.date(), day.date()
    if first or last:
        if not (first and last) or first > last:
            raise UsageError("--from and --to go together, and --from must not be after --to.")
        return first.date(), last.date()
    return None


@app.command()
@_guarded
def show(
    job: Annotated[str, typer.Argument(help="Job id.")],
    lake: LakeOption = None,
    attempt: Annotated[int | None, typer.Option(help="Attempt, from 0; the last one by default.")] = None,
    cluster: Annotated[str | None, typer.Option(help="Cluster, where a job id exists on several.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The machine form (schema_version 1.0).")] = False,
    config: ConfigOption = None,
) -> None:
    """Show where the fault of a job began, or why there is no verdict."""
    from firstfault.jobs.answer import read_answer
    from firstfault.jobs.readers import reading
    from firstfault.jobs.show import render

    root = _need(_settings(config, lake=lake).lake, "--lake")
    with reading(root, "show"):
        answer = read_answer(root, job, attempt, cluster)
    if as_json:
        sys.stdout.write(answer.model_dump_json(indent=2) + "\n")
    else:
        render(answer, out)


@app.command()
@_guarded
def demo(
    lake: Annotated[Path, typer.Option(help="Where the demo's lake and landing zone go; emptied first.")] = Path(
        "build/demo"
    ),
    master: MasterOption = None,
) -> None:
    """Rehearse a fleet, run a night over it, and show what it found."""
    from firstfault.jobs.demo import run_demo

    run_demo(lake, _settings(None, master=master), out)


@app.command()
@_guarded
def doctor(
    landing: LandingOption = None,
    lake: LakeOption = None,
    master: MasterOption = None,
    config: ConfigOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Check Java, Python, jars, Spark, memory and disk, and write what was found."""
    from firstfault.jobs.doctor import report

    if not report(_settings(config, landing=landing, lake=lake, master=master), out, as_json=as_json):
        raise typer.Exit(FAILED)


app.command("label")(_guarded(label_command))
app.command("maintain")(_guarded(maintain_command))
app.command("review")(_guarded(review_command))
app.command("simulate")(_guarded(simulate_command))


for name, command in {**COMMANDS, **PROMOTION_COMMANDS}.items():
    rules_app.command(name)(_guarded(command))


if __name__ == "__main__":
    main()
