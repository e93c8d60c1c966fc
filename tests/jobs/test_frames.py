"""Frames that are computed once and kept."""

import pytest

from firstfault.jobs.frames import SMALL_ROWS, few_rows, materialised


def counted(spark, n):
    """A frame of n rows in three partitions, and how many of its rows were computed so far."""
    seen = spark.sparkContext.accumulator(0)

    def looked_at(number):
        seen.add(1)
        return (number,)

    rows = spark.sparkContext.parallelize(range(n), 3).map(looked_at)
    return spark.createDataFrame(rows, "n int"), seen


@pytest.mark.parametrize("n", [0, 7, SMALL_ROWS, 3 * SMALL_ROWS + 5])
def test_rows_are_computed_once_however_often_they_are_read(spark, n):
    frame, seen = counted(spark, n)
    made = materialised(frame)
    assert seen.value == n
    assert (made.count(), made.selectExpr("sum(n)").first()[0]) == (n, sum(range(n)) if n else None)
    assert seen.value == n


@pytest.mark.parametrize(("n", "scan"), [(7, "LocalTableScan"), (SMALL_ROWS + 1, "Scan ExistingRDD")])
def test_few_rows_are_a_local_relation_and_many_no_longer_know_what_made_them(spark, n, scan):
    made = materialised(spark.range(n).selectExpr("id * 2 AS twice").where("twice >= 0"))
    plan = made._jdf.queryExecution().executedPlan().toString()
    assert scan in plan
    assert "Range" not in plan
    assert made.columns == ["twice"]


def test_the_driver_holds_only_few_rows(spark):
    assert few_rows(spark.range(SMALL_ROWS)).num_rows == SMALL_ROWS
    assert few_rows(spark.range(SMALL_ROWS + 1)) is None
