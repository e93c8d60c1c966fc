"""Synthetic scoped events in Parquet, with the words, attributes and places that rules look for.

Each attempt has some faults, and what the positive tests of their rules say is what it logs: anchors are events that
one of the rules starts from, others stand around them, quiet ones tell of progress. One attempt in a hundred is large:
together these hold half of the events.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql.pandas.types import to_arrow_schema

from firstfault.transforms.scoped_events import SCOPED_EVENTS
from tests.benchmarks.attribute_fleet import BUILDS, DEVICES, HCA, Fleet
from tests.benchmarks.attribute_templates import Templates

Ints = npt.NDArray[np.int64]
CHUNK = 500_000
FAULTS = 3
SECOND = 1_000_000
HALF_WIDTHS_S, SHARES = (0.05, 30.0, 900.0), (0.88, 0.10, 0.02)
"""Most clocks are known well, some lines have no time of their own, few only that of a file."""
NEAR_END_S = 900
FIXED = (
    "relation",
    "event_type",
    "code",
    "class",
    "role",
    "category",
    "count",
    "attrs",
    "text",
    "source",
    "pattern_id",
)
SCHEMA = to_arrow_schema(SCOPED_EVENTS.schema, timezone="UTC").append(pa.field("uid", pa.string()))


@dataclass(frozen=True)
class Mix:
    """How many events there are, and which.

    Attributes:
        anchors: Share of events that some rule starts from.
        quiet: Share of events that tell of progress.
    """

    name: str
    events: int
    anchors: float
    quiet: float


def write_events(mix: Mix, fleet: Fleet, templates: Templates, folder: Path) -> None:
    """The events of all attempts, attempt by attempt."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(20261129)
    faults = rng.integers(0, len(templates.anchors), (len(fleet.start), FAULTS))
    owner = np.repeat(np.arange(len(fleet.start)), fleet.sizes(mix.events))
    for number, begin in enumerate(range(0, len(owner), CHUNK)):
        part = owner[begin : begin + CHUNK]
        chosen = _choose(mix, templates, faults[part], rng)
        pq.write_table(_table(fleet, templates, part, chosen, begin, rng), folder / f"part-{number:03d}.parquet")


def _choose(mix: Mix, templates: Templates, faults: Ints, rng: np.random.Generator) -> Ints:
    """Template of each event."""
    n = len(faults)
    rule = faults[np.arange(n), rng.integers(0, FAULTS, n)]
    kind, lot = rng.random(n), rng.random(n)
    quiet = templates.quiet[(lot * len(templates.quiet)).astype(int)]
    other = _of_rule(templates.others, rule, lot)
    loud = np.where(other >= 0, other, quiet)
    return np.where(
        kind < mix.anchors,
        _of_rule(templates.anchors, rule, lot),
        np.where(kind < mix.anchors + mix.quiet, quiet, loud),
    )


def _of_rule(lists: list[list[int]], rule: Ints, lot: npt.NDArray[np.float64]) -> Ints:
    """One template of each rule's, -1 where it has none."""
    lengths = np.array([len(one) for one in lists])
    padded = np.full((len(lists), max(lengths)), -1)
    for row, one in zip(padded, lists, strict=True):
        row[: len(one)] = one
    return padded[rule, (lot * lengths[rule]).astype(int)]


def _table(
    fleet: Fleet, templates: Templates, owner: Ints, chosen: Ints, begin: int, rng: np.random.Generator
) -> pa.Table:
    n = len(owner)
    fixed = templates.table.take(pa.array(chosen * BUILDS + fleet.build[owner]))
    where = fleet.first_node[owner] + (rng.random(n) * fleet.width[owner]).astype(int)
    has = {name: templates.has[name][chosen] for name in ("node", "device", "hca", "leaf", "rank")}
    node = fleet.node_names.take(pa.array(where))
    number = pa.array(np.arange(begin, begin + n))
    columns: dict[str, Any] = {name: fixed[name].combine_chunks() for name in FIXED} | _times(fleet, owner, rng)
    columns |= {name: fleet.keys[name].take(pa.array(owner)) for name in ("cluster", "job_id", "attempt", "day", "uid")}
    columns |= {
        "node": _where(has["node"], node),
        "device": _where(has["device"], pa.array(DEVICES).take(pa.array(rng.integers(0, len(DEVICES), n)))),
        "port": pc.coalesce(
            _where(has["hca"], pc.binary_join_element_wise(node, HCA, "1", "/")),
            _where(has["leaf"], fleet.leaf_ports.take(pa.array(where))),
        ),
        "rank": _where(has["rank"], pa.array(rng.integers(0, 8 * fleet.width[owner]), pa.int32())),
        "clock": node,
        "event_id": pc.binary_join_element_wise("event", number.cast(pa.string()), "-"),
        "stream_id": columns["uid"],
        "file": columns["job_id"],
        "byte_offset": number,
        "line_no": number,
    }
    return pa.table([columns[f.name].cast(f.type) for f in SCHEMA], schema=SCHEMA)


def _where(flags: npt.NDArray[np.bool_], values: pa.Array) -> pa.Array:
    return pc.if_else(pa.array(flags), values, None)


def _times(fleet: Fleet, owner: Ints, rng: np.random.Generator) -> dict[str, pa.Array]:
    """Half of the events lie evenly over the attempt, half near its end."""
    n = len(owner)
    lasts_s = fleet.lasts_s[owner]
    ago_s = np.where(rng.random(n) < 0.5, rng.random(n) * lasts_s, np.minimum(rng.exponential(NEAR_END_S, n), lasts_s))
    t = fleet.start[owner] + ((lasts_s - ago_s) * SECOND).astype(np.int64)
    half_s = rng.choice(HALF_WIDTHS_S, n, p=SHARES)
    half = (half_s * SECOND).astype(np.int64)
    error_s = np.minimum(half_s, HALF_WIDTHS_S[0])
    same = pa.array(t)
    stamps = dict.fromkeys(("t", "t_raw", "t_last"), same)
    stamps |= {"t_low": pa.array(t - half), "t_high": pa.array(t + half)}
    return {
        **{name: values.cast(pa.timestamp("us", "UTC")) for name, values in stamps.items()},
        "time_basis": pa.repeat("zoned", n),
        "clock_error_s": pa.array(error_s),
        "clock_shared_s": pa.array(error_s / 2),
        "clock_reference": pa.repeat("NTP/PTP sources", n),
    }
