"""Suite of quarantine: every refused unit says why, and no source is refused wholesale."""
# ruff: noqa: S608 - the SQL is put together from constants and names of our own

from firstfault.expectations.common import broken, poor
from firstfault.expectations.model import Suite, between, matches, promises
from firstfault.transforms.quarantine import EXCERPT_CHARS, QUARANTINE

SHARE, LINES = 0.05, 20
"""One line in twenty: a cut tail or a torn record stays far below, a reader that misreads a format does not. Fewer than
twenty lines are no share."""

REFUSED = poor(
    "few_are_refused",
    f"Of a node's source at most {SHARE:.0%} is quarantined.",
    f"""
    select cluster, node, format as source, refused / read as figure,
      concat(cast(refused as string), ' of ', cast(read as string), ' lines are quarantined') as text
    from (select cluster, node, format, sum(lines_quarantined) as refused, sum(lines_read) as read
      from {{inputs}} a left semi join {{batch}} b on a.stream_id = b.stream_id
      where state = 'landed' group by cluster, node, format)
    where refused >= {LINES} and refused > {SHARE} * read""",
    needs=("inputs",),
    at_least=LINES,
)

SUITE = Suite(
    QUARANTINE,
    (
        *promises(QUARANTINE),
        between("byte_offset", 0),
        between("length", 0),
        between("units", 0),
        matches("sha256", "[0-9a-f]{64}"),
        broken(
            "excerpt_is_short",
            f"At most {EXCERPT_CHARS} characters of the text are kept.",
            f"length(excerpt) <= {EXCERPT_CHARS}",
        ),
        REFUSED,
    ),
)
