"""Suite of attempts: one row an attempt, in order of time, with the nodes it ran on."""
# ruff: noqa: S608 - the SQL is put together from constants and names of our own

from firstfault.expectations.common import broken, doubtful, poor
from firstfault.expectations.model import Suite, between, in_set, in_words, promises
from firstfault.transforms.attempts import ATTEMPTS

AHEAD_S = 86_400
"""A day past the newest file covers any zone that was read wrongly by its sign, and no record of a real end."""

FUTURE = poor(
    "end_is_in_the_past",
    f"No attempt ends more than {AHEAD_S} s after the newest file.",
    f"""
    select a.cluster, cast(null as string) as node, 'scheduler' as source,
      max(unix_seconds(a.`end`)) - any_value(b.newest) as figure,
      concat(cast(count(*) as string), ' attempts end in the future, first ', min(a.job_id)) as text
    from {{batch}} a cross join (select unix_seconds(max(file_time)) as newest from {{inputs}}) b
    where unix_seconds(a.`end`) > b.newest + {AHEAD_S} group by a.cluster""",
    needs=("inputs",),
    suspects="`end` is not null",
)

SUITE = Suite(
    ATTEMPTS,
    (
        *promises(ATTEMPTS),
        between("attempt", 0),
        in_set("scope_source", ("scheduler", "inferred")),
        in_set("end_basis", ("scheduler", "last_line", "running")),
        in_words("outcome_hint", "outcome"),
        broken(
            "day_is_of_the_end",
            "day is the UTC day of the end, else of the start, else of the submission.",
            "day = to_date(coalesce(`end`, start, submit))",
        ),
        broken(
            "ended_has_an_end",
            "An end that is known has a basis other than running, and the other way round.",
            "(`end` is null) = (end_basis = 'running')",
        ),
        doubtful("start_before_end", "An attempt starts before it ends.", "start <= `end`"),
        doubtful("submit_before_start", "An attempt is submitted before it starts.", "submit <= start"),
        doubtful(
            "started_has_nodes",
            "An attempt that a scheduler started has nodes.",
            "scope_source != 'scheduler' or start is null or coalesce(size(nodes), 0) > 0",
        ),
        doubtful(
            "nodes_are_distinct",
            "Nodes are named once, and none is null.",
            "size(array_distinct(nodes)) = size(nodes) and not exists(nodes, n -> n is null)",
        ),
        doubtful("gpus_not_negative", "GPUs and time limit are not negative.", "least(gpus, time_limit_s) >= 0"),
        FUTURE,
    ),
)
