"""Data files of the raw tables, written by the task that read the lines and committed by the driver.

Text goes from the Arrow buffers of the task into Parquet; it never becomes rows of the JVM. (Measured, 100 MB of mixed
logs: the trip through the JVM took ten times what reading, masking and matching took.) A file that no commit names is
nobody's: readers do not see it, `maintain` removes it.
"""

import json
import uuid
from collections import defaultdict
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from typing import Any, Protocol
from urllib.parse import quote

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from firstfault.transforms.contract import Table
from firstfault.transforms.raw_rows import RAW_TABLES, Partitioned, file_schema

FLUSH_BYTES = 192 << 20
"""Rows that a task holds before it writes; bounds its memory and the size of a file."""
_SCHEMES = {"s3a": "s3", "s3n": "s3"}
ROWS_PER_GROUP = 1 << 19
COMPRESSION = "zstd"
_INDEXED = ("event_time", "stream_id", "byte_offset", "node")
"""Columns whose least and greatest value go into the table's log, so that a query skips files."""
_PLAIN = frozenset({"message", "byte_offset", "line_no", "value", "event_time"})
"""Columns of ever new values, for which a dictionary is built in vain."""


@dataclass(frozen=True)
class RawFile:
    """A data file of a raw table that is written and not yet committed.

    Attributes:
        table: Name of the table.
        path: Below the table's folder.
        partition: Partition column -> value.
        size_bytes: Size of the file.
        rows: Rows in it.
        stats: Statistics in the form of Delta's log.
    """

    table: str
    path: str
    partition: dict[str, str]
    size_bytes: int
    rows: int
    stats: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> str:
        """As text, for the way from the task to the driver."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "RawFile":
        """The same back from text."""
        return cls(**json.loads(text))


def first_hours(files: list[RawFile], rows: int) -> list[RawFile]:
    """All files, or of each home those of its first hours, together about so many rows: a part without holes."""
    if sum(file.rows for file in files) <= rows:
        return files
    homes: dict[str, dict[str, list[RawFile]]] = defaultdict(lambda: defaultdict(list))
    for file in files:
        homes[file.partition["job_id"]][file.partition["hour"]].append(file)
    chosen = []
    for hours in homes.values():
        taken = 0
        for hour in sorted(hours):
            if taken >= rows / len(homes):
                break
            chosen += hours[hour]
            taken += sum(file.rows for file in hours[hour])
    return chosen


class Sink(Protocol):
    """Where a task puts landed rows."""

    def add(self, pieces: list[Partitioned]) -> None:
        """Takes rows."""

    def close(self) -> list[RawFile]:
        """Writes what is left; all files written."""


def lake_filesystem(root: str) -> tuple[Any, str]:
    """The file system of a lake and its folder there."""
    if "://" not in root:
        return pafs.LocalFileSystem(), root.rstrip("/")
    fs, path = pafs.FileSystem.from_uri(arrow_uri(root))
    return fs, str(path).rstrip("/")


def arrow_uri(root: str) -> str:
    """The URL under which Arrow and delta-rs know a place; only some schemes differ from Spark's."""
    scheme, rest = root.split("://", 1)
    return f"{_SCHEMES.get(scheme, scheme)}://{rest}"


@dataclass
class ParquetSink:
    """Writes a file a partition whenever enough rows wait.

    Attributes:
        root: The lake.
        flush_bytes: See `FLUSH_BYTES`.
    """

    root: str
    flush_bytes: int = FLUSH_BYTES
    _waiting: dict[tuple[str, tuple[str, str]], list[pa.Table]] = field(default_factory=lambda: defaultdict(list))
    _waiting_bytes: int = 0
    _written: list[RawFile] = field(default_factory=list)

    def add(self, pieces: list[Partitioned]) -> None:
        """Takes rows, and writes all that wait once they are many."""
        for piece in pieces:
            self._waiting[piece.table.name, piece.values].append(piece.rows)
            self._waiting_bytes += piece.rows.get_total_buffer_size() if piece is pieces[0] else 0
        if self._waiting_bytes >= self.flush_bytes:
            self._flush()

    def close(self) -> list[RawFile]:
        """Writes what is left; all files written."""
        self._flush()
        return self._written

    def _flush(self) -> None:
        tables = {table.name: table for table in RAW_TABLES.values()}
        fs, root = lake_filesystem(self.root)
        for (name, values), parts in sorted(self._waiting.items()):
            self._written.append(write_file(fs, root, tables[name], values, parts))
        self._waiting.clear()
        self._waiting_bytes = 0


def write_file(fs: Any, root: str, table: Table, values: tuple[str, str], parts: list[pa.Table]) -> RawFile:  # noqa: ANN401
    """One data file with the rows of one partition."""
    partition = dict(zip(table.partitions, values, strict=True))
    folder = "/".join(f"{name}={_escaped(value)}" for name, value in partition.items())
    path = f"{folder}/part-{uuid.uuid4().hex}.{COMPRESSION}.parquet"
    schema, metadata = file_schema(table), list[pq.FileMetaData]()
    rows = pa.concat_tables([part.cast(schema) for part in parts])
    fs.create_dir(f"{root}/{table.name}/{folder}", recursive=True)
    pq.write_table(
        rows, f"{root}/{table.name}/{path}", filesystem=fs, compression=COMPRESSION, compression_level=1,
        use_dictionary=[name for name in schema.names if name not in _PLAIN], write_statistics=list(_INDEXED),
        row_group_size=ROWS_PER_GROUP, store_schema=False, metadata_collector=metadata,
    )  # fmt: skip
    size = fs.get_file_info(f"{root}/{table.name}/{path}").size
    return RawFile(table.name, path, partition, size, rows.num_rows, _statistics(metadata[0]))


def _escaped(value: str) -> str:
    """A partition value as a folder's name, as Spark spells and reads it: only ASCII is escaped."""
    return "".join(quote(c, safe="") if c.isascii() else c for c in value)


def _statistics(metadata: pq.FileMetaData) -> dict[str, Any]:
    """Row count, least and greatest values and nulls of the indexed columns, as Delta's log wants them."""
    least: dict[str, Any] = {}
    most: dict[str, Any] = {}
    nulls: dict[str, int] = {}
    groups = [metadata.row_group(g) for g in range(metadata.num_row_groups)]
    for place in range(metadata.num_columns if groups else 0):
        name = groups[0].column(place).path_in_schema
        found = [group.column(place).statistics for group in groups]
        if name not in _INDEXED or any(one is None for one in found):
            continue
        nulls[name] = sum(one.null_count for one in found)
        valued = [one for one in found if one.has_min_max]
        if valued and len(valued) == sum(one.num_values > 0 for one in found):
            least[name] = _logged(min(one.min for one in valued), up=False)
            most[name] = _logged(max(one.max for one in valued), up=True)
    return {"numRecords": metadata.num_rows, "minValues": least, "maxValues": most, "nullCount": nulls}


def _logged(value: Any, *, up: bool) -> Any:  # noqa: ANN401
    """A value as JSON; Delta's log knows milliseconds, so the greatest time is the next one."""
    if not isinstance(value, datetime):
        return value
    rest = timedelta(microseconds=value.microsecond % 1000)
    whole = value - rest + (timedelta(milliseconds=1) if up and rest else timedelta(0))
    return whole.strftime("%Y-%m-%dT%H:%M:%S.") + f"{whole.microsecond // 1000:03d}Z"
