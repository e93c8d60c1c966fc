"""Collects the lines of all files of a day, in memory or as streams of chatter, and gives them in true order."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

Block = tuple[list[int], list[str]]
"""True times in microseconds since 1970, ascending, and as many records."""


def micros(t: datetime) -> int:
    """Microseconds since 1970."""
    return round(t.timestamp() * 1e6)


@dataclass(slots=True)
class Sink:
    """Lines by file, each with the true time it was written."""

    count: int = 0
    _files: dict[str, list[tuple[datetime, int, str]]] = field(default_factory=lambda: defaultdict(list))
    _touched: dict[str, datetime] = field(default_factory=dict)
    _streams: dict[str, Iterator[Block]] = field(default_factory=dict)

    def add(self, path: str, t: datetime, text: str) -> None:
        """Adds a record to a file.

        Args:
            path: File, relative to the landing zone.
            t: True time of the write.
            text: The record without its last newline; it may hold several lines.
        """
        self.count += 1
        self._files[path].append((t, self.count, text))

    def stream(self, path: str, blocks: Iterator[Block]) -> None:
        """Adds records that are made only when the file is written.

        Args:
            path: File, relative to the landing zone; one stream a file.
            blocks: Records in true order.
        """
        self._streams[path] = blocks

    def touch(self, path: str, t: datetime) -> None:
        """Says that a file was last written at a later true time than its lines happened."""
        self._touched[path] = t

    def paths(self) -> list[str]:
        """The files that have records."""
        return sorted({*self._files, *self._streams})

    def lines(self, path: str) -> list[str]:
        """The records of a file that were added, in the order they are written."""
        return [text for _, _, text in sorted(self._files[path])]

    def blocks(self, path: str) -> Iterator[Block]:
        """All records of a file in the order they are written, a part at a time."""
        records = [(micros(t), text) for t, _, text in sorted(self._files.get(path, ()))]
        at = 0
        for times, texts in self._streams.get(path, ()):
            first = at
            while at < len(records) and records[at][0] <= times[-1]:
                at += 1
            if first == at:
                yield times, texts
            else:
                both = sorted([*zip(times, texts, strict=True), *records[first:at]], key=lambda r: r[0])
                yield [t for t, _ in both], [text for _, text in both]
        if at < len(records):
            yield [t for t, _ in records[at:]], [text for _, text in records[at:]]

    def touched(self, path: str) -> int:
        """When a file was touched, in microseconds since 1970; 0 when it was not."""
        return micros(self._touched[path]) if path in self._touched else 0
