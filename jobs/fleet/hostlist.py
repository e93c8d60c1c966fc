"""Slurm host lists: `gpu-r01-n[01-04],gpu-r02-n01`."""

import re
from collections.abc import Iterable
from itertools import groupby

_TAIL = re.compile(r"^(.*?)(\d+)$")


def compress(names: Iterable[str]) -> str:
    """Writes node names as Slurm does.

    Args:
        names: Node names that end in digits; others are kept as they are.

    Returns:
        The host list, in name order.
    """
    parts = []
    for (prefix, width), group in groupby(sorted(names), key=_split):
        numbers = [int(name[len(prefix) :]) for name in group] if width else []
        parts.append(prefix if not width else prefix + _ranges(numbers, width))
    return ",".join(parts)


def _split(name: str) -> tuple[str, int]:
    found = _TAIL.match(name)
    return (found[1], len(found[2])) if found else (name, 0)


def _ranges(numbers: list[int], width: int) -> str:
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    texts = [f"{a:0{width}d}" if a == b else f"{a:0{width}d}-{b:0{width}d}" for a, b in runs]
    return texts[0] if len(numbers) == 1 else f"[{','.join(texts)}]"
