"""Plots of a review over months: recall of each category with its interval, and where the GPU hours went.

Drawn without pyplot. Importing this module costs a quarter of a second (matplotlib): import it where one
is drawn.
"""

from collections import defaultdict

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from firstfault.jobs.clock_plot import PLAIN_STYLE
from firstfault.jobs.review.month import Figures, Rows, live
from firstfault.jobs.review.months import last

MAX_STACKED = 8
_COLUMNS, _WIDTH_IN, _PANEL_IN = 4, 9.5, 1.45
_DOT, _BAND, _GRID, _POOR, _REST = "#1f77b4", "#9ecae1", "#e4e4e4", "#d95f02", "#bdbdbd"
_STACK = ("#1f77b4", "#d95f02", "#7b3294", "#008837", "#c51b7d", "#8c6d1f", "#4d4d4d", "#80b1d3")


def months_of(figures: Figures) -> list[str]:
    """Every month from the first one with figures to that of the review, gaps included."""
    first = min((row["month"] for row in figures.stats), default=figures.month)
    n = 1
    while last(figures.month, n)[-1] > first:
        n += 1
    return last(figures.month, n)[::-1]


def recall_by_month(figures: Figures) -> Figure | None:
    """A panel per category with labels, those of most labels first; None without any.

    The band is the Wilson interval (95 %), orange where the month's findings tell of the category.
    """
    months = months_of(figures)
    series: dict[str, Rows] = defaultdict(list)
    for month in months:
        for row in live(figures, "category", month=month):
            if row["support"]:
                series[row["name"]].append(row)
    names = sorted(series, key=lambda name: (-sum(r["support"] for r in series[name]), name))
    if not names:
        return None
    poor = {f["name"] for f in figures.findings if f["kind"] in {"recall_fell", "recall_low"}}
    lines = -(-len(names) // _COLUMNS)
    with rc_context(PLAIN_STYLE):
        figure = Figure(figsize=(_WIDTH_IN, 0.7 + _PANEL_IN * lines), facecolor="white", layout="constrained")
        panels = list(figure.subplots(lines, _COLUMNS, sharex=True, sharey=True, squeeze=False).flat)
        for axes, name in zip(panels, names, strict=False):
            _panel(axes, name, series[name], months, colour=_POOR if name in poor else _DOT)
        for n in range(len(names), len(panels)):
            panels[n].set_visible(False)
            if n >= _COLUMNS:
                panels[n - _COLUMNS].tick_params(labelbottom=True)
        figure.supylabel("recall", fontsize=8)
    return figure


def gpu_hours_by_month(figures: Figures) -> Figure | None:
    """A bar per month, its parts the categories that lost most GPU hours; None where none were lost."""
    months = months_of(figures)
    rows = [(m, r["name"], r["gpu_hours_lost"] or 0.0) for m in months for r in live(figures, "category", month=m)]
    totals: dict[str, float] = defaultdict(float)
    for _, name, hours in rows:
        totals[name] += hours
    names = sorted((n for n in totals if totals[n] > 0), key=lambda n: (-totals[n], n))
    if not names:
        return None
    hours_of = {(m, name): hours for m, name, hours in rows}
    stacked, rest = names[:MAX_STACKED], names[MAX_STACKED:]
    parts = [(name, [hours_of.get((m, name), 0.0) for m in months]) for name in stacked]
    if rest:
        parts.append((f"{len(rest)} others", [sum(hours_of.get((m, n), 0.0) for n in rest) for m in months]))
    with rc_context(PLAIN_STYLE):
        figure = Figure(figsize=(_WIDTH_IN, 1.2 + 0.42 * max(len(months), 3)), facecolor="white", layout="constrained")
        axes, since = figure.add_subplot(), [0.0] * len(months)
        for (name, hours), colour in zip(parts, [*_STACK[: len(stacked)], _REST], strict=False):
            axes.barh(range(len(months)), hours, left=since, color=colour, edgecolor="white", height=0.65, label=name)
            since = [a + b for a, b in zip(since, hours, strict=True)]
        for y, (month, total) in enumerate(zip(months, since, strict=True)):
            n = sum(r["verdicts"] for r in live(figures, "all", month=month))
            words = f"{total:,.0f} h in {n:,} attempts" if n else "not reviewed"
            axes.annotate(words, (total, y), xytext=(4, 0), textcoords="offset points", va="center", fontsize=7)
        axes.set_yticks(range(len(months)), months)
        axes.set_ylim(max(len(months), 3) - 0.4, -0.6)
        axes.set_xlim(0, max([*since, 1.0]) * 1.25)
        axes.set_xlabel("GPU hours lost")
        _plain(axes, "x")
        figure.legend(loc="outside upper center", ncols=5, fontsize=7)
    return figure


def _panel(axes: Axes, name: str, rows: Rows, months: list[str], *, colour: str) -> None:
    """One category: a month without labels leaves a gap in the band, and the line goes on over it."""
    at = [months.index(r["month"]) for r in rows]
    recall = [r["recall"] for r in rows]
    low, high = [r["recall_low"] for r in rows], [r["recall_high"] for r in rows]
    axes.vlines(at, low, high, colors=_BAND if colour == _DOT else "#fdcdac", linewidths=6, zorder=2)
    axes.plot(at, recall, color=colour, linewidth=1, marker="o", markersize=4, zorder=3)
    axes.set_title(f"{name}  (n = {sum(r['support'] for r in rows):,})", fontsize=7.5, loc="left")
    axes.set_xlim(-0.6, len(months) - 0.4)
    axes.set_ylim(-0.05, 1.08)
    axes.set_yticks([0, 0.5, 1], ["0", "50 %", "100 %"], fontsize=7)
    every = -(-len(months) // 4)
    shown = list(range(len(months)))[::-1][::every][::-1]
    axes.set_xticks(shown, [months[n] for n in shown], fontsize=7)
    _plain(axes, "y")


def _plain(axes: Axes, which: str) -> None:
    axes.grid(axis="x" if which == "x" else "y", color=_GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
