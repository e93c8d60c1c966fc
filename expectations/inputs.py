"""Suite of inputs: books that balance, ranges that do not overlap, sources that go on."""
# ruff: noqa: S608 - the SQL is put together from constants and names of our own

from firstfault.expectations.common import CRITICAL, broken, poor
from firstfault.expectations.model import Groups, Suite, between, in_set, promises
from firstfault.transforms.inputs import INPUTS, LANDED, PLANNED, UNMATCHED

STALE_S = 86_400
"""A nightly batch brings a day; a source that is a day behind the newest file missed one."""
CONTINUOUS = ("sacct", "slurmctld", "kernel", "journal", "chrony", "prometheus", "exposition", "switch_counters")
"""Formats that are written all day; the others are of one job, or dumps that somebody asked for."""
_CONTINUOUS = ", ".join(f"'{f}'" for f in CONTINUOUS)

OVERLAP = Groups(
    name="ranges_do_not_overlap",
    severity=CRITICAL,
    says="No byte of a stream is landed twice.",
    query="""
    select any_value(cluster) as cluster, any_value(node) as node, any_value(format) as source,
      sum(_upto - from_byte) as figure, concat('bytes of stream ', stream_id, ' are landed twice') as text
    from (select *, max(to_byte) over (partition by stream_id order by from_byte, to_byte
        rows between unbounded preceding and 1 preceding) as _upto from {batch} where state = 'landed')
    where _upto > from_byte group by stream_id""",
    suspects="state = 'landed'",
    at_least=2,
)
FRESHNESS = poor(
    "source_is_fresh",
    f"The newest file of a node's source is at most {STALE_S} s older than the newest of its cluster.",
    f"""
    select cluster, node, format as source, newest - latest as figure,
      concat('newest file is ', cast(round((newest - latest) / 3600, 1) as string), ' h behind the cluster') as text
    from (select cluster, node, format, max(cast(file_time as double)) as latest,
        max(max(cast(file_time as double))) over (partition by cluster) as newest
      from {{batch}} where state = 'landed' and format in ({_CONTINUOUS}) group by cluster, node, format)
    where newest - latest > {STALE_S}""",
    suspects=f"state = 'landed' and format in ({_CONTINUOUS})",
    at_least=2,
)

SUITE = Suite(
    INPUTS,
    (
        *promises(INPUTS),
        in_set("state", (PLANNED, LANDED, UNMATCHED)),
        between("from_byte", 0),
        between("lines_before", 0),
        broken(
            "range_is_not_empty",
            "A range that is read has bytes.",
            "state = 'unmatched' or from_byte < to_byte",
        ),
        broken(
            "books_balance",
            "Of a landed range, lines read = landed + quarantined + dropped, and all are known.",
            "state != 'landed' or coalesce(lines_read = lines_landed + lines_quarantined + lines_dropped, false)",
        ),
        broken(
            "books_not_negative",
            "No count of the books is negative.",
            "least(lines_read, lines_landed, lines_quarantined, lines_dropped) >= 0",
        ),
        OVERLAP,
        FRESHNESS,
    ),
)
