"""The plots of a review: who is taken for whom, whether confidence is kept, precision by rule, and what it costs.

Drawn without pyplot, with the renderers that need no display. Importing this module costs a quarter of a second
(matplotlib): import it where something is drawn.
"""

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from firstfault.jobs.clock_plot import figure_svg
from firstfault.jobs.review.month import Figures, Rows, live
from firstfault.jobs.show import safe
from firstfault.transforms.judged import EVERY

MAX_RULES = 40
_WIDTH_IN, _ROW_IN = 9.5, 0.21
_BAR, _DOT, _INK, _GRID, _POOR = "#9ecae1", "#1f77b4", "#222222", "#e4e4e4", "#d95f02"
_STYLE: dict[Any, Any] = {
    "text.usetex": False, "text.parse_math": False, "font.family": "sans-serif", "font.sans-serif": ["DejaVu Sans"],
    "font.size": 8.0, "path.simplify": False, "legend.frameon": False,
}  # fmt: skip
PLOTS: dict[str, str] = {
    "confusion": "Category that was said, by category that operators found. Shade: share of the row.",
    "reliability": "Dot: share that was right among verdicts of such a confidence, with its 95 % interval; on the line "
    "a confidence keeps its word, below it promises too much. Bars: how many verdicts.",
    "precision": "Precision by rule with its 95 % interval and counts: the rules with most judged verdicts, the "
    "worst on top. A long line is few attempts.",
    "gpu_hours": "GPU hours lost by category that was said, labelled or not.",
}
"""Name of a plot -> what it shows."""


def drawn(figures: Figures) -> dict[str, Figure]:
    """The plots that have something to show, by name."""
    made: dict[str, Callable[[Figures], Figure | None]] = {
        "confusion": confusion, "reliability": reliability, "precision": precision, "gpu_hours": gpu_hours,
    }  # fmt: skip
    with rc_context(_STYLE):
        found = {name: make(figures) for name, make in made.items()}
    return {name: figure for name, figure in found.items() if figure is not None}


def as_svg(figures: dict[str, Figure]) -> dict[str, str]:
    """Each plot as an `<svg>` element."""
    return {name: figure_svg(figure) for name, figure in figures.items()}


def save(figures: dict[str, Figure], folder: Path) -> None:
    """Writes each plot as PNG."""
    folder.mkdir(parents=True, exist_ok=True)
    with rc_context(_STYLE):
        for name, figure in figures.items():
            figure.savefig(folder / f"{name}.png", dpi=130)


def confusion(figures: Figures) -> Figure | None:
    """A cell per category of labels and category said; None without labels."""
    counts: dict[tuple[str, str], int] = {
        (r["label_category"], r["said_category"]): r["n"] for r in _scoped(figures.confusion)
    }
    if not counts:
        return None
    totals: dict[str, int] = defaultdict(int)
    for (label, _), n in counts.items():
        totals[label] += n
    labels = sorted(totals, key=lambda c: (-totals[c], c))
    others = sorted({said for _, said in counts} - set(labels) - {"unknown"})
    said = [*labels, *others, *(["unknown"] if any(s == "unknown" for _, s in counts) else [])]
    figure = Figure(figsize=(_WIDTH_IN, 1.5 + 0.34 * len(labels)), facecolor="white", layout="constrained")
    axes = figure.add_subplot()
    shares = [[counts.get((label, word), 0) / totals[label] for word in said] for label in labels]
    # A mesh, no image: the page's policy lets no picture in, not even one inside an SVG.
    axes.pcolormesh(shares, cmap="Blues", vmin=0, vmax=1.15, edgecolors="white", linewidth=1)
    for y, label in enumerate(labels):
        for x, word in enumerate(said):
            if n := counts.get((label, word), 0):
                colour = "white" if shares[y][x] > 0.65 else _INK
                weight = "bold" if word == label else "normal"
                axes.text(x + 0.5, y + 0.5, f"{n:,}", ha="center", va="center", color=colour, fontsize=8, weight=weight)
    axes.set_xticks([x + 0.5 for x in range(len(said))], said, rotation=35, ha="right", rotation_mode="anchor")
    names = [f"{label} (n = {totals[label]:,})" for label in labels]
    axes.set_yticks([y + 0.5 for y in range(len(labels))], names)
    axes.invert_yaxis()
    axes.set_xlabel("said")
    axes.set_ylabel("label")
    return figure


def reliability(figures: Figures) -> Figure | None:
    """A dot per bin of confidence; None without judged verdicts."""
    bins = sorted(_scoped(figures.calibration), key=lambda r: r["bin_low"])
    if not bins:
        return None
    figure = Figure(figsize=(_WIDTH_IN * 0.62, 4.6), facecolor="white", layout="constrained")
    axes, counts = figure.subplots(2, 1, sharex=True, height_ratios=(3.2, 1))
    at, right = [r["mean_confidence"] for r in bins], [r["share_right"] for r in bins]
    axes.plot([0, 1], [0, 1], color="#999999", linewidth=0.8, linestyle="--")
    errors = [[r["share_right"] - r["low"] for r in bins], [r["high"] - r["share_right"] for r in bins]]
    axes.errorbar(at, right, yerr=errors, fmt="o", color=_DOT, ecolor=_INK, elinewidth=1, capsize=2, markersize=5)
    for n, (x, r) in enumerate(zip(at, bins, strict=True)):
        place = {"xytext": (5, (-9, -20)[n % 2]), "textcoords": "offset points"}  # neighbours lie close together
        axes.annotate(f"{r['right']} of {r['n']}", (x, r["share_right"]), fontsize=7, **place)
    least = min([0.5, *at])
    axes.set_xlim(least - 0.04, 1.06)
    axes.set_ylim(-0.03, 1.06)
    axes.set_ylabel("share right")
    _grid(axes, "both")
    counts.bar(
        [r["bin_low"] for r in bins], [r["n"] for r in bins], width=[r["bin_high"] - r["bin_low"] for r in bins],
        align="edge", color=_BAR, edgecolor="white",
    )  # fmt: skip
    counts.set_ylabel("verdicts")
    counts.set_xlabel("stated confidence")
    _grid(counts, "y")
    return figure


def precision(figures: Figures) -> Figure | None:
    """A line per rule with judged verdicts; None without any."""
    judged = [r for r in live(figures, "rule") if r["precision"] is not None]
    most = sorted(judged, key=lambda r: (-(r["tp"] + r["fp"]), r["name"]))[:MAX_RULES]
    rows = sorted(most, key=lambda r: (r["precision"], r["tp"], r["name"]))
    if not rows:
        return None
    low = {f["name"] for f in figures.findings if f["kind"] in {"precision_fell", "precision_low"}}
    figure = Figure(figsize=(_WIDTH_IN, 0.9 + _ROW_IN * len(rows)), facecolor="white", layout="constrained")
    axes = figure.add_subplot()
    for y, r in enumerate(rows):
        colour = _POOR if r["name"] in low else _DOT
        axes.hlines([y], [r["precision_low"]], [r["precision_high"]], colors=colour, linewidths=2)
        axes.scatter([r["precision"]], [y], c=colour, s=18, zorder=3)
        axes.text(1.02, y, f"{r['tp']} of {r['tp'] + r['fp']}", va="center", fontsize=7)
    axes.set_yticks(range(len(rows)), [safe(r["name"]).plain for r in rows], fontsize=7)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(-0.02, 1.12)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1.0], ["0", "25 %", "50 %", "75 %", "100 %"])
    axes.set_xlabel("precision" + (" (orange: told above)" if low else ""))
    _grid(axes, "x")
    return figure


def gpu_hours(figures: Figures) -> Figure | None:
    """A bar per category that lost GPU hours; None where none did."""
    rows = sorted(
        (r for r in live(figures, "category") if (r["gpu_hours_lost"] or 0) > 0),
        key=lambda r: (-r["gpu_hours_lost"], r["name"]),
    )
    if not rows:
        return None
    figure = Figure(figsize=(_WIDTH_IN, 0.8 + 0.26 * len(rows)), facecolor="white", layout="constrained")
    axes = figure.add_subplot()
    hours = [r["gpu_hours_lost"] for r in rows]
    axes.barh(range(len(rows)), hours, color=_BAR)
    for y, r in enumerate(rows):
        axes.text(
            r["gpu_hours_lost"],
            y,
            f" {r['gpu_hours_lost']:,.0f} in {r['verdicts']:,} attempts",
            va="center",
            fontsize=7,
        )
    axes.set_yticks(range(len(rows)), [r["name"] for r in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(0, max(hours) * 1.25)
    axes.set_xlabel("GPU hours lost")
    _grid(axes, "x")
    return figure


def _scoped(rows: Rows) -> Rows:
    """Rows of the live track against operators, all clusters and rule sets together."""
    wanted = {"cluster": EVERY, "ruleset_version": EVERY, "track": "live", "label_kind": "operator"}
    return [row for row in rows if all(row[k] == v for k, v in wanted.items())]


def _grid(axes: Axes, which: Any) -> None:  # noqa: ANN401
    axes.grid(axis=which, color=_GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
