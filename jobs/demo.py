"""The demo: a rehearsed fleet, one night over it, the verdicts beside the truth."""

import json
from pathlib import Path

from rich.console import Console

from firstfault.jobs.fleet import generate
from firstfault.jobs.folders import emptied
from firstfault.jobs.settings import Settings, load_settings
from firstfault.jobs.summary import night_summary, verdicts, watched_night

PROFILE = "demo"
MARKER = ".firstfault-demo"


def run_demo(folder: Path, settings: Settings, console: Console) -> None:
    """Writes the fleet to `<folder>/landing`, its truth beside it, the lake to `<folder>/lake`, and runs a night.

    Raises:
        UsageError: The folder holds something that no demo wrote.
    """
    emptied(folder, MARKER, "demo", "--lake")
    with console.status("rehearsing a fleet", spinner="dots"):
        fleet = generate(PROFILE, folder)
    console.print(
        f"fleet of {fleet.day}: {fleet.attempts} attempts, {len(fleet.mechanisms)} kinds of fault, "
        f"{fleet.healthy} healthy, {fleet.files:,} files, {fleet.size_bytes / 1e6:.1f} MB",
        highlight=False,
    )
    lake = str(folder / "lake")
    chosen = load_settings(None, landing=str(fleet.landing), lake=lake, master=settings.master)
    report = watched_night(chosen, days=None, steal=False, console=console)
    night_summary(lake, report, console)
    console.print(_score(fleet.truth, lake), highlight=False)
    failed = next((r["job_id"] for r in verdicts(lake)), "JOB")
    console.print(f"next: firstfault show {failed} --lake {lake}", highlight=False, soft_wrap=True)


def _score(truth: Path, lake: str) -> str:
    """How many verdicts name the category and the origin that the fleet knows to be true."""
    said = {(r["job_id"], r["attempt"]): r for r in verdicts(lake)}
    faults = [t for t in json.loads(truth.read_text(encoding="utf-8")) if t["category"]]
    healthy = [t for t in json.loads(truth.read_text(encoding="utf-8")) if not t["category"]]
    right = sum(said.get((t["job_id"], t["attempt"]), {}).get("category") == t["category"] for t in faults)
    named = [t for t in faults if t["origin"]]
    located = sum(said.get((t["job_id"], t["attempt"]), {}).get("origin") == sorted(t["origin"]) for t in named)
    accused = sum((t["job_id"], t["attempt"]) in said for t in healthy)
    return (
        f"against the fleet's truth: category right for {right} of {len(faults)} faults, origin for {located} of "
        f"{len(named)} that have one, {accused} of {len(healthy)} healthy attempts called failed"
    )
