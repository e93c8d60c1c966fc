"""Counters that stand at their largest value: `ib.counter_saturated` beside the counter itself."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import yaml

from firstfault.transforms.formats.rows import Cell, Line, Rows
from firstfault.transforms.staged import LANDED_SAMPLE

SATURATED = "ib.counter_saturated"
_IB = "ib."


@cache
def largest_values() -> Mapping[str, float]:
    """Largest value by name of a counter."""
    widths = yaml.safe_load(Path(__file__).with_name("counter_widths.yaml").read_text(encoding="utf-8"))
    return {name: float(2**bits - 1) for bits, names in widths.items() for name in names}


def land_counters(rows: Rows, line: Line, values: Mapping[str, float], **about: Cell) -> None:
    """Lands counters, and a mark for each that can count no further."""
    rows.samples(line, values, **about)
    for metric, value in values.items():
        name = metric.removeprefix(_IB)
        if metric.startswith(_IB) and largest_values().get(name) == value:
            labels = (about.get("labels") or {}) | {"counter": name}
            rows.add(LANDED_SAMPLE, line, 0, metric=SATURATED, value=1.0, **about | {"labels": labels})
