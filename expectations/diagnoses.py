"""Suite of diagnoses: a verdict in the vocabulary's words, as sure as it may be, and honest where it is not."""

from firstfault.expectations.common import (
    ATTEMPT_EXISTS,
    ORIGIN_NAMES,
    ORIGIN_SCOPED,
    VERDICT_WORDS,
    broken,
    doubtful,
    words_within,
)
from firstfault.expectations.model import Check, Suite, between, in_set, promises
from firstfault.transforms.diagnoses import DIAGNOSES, LIVE

UNKNOWN_BELOW = 0.5
UNDECIDED_CAP = 0.69
"""Both of design section 9; warnings, as a site may set them otherwise in scoring.yaml."""

ANSWER: tuple[Check, ...] = (
    *VERDICT_WORDS,
    words_within("also", "category", "category"),
    words_within("alternatives", "category", "category"),
    in_set("state", ("provisional", "final")),
    ORIGIN_NAMES,
    ORIGIN_SCOPED,
    between("confidence", 0, 1),
    doubtful(
        "unsure_is_unknown",
        f"Below a confidence of {UNKNOWN_BELOW} the category is unknown.",
        f"category = 'unknown' or confidence >= {UNKNOWN_BELOW}",
    ),
    doubtful(
        "undecided_is_unsure",
        f"A verdict that rests on an undecidable order is at most {UNDECIDED_CAP} sure.",
        f"order_certain or confidence <= {UNDECIDED_CAP}",
    ),
    broken(
        "known_says_why",
        "A verdict names its rule, its T0 and its conclusion.",
        "category = 'unknown' or (rule_id is not null and t0 is not null and conclusion is not null)",
    ),
    between("gpu_hours_lost", 0),
    ATTEMPT_EXISTS,
)
"""What results promise as well."""

SUITE = Suite(DIAGNOSES, (*promises(DIAGNOSES), in_set("track", (LIVE, "shadow")), *ANSWER))
