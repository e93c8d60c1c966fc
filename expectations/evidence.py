"""Suite of evidence: a chain without holes, each step an event that is there and a line that can be shown."""

from firstfault.expectations.common import CRITICAL, INTERVAL, RAW_POINTER, exists
from firstfault.expectations.model import Groups, Suite, between, in_set, in_words, promises
from firstfault.transforms.evidence import EVIDENCE
from firstfault.transforms.keys import ATTEMPT_KEY

COMPLETE_CHAIN = Groups(
    name="chain_is_complete",
    severity=CRITICAL,
    says="Positions of a chain count from 0 without holes.",
    query="""
    select cluster, cast(null as string) as node, job_id as source, max(position) + 1 - count(*) as figure,
      concat('chain of ', job_id, ' attempt ', cast(attempt as string), ' has ', cast(count(*) as string),
        ' steps up to position ', cast(max(position) as string)) as text
    from {batch} group by cluster, job_id, attempt, ruleset_version having max(position) + 1 != count(*)""",
)

SUITE = Suite(
    EVIDENCE,
    (
        *promises(EVIDENCE),
        in_set("part", ("origin", "support", "cascade", "earlier", "end")),
        in_words("event_type", "event_type"),
        in_words("role", "role"),
        between("position", 0),
        between("count", 1),
        INTERVAL,
        *RAW_POINTER,
        exists("event_exists", (*ATTEMPT_KEY, "event_id"), "scoped_events"),
        exists("verdict_exists", ATTEMPT_KEY, "diagnoses"),
        COMPLETE_CHAIN,
    ),
)
