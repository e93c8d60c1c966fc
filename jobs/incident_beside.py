"""Plots of what stands beside an incident: the explanations that lost, and who else ran on its nodes.

Drawn without pyplot, as SVG whose bytes depend on the rows alone. Importing this module costs a quarter of a second
(matplotlib): import it where something is drawn.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from firstfault.jobs.answer import Answer
from firstfault.jobs.clock_plot import PLAIN_STYLE
from firstfault.jobs.incident_plot import MAX_ROWS, PARTS, WIDTH_IN, plain_axes, short
from firstfault.jobs.show import safe

MAX_RIVALS = 15
LETTER = 0.0068
"""Share of the width that a small letter takes."""
_ILL, _WELL = "#f4a582", "#a6dba0"


def rivals_figure(answer: Answer) -> Figure | None:
    """Confidence of the verdict and of what lost, with the reason beside it; None when nothing lost."""
    lost = sorted(answer.alternatives, key=lambda a: (-a.confidence, a.rule_id))[:MAX_RIVALS]
    if not lost:
        return None
    rows = [(answer.rule_id or answer.category, answer.category, answer.origin, answer.confidence, "the verdict")]
    rows += [(a.rule_id, a.category, a.origin, a.confidence, a.why_lost.replace("_", " ")) for a in lost]
    with rc_context(PLAIN_STYLE):
        figure = Figure(figsize=(WIDTH_IN, 0.8 + 0.34 * len(rows)), facecolor="white", layout="constrained")
        axes = figure.add_subplot()
        colours = [PARTS["origin"][1], *["#9ecae1"] * len(lost)]
        axes.barh(range(len(rows)), [r[3] for r in rows], color=colours, height=0.6)
        for y, (_, category, origin, confidence, why) in enumerate(rows):
            where = short(", ".join(origin)) if origin else "not located"
            axes.text(
                confidence + 0.01,
                y,
                safe(f"{confidence:.2f}  {why}: {category}, {where}").plain,
                va="center",
                fontsize=7,
            )
        axes.set_yticks(range(len(rows)), [short(r[0]) for r in rows])
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set_xlim(0, 1.9)  # room for the words
        axes.set_xticks([0, 0.25, 0.5, 0.75, 1.0])
        axes.spines["bottom"].set_bounds(0, 1)
        axes.set_xlabel("confidence that it would have been stated with", loc="left")
        plain_axes(axes)
    return figure


def neighbours_figure(rows: Sequence[dict[str, Any]], answer: Answer) -> Figure | None:
    """Who ran on the attempt's nodes and when, a bar each; None without any.

    Args:
        rows: An attempt on a node each: node, job_id, attempt, start, end and category, null where it ended well.
        answer: The attempt in question.
    """
    shown = [r for r in rows if r["start"] is not None and r["end"] is not None]
    if not shown:
        return None
    nodes = sorted({r["node"] for r in shown})[:MAX_ROWS]
    with rc_context(PLAIN_STYLE):
        figure = Figure(figsize=(WIDTH_IN, 1.1 + 0.3 * len(nodes)), facecolor="white", layout="constrained")
        axes = figure.add_subplot()
        first, last = min(r["start"] for r in shown), max(r["end"] for r in shown)
        for y, node in enumerate(nodes):
            lane = sorted((r for r in shown if r["node"] == node), key=lambda r: (r["start"], r["job_id"]))
            _draw_attempts(axes, y, lane, answer, (first, last))
        axes.set_yticks(range(len(nodes)), [short(n) for n in nodes])
        axes.set_ylim(len(nodes) - 0.4, -0.6)
        axes.set_xlabel(f"hours after {first:%Y-%m-%d %H:%M} UTC")
        plain_axes(axes)
        words = ((PARTS["origin"][1], "this attempt"), (_ILL, "failed as well"), (_WELL, "ended well"))
        handles = [Line2D([], [], color=c, linewidth=7, label=label) for c, label in words]
        figure.legend(handles=handles, loc="outside upper center", ncols=3, fontsize=7)
    return figure


def _draw_attempts(
    axes: Axes, y: int, lane: Sequence[dict[str, Any]], answer: Answer, span: tuple[datetime, datetime]
) -> None:
    """A node's attempts, each with as many words as fit before the next one starts."""
    first, last = span
    letter_h = max((last - first).total_seconds() / 3600, 0.1) * LETTER
    starts = [(r["start"] - first).total_seconds() / 3600 for r in lane]
    for r, since, until in zip(lane, starts, [*starts[1:], float("inf")], strict=True):
        mine = (r["job_id"], r["attempt"]) == (answer.job_id, answer.attempt)
        colour = PARTS["origin"][1] if mine else _WELL if r["category"] is None else _ILL
        took = max((r["end"] - r["start"]).total_seconds() / 3600, letter_h / 2)
        axes.barh(y, took, left=since, height=0.62, color=colour, edgecolor="white", linewidth=0.8)
        room = (until - since) / letter_h
        name, more = safe(r["job_id"]).plain, safe(r["category"] or "").plain
        words = next((w for w in (f"{name} {more}".strip(), name) if len(w) + 1 <= room), "")
        axes.annotate(words, (since, y), xytext=(2, 0), textcoords="offset points", va="center", fontsize=6)
