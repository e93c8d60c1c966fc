"""Suite of clock_offsets: measurements that make sense. Clocks that do not are rows of clock_faults."""

from firstfault.expectations.common import NODE, broken
from firstfault.expectations.model import Suite, between, matches, not_null, promises
from firstfault.transforms.clock_offsets import CLOCK_OFFSETS

FAMILY = "(arrival|marks|schedule|telemetry)"

SUITE = Suite(
    CLOCK_OFFSETS,
    (
        *promises(CLOCK_OFFSETS),
        matches("method", rf"{FAMILY}(\+{FAMILY})*"),
        not_null("day"),
        not_null("offset_s"),
        not_null("drift_ppm"),
        not_null("error_s"),
        not_null("reference"),
        between("error_s", 0),
        between("shared_error_s", 0),
        between("n", 1),
        broken("interval_is_not_empty", "An interval ends after it starts.", "t_from < t_to"),
        broken("shared_is_a_part", "The shared error is a part of the error.", "shared_error_s <= error_s"),
        NODE,
    ),
)
