"""Suite of raw_logs: lines that can be pointed at, and sources that lag, storm, fall silent or date wrongly."""
# ruff: noqa: S608 - the SQL is put together from constants and names of our own

from firstfault.expectations.common import EPOCH_CLOCK, FUTURE_DATE, HOUR, NODE, TIME_BASIS, poor
from firstfault.expectations.model import Suite, between, promises
from firstfault.transforms.raw_logs import RAW_LOGS

LAG_S, LAG_LINES = 3600, 10
"""A collector that is usually an hour late may not have brought the end of an attempt; ten lines tell "usually"."""
STORM_LINES = 3600
"""One equal line a second, for an hour: no component that works says so little so often."""
HEADER_CHARS = 48
"""Stamp, host and program lie in here; the digits of the rest tell one line from another."""
BUCKET_S, HOLE_S = 300, 1800
"""A hole is half an hour in a stream that otherwise writes in every five minutes."""
MIN_BUCKETS = 12
DENSE = 1.5
"""Five-minute slots of the stream's life, less the hole, per slot that has a line."""

LAG = poor(
    "lines_arrive_in_time",
    f"Half of a source's lines are collected within {LAG_S} s of being written.",
    f"""
    select cluster, node, source, lag as figure,
      concat('half of ', cast(n as string), ' lines came more than ', cast(round(lag) as string), ' s late') as text
    from (select cluster, node, source, count(*) as n,
        percentile_approx(cast(collected_at as double) - cast(event_time as double), 0.5) as lag
      from {{batch}} where collected_at is not null and event_time is not null group by cluster, node, source)
    where lag > {LAG_S} and n >= {LAG_LINES}""",
    suspects=f"collected_at > event_time + interval {LAG_S} seconds",
    at_least=LAG_LINES // 2,
)
STORM = poor(
    "no_duplicate_storm",
    f"No line is written more than {STORM_LINES} times an hour with nothing but its stamp changed.",
    # Only hours of streams that have so many lines at all are looked at, so that the text is rarely read.
    f"""
    select cluster, node, source, max(n) as figure,
      concat('one line ', cast(max(n) as string), ' times an hour') as text
    from (select a.cluster, a.node, a.source, count(*) as n
      from {{batch}} a left semi join
        (select stream_id, hour from {{batch}} group by stream_id, hour having count(*) > {STORM_LINES}) b
        on a.stream_id = b.stream_id and a.hour = b.hour
      group by a.cluster, a.node, a.source, a.stream_id, a.hour, xxhash64(
        regexp_replace(left(a.message, {HEADER_CHARS}), '[0-9]+', ''), substring(a.message, {HEADER_CHARS + 1}))
      having count(*) > {STORM_LINES})
    group by cluster, node, source""",
    at_least=STORM_LINES + 1,
)
GAPS = poor(
    "no_silent_hole",
    f"A stream that writes all the time is never silent for {HOLE_S} s.",
    # Logs of a job are left out: there the silence is what the job did, not what the collector lost.
    f"""
    select cluster, node, source, max(hole) as figure,
      concat('silent for ', cast(max(hole) as string), ' s, otherwise written to without rest') as text
    from (select cluster, node, source, stream_id, count(*) as slots, max(step) as longest,
        max(slot) - min(slot) + 1 as life, (max(step) - 1) * {BUCKET_S} as hole
      from (select *, slot - lag(slot) over (partition by stream_id order by slot) as step
        from (select distinct cluster, node, source, stream_id, unix_seconds(event_time) div {BUCKET_S} as slot
          from {{batch}} where job_id like '\\\\_%' and event_time is not null))
      group by cluster, node, source, stream_id)
    where hole >= {HOLE_S} and slots >= {MIN_BUCKETS} and life - longest < {DENSE} * slots
    group by cluster, node, source""",
    suspects=r"job_id like '\\_%' and event_time is not null",
    at_least=MIN_BUCKETS,
)

SUITE = Suite(
    RAW_LOGS,
    (
        *promises(RAW_LOGS),
        HOUR,
        between("byte_offset", 0),
        between("line_no", 1),
        TIME_BASIS,
        NODE,
        FUTURE_DATE,
        EPOCH_CLOCK,
        LAG,
        STORM,
        GAPS,
    ),
)
