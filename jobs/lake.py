"""The lake: Delta tables read and written by contract; a write that would change nothing is not made."""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from delta.tables import DeltaTable
from deltalake.transaction import AddAction
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import MapType

from firstfault.jobs.days import parts_list
from firstfault.jobs.frames import few_rows
from firstfault.jobs.light import LightTable
from firstfault.jobs.raw_files import RawFile
from firstfault.transforms.contract import Table


@dataclass(frozen=True)
class Lake:
    """A folder (or object-store prefix) of Delta tables."""

    spark: SparkSession
    root: str

    def path(self, table: Table) -> str:
        """Where the table lies."""
        return f"{self.root.rstrip('/')}/{table.name}"

    def exists(self, table: Table) -> bool:
        """Whether the table has ever been written."""
        return self._light(table).exists()

    def read(self, table: Table) -> DataFrame:
        """The rows of the table as it is now; none when it was never written."""
        # Raw tables have a file an hour and home: their log is long, and they are read by partition.
        few = None if self.exists(table) and "hour" in table.partitions else self._light(table).few()
        if few is not None:
            return self.spark.createDataFrame(few, table.schema)
        return self._whole(table, self.spark.read.format("delta").load(self.path(table)))

    @staticmethod
    def _whole(table: Table, rows: DataFrame) -> DataFrame:
        # A table of an earlier version lacks the columns that were added since.
        added = [f for f in table.fields if f.name not in rows.columns]
        return rows.withColumns({f.name: F.lit(None).cast(f.dataType) for f in added}) if added else rows

    def append(self, table: Table, rows: DataFrame, *, intent: str | None = None) -> None:
        """Appends rows; a second append with the same `intent` is none."""
        ready = table.conform(rows)
        few = few_rows(ready)
        app_id = _app_id(table, intent) if intent else None
        if few is not None:
            self._light(table).append(few, app_id)
            return
        if table.partitions:
            # One file a partition, not one per task and partition; a partition that is too large is split.
            ready = ready.hint("rebalance", *table.partitions)
        writer = ready.write.format("delta").mode("append").option("mergeSchema", "true")
        if table.partitions:
            writer = writer.partitionBy(*table.partitions)
        if app_id:
            writer = writer.option("txnAppId", app_id).option("txnVersion", "1")
        writer.save(self.path(table))

    def commit_files(self, table: Table, files: Sequence[RawFile], *, intent: str) -> None:
        """Appends data files that lie in the table's folder already; a second commit with the same `intent` is none.

        delta-rs makes the commit: Spark has no way to add files that it did not write.
        """
        now_ms = int(time.time() * 1000)
        adds = [
            AddAction(f.path, f.size_bytes, f.partition, now_ms, data_change=True, stats=json.dumps(f.stats))
            for f in files
        ]
        self._light(table).commit(adds, _app_id(table, intent))

    def read_files(self, table: Table, files: Sequence[RawFile]) -> DataFrame:
        """The rows of data files that are written and perhaps not committed yet."""
        root = self.path(table)
        reader = self.spark.read.schema(table.schema).option("basePath", root)
        return reader.parquet(*(f"{root}/{file.path}" for file in files))

    def replace(self, table: Table, rows: DataFrame, days: Sequence[date | str] | None = None) -> bool:
        """Replaces the rows of the days (all rows when None) unless they are already equal.

        Args:
            table: Contract of the rows.
            rows: The new rows; all lie on the days.
            days: Values of the table's first partition column: days, or months as `2026-11`.

        Returns:
            Whether a write was made.
        """
        new = table.conform(rows).persist()
        try:
            few = few_rows(new)
            if few is not None:
                return self._light(table).replace(few, days)
            where = parts_list(table.partitions[0], days) if days is not None else None
            if self.exists(table):
                old = self.read(table)
                if _fingerprint(old.where(where) if where else old) == _fingerprint(new):
                    return False
            writer = new.write.format("delta").mode("overwrite").option("mergeSchema", "true")
            if table.partitions:
                writer = writer.partitionBy(*table.partitions)
            if where and self.exists(table):
                writer = writer.option("replaceWhere", where)
            writer.save(self.path(table))
            return True
        finally:
            new.unpersist()

    def _light(self, table: Table) -> LightTable:
        return LightTable(table, self.path(table))

    def merge(self, table: Table, rows: DataFrame) -> None:
        """Inserts new keys and updates rows that differ."""
        if not self.exists(table):
            self.append(table, rows)
            return
        new = table.conform(rows)
        if not new.exceptAll(self.read(table)).limit(1).count():
            return
        same_key = " and ".join(f"old.`{k}` <=> new.`{k}`" for k in table.keys)
        differs = " or ".join(f"not (old.`{c}` <=> new.`{c}`)" for c in table.columns if c not in table.keys)
        (
            DeltaTable.forPath(self.spark, self.path(table))
            .alias("old")
            .merge(new.alias("new"), same_key)
            .whenMatchedUpdateAll(condition=differs)
            .whenNotMatchedInsertAll()
            .execute()
        )

    def delete(self, table: Table, keys: DataFrame) -> None:
        """Removes the rows with these keys."""
        gone = keys.persist()
        if gone.limit(1).count():
            same_key = " and ".join(f"old.`{k}` <=> gone.`{k}`" for k in table.keys)
            old = DeltaTable.forPath(self.spark, self.path(table)).alias("old")
            old.merge(gone.alias("gone"), same_key).whenMatchedDelete().execute()
        gone.unpersist()

    def tables(self) -> list[str]:
        """Names of the tables that exist below a local root; a folder without a commit is none."""
        return sorted(p.parent.name for p in Path(self.root).glob("*/_delta_log") if any(p.glob("*.json")))


@dataclass(frozen=True)
class PinnedLake(Lake):
    """A lake as it was at one moment, by Delta's time travel: what nights write meanwhile is not seen.

    Attributes:
        versions: Table name -> version of its log; a table that is not named was not there.
    """

    versions: Mapping[str, int] = field(default_factory=dict)

    def exists(self, table: Table) -> bool:
        """Whether the table was there."""
        return table.name in self.versions

    def read(self, table: Table) -> DataFrame:
        """The rows of the table as it was; none when it was not there."""
        if not self.exists(table):
            return self.spark.createDataFrame([], table.schema)
        reader = self.spark.read.format("delta").option("versionAsOf", str(self.versions[table.name]))
        return self._whole(table, reader.load(self.path(table)))


def _app_id(table: Table, intent: str) -> str:
    return f"firstfault/{table.name}/{intent}"


def _fingerprint(rows: DataFrame) -> Sequence[object]:
    """Row count and order-free hash of the content; maps are compared by their sorted entries."""
    columns = [
        F.array_sort(F.map_entries(f.name)).alias(f.name) if isinstance(f.dataType, MapType) else F.col(f.name)
        for f in rows.schema.fields
    ]
    row_hash = F.xxhash64(F.to_json(F.struct(*columns), {"ignoreNullFields": "false"}))
    counted = rows.select(row_hash.alias("h")).agg(
        F.count("*"), F.sum(F.col("h").cast("decimal(38,0)")), F.bit_xor("h")
    )
    return tuple(counted.first() or ())
