"""How the tests of readers call them."""

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from firstfault.transforms.formats.context import StreamContext
from firstfault.transforms.formats.registry import READERS
from firstfault.transforms.staged import READ_SCHEMA

FILE_TIME = datetime(2026, 12, 15, tzinfo=UTC)


def context(source: str, **values: Any) -> StreamContext:
    given: dict[str, Any] = {"node": None, "rank": None, "zone": "UTC", "file_time": FILE_TIME}
    return StreamContext(source=source, **(given | values))


def read_table(source: str, data: bytes, **values: Any) -> pa.Table:
    table = READERS[source](data, context(source, **values))
    table.validate(full=True)
    assert table.schema == READ_SCHEMA
    return table


def read(source: str, text: str | bytes, **values: Any) -> list[dict[str, Any]]:
    data = text if isinstance(text, bytes) else text.encode()
    rows: list[dict[str, Any]] = read_table(source, data, **values).to_pylist(maps_as_pydicts="strict")
    return rows


def landed(source: str, text: str | bytes, **values: Any) -> list[dict[str, Any]]:
    return [row for row in read(source, text, **values) if row["disposition"].startswith("landed")]


def samples(source: str, text: str | bytes, **values: Any) -> dict[str, float]:
    return {row["metric"]: row["value"] for row in landed(source, text, **values)}


def reasons(source: str, text: str | bytes, **values: Any) -> list[str | None]:
    return [row["reason"] for row in read(source, text, **values)]


def units(table: pa.Table) -> int:
    return pc.sum(table["units"]).as_py() or 0


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC) if text.endswith("Z") else datetime.fromisoformat(f"{text}Z")
