"""Host lists: `gpu-r07-n[01-04,7]` -> the hosts, bounded before they are expanded."""

import re
from math import prod

import pyarrow as pa
from ClusterShell.NodeSet import NodeSet, NodeSetException
from pyspark.sql import Column
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import ArrayType, StringType

MAX_HOSTS = 100_000
"""Above any cluster known; ClusterShell expands `n[1-99999999]` until memory ends."""
_BRACKETS = re.compile(r"\[([^\]]*)\]")
_PLAIN = re.compile(r"[A-Za-z0-9_.,\[\]-]+", re.ASCII)
"""What a host list of ours may hold: ClusterShell's groups, wildcards, steps and set operators are not for log text."""
_NO_NODES = {"", "none", "none assigned", "unknown", "(null)", "n/a"}


def hosts_in(text: str | None) -> int:
    """An upper bound of the hosts that a list names, without expanding it."""
    total = 0
    for part in re.split(r",(?![^\[]*\])", text or ""):
        total += prod(sum(_width(r) for r in body.split(",")) for body in _BRACKETS.findall(part))
    return total


def _width(part: str) -> int:
    low, _, high = part.partition("-")
    if not (low.isdigit() and (high or low).isdigit()):
        return 1
    return max(1, int(high or low) - int(low) + 1)


def expand_hosts(text: str | None) -> list[str] | None:
    """Short lower-case names in order, or None when the list is empty, malformed or too long."""
    plain = (text or "").strip()
    if plain.lower() in _NO_NODES or not _PLAIN.fullmatch(plain) or hosts_in(plain) > MAX_HOSTS:
        return None
    try:
        names = {str(n).split(".")[0].lower() for n in NodeSet(plain)}
    except NodeSetException:
        return None
    return sorted(names) or None


def _expand_all(lists: pa.Array) -> pa.Array:
    encoded = lists.dictionary_encode()
    expanded = pa.array([expand_hosts(t) for t in encoded.dictionary.to_pylist()], type=pa.list_(pa.string()))
    return expanded.take(encoded.indices)


_expand = arrow_udf(_expand_all, ArrayType(StringType()))  # type: ignore[call-overload]  # the stubs want a literal


def hosts(lists: Column) -> Column:
    """Array of short names per host list; null when it names none or cannot be expanded."""
    expanded: Column = _expand(lists)
    return expanded
