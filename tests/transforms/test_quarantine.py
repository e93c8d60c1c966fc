"""What could not be used, with its reason."""

import hashlib

from firstfault.transforms.quarantine import build_quarantine
from firstfault.transforms.staged import STAGED
from tests.frames import frame, rows


def test_refused_units_keep_pointer_reason_hash_and_a_bounded_excerpt(spark):
    long = "ä" * 600
    refused = {
        "disposition": "quarantined", "stream_id": "s", "file": "f", "file_time": "05:00:00", "units": 1,
    }  # fmt: skip
    given = [
        refused | {"byte_offset": 0, "length": 1200, "reason": "bad_json", "message": long, "line_no": 3},
        refused | {"byte_offset": 1200, "reason": "binary", "units": 12},
        refused | {"disposition": "landed_log", "byte_offset": 5},
    ]
    columns = ("byte_offset", "length", "units", "line_no", "reason", "excerpt", "sha256")
    assert rows(build_quarantine(frame(spark, STAGED, given)), *columns) == [
        (0, 1200, 1, 3, "bad_json", "ä" * 512, hashlib.sha256(long.encode()).hexdigest()),
        (1200, None, 12, None, "binary", None, hashlib.sha256(b"").hexdigest()),
    ]
