"""Suite of dropped_lines: what was not landed is named by a rule and counted."""

from firstfault.expectations.common import HOUR, broken
from firstfault.expectations.model import Suite, between, not_null, promises
from firstfault.transforms.dropped_lines import DROPPED_LINES

SUITE = Suite(
    DROPPED_LINES,
    (
        *promises(DROPPED_LINES),
        HOUR,
        not_null("lines"),
        between("lines", 1),
        between("bytes", 0),
        broken("day_is_of_the_hour", "day is the day of the hour.", "day = to_date(substring(hour, 1, 10))"),
    ),
)
