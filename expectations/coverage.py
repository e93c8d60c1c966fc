"""Suite of coverage: which sources an attempt could be seen by."""

from firstfault.expectations.common import ATTEMPT_EXISTS, NODE, broken
from firstfault.expectations.model import Suite, between, in_set, not_null, promises
from firstfault.transforms.clock_faults import FAULTS
from firstfault.transforms.coverage import COVERAGE, KINDS

_WITH_ERROR = "(clock_offset_s is null) = (clock_error_s is null)"
_KNOWN_FAULTS = f"size(array_except(clock_faults, array({', '.join(repr(word) for word in FAULTS)}))) = 0"

SUITE = Suite(
    COVERAGE,
    (
        *promises(COVERAGE),
        in_set("kind", sorted(set(KINDS.values()))),
        broken("first_before_last", "A source's first line is not after its last.", "first <= last"),
        between("lines", 0),
        not_null("delivered_throughout"),
        not_null("gaps"),
        between("gaps", 0),
        between("lost_lines", 0),
        broken("gaps_have_a_time", "A loss has a time, and only a loss.", "(gaps > 0) = (gap_to is not null)"),
        broken("gap_from_before_to", "A loss does not end before it begins.", "gap_from <= gap_to"),
        between("clock_error_s", 0),
        broken("clock_is_known_to_some_error", "An offset has an error.", _WITH_ERROR),
        not_null("clock_faults"),
        broken("clock_faults_are_known", "Faults are those of clock_faults.", _KNOWN_FAULTS),
        NODE,
        ATTEMPT_EXISTS,
    ),
)
