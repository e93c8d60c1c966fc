"""Process groups of a Flight Recorder dump: who belongs to each, and how far this rank got in it.

`pg_config` is keyed by the group's name, which is the same on every rank; `pg_status` by a number of this process, so
the two are joined here: by the entries, which carry both, else by order, as both count in order of creation.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

Object: TypeAlias = Mapping[Any, Any]

STATUS_KEYS = ("last_enqueued_collective", "last_started_collective", "last_completed_collective")
_RANKS_ROOM = 1 << 20  # characters of a list of ranks
_DIGITS = re.compile(r"\d{1,9}")


@dataclass(frozen=True)
class Group:
    """What one dump says of one process group.

    Attributes:
        name: Name on every rank, or None when only the number is known.
        number: Number in this process, or None when the dump has no status of it.
        desc: What it is for.
        ranks: Global ranks of its members; empty when unknown.
        status: Last numbers by key of `STATUS_KEYS`.
        source: The map in the dump, whose place is the row's.
    """

    name: str | None
    number: str | None
    desc: str | None
    ranks: tuple[int, ...]
    status: Mapping[str, int]
    source: Object

    def message(self) -> str:
        """The group as one JSON object."""
        told = {"fr_group": self.name, "pg_id": self.number, "desc": self.desc, "ranks": list(self.ranks)}
        return json.dumps({key: value for key, value in (told | dict(self.status)).items() if value not in (None, [])})


def groups(config: Object, status: Object, entries: object) -> Iterator[Group]:
    """Each group of the dump once; broken parts are left out."""
    configs = {str(name): told for name, told in config.items() if isinstance(told, dict)}
    numbers = {str(number): told for number, told in status.items() if isinstance(told, dict)}
    names = _names(configs, numbers, entries)
    named = set(names.values())
    for number, told in numbers.items():
        name = names.get(number)
        yield _group(name, number, configs.get(name or ""), told)
    for name, told in configs.items():
        if name not in named:
            yield _group(name, None, told, {})


def _group(name: str | None, number: str | None, config: Object | None, status: Object) -> Group:
    desc = (config or {}).get("desc")
    known = {key: value for key in STATUS_KEYS if (value := _integer(status.get(key))) is not None}
    ranks = _ranks((config or {}).get("ranks"))
    return Group(name, number, desc if isinstance(desc, str) else None, ranks, known, status or config or {})


def _names(configs: Object, numbers: Object, entries: object) -> dict[str, str]:
    """Name of each group by its number in this process."""
    seen: dict[str, str] = {}
    for entry in entries if isinstance(entries, list) else ():
        group = entry.get("process_group") if isinstance(entry, dict) else None
        if isinstance(group, list) and group and isinstance(group[0], str):
            seen[str(entry.get("pg_id"))] = group[0]
    if len(configs) == len(numbers) and all(_DIGITS.fullmatch(key) for key in [*configs, *numbers]):
        in_order = dict(zip(sorted(numbers, key=int), sorted(configs, key=int), strict=True))
        if all(in_order.get(number, name) == name for number, name in seen.items()):
            return in_order
    return {number: name for number, name in seen.items() if number in numbers}


def _ranks(told: object) -> tuple[int, ...]:
    """Ranks of `"[0, 1]"` or of a list."""
    text = told if isinstance(told, str) else " ".join(map(str, told)) if isinstance(told, list) else ""
    return tuple(int(digits) for digits in _DIGITS.findall(text)) if len(text) < _RANKS_ROOM else ()


def _integer(told: object) -> int | None:
    """A number, which JSON dumps write as a text."""
    if isinstance(told, str) and re.fullmatch(r"-?\d{1,18}", told):
        return int(told)
    return told if isinstance(told, int) and not isinstance(told, bool) and abs(told) < 1 << 62 else None
