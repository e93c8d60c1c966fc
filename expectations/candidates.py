"""Suite of candidates: every candidate rests on events, and at most one wins."""

from firstfault.expectations.common import (
    ATTEMPT_EXISTS,
    CRITICAL,
    ORIGIN_NAMES,
    ORIGIN_SCOPED,
    VERDICT_WORDS,
    broken,
)
from firstfault.expectations.model import Groups, Suite, between, in_set, in_words, promises
from firstfault.transforms.candidates import CANDIDATES

WHY_LOST = (
    "later", "explained_by", "less_specific", "covers_less", "excluded", "source_missing", "undecidable_order",
    "low_points",
)  # fmt: skip
"""Design section 9."""

ONE_WINNER = Groups(
    name="one_winner",
    severity=CRITICAL,
    says="At most one candidate of an attempt decides.",
    query="""
    select cluster, cast(null as string) as node, job_id as source, count(*) as figure,
      concat(cast(count(*) as string), ' winners of ', job_id, ' attempt ', cast(attempt as string)) as text
    from {batch} where is_winner group by cluster, job_id, attempt, ruleset_version having count(*) > 1""",
    suspects="is_winner",
    at_least=2,
)

SUITE = Suite(
    CANDIDATES,
    (
        *promises(CANDIDATES),
        *VERDICT_WORDS,
        in_words("anchor_type", "event_type"),
        in_words("anchor_role", "role"),
        in_set("why_lost", WHY_LOST),
        ORIGIN_NAMES,
        ORIGIN_SCOPED,
        broken("rests_on_events", "A candidate names the events that it rests on.", "coalesce(size(event_ids), 0) > 0"),
        broken("t0_within_interval", "t0 lies within [t0_low, t0_high].", "t0_low <= t0 and t0 <= t0_high"),
        broken("winner_did_not_lose", "What decides has no reason to have lost.", "not is_winner or why_lost is null"),
        between("coverage", 0, 1),
        between("cap", 0, 1),
        ATTEMPT_EXISTS,
        ONE_WINNER,
    ),
)
