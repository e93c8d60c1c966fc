"""Suite of clock_faults: what operators are asked to mend."""

from firstfault.expectations.common import NODE, broken
from firstfault.expectations.model import Suite, in_set, not_null, promises
from firstfault.transforms.clock_faults import CLOCK_FAULTS, FAULTS

SUITE = Suite(
    CLOCK_FAULTS,
    (
        *promises(CLOCK_FAULTS),
        in_set("fault", FAULTS),
        not_null("figure"),
        broken("ends_after_start", "A fault ends after it starts.", "t_to is null or t_from <= t_to"),
        NODE,
    ),
)
