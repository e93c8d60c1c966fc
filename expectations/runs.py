"""Suite of runs: a run that ended says so, and its books balance."""

from firstfault.expectations.common import broken
from firstfault.expectations.model import Suite, in_set, promises
from firstfault.transforms.runs import DONE, FAILED, RUNNING, RUNS

SUITE = Suite(
    RUNS,
    (
        *promises(RUNS),
        in_set("status", (RUNNING, DONE, FAILED)),
        broken("ended_has_an_end", "A run has an end unless it runs.", "(status = 'running') = (ended_at is null)"),
        broken("start_before_end", "A run starts before it ends.", "started_at <= ended_at"),
        broken("failed_says_why", "A run that failed says why.", "status != 'failed' or error is not null"),
        broken(
            "books_balance",
            "Lines read = landed + quarantined + dropped.",
            "lines_read = lines_landed + lines_quarantined + lines_dropped",
        ),
        broken(
            "counts_not_negative",
            "No count is negative.",
            "least(lines_read, lines_landed, lines_quarantined, lines_dropped, attempts, diagnosed) >= 0",
        ),
        broken("verdicts_have_attempts", "No more verdicts than attempts are written.", "diagnosed <= attempts"),
        broken(
            "durations_not_negative",
            "No stage takes less than no time.",
            "forall(map_values(durations_s), s -> s >= 0)",
        ),
    ),
)
