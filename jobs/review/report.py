"""The report of a month: one HTML file that needs nothing else, what calls for a decision first."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from firstfault.jobs.report import TEMPLATES, shown
from firstfault.jobs.review.changes import Change, changes, counted, edited_rules
from firstfault.jobs.review.month import Figures, Rows, live
from firstfault.jobs.review.months import back
from firstfault.jobs.review.plots import PLOTS
from firstfault.jobs.review.unknown import Unknowns
from firstfault.transforms.diagnoses import UNKNOWN
from firstfault.transforms.review_findings import KINDS, NEVER_FIRED

MAX_CHANGES, MAX_GROUPS, MAX_TEMPLATES = 25, 40, 20
DECISIONS = {
    "precision_fell": (
        "Precision fell",
        "The rule is wrong oftener than before: look at its wrong verdicts, and at what changed.",
    ),
    "recall_fell": ("Recall fell", "Its faults are missed oftener than before: look at what was said instead."),
    "precision_low": ("Below its bar: precision", "Mend the rule, or take it back to experimental."),
    "recall_low": ("Below its bar: recall", "The category's rules do not find its faults: look at the confusion."),
    "noisy": ("Stands often, is seldom believed", "Ask for more support, or let another rule explain it."),
    "overlap": ("Stand together", "Merge them, or let one exclude the other."),
    "never_fired": (
        "Never fired",
        "Is its fault rare, or does its pattern no longer match? Retire what nobody can tell.",
    ),
}
"""Kind of finding -> heading, and what to decide."""


@dataclass(frozen=True)
class Head:
    """The month in one line of figures.

    Attributes:
        verdicts: Attempts with a verdict.
        labelled: Of these, attempts whose operators agree.
        conflicts: Attempts whose operators disagree; in no ratio.
        unlabelled: The rest; in no ratio.
        weak: Attempts that only weak labels speak of.
        right: Verdicts that are the label's.
        judged: Labelled verdicts that name a category.
        abstained: Labelled attempts left unknown.
        unknown: All attempts left unknown.
        gpu_hours: Lost by all of them.
    """

    verdicts: int
    labelled: int
    conflicts: int
    unlabelled: int
    weak: int
    right: int
    judged: int
    abstained: int
    unknown: int
    gpu_hours: float


def head(figures: Figures) -> Head:
    """The month in figures."""
    [every] = live(figures, "all")
    weak = live(figures, "all", kind="weak")
    unknown = sum(r["verdicts"] for r in live(figures, "category") if r["name"] == UNKNOWN)
    labelled, conflicts = int(every["support"]), int(every["conflicts"])
    return Head(
        verdicts=every["verdicts"], labelled=labelled, conflicts=conflicts,
        unlabelled=every["verdicts"] - labelled - conflicts, weak=int(weak[0]["support"]) if weak else 0,
        right=every["tp"], judged=every["tp"] + every["fp"], abstained=every["abstained"], unknown=unknown,
        gpu_hours=every["gpu_hours_lost"] or 0.0,
    )  # fmt: skip


def decisions(figures: Figures) -> list[tuple[str, str, str, Rows]]:
    """Kind, heading, what to decide, and its findings; kinds without any are left out."""
    order = {kind: n for n, kind in enumerate(KINDS)}
    found = sorted(
        figures.findings, key=lambda f: (order[f["kind"]], f["cluster"] != "*", f["figure"] or 0.0, f["name"])
    )
    return [(kind, *DECISIONS[kind], list(rows)) for kind, rows in groupby(found, key=lambda f: f["kind"])]


def page_html(figures: Figures, unknowns: Unknowns, plots: Mapping[str, str], links: Mapping[str, str]) -> str:
    """The page; every text in it may be log text and is shown as text.

    Args:
        figures: The month.
        unknowns: What the unknown attempts share.
        plots: Plots as SVG, by name.
        links: Id of a proposal -> place of its draft beside the page.
    """
    pages = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, finalize=shown, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    moved = changes(figures)
    told = decisions(figures)
    return pages.get_template("review.html.j2").render(
        month=figures.month, head=head(figures), figures=figures, counted=counted,
        urgent=[d for d in told if d[0] != NEVER_FIRED], silent=[d for d in told if d[0] == NEVER_FIRED],
        changes=moved[:MAX_CHANGES], more_changes=max(len(moved) - MAX_CHANGES, 0), edits=edited_rules(figures.rules),
        categories=_by_support(live(figures, "category")), rules=_by_support(live(figures, "rule")),
        means=live(figures, "mean"),
        clusters=_by_cluster(figures), status={r["rule_id"]: r["status"] for r in figures.rules[0]},
        unknowns=unknowns, drafts=list(zip(unknowns.groups, unknowns.proposals, strict=True)), links=links,
        templates=unknowns.templates[:MAX_TEMPLATES], plots=[(n, PLOTS[n], svg) for n, svg in plots.items()],
        signed=_signed, compared=bool(live(figures, "all", month=back(figures.month, 1))),
    )  # fmt: skip


def _by_support(rows: Rows) -> Rows:
    return sorted(rows, key=lambda r: (-(r["support"] or 0), -(r["verdicts"] or 0), r["name"]))


def _by_cluster(figures: Figures) -> Rows:
    """The row of all verdicts of each cluster, where there are several."""
    names = sorted({r["cluster"] for r in figures.stats if r["cluster"] != "*" and r["month"] == figures.month})
    return [row for name in names for row in live(figures, "all", cluster=name)] if len(names) > 1 else []


def _signed(change: Change) -> str:
    """How far a figure moved, in words."""
    if change.figure in {"precision", "recall"}:
        return f"{100 * change.change:+.0f} points"
    return f"{change.change:+,.0f}"


def as_text(value: Any) -> str:  # noqa: ANN401
    """A figure for the terminal."""
    return "-" if value is None else f"{100 * value:.0f} %"
