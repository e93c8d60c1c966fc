"""`journalctl -o json`: a node's kernel and services in one stream, times as strings of microseconds."""

import json
import re
from datetime import datetime

from firstfault.jobs.fleet.model import Node, stream

_TAG = re.compile(r"(?P<name>[^\[:]+)(?:\[(?P<pid>\d+)\])?: (?P<text>.*)", re.DOTALL)
RECEIVED_US = 180


def kernel_record(seed: int, node: Node, booted: datetime, true: datetime, written: datetime, text: str) -> str:
    """A message of the kernel, with the kernel's own stamp beside the journal's.

    Args:
        seed: Seed of the profile, for the id of the boot.
        node: Where.
        booted: When its kernel started.
        true: When it happens.
        written: What the node's clock says.
        text: The message.

    Returns:
        One line of JSON.
    """
    since = round((true - booted).total_seconds() * 1e6)
    told = {"_SOURCE_MONOTONIC_TIMESTAMP": str(since), "_TRANSPORT": "kernel", "SYSLOG_IDENTIFIER": "kernel"}
    return _record(seed, node, booted, (since, written), {**told, "PRIORITY": "4", "MESSAGE": text})


def service_record(seed: int, node: Node, booted: datetime, true: datetime, written: datetime, text: str) -> str:
    """A line of a service, whose name and process stand in fields of their own.

    Args:
        seed: Seed of the profile, for the id of the boot.
        node: Where.
        booted: When its kernel started.
        true: When it happens.
        written: What the node's clock says.
        text: The line as syslog has it: `name[pid]: message`.

    Returns:
        One line of JSON.
    """
    since = round((true - booted).total_seconds() * 1e6)
    found = _TAG.fullmatch(text)
    said = found["text"] if found else text
    told = {"_TRANSPORT": "syslog", "SYSLOG_IDENTIFIER": found["name"] if found else "unknown"}
    told |= {"_PID": found["pid"]} if found and found["pid"] else {}
    return _record(seed, node, booted, (since, written), {**told, "PRIORITY": "6", "MESSAGE": said})


def _record(seed: int, node: Node, booted: datetime, when: tuple[int, datetime], told: dict[str, str]) -> str:
    since, written = when
    received = round(written.timestamp() * 1e6) + RECEIVED_US
    head = {
        "__REALTIME_TIMESTAMP": str(received),
        "__MONOTONIC_TIMESTAMP": str(since + RECEIVED_US),
        "_BOOT_ID": f"{stream(seed, 'boot', node.name, booted).getrandbits(128):032x}",
        "_HOSTNAME": node.name,
    }
    return json.dumps({**head, **told}, separators=(",", ":"))
