"""Suite of review_findings: each says what it found, in figures and words."""

from firstfault.expectations.common import broken
from firstfault.expectations.judging import MONTH, TRACK
from firstfault.expectations.model import Suite, between, in_set, promises
from firstfault.transforms.review_findings import KINDS, REVIEW_FINDINGS

SUITE = Suite(
    REVIEW_FINDINGS,
    (
        *promises(REVIEW_FINDINGS),
        MONTH,
        TRACK,
        in_set("level", ("rule", "category")),
        in_set("kind", KINDS),
        between("figure", 0, 1),
        between("reference", 0, 1),
        between("discovery_rate", 0, 1),
        between("n", 1),
        broken("pair_is_an_overlap", "Two rules are named by an overlap.", "(other is not null) = (kind = 'overlap')"),
        broken("fall_is_a_fall", "What fell is below what it was.", "kind not like '%_fell' or figure < reference"),
    ),
)
