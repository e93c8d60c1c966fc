"""Small reads and writes of a Delta table by delta-rs, without a Spark job.

(Decision 2026-11-29: tables of up to `frames.SMALL_ROWS` new rows are written so; measured, warm: 0.04 s against 0.4 s
of a Spark write, of which a tiny night makes some twenty. Larger ones are written by Spark, with equal content.
2026-11-30: tables of as few rows are read so, too: a local relation is planned at once, where each scan of a table
replays its log.)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from deltalake import DeltaTable, Schema, write_deltalake
from deltalake.exceptions import TableNotFoundError
from deltalake.transaction import AddAction, CommitProperties, RemoveAction, Transaction
from pyspark.sql.pandas.types import to_arrow_schema

from firstfault.jobs import frames
from firstfault.jobs.days import parts_list
from firstfault.jobs.raw_files import arrow_uri
from firstfault.transforms.contract import Table


@dataclass(frozen=True)
class LightTable:
    """One table of a lake.

    Attributes:
        contract: What it holds.
        path: Where it lies, as Spark spells it.
    """

    contract: Table
    path: str

    @property
    def _uri(self) -> str:
        return arrow_uri(self.path) if "://" in self.path else self.path

    def opened(self) -> DeltaTable:
        """The table; made with the contract's columns and comments when it is not there."""
        if DeltaTable.is_deltatable(self._uri):
            return DeltaTable(self._uri)
        return DeltaTable.create(
            self._uri,
            Schema.from_json(self.contract.schema.json()),
            partition_by=list(self.contract.partitions),
            description=self.contract.row,
        )

    def dataset(self) -> Any | None:  # noqa: ANN401
        """The rows, for reading; None when the table was never written."""
        try:
            return _without_null_bounds(DeltaTable(self._uri).to_pyarrow_dataset())
        except TableNotFoundError:
            return None

    def exists(self) -> bool:
        """Whether it has ever been written."""
        return bool(DeltaTable.is_deltatable(self._uri))

    def version(self) -> int | None:
        """Its newest Delta version; None when it was never written."""
        return DeltaTable(self._uri).version() if self.exists() else None

    def few(self) -> pa.Table | None:
        """All rows with the contract's columns, those that an older table lacks null; None when the log counts many."""
        if not self.exists():
            return self._schema.empty_table()
        table = DeltaTable(self._uri)
        counts = pa.table(table.get_add_actions(flatten=True))["num_records"]
        if counts.null_count or (pc.sum(counts).as_py() or 0) > frames.SMALL_ROWS:
            return None
        rows = table.to_pyarrow_table()
        if not rows.num_rows:
            return self._schema.empty_table()
        return pa.table([_column(rows, field) for field in self._schema], schema=self._schema)

    def of_days(self, days: Sequence[date]) -> pa.Table:
        """The rows of the days with the contract's columns, those that an older table lacks null."""
        dataset = self.dataset()
        if dataset is None:
            return self._schema.empty_table()
        rows = dataset.to_table(filter=pc.field("day").isin(pa.array(days, pa.date32())))
        return pa.table([_column(rows, field) for field in self._schema], schema=self._schema)

    def of(self, rows: Sequence[dict[str, Any]]) -> pa.Table:
        """Plain rows as the contract has them."""
        return pa.Table.from_pylist(list(rows), schema=self._schema)

    @property
    def _schema(self) -> pa.Schema:
        every = to_arrow_schema(self.contract.schema, timezone="UTC")
        return pa.schema([field.remove_metadata() for field in every])

    def append(self, rows: pa.Table, intent: str | None = None) -> None:
        """Appends rows; a second append with the same `intent` is none."""
        table = self.opened()
        if intent is None:
            write_deltalake(table, rows, mode="append", schema_mode="merge")
        elif table.transaction_version(intent) is None:
            once = CommitProperties(app_transactions=[Transaction(intent, 1)])
            write_deltalake(table, rows, mode="append", schema_mode="merge", commit_properties=once)

    def commit(self, adds: Sequence[AddAction], intent: str) -> None:
        """Adds data files that lie in the table's folder already; a second commit with the same `intent` is none."""
        table = self.opened()
        if table.transaction_version(intent) is None:
            once = CommitProperties(app_transactions=[Transaction(intent, 1)])
            actions: list[AddAction | RemoveAction] = list(adds)
            partitions = list(self.contract.partitions)
            table.create_write_transaction(actions, "append", table.schema(), partitions, commit_properties=once)

    def replace(self, rows: pa.Table, days: Sequence[date | str] | None = None) -> bool:
        """Replaces the rows of the days or months (all when None) unless they are equal; whether a write was made."""
        table = self.opened()
        if self._holds(table, rows, days):
            return False
        of_days = None if days is None else parts_list(self.contract.partitions[0], days)
        write_deltalake(table, rows, mode="overwrite", predicate=of_days, schema_mode="merge" if days else "overwrite")
        return True

    def replace_kind(self, rows: pa.Table, kind: str) -> bool:
        """Replaces the rows of one `kind` unless they are already equal; the others are not touched.

        Args:
            rows: The new rows, all of this kind.
            kind: Value of the column `kind`, a word of ours.
        """
        dataset = self.dataset()
        held = self._schema.empty_table() if dataset is None else dataset.to_table(filter=pc.field("kind") == kind)
        if contents(pa.table([_column(held, field) for field in self._schema], schema=self._schema)) == contents(rows):
            return False
        write_deltalake(self.opened(), rows, mode="overwrite", predicate=f"kind = '{kind}'", schema_mode="merge")
        return True

    def _holds(self, table: DeltaTable, rows: pa.Table, days: Sequence[date | str] | None) -> bool:
        """Whether the table's rows of the days are these; never of a table without any, so that it comes to be."""
        if table.version() == 0 and not table.file_uris():
            return False
        dataset = table.to_pyarrow_dataset()
        if not set(rows.column_names) <= set(dataset.schema.names):
            return False
        of_days = None if days is None else self._within(days)
        if dataset.count_rows(filter=of_days) != rows.num_rows:
            return False
        return contents(dataset.to_table(columns=rows.column_names, filter=of_days)) == contents(rows)

    def _within(self, days: Sequence[date | str]) -> pc.Expression:
        name = self.contract.partitions[0]
        return pc.field(name).isin(pa.array(days, self._schema.field(name).type))


def _without_null_bounds(dataset: Any) -> Any:  # noqa: ANN401
    """The dataset without files' bounds, where a file has them for a part of its columns only, as the raw ones do.

    deltalake 1.6 guards a column without statistics by `line_no >= null`: a filter on it would find nothing, silently.
    What remains to skip files by are the partitions; row groups are skipped by their own statistics.
    """
    fragments = list(dataset.get_fragments())
    if not any("null[" in str(f.partition_expression) for f in fragments):
        return dataset
    made = [
        dataset.format.make_fragment(
            f.path, filesystem=f.filesystem, partition_expression=_partition(f.partition_expression, dataset.schema)
        )
        for f in fragments
    ]
    return ds.FileSystemDataset(made, dataset.schema, dataset.format, filesystem=dataset.filesystem)


def _partition(expression: pc.Expression, schema: pa.Schema) -> pc.Expression:
    """What an expression says of a file's partition."""
    found = pc.scalar(True)
    for name, value in ds.get_partition_keys(expression).items():
        column = pc.field(name)
        of = column.is_null() if value is None else column == pa.scalar(value, schema.field(name).type)
        found = found & of
    return found


def _column(rows: pa.Table, field: pa.Field) -> pa.ChunkedArray | pa.Array:
    return rows[field.name].cast(field.type) if field.name in rows.schema.names else pa.nulls(len(rows), field.type)


def in_lake(lake: str, contract: Table) -> LightTable:
    """The table of a lake."""
    return LightTable(contract, f"{lake.rstrip('/')}/{contract.name}")


def contents(rows: pa.Table) -> list[str]:
    """The rows as sorted text, the entries of maps in order."""
    maps = {field.name for field in rows.schema if pa.types.is_map(field.type)}
    return sorted(repr([_in_order(v) if k in maps else v for k, v in row.items()]) for row in rows.to_pylist())


def _in_order(entries: Any) -> Any:  # noqa: ANN401
    return entries if entries is None else sorted(entries)
