"""Suite of clock_offsets: measurements that make sense, and clocks that do not."""
# ruff: noqa: S608 - the SQL is put together from constants and names of our own

from firstfault.expectations.common import NODE, broken, poor
from firstfault.expectations.model import Suite, between, in_set, not_null, promises
from firstfault.transforms.clock_offsets import ARRIVAL, CLOCK_OFFSETS, TELEMETRY

UNSYNCHRONISED_S = 5.0
"""NTP steps a clock that is off by 0.128 s; one that is seconds off is not disciplined by anything."""
UNSURE_S = 60.0
"""An offset that is not known to a minute orders nothing."""
ZONE_STEP_S, ZONE_SLACK_S, ZONE_MIN_S = 900, 30, 1800
"""Zones lie at quarters of an hour; half an hour off by chance, to 30 s, is rarer than a wrong zone."""
DRIFT_PPM = 500
"""The most that a kernel slews a clock; a healthy oscillator stays below 100."""

UNSYNCHRONISED = poor(
    "clock_is_synchronised",
    f"A node's clock is off by at most {UNSYNCHRONISED_S:g} s.",
    f"""
    select cluster, node, max(source) as source, max(abs(offset_s)) as figure,
      concat('clock off by up to ', cast(round(max(abs(offset_s)), 3) as string), ' s') as text
    from {{batch}} where abs(offset_s) > {UNSYNCHRONISED_S} group by cluster, node""",
    suspects=f"abs(offset_s) > {UNSYNCHRONISED_S}",
)
WRONG_ZONE = poor(
    "clock_is_in_its_zone",
    "No clock is off by a whole number of quarter hours.",
    f"""
    select cluster, node, max(source) as source, max(abs(offset_s)) as figure,
      concat('off by ', cast(round(max_by(offset_s, abs(offset_s)) / 3600, 2) as string), ' h: zone?') as text
    from {{batch}} where abs(offset_s) >= {ZONE_MIN_S}
      and abs(offset_s - {ZONE_STEP_S} * round(offset_s / {ZONE_STEP_S})) <= {ZONE_SLACK_S}
    group by cluster, node""",
    suspects=f"abs(offset_s) >= {ZONE_MIN_S}",
)
DRIFTING = poor(
    "clock_does_not_drift",
    f"A clock gains or loses at most {DRIFT_PPM} ppm beyond its errors.",
    f"""
    select cluster, node, max(source) as source, max(ppm) as figure,
      concat('drifts by up to ', cast(round(max(ppm)) as string), ' ppm') as text
    from (select cluster, node, source, 1e6 * greatest(abs(offset_s - lag(offset_s) over clock)
          - error_s - lag(error_s) over clock, 0)
          / nullif(unix_seconds(t_from) - unix_seconds(lag(t_from) over clock), 0) as ppm
      from {{batch}} where method = '{TELEMETRY}' window clock as (partition by cluster, node, source order by t_from))
    where ppm > {DRIFT_PPM} group by cluster, node""",
    suspects=f"method = '{TELEMETRY}'",
    at_least=2,
)
UNSURE = poor(
    "clock_is_known",
    f"A clock's offset is known to {UNSURE_S:g} s.",
    f"""
    select cluster, node, max(source) as source, max(error_s) as figure,
      concat('offset known to ', cast(round(max(error_s), 1) as string), ' s only') as text
    from {{batch}} where error_s > {UNSURE_S} group by cluster, node""",
    suspects=f"error_s > {UNSURE_S}",
)

SUITE = Suite(
    CLOCK_OFFSETS,
    (
        *promises(CLOCK_OFFSETS),
        in_set("method", (TELEMETRY, ARRIVAL)),
        not_null("offset_s"),
        not_null("error_s"),
        between("error_s", 0),
        between("n", 1),
        broken("interval_is_not_empty", "An interval ends after it starts.", "t_from < t_to"),
        broken("day_is_of_the_start", "day is the UTC day of t_from.", "day = to_date(t_from)"),
        NODE,
        UNSYNCHRONISED,
        WRONG_ZONE,
        DRIFTING,
        UNSURE,
    ),
)
