"""Which offset an event is corrected by, and how sure it is."""

import pytest
from pyspark.sql import functions as F

from firstfault.transforms.clock_offsets import CLOCK_OFFSETS, REACH_PPM, best_offsets, error_at, offset_at, reaching
from tests.frames import collected, frame, moment, pick

COLUMNS = ("node", "source", "t_from", "t_to", "known_from", "known_to")


def interval(node, start, end, **given) -> dict:
    return {
        "cluster": "c", "node": node, "source": "*", "t_from": start, "t_to": end, "offset_s": 1.0, "drift_ppm": 0.0,
        "error_s": 0.01, "shared_error_s": 0.0, "method": "telemetry", "n": 1,
    } | given  # fmt: skip


@pytest.fixture(scope="module")
def given(spark):
    rows = [
        interval("n1", "03:00:00", "04:00:00", drift_ppm=100.0),
        interval("n1", "06:00:00", "07:00:00"),
        interval("n1", "03:00:00", "04:00:00", source="app"),
    ]
    return frame(spark, CLOCK_OFFSETS, rows)


def test_intervals_have_no_gaps_and_the_ends_reach_a_day_further(given):
    assert pick(collected(reaching(given)), *COLUMNS) == [
        ("n1", "*", "06:00:00", "2026-11-21 07:00:00", "06:00:00", "07:00:00"),
        ("n1", "*", "2026-11-19 03:00:00", "06:00:00", "03:00:00", "04:00:00"),
        ("n1", "app", "2026-11-19 03:00:00", "2026-11-21 04:00:00", "03:00:00", "04:00:00"),
    ]
    assert {r["source"] for r in collected(best_offsets(given))} == {"*"}


def test_an_offset_drifts_within_its_interval_only_and_is_less_sure_beyond_it(given):
    first = best_offsets(given).where("drift_ppm > 0").alias("o")
    times = ("02:00:00", "03:00:00", "03:30:00", "05:00:00")
    at = [F.lit(moment(t)) for t in times]
    row = first.select(*(offset_at(t, "o") for t in at), *(error_at(t, "o") for t in at)).first()
    assert [round(x, 6) for x in row[:4]] == [1.0, 1.0, 1.18, 1.36]
    hour = 3600 * REACH_PPM * 1e-6
    assert [round(x, 6) for x in row[4:]] == [round(0.01 + hour, 6), 0.01, 0.01, round(0.01 + hour, 6)]
