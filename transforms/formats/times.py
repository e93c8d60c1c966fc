"""Times of single records, and the words for how a time is known."""

import math
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

ZONED, ASSUMED_ZONE, NO_YEAR, NO_DATE = "zoned", "assumed_zone", "no_year", "no_date"
BOOT_RELATIVE, EPOCH, FILE_TIME, NEIGHBOUR, NONE = "boot_relative", "epoch", "file_time", "neighbour", "none"
OTHER_NEIGHBOUR = "other_neighbour"
"""An untimed line of a rank between lines of other ranks, whose nodes may have other clocks (decision 2026-11-30)."""
BOOT_WALL = "boot_wall"
"""Decision 2026-11-30: `dmesg -T` and `--time-format iso` write wall time that the tool made of seconds since boot when
it was read. No clock ever showed it, so it is neither `assumed_zone` nor `zoned`: `wall_of_boot` corrects it."""

SECOND_US = 1_000_000
DAY_US = 86_400 * SECOND_US
YEAR_US = 365.2425 * DAY_US
LAST_SECOND = 4_102_444_800  # 2100-01-01: later stamps are damage
_LAST_US = LAST_SECOND * SECOND_US
_NANOS_FROM = 1e17
_SCALES = ((1e11, SECOND_US), (1e14, 1_000), (_NANOS_FROM, 1))


def to_micros(moment: datetime) -> int:
    """Microseconds since the epoch; a naive time is UTC."""
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def parse_time(text: str | None, zone: str) -> tuple[int, str] | None:
    """One ISO-like stamp of a structured record: UTC microseconds and basis, or None."""
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text.strip().replace("/", "-").replace(",", "."))
    except (ValueError, OverflowError):
        return None
    basis = ZONED if moment.tzinfo else ASSUMED_ZONE
    micros = to_micros(moment if moment.tzinfo else moment.replace(tzinfo=ZoneInfo(zone)))
    return (micros, basis) if 0 <= micros < _LAST_US else None


def parse_layout(text: str, layout: str, zone: str) -> tuple[int, str] | None:
    """One stamp of a strptime layout without a zone: UTC microseconds and basis, or None."""
    try:
        local = datetime.strptime(text.strip(), layout)  # noqa: DTZ007
    except ValueError:
        return None
    return parse_time(local.isoformat(), zone)


def scaled_epoch(value: object) -> int | None:
    """An epoch number in seconds, milli-, micro- or nanoseconds by its size; absurd or unreadable gives None."""
    text = str(value)
    try:
        number = float(text)
    except ValueError:
        return None
    if not _NANOS_FROM <= number < math.inf:
        micros = next((number * scale for limit, scale in _SCALES if number < limit), math.inf)
    else:
        micros = (int(text) if text.isdecimal() else number) // 1000
    return epoch_micros(round(micros), scale=1) if 0 < micros < _LAST_US else None


def epoch_micros(value: object, scale: int = SECOND_US) -> int | None:
    """An epoch number, as number or text, in microseconds; 0, absurd or unreadable gives None."""
    try:
        number = float(str(value)) if scale == SECOND_US else int(str(value))
        micros = round(number * scale)
    except (ValueError, OverflowError):
        return None
    return micros if 0 < micros < _LAST_US else None
