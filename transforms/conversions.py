"""Named conversions of captured text to attribute text: one spelling for one thing, null for what is none."""

import ipaddress
import math
import re
import signal as signals
from collections.abc import Callable

import pyarrow as pa

_PCI = re.compile(
    r"(?:PCI:)?(?:([0-9a-fA-F]{4,8}):)?([0-9a-fA-F]{1,2}):([0-9a-fA-F]{1,2})(?:\.([0-7]))?"
    r"(?: GPU-I:(\d+))?(?: GPU-CI:(\d+))?"
)
_SIZE = re.compile(r"([0-9.]+) ?([kKMGT]?)i?B")
_GIB = {"": 2**-30, "k": 2**-20, "K": 2**-20, "M": 2**-10, "G": 1.0, "T": 2.0**10}
_INT64 = 2**63
MAX_CHARACTERS = 1000
"""Of an attribute; the line itself is kept whole elsewhere."""
_RANK_LINE = re.compile(r"^\s*(\d+)!?:", re.MULTILINE)
_SIGNALS = {s.name.lower(): int(s) for s in signals.Signals} | {
    "killed": 9, "terminated": 15, "aborted": 6, "segmentation fault": 11, "bus error": 7, "hangup": 1, "interrupt": 2,
    "floating point exception": 8, "illegal instruction": 4, "user defined signal 1": 10, "user defined signal 2": 12,
}  # fmt: skip


def _pci_parts(text: str) -> re.Match[str] | None:
    return _PCI.fullmatch(text.strip())


def _domain(digits: str | None) -> str:
    value = int(digits or "0", 16)
    return f"{value:08x}" if value > 0xFFFF else f"{value:04x}"


def pci(text: str) -> str | None:
    """PCI id of a GPU: lower case, no function, MIG instances behind slashes."""
    found = _pci_parts(text)
    if found is None:
        return None
    device = f"{_domain(found[1])}:{int(found[2], 16):02x}:{int(found[3], 16):02x}"
    return device + "".join(f"/{int(n)}" for n in (found[5], found[6]) if n)


def pci_nic(text: str) -> str | None:
    """PCI id of a NIC, whose functions are different ports."""
    found = _pci_parts(text)
    if found is None:
        return None
    device = f"{_domain(found[1])}:{int(found[2], 16):02x}:{int(found[3], 16):02x}"
    return f"{device}.{found[4] or 0}"


def busid(text: str) -> str | None:
    """PCI id from a bus id that NCCL prints as bare hex digits, such as `2a000`."""
    if not re.fullmatch(r"[0-9a-fA-F]{1,16}", text):
        return None
    value = int(text, 16)
    return f"{_domain(f'{value >> 20:x}')}:{value >> 12 & 0xFF:02x}:{value >> 4 & 0xFF:02x}"


def integer(text: str) -> str | None:
    """A plain decimal integer that fits 64 bits."""
    value = int(text.replace(",", ""))
    return str(value) if -_INT64 <= value < _INT64 else None


def hex_int(text: str) -> str | None:
    """A hexadecimal integer, with or without `0x`, as decimal."""
    value = int(text, 16)
    return str(value) if -_INT64 <= value < _INT64 else None


def floating(text: str) -> str | None:
    """A finite number as Python prints it."""
    value = float(text.replace(",", ""))
    return repr(value) if math.isfinite(value) else None


def pid_or_null(text: str) -> str | None:
    """A process id; drivers also write `'<unknown>'` and `<n/a>`."""
    return integer(text) if text.isascii() and text.isdigit() else None


def count(text: str) -> str | None:
    """A number that may be written as `no`."""
    return "0" if text == "no" else integer(text)


def signal_number(text: str) -> str | None:
    """Number of a signal given as number, name or the words of a shell."""
    name = text.strip().lower()
    number = _SIGNALS.get(name) or _SIGNALS.get(f"sig{name}")
    return str(number) if number else integer(name)


def rank_list(text: str) -> str | None:
    """Ranks in a list, or those that begin the lines of a block, joined by commas."""
    found = _RANK_LINE.findall(text) or re.findall(r"\d+", text)
    return ",".join(found[:4096]) or None


def host(text: str) -> str | None:
    """Short lower-case host name; an address stays whole, a list of hosts is none."""
    if re.search(r"[,\s]|\w\[", text):
        return None
    name = text.strip().strip("[]").lower()
    try:
        return str(ipaddress.ip_address(name))
    except ValueError:
        return name.split(".", 1)[0] or None


def gib(text: str) -> str | None:
    """A size with a unit as GiB."""
    found = _SIZE.fullmatch(text.strip())
    return None if found is None else repr(round(float(found[1]) * _GIB[found[2]], 4))


CONVERSIONS: dict[str, Callable[[str], str | None]] = {
    "pci": pci,
    "pci_nic": pci_nic,
    "busid": busid,
    "int": integer,
    "count": count,
    "rank_hint": integer,
    "rank_list": rank_list,
    "signal": signal_number,
    "hex_int": hex_int,
    "float": floating,
    "pid_or_null": pid_or_null,
    "host": host,
    "lower": lambda text: text.strip().lower() or None,
    "text": lambda text: " ".join(text.split()) or None,
    "gib": gib,
}
"""Name in a pattern's `as` -> what it does."""


def convert(values: pa.Array, name: str) -> pa.Array:
    """Applies a conversion to captured text; what cannot be converted, or was not captured, is null."""
    function = CONVERSIONS[name]
    encoded = values.dictionary_encode()
    converted = [_quiet(function, text) for text in encoded.dictionary.to_pylist()]
    return pa.array(converted, pa.string()).take(encoded.indices)


def _quiet(function: Callable[[str], str | None], text: str) -> str | None:
    try:
        converted = function(text) if text else None
        return converted if converted is None else converted[:MAX_CHARACTERS]
    except ValueError:
        return None
