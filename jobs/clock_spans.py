"""What a day's offsets say of each clock: how far it was off, and how much of that is left after correction."""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from firstfault.transforms.clock_offsets import EVERY_SOURCE

LIMIT_S = 1e10
"""Three hundred years; nothing beyond is an offset."""
_CLOCK = ("cluster", "node", "source")
_TYPES = {
    **dict.fromkeys((*_CLOCK, "method", "reference"), pa.string()),
    **dict.fromkeys(("t_from", "t_to"), pa.timestamp("us", "UTC")),
    **dict.fromkeys(("offset_s", "drift_ppm", "error_s", "step_s"), pa.float64()),
    "n": pa.int64(),
}


@dataclass(frozen=True)
class Span:
    """A clock over the rows given.

    Attributes:
        cluster: Cluster of the clock.
        node: Node whose clock it is.
        source: Source that writes another zone than its node's clock; * for the node's clock.
        low: Least offset, seconds.
        high: Greatest offset, seconds.
        error: What is left after correction: 95 % bound of the error, the worst outside steps, seconds.
        steps: Offsets right before and after each jump, seconds.
        method: Kinds of witnesses, of the interval with the most lines.
        reference: What true time was taken from.
    """

    cluster: str
    node: str
    source: str
    low: float
    high: float
    error: float
    steps: tuple[tuple[float, float], ...]
    method: str
    reference: str

    @property
    def worst(self) -> float:
        """The offset that is farthest from zero."""
        return self.high if abs(self.high) >= abs(self.low) else self.low

    @property
    def witnesses(self) -> str:
        """Kinds of witnesses and what true time is taken from, alike for all clocks that only had each other."""
        reference = "median of the clocks" if self.reference.startswith("median of") else self.reference
        return f"{self.method}, by {reference}" if reference else self.method


def spans_of(offsets: pa.Table) -> list[Span]:
    """One span per clock, the one that was off most in front.

    Args:
        offsets: Rows of `clock_offsets`; columns that an older lake lacks count as null, and a row without a finite
            offset and error says nothing.
    """
    rows = _ends(_complete(offsets))
    steps = _steps(rows)
    whole = rows.set_column(
        rows.column_names.index("error_s"), "error_s", pc.if_else(pc.is_valid(rows["step_s"]), None, rows["error_s"])
    )
    grouped = (
        whole.append_column("any_error", rows["error_s"])
        .sort_by([("n", "descending"), *((name, "ascending") for name in (*_CLOCK, "t_from"))])
        .group_by(list(_CLOCK), use_threads=False)
        .aggregate(
            [("low", "min"), ("high", "max"), ("error_s", "max"), ("any_error", "min"), ("method", "first"),
             ("reference", "first")]
        )
    )  # fmt: skip
    spans = [_span(row, steps) for row in grouped.to_pylist()]
    return sorted(spans, key=lambda s: (-abs(s.worst), s.cluster, s.node, s.source))


def _span(row: dict[str, Any], steps: dict[tuple[Any, ...], list[tuple[float, float]]]) -> Span:
    cluster, node, source = clock = tuple(row[name] for name in _CLOCK)
    error = row["error_s_max"] if row["error_s_max"] is not None else row["any_error_min"]
    return Span(
        cluster or "", node or "", source or "", row["low_min"], row["high_max"], error, tuple(steps.get(clock, ())),
        row["method_first"] or "", row["reference_first"] or "",
    )  # fmt: skip


def _complete(offsets: pa.Table) -> pa.Table:
    """The columns that count, all of them there; usable rows only."""
    have = set(offsets.column_names)
    rows = pa.table(
        {
            name: pc.cast(offsets[name], kind) if name in have else pa.nulls(offsets.num_rows, kind)
            for name, kind in _TYPES.items()
        }
    )
    for name in ("offset_s", "error_s"):
        # A comparison with NaN or null does not hold.
        rows = rows.filter(pc.less(pc.abs(rows[name]), LIMIT_S))
    return rows


def _ends(rows: pa.Table) -> pa.Table:
    """With the least and the greatest offset within each interval."""
    micros = pc.subtract(pc.cast(rows["t_to"], pa.int64()), pc.cast(rows["t_from"], pa.int64()))
    grown = pc.multiply(pc.fill_null(rows["drift_ppm"], 0.0), pc.multiply(pc.cast(micros, pa.float64()), 1e-12))
    end = pc.add(rows["offset_s"], pc.if_else(pc.less(pc.abs(grown), LIMIT_S), grown, 0.0))
    low, high = (pick(rows["offset_s"], end) for pick in (pc.min_element_wise, pc.max_element_wise))
    return rows.append_column("low", low).append_column("high", high)


def _steps(rows: pa.Table) -> dict[tuple[Any, ...], list[tuple[float, float]]]:
    """Clock -> its jumps; the row of a jump has the offset halfway."""
    found: dict[tuple[Any, ...], list[tuple[float, float]]] = defaultdict(list)
    for row in rows.filter(pc.less(pc.abs(rows["step_s"]), LIMIT_S)).sort_by("t_from").to_pylist():
        half = row["step_s"] / 2
        found[tuple(row[name] for name in _CLOCK)].append((row["offset_s"] - half, row["offset_s"] + half))
    return found


def label(span: Span, *, with_cluster: bool) -> str:
    """Name of a clock."""
    node = f"{span.cluster}/{span.node}" if with_cluster else span.node
    return node if span.source == EVERY_SOURCE else f"{node} {span.source}"
