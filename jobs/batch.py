"""A batch: the ranges that one landing took, its books, and what its tasks left."""

from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from pyspark.sql import DataFrame, Row

from firstfault.jobs.plan import Range
from firstfault.jobs.raw_files import RawFile
from firstfault.transforms.inputs import INPUTS, LANDED
from firstfault.transforms.staged import DROPPED, LANDED_LOG, LANDED_SAMPLE, QUARANTINED


class BooksError(RuntimeError):
    """Lines read are not lines landed + quarantined + dropped: a broken promise of our own."""


@dataclass(frozen=True)
class Books:
    """Units of one batch."""

    read: int = 0
    landed: int = 0
    quarantined: int = 0
    dropped: int = 0

    @property
    def balance(self) -> bool:
        """Whether every unit read is accounted for."""
        return self.read == self.landed + self.quarantined + self.dropped

    def __add__(self, other: "Books") -> "Books":
        return Books(*(a + b for a, b in zip(asdict(self).values(), asdict(other).values(), strict=True)))

    def columns(self) -> dict[str, int]:
        """As columns of `inputs` and `runs`."""
        return {f"lines_{name}": value for name, value in asdict(self).items()}


@dataclass
class Batch:
    """A landed batch: its rows in flight, its books per range, and the files its tasks wrote."""

    batch_id: str
    ranges: list[Range]
    staged: DataFrame
    books_by_range: dict[tuple[str, int], Row]
    files: list[RawFile] = field(default_factory=list)

    @property
    def books(self) -> Books:
        """The sum over all ranges."""
        return sum((_books(r) for r in self.books_by_range.values()), Books())

    @property
    def landed_ranges(self) -> list[dict[str, Any]]:
        """The ranges as rows of `inputs`, landed, with their books."""
        rows = []
        for planned in self.ranges:
            report = self.books_by_range.get((planned.stream_id, planned.from_byte))
            times: dict[str, datetime | None] = {"first_time": None, "last_time": None}
            books = Books()
            if report is not None:
                books, times = _books(report), {name: report[name] for name in times}
            rows.append(dict.fromkeys(INPUTS.columns) | asdict(planned) | books.columns() | times | {"state": LANDED})
        return rows

    @property
    def formats(self) -> frozenset[str]:
        """Formats of sources that the batch holds."""
        return frozenset(r.format for r in self.ranges)

    def jobs_with(self, source: str) -> list[str]:
        """Jobs of which the batch holds files of one format."""
        return sorted({r.job_id for r in self.ranges if r.format == source})

    @property
    def streams(self) -> list[str]:
        """Streams that the batch holds something of."""
        return sorted({r.stream_id for r in self.ranges})

    @property
    def hours(self) -> list[str]:
        """Hours of the partitions that its tasks wrote."""
        return sorted({file.partition["hour"] for file in self.files})

    @property
    def first_sample(self) -> datetime | None:
        """Earliest time of the ranges that hold samples."""
        times = [row["first_time"] for row in self.books_by_range.values() if row[LANDED_SAMPLE] and row["first_time"]]
        return min(times, default=None)

    def counted(self, disposition: str) -> int:
        """Units of one disposition."""
        return sum(row[disposition] for row in self.books_by_range.values())


def _books(row: Row) -> Books:
    return Books(row["read"], row[LANDED_LOG] + row[LANDED_SAMPLE], row[QUARANTINED], row[DROPPED])
