"""The event lines of tests inside rule files.

An event line is `<offset_s>[±<half width>] <place> <event type> [key=value ...]`. Places: `n1` a node,
`n1/0000:3b:00` a device, `n1/mlx5_0/1` an HCA port, `sw1:1` a switch port, `n1#3` a node and rank 3, `#3` a
rank, `-` nothing. Keys are attributes, or `count`, `role`, `class`, `relation`, `source`, or `job=other` (`other2`,
...) for an event of another job of the same user and workload.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from firstfault.rules.engine.vocabulary import Vocabulary

OTHER = re.compile(r"other\d?")
SPECIAL = ("count", "role", "class", "relation", "source")
_OWN = ("comm.", "train.", "app.", "proc.", "data.", "mem.", "store.", "rdzv.")
_BY_CONTROLLER = ("sched.", "k8s.")
_WORD = re.compile(r'(?:[^\s"]|"[^"]*")+')
_OFFSET = re.compile(r"([+-]?\d+(?:\.\d+)?)(?:±(\d+(?:\.\d+)?))?")
_DEVICE = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}(?:/\d+/\d+)?")


@dataclass(frozen=True)
class InlineEvent:
    """One event line of a test.

    Attributes:
        offset_s: Seconds after the test's zero.
        half_width_s: Half of the interval in which it may lie.
        node: Node, device, port and rank name its place.
        event_type: Word of the vocabulary.
        special: Values of columns that are no attributes.
        attrs: Attributes.
        other: Name of the other job that it belongs to.
    """

    offset_s: float
    half_width_s: float
    node: str | None
    device: str | None
    port: str | None
    rank: int | None
    event_type: str
    special: Mapping[str, str]
    attrs: Mapping[str, str]
    other: str | None

    @property
    def relation(self) -> str:
        """How it reaches the attempt, as scoping would say."""
        if "relation" in self.special:
            return self.special["relation"]
        if self.event_type.startswith(_BY_CONTROLLER):
            return "cluster"
        placeless = self.node is None and self.port is None
        if self.event_type.startswith(_OWN) or self.rank is not None or placeless:
            return "own"
        return "port" if self.node is None else "node"


def parse_event(line: str, vocabulary: Vocabulary) -> InlineEvent:
    """The event that a test's line describes.

    Raises:
        ValueError: Says what is wrong and what to do.
    """
    words = _WORD.findall(line)
    if len(words) < 3:
        raise ValueError(f"{line!r}: give offset, place and event type")
    offset = _OFFSET.fullmatch(words[0])
    if not offset:
        raise ValueError(f"{line!r}: {words[0]} is no offset, write 0, +5, -600 or +5±2")
    event_type = words[2]
    if event_type not in vocabulary.events:
        raise ValueError(f"{line!r}: {event_type} is not in the vocabulary, correct it or add it")
    given: dict[str, str] = {}
    for word in words[3:]:
        key, equals, value = word.partition("=")
        if not equals:
            raise ValueError(f"{line!r}: {word} is no key=value")
        given[key] = value.strip('"')
    other = given.pop("job") if OTHER.fullmatch(given.get("job", "")) else None
    _check_keys(line, event_type, given, vocabulary)
    known = vocabulary.events[event_type].attrs
    special = {k: v for k, v in given.items() if k in SPECIAL or (k == "code" and k not in known)}
    attrs = {k: v for k, v in given.items() if k in known}
    node, device, port, rank = _place(words[1])
    half = float(offset[2] or 0)
    return InlineEvent(float(offset[1]), half, node, device, port, rank, event_type, special, attrs, other)


def _check_keys(line: str, event_type: str, given: Mapping[str, str], vocabulary: Vocabulary) -> None:
    types = vocabulary.events[event_type].attrs
    for key, value in given.items():
        if key not in types and key not in SPECIAL and key != "code":
            names = ", ".join(sorted({*types, *SPECIAL, "code"}))
            raise ValueError(f"{line!r}: {key} is no attribute of {event_type}, take one of {names}")
        kind = "int" if key == "count" else types.get(key, "str")
        try:
            {"int": int, "float": float, "str": str}[kind](value)
        except ValueError:
            raise ValueError(f"{line!r}: {key}={value} is no {kind}") from None


def _place(word: str) -> tuple[str | None, str | None, str | None, int | None]:
    """Node, device, port and rank that a place names."""
    where, _, rank_text = word.partition("#")
    rank = int(rank_text) if rank_text else None
    if where in {"-", ""}:
        return None, None, None, rank
    node, slash, rest = where.partition("/")
    if slash and _DEVICE.fullmatch(rest):
        return node, rest, None, rank
    if slash:
        return node, None, where, rank
    return (None, None, where, rank) if ":" in where else (where, None, None, rank)
