"""Suite of raw_telemetry: samples that can be pointed at, and series that stick, pause or are too sparse."""
# ruff: noqa: S608 - the SQL is put together from constants and names of our own

from firstfault.expectations.common import DEVICE, EPOCH_CLOCK, FUTURE_DATE, HOUR, TIME_BASIS, WARNING, doubtful, poor
from firstfault.expectations.model import Suite, between, promises
from firstfault.transforms.raw_telemetry import RAW_TELEMETRY

STICKY_SAMPLES, STICKY_S = 20, 3600
"""A gauge that did not move in an hour; fewer samples may be chance."""
PEERS, PEERS_MOVING = 3, 0.9
"""An idle fleet's gauges rest together: one is stuck only while nearly all others of at least three move."""
REGULAR = ("prometheus", "exposition", "metrics_parquet", "chrony")
"""Sources that are scraped all the time; others are dumps around a job."""
GAP_FACTOR, GAP_S, GAP_SAMPLES = 10, 600, 20
"""Ten scrapes in a row and ten minutes: what a window of 300 s cannot bridge. A longer pause than all the time that was
sampled is no gap: sites export the hours of a job, and what lies between was never asked for."""
SPARSE_S, SPARSE_SAMPLES = 300, 10
"""Rules look at windows of 300 s (design section 9): rarer samples cannot show what happened within one."""
_REGULAR = ", ".join(f"'{s}'" for s in REGULAR)

STICKY = poor(
    "no_sticky_gauge",
    f"A gauge that moves on other nodes moves within {STICKY_S} s.",
    # Zero is left out: an idle GPU's load and a sound link's errors rest at it.
    f"""
    select cluster, node, source, count(*) as figure,
      concat('stuck: ', array_join(slice(array_sort(collect_set(concat(metric, '=', cast(at as string)))), 1, 5), ', '))
        as text
    from (select *, avg(if(low < high, 1.0, 0.0)) over series as moving, count(*) over series as peers
      from (select cluster, node, device, port, source, metric, min(value) as low, max(value) as high,
          min(value) as at, count(*) as n,
          unix_seconds(max(event_time)) - unix_seconds(min(event_time)) as span_s
        from {{batch}} where value is not null and node is not null
        group by cluster, node, device, port, source, metric)
      window series as (partition by cluster, source, metric))
    where low = high and at != 0 and n >= {STICKY_SAMPLES} and span_s >= {STICKY_S}
      and peers > {PEERS} and moving >= {PEERS_MOVING}
    group by cluster, node, source""",
    suspects="node is not null and value != 0",
    at_least=STICKY_SAMPLES,
)
_REGULAR_TIMED = f"event_time is not null and source in ({_REGULAR})"
_STEPS = f"""
    (select cluster, node, source, percentile_approx(step, 0.5) as usual, max(step) as longest, count(*) as n
      from (select *, at - lag(at) over (partition by cluster, node, source order by at) as step
        from (select distinct cluster, node, source, unix_seconds(event_time) as at
          from {{batch}} where {_REGULAR_TIMED}))
      where step is not null group by cluster, node, source)"""
GAPS = poor(
    "no_scrape_gap",
    f"Scrapes of a node never pause for {GAP_FACTOR} times their usual distance and {GAP_S} s.",
    f"""
    select cluster, node, source, longest as figure,
      concat('paused for ', cast(longest as string), ' s, usually ', cast(usual as string), ' s') as text
    from {_STEPS} where longest > {GAP_FACTOR} * usual and longest > {GAP_S} and n >= {GAP_SAMPLES}
      and longest <= n * usual""",
    suspects=_REGULAR_TIMED,
    at_least=GAP_SAMPLES + 1,
)
RATE = poor(
    "sampled_often_enough",
    f"A node is sampled at least every {SPARSE_S} s.",
    # Clock statistics are rare by nature and interpolated.
    f"""
    select cluster, node, source, usual as figure, concat('a sample every ', cast(usual as string), ' s') as text
    from {_STEPS} where usual > {SPARSE_S} and n >= {SPARSE_SAMPLES} and source != 'chrony'""",
    suspects=f"{_REGULAR_TIMED} and source != 'chrony'",
    at_least=SPARSE_SAMPLES + 1,
)

SUITE = Suite(
    RAW_TELEMETRY,
    (
        # A line is read once, by the reports of the tasks; that it says a sample twice is the exporter's doing.
        *promises(RAW_TELEMETRY, unique=WARNING),
        HOUR,
        between("byte_offset", 0),
        between("line_no", 1),
        between("units", 0),
        TIME_BASIS,
        DEVICE,
        FUTURE_DATE,
        EPOCH_CLOCK,
        doubtful(
            "value_is_finite",
            "A value is a number.",
            "not isnan(value) and abs(value) < double('Infinity')",
        ),
        STICKY,
        GAPS,
        RATE,
    ),
)
