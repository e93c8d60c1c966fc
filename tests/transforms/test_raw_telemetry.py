"""Samples as they were exported."""

from firstfault.transforms.raw_telemetry import build_raw_telemetry
from firstfault.transforms.staged import STAGED
from tests.frames import frame, rows


def test_only_samples_are_rows_with_labels_value_and_units(spark):
    sample = {
        "disposition": "landed_sample", "job_id": "_node", "cluster": "c", "source": "prometheus", "stream_id": "s",
        "file": "metrics/a.json", "file_time": "05:00:00", "byte_offset": 7, "metric": "DCGM_FI_DEV_XID_ERRORS",
    }  # fmt: skip
    given = [
        sample | {"units": 1, "value": 79.0, "labels": {"gpu": "0"}, "device": "0000:3b:00", "event_time": "03:00:00"},
        sample | {"units": 0, "value": None, "labels": None, "device": "0000:5d:00"},
        sample | {"disposition": "landed_log"},
    ]
    columns = ("device", "units", "value", "labels", "hour")
    assert rows(build_raw_telemetry(frame(spark, STAGED, given)), *columns) == [
        ("0000:3b:00", 1, 79.0, {"gpu": "0"}, "2026-11-20-03"),
        ("0000:5d:00", 0, None, None, "2026-11-20-05"),
    ]
