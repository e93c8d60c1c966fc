"""Tracebacks that Python prints and goes on: `Exception ignored in: ...` is never where a fault began.

Their lines land as all others do, but no pattern sees them.
"""

import re
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

MARK = "Exception ignored "
_TRACEBACK = "Traceback (most recent call last)"
_EXCEPTION = re.compile(r"[A-Za-z_][\w.]*(?:: |\s*$)")
_REACH_LINES, _BETWEEN = 100, 1000  # of one traceback; of other ranks' lines around it


def silence_ignored(table: pa.Table) -> pa.Table:
    """The table with `text` null on every line of a traceback that was ignored."""
    texts, ranks = table["text"].combine_chunks(), table["rank"].combine_chunks()
    marked = pc.fill_null(pc.starts_with(texts, MARK), fill_value=False)
    starts = pc.indices_nonzero(marked).to_pylist()
    silent = {row for start in starts for row in _traceback(texts, ranks, start)}
    if not silent:
        return table
    mask = pa.array([row in silent for row in range(len(texts))])
    at = table.schema.get_field_index("text")
    return table.set_column(at, table.schema.field(at), pc.if_else(mask, pa.scalar(None, pa.string()), texts))


def _traceback(texts: pa.StringArray, ranks: pa.Int32Array, start: int) -> Iterator[int]:
    """Rows of the ignored traceback that begins behind `start`, among the lines of the same rank."""
    yield start
    following = list(_of_rank(texts, ranks, start))
    if not following or not (texts[following[0]].as_py() or "").startswith(_TRACEBACK):
        return
    for row in following:
        text = texts[row].as_py() or ""
        if text[:1].isspace() or text.startswith(_TRACEBACK):
            yield row
            continue
        if _EXCEPTION.match(text):
            yield row
        return


def _of_rank(texts: pa.StringArray, ranks: pa.Int32Array, start: int) -> Iterator[int]:
    """The next lines of the rank of row `start`."""
    rank, found = ranks[start], 0
    for row in range(start + 1, min(len(texts), start + _BETWEEN)):
        if ranks[row] == rank and texts[row].is_valid:
            yield row
            found += 1
            if found == _REACH_LINES:
                return
