"""Plots of one failed attempt: its evidence by node on corrected clocks, what lost against it, and who ran beside it.

Drawn without pyplot, as SVG whose bytes depend on the rows alone. Importing this module costs a quarter of a second
(matplotlib): import it where something is drawn.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from firstfault.jobs.answer import Answer, Step
from firstfault.jobs.clock_plot import PLAIN_STYLE, time_marks
from firstfault.jobs.show import safe

MAX_ROWS, MAX_RIVALS, MAX_LABEL, MIN_CLOSE = 44, 15, 40, 3
WIDTH_IN, ROW_IN = 9.5, 0.21
LETTER = 0.0068
"""Share of the width that a small letter takes."""
NOWHERE = "no node"
PARTS: dict[str, tuple[str, str, str]] = {
    "origin": ("*", "#d7191c", "origin: where the fault began"),
    "support": ("o", "#e08214", "supports it"),
    "cascade": ("s", "#2166ac", "cascade: felt it afterwards"),
    "earlier": ("^", "#7b3294", "felt before, not explained by it"),
    "end": ("D", "#6b6b6b", "teardown and end"),
}
"""Part of a chain -> marker, colour, words."""
_INK, _GRID, _BAND, _WRITTEN = "#222222", "#e4e4e4", "#f4f4f4", "#9a9a9a"
_ILL, _WELL = "#f4a582", "#a6dba0"


@dataclass(frozen=True)
class Lane:
    """A row of the timeline: one type of event at one node.

    Attributes:
        node: Node, or `NOWHERE`.
        words: Type of the event.
        steps: Its steps, by time.
    """

    node: str
    words: str
    steps: tuple[Step, ...]


def lanes_of(answer: Answer) -> list[Lane]:
    """The lanes, those of the origin's nodes first, then by the time of a node's first step."""
    timed = [s for s in answer.evidence if s.t is not None]
    by_node: dict[str, dict[str, list[Step]]] = {}
    for step in sorted(timed, key=lambda s: (s.t, s.position)):
        by_node.setdefault(step.node or NOWHERE, {}).setdefault(step.event_type, []).append(step)
    origin = {s.node or NOWHERE for s in timed if s.part == "origin"}
    order = sorted(by_node, key=lambda node: node not in origin)  # stable: else by first step
    return [Lane(node, words, tuple(steps)) for node in order for words, steps in by_node[node].items()]


def timeline_figure(answer: Answer, *, max_rows: int = MAX_ROWS) -> Figure | None:
    """The chain by node: a marker per step with the interval that its clock leaves open; None without timed steps.

    A hollow diamond is the time as it was written, where the clock was off by more than the interval.

    Args:
        answer: The verdict with its evidence.
        max_rows: Lanes that are drawn; of more, the first ones.
    """
    lanes = lanes_of(answer)
    if not lanes:
        return None
    zero = answer.t0 or min(s.t for lane in lanes for s in lane.steps if s.t)
    drawn = lanes[:max_rows]
    close = _cascade(drawn, zero)
    with rc_context(PLAIN_STYLE):
        figure = Figure(figsize=(WIDTH_IN, 1.7 + ROW_IN * max(len(drawn), 3)), facecolor="white", layout="constrained")
        panels = figure.subplots(
            1, 2 if close else 1, sharey=True, squeeze=False, width_ratios=(1.7, 1) if close else None
        )[0]
        for axes in panels:
            reach = [x for y, lane in enumerate(drawn) for x in _draw_lane(axes, y, lane, zero)]
            _bands(axes, drawn, named=axes is panels[-1])
        axes, over = panels[0], _after(answer.end, zero)
        if over is not None:
            axes.axvline(over, color=_INK, linewidth=0.8, linestyle=":")
            axes.text(over, -0.75, " end", fontsize=7, va="bottom", ha="left")
            reach.append(over)
        axes.axvline(0, color=PARTS["origin"][1], linewidth=0.9)
        axes.text(0, -0.75, f"T0 {zero:%H:%M:%S} UTC ", fontsize=7, va="bottom", ha="right", color=PARTS["origin"][1])
        axes.set_ylim(len(drawn) - 0.4, -0.6)
        _seconds(axes, reach)
        if close:
            _closer(panels[1], close)
        _legend(figure, drawn, hidden=len(lanes) - len(drawn))
    return figure


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
            where = _short(", ".join(origin)) if origin else "not located"
            axes.text(
                confidence + 0.01,
                y,
                safe(f"{confidence:.2f}  {why}: {category}, {where}").plain,
                va="center",
                fontsize=7,
            )
        axes.set_yticks(range(len(rows)), [_short(r[0]) for r in rows])
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set_xlim(0, 1.9)  # room for the words
        axes.set_xticks([0, 0.25, 0.5, 0.75, 1.0])
        axes.spines["bottom"].set_bounds(0, 1)
        axes.set_xlabel("confidence that it would have been stated with", loc="left")
        _plain(axes)
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
        axes.set_yticks(range(len(nodes)), [_short(n) for n in nodes])
        axes.set_ylim(len(nodes) - 0.4, -0.6)
        axes.set_xlabel(f"hours after {first:%Y-%m-%d %H:%M} UTC")
        _plain(axes)
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


def _draw_lane(axes: Axes, y: int, lane: Lane, zero: datetime) -> list[float]:
    """Draws a lane; the seconds it reaches to."""
    reach: list[float] = []
    for step in lane.steps:
        marker, colour, _ = PARTS.get(step.part, PARTS["cascade"])
        at, low, high = (_after(t, zero) for t in (step.t, step.t_low or step.t, step.t_high or step.t))
        if at is None or low is None or high is None:
            continue
        axes.hlines([y], [low], [high], colors=colour, linewidths=2, alpha=0.55, zorder=2)
        axes.vlines([low, high], y - 0.18, y + 0.18, colors=colour, linewidths=0.8, alpha=0.55, zorder=2)
        axes.scatter([at], [y], marker=marker, c=colour, s=80 if marker == "*" else 24, zorder=4, linewidths=0)
        reach += [at, low, high]
        written = _after(step.t_raw, zero)
        if written is not None and not low <= written <= high:
            axes.plot([written, at], [y, y], color=_WRITTEN, linewidth=0.6, linestyle=":", zorder=1)
            axes.scatter(
                [written], [y], marker="d", s=16, facecolors="white", edgecolors=_WRITTEN, linewidths=0.8, zorder=3
            )
            reach.append(written)
    return reach


def _cascade(lanes: Sequence[Lane], zero: datetime) -> tuple[float, float] | None:
    """Where what came after T0 lies so close together, and so late, that the logarithm hides its order."""
    after = [_after(s.t, zero) for lane in lanes for s in lane.steps if s.part in {"support", "cascade", "end"}]
    late = [x for x in after if x is not None and x > 0]
    if len(late) < MIN_CLOSE or max(late) - min(late) > min(late):
        return None
    return min(late), max(late)


def _closer(axes: Axes, window: tuple[float, float]) -> None:
    """The second panel: the same rows on a linear axis."""
    low, high = window
    room = max(high - low, 0.01) * 0.15
    axes.set_xlim(low - room, high + room)
    axes.set_title("the cascade, closer", fontsize=7)
    axes.set_xlabel("seconds after T0 (linear)")
    axes.tick_params(axis="x", labelsize=7)
    axes.tick_params(axis="y", length=0)
    _plain(axes)


def _bands(axes: Axes, lanes: Sequence[Lane], *, named: bool) -> None:
    """Words on the left, a band for every other node, and its name on the right."""
    axes.set_yticks(range(len(lanes)), [_lane_words(lane) for lane in lanes], fontsize=7)
    starts = [y for y, lane in enumerate(lanes) if y == 0 or lanes[y - 1].node != lane.node]
    for n, (since, until) in enumerate(zip(starts, [*starts[1:], len(lanes)], strict=True)):
        if n % 2 == 0:
            axes.axhspan(since - 0.5, until - 0.5, color=_BAND, zorder=0, linewidth=0)
        if not named:
            continue
        node = _short(lanes[since].node)
        axes.text(1.01, (since + until - 1) / 2, node, transform=axes.get_yaxis_transform(), va="center", fontsize=7)


def _lane_words(lane: Lane) -> str:
    records = sum(s.count for s in lane.steps)
    return _short(lane.words) + (f" ({records:,})" if records > 1 else "")


def _seconds(axes: Axes, reach: Sequence[float]) -> None:
    """Seconds after T0: linear around it and logarithmic beyond, so that milliseconds and hours both show."""
    least, most = min([*reach, -1.0]), max([*reach, 1.0])
    linear = 1.0
    axes.set_xscale("symlog", linthresh=linear, linscale=0.8)
    axes.set_xlim(least * 1.6, most * 1.6)
    before, after = time_marks(linear, -least * 1.2), time_marks(linear, most * 1.2)
    places = [*(-at for at, _ in reversed(before)), 0.0, *(at for at, _ in after)]
    words = [*(f"−{word}" for _, word in reversed(before)), "0", *(f"+{word}" for _, word in after)]  # noqa: RUF001
    axes.set_xticks(places, words, fontsize=7)
    axes.set_xticks([], minor=True)
    axes.set_xlabel("corrected time after T0, linear within 1 s, logarithmic beyond (bars: what the clocks leave open)")
    _plain(axes)


def _legend(figure: Figure, lanes: Sequence[Lane], *, hidden: int) -> None:
    steps = [s for lane in lanes for s in lane.steps]
    there = {s.part for s in steps}
    handles = [
        Line2D([], [], marker=m, color=c, linestyle="", markersize=9 if m == "*" else 5, label=words)
        for part, (m, c, words) in PARTS.items()
        if part in there
    ]
    if any(s.t_raw and s.t_low and s.t_high and not s.t_low <= s.t_raw <= s.t_high for s in steps):
        handles.append(
            Line2D([], [], marker="d", mfc="white", color=_WRITTEN, linestyle=":", markersize=4, label="as written")
        )
    figure.legend(handles=handles, loc="outside upper center", ncols=3, fontsize=7)
    if hidden:
        figure.supxlabel(f"{hidden:,} more rows are not drawn", fontsize=7)


def _after(t: datetime | None, zero: datetime) -> float | None:
    return None if t is None else (t - zero).total_seconds()


def _short(text: str) -> str:
    plain = safe(text).plain
    return plain if len(plain) <= MAX_LABEL else f"{plain[: MAX_LABEL - 1]}…"


def _plain(axes: Axes) -> None:
    axes.grid(axis="x", color=_GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
