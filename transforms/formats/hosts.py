"""Node names as the project spells them: short and lower case."""

import re
from pathlib import PurePath

import pyarrow as pa

_ADDRESS = re.compile(r"\d+\.\d+\.\d+\.\d+|[0-9a-f:]*:[0-9a-f:]+")
_RANK = re.compile(r"rank[-_]?(\d{1,6})(?!\d)", re.IGNORECASE)
_PORT = re.compile(r":\d+$")


def short_host(name: str | None) -> str | None:
    """Short lower-case name of a host; an address stays whole."""
    if not name:
        return None
    name = name.strip().lower()
    return (name if _ADDRESS.fullmatch(name) else name.split(".", 1)[0]) or None


def instance_host(instance: str | None) -> str | None:
    """Host of a `host:port` scrape target."""
    return short_host(_PORT.sub("", instance.strip("[]"))) if instance else None


def rank_in_name(path: str) -> int | None:
    """Global rank in the name of a dump: `nccl_trace_rank_3`, `py-spy-rank3.txt`."""
    match = _RANK.search(PurePath(path).name)
    return int(match[1]) if match else None


def short_hosts(names: pa.StringArray) -> tuple[pa.Int32Array, list[str | None]]:
    """Index of each name in a list of distinct short names; null stays null."""
    encoded = names.dictionary_encode()
    return encoded.indices, [short_host(name) for name in encoded.dictionary.to_pylist()]
