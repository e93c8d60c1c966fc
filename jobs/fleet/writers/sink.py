"""Collects the lines of all files of a landing zone and writes them once, in true order, with file times."""

import os
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

SETTLE_S = 1.0


@dataclass(slots=True)
class Written:
    """What was written: files and bytes."""

    files: int = 0
    size: int = 0


@dataclass(slots=True)
class Sink:
    """Lines by file, each with the true time it was written."""

    _files: dict[str, list[tuple[datetime, int, str]]] = field(default_factory=lambda: defaultdict(list))
    _touched: dict[str, datetime] = field(default_factory=dict)
    _count: int = 0

    def add(self, path: str, t: datetime, text: str) -> None:
        """Adds a record to a file.

        Args:
            path: File, relative to the landing zone.
            t: True time of the write.
            text: The record without its last newline; it may hold several lines.
        """
        self._count += 1
        self._files[path].append((t, self._count, text))

    def touch(self, path: str, t: datetime) -> None:
        """Says that a file was last written at a later true time than its lines happened."""
        self._touched[path] = t

    def paths(self) -> list[str]:
        """The files that have records."""
        return sorted(self._files)

    def lines(self, path: str) -> list[str]:
        """The records of a file in the order they are written."""
        return [text for _, _, text in sorted(self._files[path])]

    def flush(self, landing: Path) -> Written:
        """Writes all files; a file's modification time is its last true write time.

        Args:
            landing: Root of the landing zone.

        Returns:
            Counts.
        """
        done = Written()
        for path, records in sorted(self._files.items()):
            data = "".join(f"{text}\n" for _, _, text in sorted(records)).encode()
            file = landing / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
            last = max(t for t, _, _ in records)
            stamp = max(last, self._touched.get(path, last)).timestamp() + SETTLE_S
            os.utime(file, (stamp, stamp))
            done.files += 1
            done.size += len(data)
        return done
