"""Which lines hold which literals: one scan over the whole Arrow buffer of a batch.

Hyperscan is used where it is installed: one pass for any number of literals. Without it one RE2 alternation picks
the lines and a search picks their literals; both give the same rows (measured: tests/benchmarks/bench_matching.py).
"""

import importlib
import re
import threading
from collections.abc import Iterator, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc


def _optional(name: str) -> Any:  # noqa: ANN401
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


hyperscan = _optional("hyperscan")

Ints: TypeAlias = npt.NDArray[np.int64]
Engine = Literal["auto", "hyperscan", "re2"]

_ALTERNATIVES = 64


def is_fast(engine: Engine) -> bool:
    """Whether Hyperscan finds the literals.

    Raises:
        RuntimeError: It is asked for and not installed.
    """
    if engine == "hyperscan" and hyperscan is None:
        raise RuntimeError("the package hyperscan is not installed; use engine='re2'")
    return hyperscan is not None and engine != "re2"


class _Buffer:
    """The bytes of a string array and where its rows begin."""

    def __init__(self, texts: pa.Array) -> None:
        _, offsets, data = texts.buffers()
        at = np.frombuffer(offsets, dtype=np.int32) if offsets else np.zeros(1, np.int32)
        self.starts: Ints = at[texts.offset : texts.offset + len(texts) + 1].astype(np.int64)
        first, last = int(self.starts[0]), int(self.starts[-1])
        self.data = memoryview(data)[first:last] if data is not None else memoryview(b"")
        self.starts -= first

    def rows(self, begins: Ints, ends: Ints) -> tuple[Ints, npt.NDArray[np.bool_]]:
        """Row of each match, and whether the match lies inside that row."""
        rows = np.searchsorted(self.starts, begins, side="right") - 1
        return rows, ends <= self.starts[rows + 1]


class Hyperscan:
    """One pass for any number of literals."""

    def __init__(self, literals: Sequence[bytes]) -> None:
        self._lengths = np.array([len(x) for x in literals], dtype=np.int64)
        self._database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
        self._database.compile(
            expressions=literals,
            ids=list(range(len(literals))),
            elements=len(literals),
            flags=0,
            literal=True,
        )
        self._lock = threading.Lock()  # the scratch space serves one scan at a time

    def scan(self, texts: pa.Array) -> tuple[Ints, Ints]:
        """Rows, and number of the literal each holds; a pair may come more than once."""
        buffer, found = _Buffer(texts), list[tuple[int, int]]()

        def keep(literal: int, _begin: int, end: int, _flags: int, _context: Any) -> None:  # noqa: ANN401
            found.append((literal, end))

        if len(buffer.data):
            with self._lock:
                self._database.scan(buffer.data, match_event_handler=keep)
        literals, ends = np.array(found, dtype=np.int64).reshape(-1, 2).T
        rows, inside = buffer.rows(ends - self._lengths[literals], ends)
        return rows[inside], literals[inside]


class Re2:
    """An alternation picks the lines, a search in them the literals."""

    def __init__(self, literals: Sequence[bytes]) -> None:
        self._literals = literals
        escaped = [re.escape(x.decode()) for x in literals]
        # RE2 slows down when one automaton grows too large.
        self._regexes = ["|".join(escaped[k : k + _ALTERNATIVES]) for k in range(0, len(escaped), _ALTERNATIVES)]

    def scan(self, texts: pa.Array) -> tuple[Ints, Ints]:
        """Rows, and number of the literal each holds; a pair may come more than once."""
        rows, literals = [], []
        for part, regex in enumerate(self._regexes):
            hit = pc.fill_null(pc.match_substring_regex(texts, regex), fill_value=False)
            chosen = pc.indices_nonzero(hit)
            buffer, base = _Buffer(texts.take(chosen)), chosen.to_numpy().astype(np.int64)
            data = bytes(buffer.data)
            for number in range(part * _ALTERNATIVES, min((part + 1) * _ALTERNATIVES, len(self._literals))):
                literal = self._literals[number]
                begins = np.fromiter(_occurrences(data, literal), dtype=np.int64)
                row, inside = buffer.rows(begins, begins + len(literal))
                rows.append(base[row[inside]])
                literals.append(np.full(int(inside.sum()), number, dtype=np.int64))
        return np.concatenate(rows), np.concatenate(literals)


def _occurrences(data: bytes, literal: bytes) -> Iterator[int]:
    at = data.find(literal)
    while at >= 0:
        yield at
        at = data.find(literal, at + 1)
