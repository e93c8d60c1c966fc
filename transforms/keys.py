"""Identifiers: every id is the first 16 hex digits of sha256 over fields joined by 0x1F."""

import hashlib

from pyspark.sql import Column
from pyspark.sql import functions as F

SEPARATOR = "\x1f"
ID_HEX_DIGITS = 16
ATTEMPT_KEY = ("cluster", "job_id", "attempt")
HOME_NODE, HOME_NET, HOME_CLUSTER, HOME_UNKNOWN = "_node", "_net", "_cluster", "_unknown"


def digest(*parts: object) -> str:
    """The id of Python values, equal to what `id_column` gives for the same strings."""
    text = SEPARATOR.join("" if p is None else str(p) for p in parts)
    return hashlib.sha256(text.encode()).hexdigest()[:ID_HEX_DIGITS]


def id_column(*parts: Column) -> Column:
    """A column of ids over the given columns; null counts as the empty string."""
    texts = [F.coalesce(p.cast("string"), F.lit("")) for p in parts]
    return F.substring(F.sha2(F.concat_ws(SEPARATOR, *texts), 256), 1, ID_HEX_DIGITS)


def entity(node: Column, device: Column) -> Column:
    """`node/0000:3b:00` for a device of a node, null when either is missing."""
    return F.concat(node, F.lit("/"), device)
