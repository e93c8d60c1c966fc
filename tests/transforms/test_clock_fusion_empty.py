"""A day whose witnesses all lie beside it, or speak of no clock, has no interval, and its columns their types."""

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest
from pyspark.sql.pandas.types import to_arrow_schema

from firstfault.transforms.clock_fusion import _INTERVAL, fuse_day

MIDNIGHT = datetime(2026, 11, 20, tzinfo=UTC)
BEFORE = MIDNIGHT - timedelta(hours=2)
"""Within the overlap of the day."""
SCHEMA = pa.schema(
    {
        **dict.fromkeys(("cluster", "node", "source", "kind", "group_id"), pa.string()),
        **dict.fromkeys(("t", "day_start"), pa.timestamp("us", "UTC")),
        **dict.fromkeys(("value_s", "sigma_s"), pa.float64()),
        "n": pa.int64(),
    }
)


@pytest.mark.parametrize(
    ("kind", "nodes"),
    [("telemetry", ["n1"]), ("arrival", ["n1"]), ("schedule", ["n1"]), ("told_step", ["n1"]), ("step", ["n1", "n2"])],
)
def test_no_interval_has_the_columns_of_one(kind, nodes):
    said = {"cluster": "c", "source": "*", "kind": kind, "group_id": "g", "t": BEFORE, "value_s": 0.2, "sigma_s": 0.01,
            "n": 1, "day_start": MIDNIGHT}  # fmt: skip
    made = fuse_day(pa.Table.from_pylist([said | {"node": node} for node in nodes], schema=SCHEMA))
    assert made.num_rows == 0
    assert made.schema.names == _INTERVAL.names
    wanted = to_arrow_schema(_INTERVAL, timezone="UTC")
    assert {f.name: f.type for f in made.schema} == {f.name: f.type for f in wanted}
