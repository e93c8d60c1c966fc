"""The SQL of a suite: what decides all checks in one job or two, and what names the rows that failed."""
# ruff: noqa: S608 - the SQL is put together from constants and names of our own

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from firstfault.expectations.model import AmongWords, Check, Exists, Groups, Holds, Suite, SuiteError, Unique, Words

MAX_FLAGS = 62
"""What is asked of a row is a bit each of one BIGINT."""
GROUP = "cluster, node, source, cast(figure as double) as figure, text"
NONE_OF_GROUP = "null as cluster, null as node, null as source, cast(null as double) as figure, null as text"


@dataclass(frozen=True)
class Views:
    """Names of the temporary views that the frames go by in SQL."""

    batch: str
    references: dict[str, str]

    def named(self, query: str) -> str:
        """The query with the names in place."""
        return query.format(batch=self.batch, **self.references)


def runnable(suite: Suite, given: Iterable[str]) -> tuple[list[Check], list[str]]:
    """The checks that these references suffice for, and the names of those that they do not."""
    have = set(given)
    run = [c for c in suite.checks if set(needed(c)) <= have]
    return run, [c.name for c in suite.checks if c not in run]


def needed(check: Check) -> tuple[str, ...]:
    """Names of the frames that a check needs beside the batch."""
    match check:
        case Exists():
            return (check.reference,)
        case Groups():
            return check.needs
        case _:
            return ()


def holds(check: Check, words: Words) -> str:
    """SQL that is false only where the row breaks the check: null is no statement, so no offence."""
    return f"coalesce({check.sql(words)}, true)"


def flags(checks: Sequence[Check], words: Words) -> list[tuple[Check, str]]:
    """What is asked of every row: whether it breaks a row check, whether it is a suspect of a group check."""
    asked: list[tuple[Check, str]] = []
    asked += [(c, f"not {holds(c, words)}") for c in checks if isinstance(c, Holds | AmongWords)]
    asked += [(c, f"coalesce({c.suspects}, false)") for c in checks if isinstance(c, Groups)]
    if len(asked) > MAX_FLAGS:
        raise SuiteError(f"{len(asked)} row and group checks in one suite; at most {MAX_FLAGS} fit")
    return asked


def mask(checks: Sequence[Check], words: Words) -> str:
    """SQL of the bits of all flags of a row."""
    bits = [f"if({sql}, {1 << n}L, 0L)" for n, (_, sql) in enumerate(flags(checks, words))]
    return " | ".join(bits) or "0L"


def counts(suite: Suite, checks: Sequence[Check], words: Words, views: Views) -> str:
    """Rows per mask, and how many of them share their key.

    Rows are grouped once, by a hash of their key: that tells repeated keys and leaves a handful of masks to count.
    Where a hash repeats, `exact` tells a repeated key from two keys that share a hash.
    """
    keys = ", ".join(f"`{k}`" for k in suite.keys)
    by_key = (
        f"select bit_or(mask) as mask, count(*) as n from (select xxhash64({keys}) as hash,"
        f" {mask(checks, words)} as mask from {views.batch}) group by hash"
    )
    return f"select mask, sum(n) as n, sum(if(n > 1, n, 0)) as repeated from ({by_key}) group by mask"


def parts(checks: Sequence[Check], views: Views) -> str:
    """Rows without a reference (n), and poor groups, of all these checks."""
    return " union all ".join(_part(c, views) for c in checks)


def _part(check: Check, views: Views) -> str:
    head = f"select '{check.name}' as part"
    if isinstance(check, Exists):
        return f"{head}, count(*) as n, {NONE_OF_GROUP} from ({orphans(check, views)})"
    return f"{head}, 1L as n, {GROUP} from ({views.named(check.sql({}))})"


def orphans(check: Exists, views: Views) -> str:
    """SQL of the rows whose reference is not there."""
    stated = " and ".join(f"a.`{c}` is not null" for c in check.columns)
    known = views.references[check.reference]
    return f"select a.* from {views.batch} a left anti join {known} b on {check.sql({})} where {stated}"


def exact(suite: Suite, checks: Sequence[Check], words: Words, views: Views) -> str:
    """Rows per mask and whether their key repeats, by the keys themselves."""
    keys = ", ".join(f"`{k}`" for k in suite.keys)
    counted = f"select {mask(checks, words)} as mask, count(*) over (partition by {keys}) as n from {views.batch}"
    return f"select mask, count(*) as n, sum(if(n > 1, 1, 0)) as repeated from ({counted}) group by mask"


def offenders(suite: Suite, check: Check, words: Words, views: Views) -> str:
    """SQL of the rows that break a row, key or reference check, with the table's columns."""
    columns = ", ".join(f"`{c}`" for c in suite.table.columns)
    match check:
        case Exists():
            return orphans(check, views)
        case Holds() | AmongWords():
            return f"select {columns} from {views.batch} where not {holds(check, words)}"
        case _:
            keys = check.sql(words)
            counted = f"select *, count(*) over (partition by {keys}) as _n from {views.batch}"
            return f"select {columns} from ({counted}) where _n > 1"


def examples(suite: Suite, failed: Sequence[Check], words: Words, views: Views, most: int) -> str:
    """SQL of the keys, as text, of the first offending rows of each failed check in key order."""
    keys = ", ".join(f"`{k}`" for k in suite.keys)
    broken = [f"if(not {holds(c, words)}, '{c.name}', null)" for c in failed if isinstance(c, Holds | AmongWords)]
    found = [f"select '{c.name}' as _check, {keys} from ({orphans(c, views)})" for c in failed if isinstance(c, Exists)]
    if broken:
        names = f"explode(array_compact(array({', '.join(broken)})))"
        found.append(f"select {names} as _check, {keys} from {views.batch}")
    found += [
        f"select '{c.name}' as _check, {keys} from {views.batch} group by {keys} having count(*) > 1"
        for c in failed
        if isinstance(c, Unique)
    ]
    numbered = (
        f"select *, row_number() over (partition by _check order by {keys}) as _n from ({' union all '.join(found)})"
    )
    texts = ", ".join(f"cast(`{k}` as string) as `{k}`" for k in suite.keys)
    return f"select _check, {texts} from ({numbered}) where _n <= {most} order by _check, _n"
