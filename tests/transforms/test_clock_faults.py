"""Faults of clocks that someone should mend."""

import pytest

from firstfault.transforms.clock_faults import frozen_collectors, offset_faults, told_faults
from firstfault.transforms.clock_marks import CLOCK_MARKS
from firstfault.transforms.clock_offsets import CLOCK_OFFSETS
from firstfault.transforms.events import EVENTS
from tests.frames import collected, frame, pick

FOUND = ("node", "source", "fault", "t_from", "t_to", "text")


def interval(node, hour, offset_s, **given) -> dict:
    return {
        "cluster": "c", "node": node, "source": "*", "t_from": f"{hour:02d}:00:00", "t_to": f"{hour + 1:02d}:00:00",
        "day": "2026-11-20", "offset_s": offset_s, "drift_ppm": 0.0, "error_s": 0.01, "method": "marks", "n": 1,
    } | given  # fmt: skip


@pytest.fixture(scope="module")
def faults(spark):
    given = [
        *(interval("good", h, 0.04, drift_ppm=12.0) for h in (3, 4)),
        interval("off", 3, -6.5), interval("off", 4, -6.75), interval("off", 5, 0.02),
        interval("hour", 3, 3599.98), interval("quarter", 3, -20700.4),
        interval("stepped", 3, 0.6, step_s=-1.2, error_s=0.61), interval("stepped", 4, -0.02),
        interval("drifts", 3, 0.1, drift_ppm=-203.0),
        # Nothing is said of what is not known.
        interval("unsure", 3, 9.0, error_s=12.0), interval("anywhere", 3, 1800.0, error_s=900.0),
        interval("nearly", 3, 3650.0),
        interval("zoned", 3, 0.0), interval("zoned", 3, -28800.0, source="app"),
    ]  # fmt: skip
    return collected(offset_faults(frame(spark, CLOCK_OFFSETS, given)))


def test_offsets_show_steps_wrong_zones_drift_and_undisciplined_clocks(faults):
    assert pick(faults, *FOUND) == [
        ("anywhere", "*", "off", "03:00:00", "04:00:00", "off by up to 1800.000 s"),
        ("anywhere", "*", "unsure", "03:00:00", "04:00:00", "known to 900.0 s only"),
        ("drifts", "*", "drift", "03:00:00", "04:00:00", "drifts by -203 ppm"),
        ("hour", "*", "whole_hour", "03:00:00", "04:00:00", "off by 1.00 h: zone?"),
        ("nearly", "*", "off", "03:00:00", "04:00:00", "off by up to 3650.000 s"),
        ("off", "*", "off", "03:00:00", "05:00:00", "off by up to -6.750 s"),
        ("quarter", "*", "whole_hour", "03:00:00", "04:00:00", "off by -5.75 h: zone?"),
        ("stepped", "*", "step", "03:00:00", "04:00:00", "stepped by -1.200 s"),
        ("unsure", "*", "unsure", "03:00:00", "04:00:00", "known to 12.0 s only"),
        ("zoned", "app", "whole_hour", "03:00:00", "04:00:00", "off by -8.00 h: zone?"),
    ]


def test_a_daemon_that_says_so_is_believed_and_its_words_are_counted(spark):
    given = [
        {"event_id": str(n), "event_type": kind, "cluster": "c", "node": node, "t": t, "t_last": t, "count": 2}
        for n, (kind, node, t) in enumerate(
            (("clock.unsynced", "n1", "03:00:00"), ("clock.unsynced", "n1", "05:00:00"),
             ("clock.unsynced", None, "05:00:00"), ("clock.step", "n2", "05:00:00"))
        )
    ]  # fmt: skip
    assert pick(collected(told_faults(frame(spark, EVENTS, given))), *FOUND, "figure") == [
        ("n1", "*", "unsynchronised", "03:00:00", "05:00:00", "not synchronised (told 4 times)", 4.0)
    ]


def arrival(node, minute, ahead_s, **given) -> dict:
    return {
        "day": "2026-11-20", "cluster": "c", "kind": "arrival", "job_id": "_node", "key": "", "source": "journal",
        "stream_id": "s", "byte_offset": minute, "node": node, "t": f"03:{minute:02d}:00", "value_s": ahead_s, "n": 1,
    } | given  # fmt: skip


def test_a_collector_whose_stamp_stands_still_is_frozen_and_a_backlog_is_not(spark):
    given = [
        # One stamp, 03:00:30, for lines of twenty minutes.
        *(arrival("frozen", m, 60.0 * m - 30) for m in range(0, 21, 5)),
        # One stamp after all its lines: sent late, together.
        *(arrival("backlog", m, 60.0 * m - 1800) for m in range(0, 21, 5)),
        *(arrival("lively", m, -1.0) for m in range(0, 21, 5)),
        # A node five minutes fast is no frozen collector.
        *(arrival("fast", m, 300.0) for m in range(0, 21, 5)),
        *(arrival("mark", m, 60.0 * m, kind="step") for m in range(0, 21, 5)),
    ]
    assert pick(collected(frozen_collectors(frame(spark, CLOCK_MARKS, given))), *FOUND) == [
        ("frozen", "journal", "frozen_collector", "03:00:00", "03:20:00",
         "collector's stamp stands still for 1200 s of lines")
    ]  # fmt: skip
