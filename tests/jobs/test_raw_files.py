"""Files that tasks write and the driver commits: seen by all readers, once, and not before the commit."""

from datetime import UTC, datetime

import duckdb
import pyarrow as pa
import pytest
from deltalake import DeltaTable

from firstfault.jobs.lake import Lake
from firstfault.jobs.raw_files import ParquetSink, RawFile, _logged, arrow_uri, lake_filesystem
from firstfault.transforms.raw_logs import RAW_LOGS
from firstfault.transforms.raw_rows import Partitioned, file_schema
from tests.frames import moment, rows

HOUR = "2026-11-20-03"
ODD_JOBS = ["84213", "a b%/ü=x", "..", "x%2Fy", "job_id=1/hour=2"]


def piece(job: str, *messages: str, at: datetime | None = None) -> Partitioned:
    """Lines of one job in one hour."""
    schema = file_schema(RAW_LOGS)
    time = at or moment("03:00:00.001234")
    given = [
        {
            "stream_id": job,
            "byte_offset": n,
            "message": m,
            "event_time": time,
            "cluster": "c",
            "source": "app",
            "file": "f",
        }
        for n, m in enumerate(messages)
    ]
    full = [dict.fromkeys(schema.names) | row for row in given]
    return Partitioned(RAW_LOGS, (job, HOUR), pa.Table.from_pylist(full, schema=schema))


def written(root, *pieces: Partitioned, flush_bytes: int = 1 << 30) -> list[RawFile]:
    sink = ParquetSink(str(root), flush_bytes)
    for one in pieces:
        sink.add([one])
    return sink.close()


def test_every_reader_sees_the_rows_under_their_partition_whatever_the_jobs_are_called(spark, tmp_path):
    lake = Lake(spark, str(tmp_path))
    files = written(tmp_path, *(piece(job, "one", "two") for job in ODD_JOBS))
    assert len(files) == len(ODD_JOBS)
    assert not lake.exists(RAW_LOGS)
    lake.commit_files(RAW_LOGS, files, intent="b1")
    wanted = sorted((job, HOUR, m) for job in ODD_JOBS for m in ("one", "two"))
    table = lake.read(RAW_LOGS)
    assert sorted(rows(table, "job_id", "hour", "message")) == wanted
    light = duckdb.connect().register("raw_logs", DeltaTable(str(tmp_path / "raw_logs")).to_pyarrow_dataset())
    assert sorted(light.sql("select job_id, hour, message from raw_logs").fetchall()) == wanted
    for job in ODD_JOBS:
        assert table.where(table.job_id == job).count() == 2


def test_a_table_made_by_files_has_the_contracts_columns_and_comments(spark, tmp_path):
    lake = Lake(spark, str(tmp_path))
    lake.commit_files(RAW_LOGS, written(tmp_path, piece("1", "x")), intent="b1")
    made = lake.read(RAW_LOGS).schema
    assert [(f.name, f.dataType, f.metadata["comment"]) for f in made] == [
        (f.name, f.dataType, f.metadata["comment"]) for f in RAW_LOGS.fields
    ]


def test_a_second_commit_of_one_intent_is_none_and_spark_may_append_beside(spark, tmp_path):
    lake = Lake(spark, str(tmp_path))
    first = written(tmp_path, piece("1", "x"))
    lake.commit_files(RAW_LOGS, first, intent="b1")
    lake.commit_files(RAW_LOGS, written(tmp_path, piece("1", "x")), intent="b1")
    assert lake.read(RAW_LOGS).count() == 1
    lake.append(RAW_LOGS, lake.read(RAW_LOGS), intent="b2")
    lake.commit_files(RAW_LOGS, written(tmp_path, piece("2", "y")), intent="b2")
    assert lake.read(RAW_LOGS).count() == 2


def test_least_and_greatest_values_let_a_query_skip_files_and_never_skip_a_row(spark, tmp_path):
    times = [moment("03:00:00.000999"), moment("03:30:00"), moment("03:59:59.999999")]
    files = written(tmp_path, *(piece(str(n), "x", at=t) for n, t in enumerate(times)))
    lake = Lake(spark, str(tmp_path))
    lake.commit_files(RAW_LOGS, files, intent="b1")
    for time in times:
        exact = lake.read(RAW_LOGS).where(f"event_time = timestamp'{time:%Y-%m-%d %H:%M:%S.%f}'")
        assert exact.count() == 1
        assert len(exact.inputFiles()) <= 1


def test_much_is_written_in_several_files_and_little_in_one_a_partition(tmp_path):
    pieces = [piece("1", "x" * 1000) for _ in range(10)]
    assert [f.rows for f in written(tmp_path, *pieces)] == [10]
    assert sum(f.rows for f in written(tmp_path, *pieces, flush_bytes=3000)) == 10
    assert len(written(tmp_path, *pieces, flush_bytes=3000)) > 2


def test_the_way_to_the_driver_changes_nothing(tmp_path):
    [file] = written(tmp_path, piece("1", "x"))
    assert RawFile.from_json(file.to_json()) == file
    assert (tmp_path / "raw_logs" / file.path).stat().st_size == file.size_bytes


@pytest.mark.parametrize(
    ("micros", "least", "greatest"),
    [
        (0, "00.000Z", "00.000Z"),
        (1, "00.000Z", "00.001Z"),
        (999_999, "00.999Z", "01.000Z"),
        (5000, "00.005Z", "00.005Z"),
    ],
)
def test_times_in_the_log_enclose_those_of_the_file(micros, least, greatest):
    time = datetime(2026, 11, 20, 3, 0, 0, micros, UTC)
    assert _logged(time, up=False) == f"2026-11-20T03:00:{least}"
    assert _logged(time, up=True) == f"2026-11-20T03:00:{greatest}"


def test_the_lake_of_spark_and_of_arrow_are_one_place(tmp_path):
    assert lake_filesystem(f"{tmp_path}/")[1] == str(tmp_path)
    assert lake_filesystem(f"file://{tmp_path}/lake")[1] == f"{tmp_path}/lake"
    assert [arrow_uri(f"{scheme}://b/lake") for scheme in ("s3a", "s3", "gs", "abfss")] == [
        f"{scheme}://b/lake" for scheme in ("s3", "s3", "gs", "abfss")
    ]
