"""The report of a night: one HTML file beside the tables, which needs nothing else to be read.

It is written anew by every night that took or diagnosed something, and depends on the lake and that night's books
alone.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from firstfault.jobs.clock_day import faults_of, offsets_of
from firstfault.jobs.light import in_lake
from firstfault.jobs.night import NightReport
from firstfault.jobs.places import is_there, put
from firstfault.jobs.show import safe
from firstfault.transforms.results import RESULTS

FOLDER = "_reports"
TEMPLATES = Path(__file__).with_name("templates")
MAX_VERDICTS, MAX_WARNINGS, MAX_FAULTS = 1000, 200, 500
_SHOWN = (
    "day", "cluster", "job_id", "attempt", "outcome", "category", "origin_scope", "origin", "confidence", "conclusion",
)  # fmt: skip


@dataclass(frozen=True)
class Page:
    """A report that is written.

    Attributes:
        path: Where it lies.
        day: The day it is of.
        faults: Rows of `clock_faults` that it shows.
    """

    path: str
    day: date
    faults: list[dict[str, Any]]


def write_report(
    lake: str, report: NightReport, *, today: date, days: tuple[date, date] | None, lookback_days: int
) -> Page:
    """Writes the report of a night; one that nothing happened in leaves the report of its day as it is.

    Args:
        lake: Root of the lake.
        report: What the night did.
        today: Day of the run, for a lake without verdicts.
        days: First and last day that the night was asked for.
        lookback_days: Days of verdicts to show where no days were asked for.
    """
    verdicts, day = _verdicts(lake, days, lookback_days, today)
    offsets = offsets_of(lake, day)
    faults = faults_of(lake, day, offsets)
    place = f"{lake.rstrip('/')}/{FOLDER}/night-{day.isoformat()}.html"
    if report.books.read or report.diagnosed or not is_there(place):
        put(place, page_html(day, report, verdicts, offsets, faults))
    return Page(place, day, faults)


def page_html(
    day: date, report: NightReport, verdicts: list[dict[str, Any]], offsets: pa.Table, faults: list[dict[str, Any]]
) -> str:
    """The page; every text in it may be log text and is shown as text.

    Args:
        day: The day it is of.
        report: Books and warnings.
        verdicts: Rows of `results`.
        offsets: Rows of `clock_offsets` of the day.
        faults: Rows of `clock_faults` of the day.
    """
    pages = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, finalize=shown, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    return pages.get_template("night.html.j2").render(
        day=day, report=report, verdicts=verdicts[:MAX_VERDICTS], more=max(len(verdicts) - MAX_VERDICTS, 0),
        days=sorted({row["day"] for row in verdicts}, reverse=True),
        outcomes=_counted(verdicts, "outcome"), categories=_counted(verdicts, "category"),
        warnings=report.warnings[:MAX_WARNINGS], more_warnings=max(len(report.warnings) - MAX_WARNINGS, 0),
        plot=_plot(offsets), faults=faults[:MAX_FAULTS], more_faults=max(len(faults) - MAX_FAULTS, 0),
    )  # fmt: skip


def _plot(offsets: pa.Table) -> str:
    """The plot as SVG, its texts escaped; empty where nothing is known."""
    if not offsets.num_rows:
        return ""
    # matplotlib takes a quarter of a second to import, which a night without clocks need not pay.
    from firstfault.jobs.clock_plot import figure_svg, offsets_figure

    return figure_svg(offsets_figure(offsets))


def shown(value: object) -> object:
    """A value on its way into the page: no control or direction characters."""
    if hasattr(value, "__html__") or isinstance(value, int | float):
        return value
    return safe("" if value is None else value).plain


def _verdicts(
    lake: str, days: tuple[date, date] | None, lookback_days: int, today: date
) -> tuple[list[dict[str, Any]], date]:
    """The verdicts to show, newest day first, and the newest of their days."""
    dataset = in_lake(lake, RESULTS).dataset()
    written = set() if dataset is None else set(pc.unique(dataset.to_table(columns=["day"])["day"]).to_pylist())
    within = {d for d in written if d is not None and (days is None or days[0] <= d <= days[1])}
    day = max(within, default=days[1] if days else today)
    if dataset is None or not within:
        return [], day
    chosen = {d for d in within if days or d > day - timedelta(days=max(lookback_days, 1))}
    of_days = pc.field("day").isin(pa.array(sorted(chosen), pa.date32()))
    rows = dataset.to_table(columns=list(_SHOWN), filter=of_days).to_pylist()
    return sorted(rows, key=lambda r: (-r["day"].toordinal(), r["cluster"], r["job_id"], r["attempt"])), day


def _counted(rows: Iterable[dict[str, Any]], name: str) -> list[tuple[str, int]]:
    return sorted(Counter(str(row[name]) for row in rows).items(), key=lambda item: (-item[1], item[0]))
