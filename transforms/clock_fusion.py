"""Fusion: what all witnesses of a cluster's day say of its clocks, as intervals with an offset, a drift and an error.

First guesses and zones (`clock_coarse`), steps (`clock_steps`), medians by the hour (`clock_windows`), one fit of all
clocks (`clock_fit`), intervals (`clock_intervals`). Days are fitted apart, each with some hours of its neighbours.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from firstfault.transforms.clock_coarse import coarse_offsets, source_shifts, unshifted
from firstfault.transforms.clock_fit import Fit, fit
from firstfault.transforms.clock_gaps import hidden_steps
from firstfault.transforms.clock_intervals import intervals, jump_sizes
from firstfault.transforms.clock_offsets import CLOCK_OFFSETS
from firstfault.transforms.clock_priors import Bias, Centre
from firstfault.transforms.clock_reference import Seen
from firstfault.transforms.clock_rows import ALONE, Columns, Floats, Ints, Observations
from firstfault.transforms.clock_steps import Steps, find_steps, merged, without_echoes
from firstfault.transforms.clock_windows import by_hour, segments
from firstfault.transforms.clock_witnesses import ARRIVAL, SCHEDULE, TELEMETRY, TOLD_STEP
from firstfault.transforms.contract import column
from firstfault.transforms.types import DAY, DOUBLE, LONG, TEXT, TIME

OVERLAP_S = 21_600
"""Observations this far beyond a day take part in its fit, so that neighbouring days agree."""
DELIVERY_S, DELIVERY_SIGMA_S = 0.3, 0.5
"""The fastest delivery to a collector takes tenths of a second (forwarders flush every 0.1 to 1 s)."""
DELIVERY_BIAS_S = 0.03
"""Two nodes' fastest deliveries differ by tens of milliseconds (paths, intervals at which forwarders look)."""
PRINT_BIAS_S = 0.003
"""A node may always write its line after the others do; by seconds where a single rank writes and is slow at it."""
PATH_BIAS_S = 0.0015
"""An asymmetric path to the time source shows nowhere; milliseconds are seldom exceeded within a site."""
_LOCAL = (TELEMETRY, ARRIVAL, SCHEDULE, TOLD_STEP)
"""Kinds whose time is what the clock itself showed."""
_INTERVAL = StructType(
    [
        column("cluster", TEXT, "cluster"),
        column("node", TEXT, "node"),
        column("source", TEXT, "source, * for all"),
        column("t_from", TIME, "start on that clock"),
        column("t_to", TIME, "end"),
        column("day", DAY, "day of true time"),
        column("offset_s", DOUBLE, "at t_from"),
        column("drift_ppm", DOUBLE, "within"),
        column("error_s", DOUBLE, "95 %"),
        column("shared_error_s", DOUBLE, "shared part"),
        column("step_s", DOUBLE, "jump before it"),
        column("method", TEXT, "kinds of witnesses"),
        column("n", LONG, "lines and samples"),
        column("reference", TEXT, "true time"),
    ]
)


def fuse(witnesses: DataFrame, days: Sequence[str]) -> DataFrame:
    """One row per clock and interval of its own time, for the days asked (`clock_offsets`).

    Args:
        witnesses: Rows of `clock_witnesses`, of the days and of `OVERLAP_S` around them.
        days: The days, ISO.
    """
    starts = [f"timestamp'{day} 00:00:00'" for day in days]
    of_days = F.expr(
        f"filter(array({', '.join(starts)}), d -> unix_timestamp(t) >= unix_timestamp(d) - {OVERLAP_S}"
        f" and unix_timestamp(t) < unix_timestamp(d) + {86_400 + OVERLAP_S})"
    )
    every = witnesses.withColumn("day_start", F.explode(of_days))
    return CLOCK_OFFSETS.conform(every.groupBy("cluster", "day_start").applyInArrow(fuse_day, _INTERVAL))


def fuse_day(rows: pa.Table) -> pa.Table:
    """The intervals of one cluster and day.

    Args:
        rows: Witnesses of one cluster and of a day with its overlaps; `day_start` says which.
    """
    rows = rows.sort_by([(name, "ascending") for name in ("node", "kind", "group_id", "source", "t", "value_s")])
    start_s = rows["day_start"][0].cast(pa.timestamp("us", "UTC")).value / 1e6
    names, seen = observations(rows)
    made = fused(seen, names["kind"], (start_s, start_s + 86_400), names["node"])
    out = {
        "cluster": pa.repeat(rows["cluster"][0], len(made["node"])),
        "node": pa.array(np.array([*names["node"], ""], object)[made["node"]], pa.string()),
        "source": pa.array(np.array([*names["source"], "*"], object)[made["source"]], pa.string()),
        **{key: _time(made[key]) for key in ("t_from", "t_to")},
        "day": pa.repeat(rows["day_start"][0].cast(pa.date32()), len(made["node"])),
        **{key: pa.array(made[key].astype(object), pa.string()) for key in ("method", "reference")},
        "n": pa.array(made["n"].astype(np.int64)),
        **{k: pa.array(np.round(made[k], 6)) for k in ("offset_s", "error_s", "shared_error_s")},
        "drift_ppm": pa.array(np.round(made["drift_ppm"], 4)),
        "step_s": pa.array(np.round(made["step_s"], 6), mask=np.isnan(made["step_s"])),
    }
    return pa.table([out[f.name] for f in _INTERVAL], names=_INTERVAL.names)


def _time(seconds: Floats) -> pa.Array:
    return pa.array(np.round(seconds * 1e6).astype(np.int64)).cast(pa.timestamp("us", "UTC"))


def observations(rows: pa.Table) -> tuple[dict[str, list[str]], Observations]:
    """The rows of `clock_witnesses` as arrays, and the names behind their numbers."""
    names, numbers = {}, {}
    for key in ("node", "source", "kind", "group_id"):
        coded = rows[key].combine_chunks().dictionary_encode()
        names[key] = coded.dictionary.to_pylist()
        numbers[key] = pc.fill_null(coded.indices, ALONE).to_numpy(zero_copy_only=False).astype(np.int64)
    t = rows["t"].cast(pa.int64()).to_numpy() / 1e6
    value, sigma = (rows[key].to_numpy() for key in ("value_s", "sigma_s"))
    count = rows["n"].to_numpy().astype(np.float64)
    return names, Observations(
        numbers["node"], numbers["source"], numbers["kind"], numbers["group_id"], t, value, sigma, count
    )


def fused(seen: Observations, kinds: list[str], span_s: tuple[float, float], nodes: list[str] | None = None) -> Columns:
    """Columns of the intervals; `node` and `source` are numbers, source -1 (the last name) stands for all.

    Args:
        seen: Observations in short spans.
        kinds: Names of the kinds by number.
        span_s: First second and end of the true time that is asked for.
        nodes: Names of the clocks, for those of references.
    """
    clocks = int(seen.node.max()) + 1
    told = seen.kind == _number(kinds, TOLD_STEP)
    rows, steps_told = seen.take(~told), seen.take(told)
    arrival: Ints = np.array([_number(kinds, ARRIVAL)])
    shift = source_shifts(rows, np.array([_number(kinds, TELEMETRY)]), arrival)
    rows = unshifted(rows, shift)
    coarse = coarse_offsets(rows, clocks, arrival)
    rows = _on_true_time(rows, kinds, coarse, shift)
    steps_told = steps_told.at(steps_told.t - coarse[steps_told.node])
    steps = find_steps(rows.take(rows.kind != _number(kinds, SCHEDULE)), steps_told, arrival)
    solved = _solved(rows, kinds, steps, coarse)
    if solved is not None:
        close = rows.kind != _number(kinds, SCHEDULE)
        hidden = hidden_steps(solved, rows, np.where(close, solved.knots.stretch(rows.node, segments(rows, steps)), -1))
        real = without_echoes(steps, jump_sizes(solved, steps), rows)
        if len(hidden) or len(real) < len(steps):
            steps = merged(real, hidden)
            solved = _solved(rows, kinds, steps, coarse)
    return intervals(solved, steps, Seen(rows, shift, kinds, nodes), span_s)


def _solved(rows: Observations, kinds: list[str], steps: Steps, coarse: Floats) -> Fit | None:
    """The fit of all clocks with these steps; None when nothing can be fitted."""
    local = np.array([_number(kinds, kind) for kind in _LOCAL])
    split = np.array([k for k in range(len(kinds)) if k not in local], np.int64)
    hourly, segment = by_hour(rows, segments(rows, steps), steps, split)
    if not len(hourly):
        return None
    delivery = Centre(_number(kinds, ARRIVAL), DELIVERY_S, DELIVERY_SIGMA_S)
    biases = (
        Bias(_number(kinds, TELEMETRY), PATH_BIAS_S, is_bound=True),
        Bias(_number(kinds, ARRIVAL), DELIVERY_BIAS_S),
        *(Bias(int(kind), PRINT_BIAS_S, is_contested=True) for kind in split),
    )
    return fit(hourly, segment, (delivery,), coarse, biases)


def _number(kinds: list[str], kind: str) -> int:
    """Number of a kind; one that no row has is no row's."""
    return kinds.index(kind) if kind in kinds else len(kinds) + 1


def _on_true_time(rows: Observations, kinds: list[str], coarse: Floats, shift: Floats) -> Observations:
    """True times, as far as first guesses tell: what the clock itself showed, less how far it is off."""
    showed = np.isin(rows.kind, np.array([_number(kinds, kind) for kind in _LOCAL]))
    # A shared moment's time is that of its middle clock, which may be an hour off where there are but two.
    away = np.where(showed, -coarse[rows.node] - shift, rows.value - coarse[rows.node])
    return rows.at(rows.t + away)
