"""How long attempts waited for their verdict."""

from firstfault.transforms.judged import hours_to_diagnosis
from tests.frames import frame, rows


def test_an_attempt_waits_for_the_first_night_that_was_done_behind_it(spark):
    attempts = [
        {"cluster": "c", "job_id": job, "attempt": 0, "end": end}
        for job, end in {
            "before": "2026-11-20 01:00:00", "between": "2026-11-21 00:00:00", "at": "2026-11-20 03:00:00",
            "old": "2026-10-01 00:00:00", "after": "2026-11-23 00:00:00", "runs": None,
        }.items()
    ]  # fmt: skip
    night = {"job": "nightly", "status": "done"}
    runs = [
        night | {"ended_at": "2026-11-20 03:00:00"},
        night | {"ended_at": "2026-11-22 03:00:00"},
        night | {"ended_at": "2026-11-21 01:00:00", "status": "failed"},
        night | {"ended_at": "2026-11-21 02:00:00", "job": "maintain"},
    ]
    given = frame(spark, "cluster string, job_id string, attempt int, end timestamp", attempts)
    nights = frame(spark, "job string, status string, ended_at timestamp", runs)
    assert rows(hours_to_diagnosis(given, nights), "job_id", "hours_to_diagnosis") == [
        ("at", 0.0), ("before", 2.0), ("between", 27.0),
    ]  # fmt: skip
