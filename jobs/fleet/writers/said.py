"""Lines of training processes whose words an incident brings along: notes, c10d sockets, Java clients, raw text."""

from datetime import datetime

from firstfault.jobs.fleet.model import Attempt, Node, Occurrence, Rank
from firstfault.jobs.fleet.writers.stamps import asctime


def note(_attempt: Attempt, _rank: Rank, _node: Node, line: Occurrence, written: datetime) -> str:
    """A line of Python's logging."""
    return f"{asctime(written)} {line.attrs['level']} {line.attrs['text']}"


def raw(_attempt: Attempt, _rank: Rank, _node: Node, line: Occurrence, _written: datetime) -> str:
    """Text without any head."""
    return str(line.attrs["text"])


def java(_attempt: Attempt, _rank: Rank, _node: Node, line: Occurrence, written: datetime) -> str:
    """A warning of a log4j console appender."""
    return f"{written:%y/%m/%d %H:%M:%S} WARN {line.attrs['text']}"


def c10d(attempt: Attempt, rank: Rank, node: Node, line: Occurrence, written: datetime) -> str:
    """A line of PyTorch's C++ logger; before the process group exists it names no rank."""
    said = line.attrs
    stamp = "" if attempt.style.torch == "2.1" else _stamp(node, line, written)
    body = f"[{said['level']}{stamp} {said['source']}] {said['text']}"
    return f"[rank{rank.rank}]:{body}" if said.get("ranked") and attempt.style.torch != "2.1" else body


def _stamp(node: Node, line: Occurrence, written: datetime) -> str:
    return f"{written.month}{written.day:02d} {written:%H:%M:%S}.{monotonic_fraction(node, line.t):09d}"


def monotonic_fraction(node: Node, true: datetime) -> int:
    """The nine digits PyTorch's C++ logger prints: the node's uptime modulo one second, not the wall clock.

    Args:
        node: Where the process runs.
        true: True time.

    Returns:
        Nanoseconds.
    """
    micros = round((true - node.booted).total_seconds() * 1e6) % 1_000_000
    return micros * 1000 + micros * 7919 % 1000
