"""Light reads of files whose log has bounds for a part of their columns only."""

import json

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from deltalake.transaction import AddAction

from firstfault.jobs.light import LightTable, in_lake
from firstfault.transforms.raw_logs import RAW_LOGS


@pytest.fixture
def raw(lake) -> LightTable:
    """Raw lines in two partitions; the log knows the bounds of their offsets and of nothing else."""
    table = in_lake(str(lake), RAW_LOGS)
    table.opened()
    adds = []
    for job, offset in (("1", 0), ("2", 50)):
        rows = table.of([{"stream_id": f"s{job}", "byte_offset": offset, "line_no": 7, "source": "app"}])
        path = f"job_id={job}/hour=2026-11-20-03/part.parquet"
        file = lake / RAW_LOGS.name / path
        file.parent.mkdir(parents=True)
        pq.write_table(rows.drop_columns(["job_id", "hour"]), file)
        stats = {
            "numRecords": 1, "minValues": {"byte_offset": offset}, "maxValues": {"byte_offset": offset},
            "nullCount": {"byte_offset": 0},
        }  # fmt: skip
        where = {"job_id": job, "hour": "2026-11-20-03"}
        adds.append(AddAction(path, file.stat().st_size, where, 0, data_change=True, stats=json.dumps(stats)))
    table.commit(adds, "test")
    return table


@pytest.mark.parametrize(
    ("condition", "jobs"),
    [
        (pc.field("line_no") == 7, ["1", "2"]),
        (pc.field("source") == "app", ["1", "2"]),
        ((pc.field("line_no") >= 7) & (pc.field("byte_offset") > 10), ["2"]),
        (pc.field("job_id") == "1", ["1"]),
        (pc.field("line_no") == 8, []),
    ],
)
def test_a_filter_on_a_column_without_bounds_finds_its_rows(raw, condition, jobs):
    found: pa.Table = raw.dataset().to_table(filter=condition)
    assert sorted(found["job_id"].to_pylist()) == jobs


def test_files_of_other_partitions_are_still_skipped(raw):
    fragments = list(raw.dataset().get_fragments(filter=pc.field("job_id") == "2"))
    assert [f.path.rpartition("job_id=")[2] for f in fragments] == ["2/hour=2026-11-20-03/part.parquet"]
