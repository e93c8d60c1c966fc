"""Plots of what a query gave: bars with their numbers beside them, and a table of pairs as shades.

Drawn without pyplot. Importing this module costs a quarter of a second (matplotlib): import it where one
is drawn.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib import rc_context
from matplotlib.colors import PowerNorm
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from firstfault.jobs.clock_plot import PLAIN_STYLE
from firstfault.jobs.show import safe

Rows = Sequence[Mapping[str, Any]]

MAX_BARS, MAX_LABEL = 30, 40
_WIDTH_IN, _BAR, _GRID, _INK = 9.5, "#9ecae1", "#e4e4e4", "#222222"


def bars(
    rows: Rows,
    label: str | Sequence[str],
    value: str,
    unit: str,
    *,
    beside: str | None = None,
    ends: tuple[str, str] | None = None,
    log: bool = False,
) -> Figure | None:
    """A bar per row, in the order of the rows, with its value and what stands beside it; None without rows.

    Args:
        rows: What a query gave.
        label: Column, or columns, that name a row.
        value: Column of the length; rows without one are left out.
        unit: Words under the axis.
        beside: Column to write behind the value, as `n` of a ratio.
        ends: Columns of the lower and the upper end of its interval.
        log: Whether the axis is logarithmic.
    """
    shown = [row for row in rows if not _missing(row[value]) and (row[value] > 0 or not log)][:MAX_BARS]
    if not shown:
        return None
    columns = [label] if isinstance(label, str) else list(label)
    names = [_short(" ".join(str(row[c]) for c in columns)) for row in shown]
    values = [float(row[value]) for row in shown]
    told = [f"{beside} = {_figure(row[beside])}" for row in shown] if beside else [""] * len(values)
    with rc_context(PLAIN_STYLE):
        figure = Figure(figsize=(_WIDTH_IN, 0.75 + 0.25 * len(values)), facecolor="white", layout="constrained")
        axes = figure.add_subplot()
        axes.barh(range(len(values)), values, color=_BAR, height=0.7)
        reach = list(values)
        if ends:
            low, high = ([float(row[end]) for row in shown] for end in ends)
            axes.hlines(range(len(values)), low, high, colors=_INK, linewidths=1)
            reach = [max(pair) for pair in zip(values, high, strict=True)]
        for y, (v, at, text) in enumerate(zip(values, reach, told, strict=True)):
            words = f"{_figure(v)}{', ' if text else ''}{text}"
            axes.annotate(words, (at, y), xytext=(4, 0), textcoords="offset points", va="center", fontsize=7)
        axes.set_yticks(range(len(values)), names)
        axes.set_ylim(len(values) - 0.4, -0.6)
        if log:
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter(FuncFormatter(lambda v, _: _figure(v)))
            axes.set_xlim(min(values) / 4, max(reach) * 6)
        else:
            axes.set_xlim(min([0.0, *values]) * 1.2, max([*reach, 0.0]) * 1.2 or 1.0)
        axes.set_xlabel(unit)
        axes.grid(axis="x", color=_GRID, linewidth=0.6)
        axes.set_axisbelow(True)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
    return figure


def pairs(rows: Rows, down: str, across: str, value: str, unit: str) -> Figure | None:
    """A cell per pair of names, shaded by the number in it; None without rows.

    Args:
        rows: What a query gave, a row a pair.
        down: Column of the names on the left.
        across: Column of the names below.
        value: Column of the number in a cell.
        unit: What the number counts.
    """
    cells = {(str(r[down]), str(r[across])): float(r[value]) for r in rows if not _missing(r[value])}
    if not cells:
        return None
    lines, columns = sorted({d for d, _ in cells}), sorted({a for _, a in cells})
    most = max(cells.values()) or 1.0
    width, height = min(_WIDTH_IN, 2.5 + 0.75 * len(columns)), 1.2 + 0.3 * len(lines)
    with rc_context(PLAIN_STYLE):
        figure = Figure(figsize=(width, height), facecolor="white", layout="constrained")
        axes = figure.add_subplot()
        shades = [[cells.get((d, a), 0.0) for a in columns] for d in lines]
        # A mesh, no image: it stays a drawing in the SVG.
        # The root of the number is the shade, so that a few beside many still show.
        axes.pcolormesh(shades, cmap="Blues", norm=PowerNorm(0.5, 0, most * 1.3), edgecolors="white")
        for (d, a), v in cells.items():
            place = (columns.index(a) + 0.5, lines.index(d) + 0.5)
            colour = "white" if v > 0.5 * most else _INK
            axes.text(*place, _figure(v), ha="center", va="center", fontsize=7.5, color=colour)
        names = [_short(a) for a in columns]
        axes.set_xticks([x + 0.5 for x in range(len(names))], names, rotation=35, ha="right", rotation_mode="anchor")
        axes.set_yticks([y + 0.5 for y in range(len(lines))], [_short(d) for d in lines])
        axes.invert_yaxis()
        axes.set_xlabel(f"{across} (number: {unit})")
        axes.set_ylabel(down)
    return figure


def _missing(value: Any) -> bool:  # noqa: ANN401
    return value is None or value != value  # noqa: PLR0124 (a NaN of pandas)


def _figure(value: float) -> str:
    if float(value).is_integer() or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.2g}" if abs(value) < 1 else f"{value:,.1f}"


def _short(text: str) -> str:
    plain = safe(text).plain
    return plain if len(plain) <= MAX_LABEL else f"{plain[: MAX_LABEL - 1]}…"
