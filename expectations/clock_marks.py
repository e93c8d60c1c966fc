"""Suite of clock_marks: lines that can be paired."""

from firstfault.expectations.common import NODE, broken
from firstfault.expectations.model import Suite, between, promises
from firstfault.transforms.clock_marks import CLOCK_MARKS
from firstfault.transforms.clock_witnesses import ARRIVAL, TOLD_STEP

SUITE = Suite(
    CLOCK_MARKS,
    (
        *promises(CLOCK_MARKS),
        between("n", 1),
        between("byte_offset", 0),
        broken("day_is_of_t", "day is the UTC day of t.", "day = to_date(t)"),
        broken(
            "value_where_told",
            "A delivery and a step have a value, a shared moment has none.",
            f"(value_s is not null) = (kind in ('{ARRIVAL}', '{TOLD_STEP}'))",
        ),
        NODE,
    ),
)
