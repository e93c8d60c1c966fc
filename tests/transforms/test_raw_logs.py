"""Where a landed line lies, and that it lands as it was written."""

import pytest

from firstfault.transforms.raw_logs import build_raw_logs, with_hour
from firstfault.transforms.staged import STAGED
from tests.frames import collected, frame, pick, rows


def test_the_hour_is_that_of_the_written_time_if_plausible_else_of_collection_else_of_the_file(spark):
    given = [
        {"line_no": 1, "event_time": "03:59:59.999", "collected_at": "04:30:00", "file_time": "05:00:00"},
        {"line_no": 2, "event_time": "1d 05:00:00", "file_time": "05:00:00"},
        {"line_no": 3, "event_time": "1d 05:00:01", "file_time": "05:00:00"},
        {"line_no": 4, "event_time": "2099-01-01 00:00:00", "collected_at": "04:30:00", "file_time": "05:00:00"},
        {"line_no": 5, "collected_at": "04:30:00", "file_time": "05:00:00"},
        {"line_no": 6, "file_time": "05:00:00"},
        {"line_no": 7, "event_time": "2019-01-01 00:00:00", "file_time": "05:00:00"},
    ]
    assert rows(with_hour(frame(spark, STAGED, given)), "line_no", "hour") == [
        (1, "2026-11-20-03"),
        (2, "2026-11-21-05"),
        (3, "2026-11-20-05"),
        (4, "2026-11-20-04"),
        (5, "2026-11-20-04"),
        (6, "2026-11-20-05"),
        (7, "2019-01-01-00"),
    ]


@pytest.fixture(scope="module")
def landed(spark):
    line = {
        "disposition": "landed_log", "job_id": "_node", "cluster": "c", "source": "kernel", "stream_id": "s",
        "file": "nodes/n1/kern.log", "file_time": "05:00:00", "node": "n1",
    }  # fmt: skip
    message = " \ttwo  spaces, ümlaut \x1b[31m and a tail \r"
    given = [
        line | {"byte_offset": 0, "line_no": 1, "message": message, "event_time": "03:00:00"},
        line | {"byte_offset": 40, "line_no": 2, "message": "", "time_basis": "none"},
        line | {"byte_offset": 41, "disposition": "quarantined"},
        line | {"byte_offset": 42, "disposition": "dropped"},
        line | {"byte_offset": 43, "disposition": "counted"},
        line | {"byte_offset": 44, "disposition": "landed_sample", "metric": "m"},
    ]
    return message, collected(build_raw_logs(frame(spark, STAGED, given)))


def test_only_landed_lines_are_rows_and_they_are_verbatim(landed):
    message, found = landed
    columns = ("stream_id", "byte_offset", "line_no", "message", "event_time", "hour")
    assert pick(found, *columns) == [
        ("s", 0, 1, message, "03:00:00", "2026-11-20-03"),
        ("s", 40, 2, "", None, "2026-11-20-05"),
    ]
