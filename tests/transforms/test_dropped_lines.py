"""What was not landed, counted."""

from firstfault.transforms.dropped_lines import build_dropped_lines
from firstfault.transforms.staged import STAGED
from tests.frames import frame, rows

GONE = {
    "disposition": "dropped", "batch_id": "b", "cluster": "c", "job_id": "7", "source": "app", "units": 1, "length": 10,
    "file_time": "05:00:00", "reason": "chatter.ping", "message": "ping #",
}  # fmt: skip


def test_lines_are_counted_per_hour_rule_and_template_and_structure_has_none(spark):
    given = [
        GONE | {"event_time": "03:00:00", "units": 5, "length": 70},
        GONE | {"event_time": "03:00:00", "stream_id": "other", "units": 2},
        GONE | {"event_time": "04:00:00"},
        GONE | {"event_time": "04:00:00", "message": "pong #"},
        GONE | {"event_time": "1d 09:00:00"},  # a day after the file was written: not believed
        GONE | {"reason": "structure.header", "message": "JobID|State", "source": "sacct"},
        GONE | {"reason": "structure.header", "message": "JobID|User", "source": "sacct"},
        GONE | {"reason": "telemetry.blank", "message": None, "length": None},
        GONE | {"disposition": "landed_log", "event_time": "03:00:00"},
    ]
    columns = ("day", "hour", "source", "rule", "template", "lines", "bytes")
    assert rows(build_dropped_lines(frame(spark, STAGED, given)), *columns) == [
        ("2026-11-20", "2026-11-20-03", "app", "chatter.ping", "ping #", 7, 80),
        ("2026-11-20", "2026-11-20-04", "app", "chatter.ping", "ping #", 1, 10),
        ("2026-11-20", "2026-11-20-04", "app", "chatter.ping", "pong #", 1, 10),
        ("2026-11-20", "2026-11-20-05", "app", "chatter.ping", "ping #", 1, 10),
        ("2026-11-20", "2026-11-20-05", "app", "telemetry.blank", "", 1, None),
        ("2026-11-20", "2026-11-20-05", "sacct", "structure.header", "", 2, 20),
    ]
