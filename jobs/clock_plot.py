"""The plot of a day's clocks: how far each one was off, and what is left after correction.

Drawn without pyplot, so that no state is shared, and as SVG whose bytes depend on the rows alone. Importing this module
costs a quarter of a second (matplotlib): import it where something is drawn.
"""

import io
import warnings
from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import Any

import pyarrow as pa
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from firstfault.jobs.clock_spans import Span, label, spans_of
from firstfault.jobs.show import safe

MAX_DRAWN = 60
WIDTH_IN, ROW_IN, HEAD_IN, GAP_IN, HISTOGRAM_IN, FOOT_IN = 9.5, 0.16, 0.65, 0.85, 1.3, 0.5
MAX_LABEL = 34
BINS_A_DECADE = 4
FINEST_S, FINE_S = 1e-6, 1e-3
MAX_TICKS = 7
_COLOURS = ("#1f77b4", "#d95f02", "#7b3294", "#008837", "#c51b7d", "#8c6d1f")
_REST, _LEFT, _INK = "#777777", "#b8d8b0", "#222222"
_WORDS = (
    (1e-6, "1 µs"), (1e-5, "10 µs"), (1e-4, "100 µs"), (1e-3, "1 ms"), (1e-2, "10 ms"), (0.1, "100 ms"), (1.0, "1 s"),
    (10.0, "10 s"), (60.0, "1 min"), (600.0, "10 min"), (3600.0, "1 h"), (36_000.0, "10 h"), (864_000.0, "10 d"),
    (8_640_000.0, "100 d"), (315_360_000.0, "10 y"), (3.1536e9, "100 y"),
)  # fmt: skip
PLAIN_STYLE: dict[Any, Any] = {
    "text.usetex": False, "text.parse_math": False, "font.family": "sans-serif", "font.sans-serif": ["DejaVu Sans"],
    "font.size": 8.0, "axes.unicode_minus": True, "svg.fonttype": "none", "svg.hashsalt": "firstfault", "svg.id": None,
    "path.simplify": False, "legend.frameon": False,
}  # fmt: skip
"""What a matplotlibrc of the machine must not change. Names are log text: `$` in one is no formula."""


def offsets_figure(offsets: pa.Table, *, max_drawn: int = MAX_DRAWN) -> Figure:
    """A row per clock, the worst ones on top, and below it how all offsets and errors are spread.

    Args:
        offsets: Rows of `clock_offsets`, of one day as a rule.
        max_drawn: Clocks that get a row of their own; the rest share one.
    """
    spans = spans_of(offsets)
    drawn, rest = spans[:max_drawn], spans[max_drawn:]
    lines = len(drawn) + (2 if rest else 0)
    with rc_context(PLAIN_STYLE):
        height = HEAD_IN + max(lines, 3) * ROW_IN + GAP_IN + HISTOGRAM_IN + FOOT_IN
        figure = Figure(figsize=(WIDTH_IN, height), facecolor="white")
        names = [_label(span, spans) for span in drawn]
        left = (0.35 + 0.068 * max((len(name) for name in names), default=0) + (0.9 if rest else 0)) / WIDTH_IN
        left, wide = min(left, 0.4), 0.97 - min(left, 0.4)
        top = FOOT_IN + HISTOGRAM_IN + GAP_IN
        clocks = figure.add_axes((left, top / height, wide, max(lines, 3) * ROW_IN / height))
        spread = figure.add_axes((left, FOOT_IN / height, wide, HISTOGRAM_IN / height))
        colours = _colours(spans)
        _draw_clocks(clocks, drawn, rest, names, colours)
        _draw_spread(spread, spans)
        _legend(figure, colours, steps=any(s.steps for s in drawn))
    return figure


def figure_svg(figure: Figure) -> str:
    """The figure as an `<svg>` element for the middle of a page; equal figures give equal text."""
    out = io.StringIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    with rc_context(PLAIN_STYLE), warnings.catch_warnings():
        # The font that measures labels may lack a letter that the browser's has.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure.savefig(out, format="svg", metadata=nothing)
    text = out.getvalue()
    return text[text.index("<svg") :]


def _label(span: Span, spans: Sequence[Span]) -> str:
    name = safe(label(span, with_cluster=len({s.cluster for s in spans}) > 1)).plain
    return name if len(name) <= MAX_LABEL else f"{name[: MAX_LABEL - 1]}…"


def _colours(spans: Sequence[Span]) -> dict[str, str]:
    """Witnesses of clocks -> colour, the most frequent first; those beyond the palette are alike."""
    common = sorted(Counter(s.witnesses for s in spans).items(), key=lambda item: (-item[1], item[0]))
    return {name: _COLOURS[n] if n < len(_COLOURS) else _REST for n, (name, _) in enumerate(common)}


def _draw_clocks(
    axes: Axes, drawn: Sequence[Span], rest: Sequence[Span], names: Sequence[str], colours: dict[str, str]
) -> None:
    """A row per clock: what is left around zero, below it the range as measured, and both ends of each jump."""
    rows = range(len(drawn))
    colour = [colours[s.witnesses] for s in drawn]
    axes.hlines(rows, [-s.error for s in drawn], [s.error for s in drawn], colors=_LEFT, linewidths=8, zorder=1)
    axes.hlines(rows, [s.low for s in drawn], [s.high for s in drawn], colors=colour, linewidths=2.5, zorder=3)
    axes.scatter([s.worst for s in drawn], rows, c=colour, s=14, zorder=4)
    jumps = [(row, at) for row, s in zip(rows, drawn, strict=True) for at in chain.from_iterable(s.steps)]
    if jumps:
        axes.scatter(
            [at for _, at in jumps], [row for row, _ in jumps], marker="D", s=16, facecolors="white",
            edgecolors=_INK, linewidths=0.8, zorder=5,
        )  # fmt: skip
    ticks, words = list(rows), list(names)
    if rest:
        ticks.append(len(drawn) + 1)
        words.append(f"{len(rest):,} more clocks")
        _draw_rest(axes, rest, len(drawn) + 1)
    axes.set_yticks(ticks, words, fontsize=7)
    axes.set_ylim(max(ticks[-1] if ticks else 0, 2) + 0.8, -0.8)
    _scale(axes, [*drawn, *rest])


def _draw_rest(axes: Axes, rest: Sequence[Span], row: int) -> None:
    """One band for all others."""
    worst = max(s.error for s in rest)
    axes.hlines([row], [-worst], [worst], colors=_LEFT, linewidths=14, zorder=1)
    axes.hlines([row], [min(s.low for s in rest)], [max(s.high for s in rest)], colors=_REST, linewidths=5, zorder=3)
    axes.axhline(row - 1, color="#cccccc", linewidth=0.6, linestyle=":")


def _scale(axes: Axes, spans: Sequence[Span]) -> None:
    """Linear around zero and logarithmic beyond, so that milliseconds and hours both show."""
    reach = max([FINE_S, *(max(abs(s.low), abs(s.high), s.error) for s in spans)]) * 1.6
    errors = sorted(s.error for s in spans)
    linear = FINE_S if not errors or errors[len(errors) // 2] >= FINE_S / 10 else FINEST_S
    axes.set_xscale("symlog", linthresh=linear, linscale=0.5)
    axes.set_xlim(-reach, reach)
    marks = time_marks(linear, reach)
    places = [*(-at for at, _ in reversed(marks)), 0.0, *(at for at, _ in marks)]
    words = [*(f"−{word}" for _, word in reversed(marks)), "0", *(word for _, word in marks)]  # noqa: RUF001
    axes.set_xticks(places, words, fontsize=7)
    axes.set_xticks([], minor=True)
    axes.grid(axis="x", color="#e4e4e4", linewidth=0.6)
    axes.axvline(0, color=_INK, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.set_xlabel(f"clock minus true time (linear within {dict(_WORDS)[linear]})")


def time_marks(least: float, most: float) -> list[tuple[float, str]]:
    """Marks of an axis between two times, thinned so that their words do not meet."""
    marks = [mark for mark in _WORDS if least <= mark[0] <= most]
    every = -(-len(marks) // MAX_TICKS) or 1
    return marks[::-1][::every][::-1]


def _draw_spread(axes: Axes, spans: Sequence[Span]) -> None:
    """How many clocks were off by how much, and how much of it is left."""
    before, after = [max(abs(s.worst), FINEST_S) for s in spans], [max(s.error, FINEST_S) for s in spans]
    reach = max([1.0, *before, *after]) * 1.6
    least = min([FINE_S, *before, *after])
    edges = [least / 1.3]
    while edges[-1] < reach:
        edges.append(edges[-1] * 10 ** (1 / BINS_A_DECADE))
    axes.set_xscale("log")
    axes.hist(after, bins=edges, color=_LEFT, label="after: bound of the error")
    axes.hist(before, bins=edges, histtype="step", color=_INK, linewidth=1.2, label="before: size of the offset")
    marks = time_marks(edges[0], edges[-1])
    axes.set_xlim(edges[0], edges[-1])
    axes.set_xticks([at for at, _ in marks], [word for _, word in marks], fontsize=7)
    axes.set_xticks([], minor=True)
    # A few clocks an hour off must show beside thousands that are not.
    axes.set_yscale("symlog", linthresh=1)
    counts = [10**n for n in range(len(str(len(spans))))]
    axes.set_yticks([0, *counts], ["0", *(f"{n:,}" for n in counts)], fontsize=7)
    axes.set_yticks([], minor=True)
    axes.set_ylim(0, max(len(spans), 1) * 2)
    axes.set_ylabel("clocks")
    axes.legend(loc="upper right", fontsize=7)


def _legend(figure: Figure, colours: dict[str, str], *, steps: bool) -> None:
    shown = list(colours.items())[: len(_COLOURS)]
    if len(colours) > len(shown):
        shown.append(("other witnesses", _REST))
    handles = [Line2D([], [], color=c, linewidth=2.5, marker="o", markersize=4, label=safe(n).plain) for n, c in shown]
    handles.append(Line2D([], [], color=_LEFT, linewidth=8, label="left after correction (95 %)"))
    if steps:
        handles.append(Line2D([], [], marker="D", linestyle="", mfc="white", color=_INK, label="before, after a step"))
    figure.legend(handles=handles, loc="upper center", ncols=3, fontsize=7)
