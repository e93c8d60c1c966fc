"""Leases of readers: who reads the lake since when, so that `maintain` does not remove files under their hands.

A lease is a small file `<lake>/_readers/<id>.json` that its holder renews; one that is not renewed is stale, counts for
nobody and is removed.
"""

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

from firstfault.jobs.lock import Heart, Lock

FOLDER = "_readers"
HEARTBEAT_S = 60


@dataclass(frozen=True)
class Reader:
    """Somebody who reads the lake.

    Attributes:
        who: What reads: a command and its process.
        started_at: When it began; tables as they were then are what it may still open.
    """

    who: str
    started_at: datetime


class Lease(Lock):
    """The file of one reader."""

    def __init__(self, lake: str, what: str) -> None:
        name = uuid4().hex[:16]
        super().__init__(Path(lake) / FOLDER / f"{name}.json", name)
        self._content |= {"what": what, "status": "reading"}


@contextmanager
def reading(lake: str, what: str, *, heartbeat_s: int = HEARTBEAT_S) -> Iterator[None]:
    """Tells the lake that it is being read; begin before the first table is opened.

    A lake that cannot be written to, or one in an object store, takes no lease: its readers have the time that
    removed files are kept.

    Args:
        lake: Root of the lake.
        what: Command that reads.
        heartbeat_s: How often the lease is renewed.
    """
    lease = Lease(lake, what)
    taken = "://" not in lake and Path(lake).is_dir()
    if taken:
        try:
            lease.take(0, steal=False)
        except OSError:
            taken = False
    heart = Heart(lease, heartbeat_s) if taken else None
    try:
        yield
    finally:
        if heart is not None:
            heart.stop()
            lease.release()


def live_readers(lake: str, stale_s: int, *, remove: bool = True) -> list[Reader]:
    """Readers whose lease was renewed within `stale_s`, the one that began first in front.

    Args:
        lake: Root of the lake.
        stale_s: Age of the last renewal after which a reader is gone.
        remove: Whether stale leases are removed.
    """
    readers = []
    for file in sorted((Path(lake) / FOLDER).glob("*.json")) if "://" not in lake else []:
        with suppress(FileNotFoundError):
            renewed = file.stat().st_mtime
            if time.time() - renewed < stale_s:
                readers.append(_reader(file, renewed))
            elif remove:
                file.unlink()
    return sorted(readers, key=lambda reader: reader.started_at)


def _reader(file: Path, renewed: float) -> Reader:
    """What the lease says; of one that is just being written, that somebody reads."""
    try:
        said = dict(json.loads(file.read_text(encoding="utf-8")))
        who = f"firstfault {said['what']} on {said['host']} (process {said['pid']})"
        return Reader(who, datetime.fromisoformat(said["started_at"]))
    except (ValueError, KeyError, TypeError):
        return Reader(f"lease {os.path.relpath(file)}", datetime.fromtimestamp(renewed, UTC))
