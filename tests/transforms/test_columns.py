"""Fields of structured records, and seconds of times."""

from pyspark.sql import functions as F

from firstfault.transforms.columns import field, seconds
from tests.frames import frame, rows


def test_a_field_is_trimmed_and_null_when_empty_unset_or_absent(spark):
    given = frame(
        spark,
        "i int, fields map<string,string>",
        [
            {"i": 0, "fields": {"State": "  FAILED "}},
            {"i": 1, "fields": {"State": " "}},
            {"i": 2, "fields": {"State": "UnKnown"}},
            {"i": 3, "fields": {"Other": "x"}},
            {"i": 4, "fields": {"State": "None assigned"}},
            {"i": 5, "fields": None},
        ],
    )
    found = rows(given.select("i", field("State", "unknown").alias("f")))
    assert found == [(0, "FAILED"), (1, None), (2, None), (3, None), (4, "None assigned"), (5, None)]


def test_seconds_keep_microseconds(spark):
    given = frame(spark, "t timestamp", [{"t": "1970-01-02 00:00:01.25"}, {"t": None}])
    assert rows(given.select(seconds("t"), (seconds(F.col("t")) - 86_400))) == [(86401.25, 1.25), (None, None)]
