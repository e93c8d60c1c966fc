"""Many lines at once: true times spread over spans, and stamps of whole arrays of them."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Literal

import numpy as np
import numpy.typing as npt

from firstfault.jobs.fleet.clocks import Clock
from firstfault.jobs.fleet.writers.sink import micros

Micros = npt.NDArray[np.int64]
Stamper = Callable[[Micros], list[str]]
BLOCK = 4096
Span = tuple[datetime, datetime]


def spread(rng: np.random.Generator, spans: Sequence[Span], count: int) -> Iterator[Micros]:
    """Ascending true times, evenly spread with jitter, a block at a time.

    Args:
        rng: Random numbers.
        spans: When lines are written, ascending and apart.
        count: How many.

    Yields:
        Microseconds since 1970.
    """
    total = sum((end - start).total_seconds() for start, end in spans)
    for start, end in spans:
        seconds = (end - start).total_seconds()
        n = round(count * seconds / total) if total else 0
        step = seconds * 1e6 / max(1, n)
        for first in range(0, n, BLOCK):
            places = np.arange(first, min(n, first + BLOCK)) + rng.random(min(n - first, BLOCK))
            yield micros(start) + (places * step).astype(np.int64)


def shown(clock: Clock, times: Micros) -> Micros:
    """What a clock shows at true times."""
    gone_us = (times - micros(clock.since)).astype(np.float64)
    offset_s: npt.NDArray[np.floating] = clock.offset_s + clock.drift_ppm * 1e-12 * gone_us
    if clock.step_at is not None:
        offset_s = offset_s + np.where(times >= micros(clock.step_at), clock.step_s, 0.0)
    local: Micros = times + np.rint(offset_s * 1e6).astype(np.int64)
    return local


def asctime(times: Micros) -> list[str]:
    """`2026-11-29 13:30:00,123` (Python logging)."""
    return _text(times, "ms").replace("T", " ").replace(".", ",").split("\n")


def iso_micro(times: Micros) -> list[str]:
    """`2026-11-29T13:30:00.123456+00:00` (rsyslog)."""
    return [f"{stamp}+00:00" for stamp in _text(times, "us").split("\n")]


def rfc3164(times: Micros) -> list[str]:
    """`Nov 29 13:30:00`, the day padded with a space, no year."""
    days: dict[str, str] = {}
    out = []
    for stamp in _text(times, "s").split("\n"):
        day = stamp[:10]
        if day not in days:
            date = datetime.fromisoformat(day)
            days[day] = f"{date:%b} {date.day:2d} "
        out.append(days[day] + stamp[11:])
    return out


def _text(times: Micros, unit: Literal["s", "ms", "us"]) -> str:
    stamps: npt.NDArray[np.datetime64] = times.view("M8[us]")
    return "\n".join(np.datetime_as_string(stamps, unit=unit).tolist())
