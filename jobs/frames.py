"""Small frames from Python rows."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType


def local_frame(spark: SparkSession, rows: Sequence[Mapping[str, Any]], schema: StructType) -> DataFrame:
    """The rows as a local relation: its size is known, so joins broadcast it, and no task is run to read it."""
    table = pa.Table.from_pylist(list(rows), schema=to_arrow_schema(schema, timezone="UTC"))
    return spark.createDataFrame(table, schema)


SMALL_ROWS = 20_000
"""Up to here a frame is held by the driver: some megabytes."""


def few_rows(rows: DataFrame) -> pa.Table | None:
    """The rows in the driver, None when they are more than it should hold; one job."""
    few = rows.limit(SMALL_ROWS + 1).toArrow()
    return few if few.num_rows <= SMALL_ROWS else None


def materialised(rows: DataFrame) -> DataFrame:
    """The rows, computed once and cut off from the plan that made them; few rows become a local relation.

    Marked first and read at once, so that one job computes the rows, keeps them as they are and counts them: a
    columnar cache on the way took as long as the work itself.
    """
    held = rows.localCheckpoint(eager=False)
    few = few_rows(held)
    return held if few is None else held.sparkSession.createDataFrame(few, held.schema)
