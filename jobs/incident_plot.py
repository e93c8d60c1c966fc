"""The plot of one failed attempt: its evidence by node on corrected clocks.

Drawn without pyplot, as SVG whose bytes depend on the rows alone. Importing this module costs a quarter of a second
(matplotlib): import it where something is drawn.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from firstfault.jobs.answer import Answer, Step
from firstfault.jobs.clock_plot import PLAIN_STYLE, time_marks
from firstfault.jobs.show import safe

MAX_ROWS, MAX_LABEL, MIN_CLOSE = 44, 40, 3
WIDTH_IN, ROW_IN = 9.5, 0.21
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
    plain_axes(axes)


def _bands(axes: Axes, lanes: Sequence[Lane], *, named: bool) -> None:
    """Words on the left, a band for every other node, and its name on the right."""
    axes.set_yticks(range(len(lanes)), [_lane_words(lane) for lane in lanes], fontsize=7)
    starts = [y for y, lane in enumerate(lanes) if y == 0 or lanes[y - 1].node != lane.node]
    for n, (since, until) in enumerate(zip(starts, [*starts[1:], len(lanes)], strict=True)):
        if n % 2 == 0:
            axes.axhspan(since - 0.5, until - 0.5, color=_BAND, zorder=0, linewidth=0)
        if not named:
            continue
        node = short(lanes[since].node)
        axes.text(1.01, (since + until - 1) / 2, node, transform=axes.get_yaxis_transform(), va="center", fontsize=7)


def _lane_words(lane: Lane) -> str:
    records = sum(s.count for s in lane.steps)
    return short(lane.words) + (f" ({records:,})" if records > 1 else "")


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
    plain_axes(axes)


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


def short(text: str) -> str:
    """A name as it fits beside an axis."""
    plain = safe(text).plain
    return plain if len(plain) <= MAX_LABEL else f"{plain[: MAX_LABEL - 1]}…"


def plain_axes(axes: Axes) -> None:
    """Axes with a light grid behind, and nothing around."""
    axes.grid(axis="x", color=_GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
