"""Stamps that need their neighbours: seconds since the line before, and the hour that autumn repeats."""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from firstfault.transforms.formats.stamps import NO_TIME, Micros, micros_of
from firstfault.transforms.formats.times import SECOND_US

_QUARTER_US = 900 * SECOND_US  # offsets of zones change at whole quarters of an hour
_STEP_BACK_US = 600 * SECOND_US  # lines of several writers are out of order by less


def since_start(delta: Micros) -> Micros:
    """Microseconds since the first line with a delta; missing where a line has none."""
    known = delta != NO_TIME
    return np.where(known, np.cumsum(np.where(known, delta, 0)), NO_TIME)


def after_anchors(event: Micros, delta: Micros) -> Micros:
    """Times of lines with a delta, counted from the last line with a time; missing before the first such line."""
    anchored = event != NO_TIME
    last = np.maximum.accumulate(np.where(anchored, np.arange(len(event)), -1))
    total = np.cumsum(np.where(delta != NO_TIME, delta, 0))
    placed = (delta != NO_TIME) & ~anchored & (last >= 0)
    return np.where(placed, event[last] + total - total[last], NO_TIME)


def settle_repeated_hour(event: Micros, local: npt.NDArray[np.bool_], zone: str) -> Micros:
    """Moves times of the hour that autumn repeats to its second pass, from where the stream's clock steps back.

    Args:
        event: UTC, an ambiguous local time read as the earlier one.
        local: Which times were written as local time of `zone`.
        zone: IANA zone.
    """
    rows = np.flatnonzero(local & (event != NO_TIME))
    quarters, which = np.unique(event[rows] // _QUARTER_US, return_inverse=True)
    shift = _second_pass(quarters * _QUARTER_US, zone)[which]
    twice = shift > 0
    if not twice.any():
        return event
    steps = np.diff(event[rows], prepend=event[rows[:1]]) < -_STEP_BACK_US
    run = np.cumsum(~twice)
    second = twice & (np.maximum.accumulate(np.where(steps & twice, run, -1)) == run)
    settled = event.copy()
    settled[rows[second]] += shift[second]
    return settled


def _second_pass(moments: Micros, zone: str) -> Micros:
    """How much later each moment is when its local time is taken as that of the second pass; 0 where there is one."""
    utc = pa.array(moments, pa.int64()).cast(pa.timestamp("us", zone))
    later = pc.assume_timezone(pc.local_timestamp(utc), zone, ambiguous="latest", nonexistent="earliest")
    return micros_of(later) - moments
