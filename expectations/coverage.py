"""Suite of coverage: which sources an attempt could be seen by."""

from firstfault.expectations.common import ATTEMPT_EXISTS, NODE, broken
from firstfault.expectations.model import Suite, between, in_set, not_null, promises
from firstfault.transforms.coverage import COVERAGE, KINDS

SUITE = Suite(
    COVERAGE,
    (
        *promises(COVERAGE),
        in_set("kind", sorted(set(KINDS.values()))),
        broken("first_before_last", "A source's first line is not after its last.", "first <= last"),
        between("lines", 0),
        not_null("delivered_throughout"),
        NODE,
        ATTEMPT_EXISTS,
    ),
)
