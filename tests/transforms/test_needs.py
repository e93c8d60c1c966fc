"""What anchors ask of the events around them, and that nothing they could find is left out."""

import pytest
from pyspark.sql import functions as F

from firstfault.transforms.needs import MAX_SLOTS, WIDE, needs, slot_of_event
from firstfault.transforms.rule_tables import PROBES, SPEC_PROBES
from tests.frames import collected, frame, moment

MIDNIGHT_S = int(moment("00:00:00").timestamp())
BUCKET_S = 300
NODE = ("node", None, BUCKET_S, "node")


def probe_row(number, selector, lo_s, hi_s, how=NODE) -> dict:
    names = ("kind", "kind_arg", "bucket_s", "distinct_by")
    given = {"probe_id": number, "selector_id": selector, "lo_s": lo_s, "hi_s": hi_s, "is_ordered": False}
    return given | dict(zip(names, how, strict=True))


PROBE_ROWS = [
    probe_row(0, 10, -60.0, 0.0),
    probe_row(1, 10, 0.0, 600.0),
    probe_row(2, 10, 0.0, 60.0, ("job", None, BUCKET_S, "rank")),
    probe_row(3, 11, 0.0, 60.0),
    probe_row(4, 12, -7200.0, 0.0, ("other_jobs_node", None, 3600, "job")),
    probe_row(5, 13, 0.0, 60.0),
]
OF_SPEC = {0: (0, 1, 2, 4), 1: (3,), 2: (5,)}
ANCHOR = "uid string, spec_id int, t_low timestamp, t_high timestamp"
ANCHORS = [("a", 0, "03:10:00", "03:10:00"), ("a", 0, "05:00:00", "05:00:10"), ("b", 1, "00:00:00", "23:59:59")]


def anchors_of(spark, rows):
    names = ("uid", "spec_id", "t_low", "t_high")
    plain = frame(spark, ANCHOR, [dict(zip(names, row, strict=True)) for row in rows])
    return plain.select("uid", "spec_id", F.struct("t_low", "t_high").alias("first"))


@pytest.fixture(scope="module")
def asked(spark):
    """What is asked within and beyond the attempts; buckets as seconds of the day."""
    of_specs = [{"spec_id": spec, "probe_id": probe} for spec, probes in OF_SPEC.items() for probe in probes]
    tables = (frame(spark, SPEC_PROBES, of_specs), frame(spark, PROBES, PROBE_ROWS))
    anchors = anchors_of(spark, ANCHORS)
    return {beyond: collected(needs(anchors, *tables, beyond=beyond)) for beyond in (False, True)}


def asks_of(rows, **who):
    (row,) = (r for r in rows if all(r[k] == v for k, v in who.items()))
    return {
        (kind, width, by): tuple(slot * width - MIDNIGHT_S for slot in slots)
        for kind, _, width, by, *slots in map(tuple, row["asks"])
    }


def test_each_way_of_folding_has_the_span_of_all_windows_of_the_attempt(asked):
    # A bucket of 300 s is kept on each side, for events whose own interval reaches over its border.
    hour = 3600
    assert asks_of(asked[False], uid="a", selector_id=10) == {
        ("node", BUCKET_S, "node"): (3 * hour + 5 * 60 - 300, 5 * hour + 10 * 60 + 300),
        ("job", BUCKET_S, "rank"): (3 * hour + 10 * 60 - 300, 5 * hour + 300),
    }


def test_what_no_anchor_of_the_attempt_asks_for_is_not_looked_for(asked):
    assert sorted((r["uid"], r["selector_id"]) for r in asked[False]) == [("a", 10), ("b", 11)]


def test_beyond_the_attempt_all_anchors_ask_together(asked):
    (row,) = asked[True]
    assert "uid" not in row
    assert asks_of([row], selector_id=12) == {("other_jobs_node", 3600, "job"): (3600 - 3600, 5 * 3600 + 3600)}


def test_an_anchor_of_a_wide_interval_touches_a_bounded_number_of_buckets(spark):
    anchors = anchors_of(spark, [("a", 0, "00:00:00", "23:59:59")])
    narrow = [probe_row(0, 10, 0.0, 1.0, ("node", None, 1, "node"))]
    tables = (frame(spark, SPEC_PROBES, [{"spec_id": 0, "probe_id": 0}]), frame(spark, PROBES, narrow))
    ((ask,),) = (row["asks"] for row in collected(needs(anchors, *tables, beyond=False)))
    *_, first, last = ask
    assert last - first == MAX_SLOTS


def test_an_event_lies_in_the_bucket_of_its_time_unless_its_interval_is_wider(spark):
    times = [("03:04:59", 0.0), ("03:05:00", 0.0), ("03:05:00", 150.0), ("03:05:00", 151.0)]
    rows = [(n, moment(t).timestamp(), half_s) for n, (t, half_s) in enumerate(times)]
    events = spark.createDataFrame(rows, "n int, s double, half_s double").select(
        "n",
        F.timestamp_seconds("s").alias("t"),
        F.timestamp_seconds(F.col("s") - F.col("half_s")).alias("t_low"),
        F.timestamp_seconds(F.col("s") + F.col("half_s")).alias("t_high"),
        F.lit(BUCKET_S).alias("bucket_s"),
    )
    at = MIDNIGHT_S // BUCKET_S + 3 * 3600 // BUCKET_S
    found = collected(events.select("n", slot_of_event().alias("bucket")))
    assert [r["bucket"] for r in sorted(found, key=lambda r: r["n"])] == [at, at + 1, at + 1, WIDE]
