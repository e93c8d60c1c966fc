"""Shares and their uncertainty, beside scipy's."""

import pytest
from pyspark.sql import functions as F
from scipy.stats import binomtest, false_discovery_control, fisher_exact

from firstfault.transforms.proportions import fisher_less, share, wilson, with_discovery_rate
from tests.frames import collected, frame, rows

COUNTS = [(0, 0), (0, 3), (3, 3), (1, 4), (17, 20), (18, 45), (999, 1000), (12, 2000)]


def test_wilson_intervals_are_those_of_scipy(spark):
    counts = frame(spark, "k long, n long", [{"k": k, "n": n} for k, n in COUNTS])
    low, high = wilson(F.col("k"), F.col("n"))
    found = {
        (r["k"], r["n"]): (r["low"], r["high"])
        for r in collected(counts.select("k", "n", low.alias("low"), high.alias("high")))
    }
    assert found.pop((0, 0)) == (None, None)
    for (k, n), (a, b) in found.items():
        interval = binomtest(k, n).proportion_ci(method="wilson")
        assert (a, b) == (pytest.approx(interval.low, abs=1e-6), pytest.approx(interval.high, abs=1e-6))


def test_a_share_of_nothing_is_null(spark):
    counts = frame(spark, "k long, n long", [{"k": 0, "n": 0}, {"k": 1, "n": 3}])
    assert rows(counts.select(share(F.col("k"), F.col("n")).alias("s"))) == [(0.333333,), (None,)]


TABLES = [
    (3, 10, 9, 10),
    (0, 5, 60, 60),
    (5, 5, 6, 10),
    (30, 45, 180, 200),
    (900, 1000, 11_400, 12_000),
    (1, 30, 1, 30),
]


def test_the_exact_test_is_that_of_scipy(spark):
    tests = frame(
        spark, "a long, n long, b long, m long", [dict(zip("anbm", t, strict=True)) for t in [*TABLES, (0, 0, 3, 4)]]
    )
    chance = fisher_less(*(F.col(c) for c in "anbm"))
    found = {(r["a"], r["n"], r["b"], r["m"]): r["p"] for r in collected(tests.withColumn("p", chance))}
    assert found.pop((0, 0, 3, 4)) is None
    for (a, n, b, m), p in found.items():
        wanted = fisher_exact([[a, n - a], [b, m - b]], alternative="less").pvalue
        assert p == pytest.approx(wanted, rel=1e-7, abs=1e-12)


def test_false_discoveries_are_controlled_as_scipy_does(spark):
    given = [0.001, 0.02, 0.02, 0.03, 0.4, 0.9, 1.0]
    tests = [{"family": "f", "p": p} for p in given] + [{"family": "f"}, {"family": "alone", "p": 0.04}]
    found = collected(with_discovery_rate(frame(spark, "family string, p double", tests), "p", "family"))
    wanted = dict(zip(given, (round(float(q), 6) for q in false_discovery_control(given)), strict=True))
    assert {r["p"]: r["discovery_rate"] for r in found if r["family"] == "f"} == wanted | {None: None}
    assert [r["discovery_rate"] for r in found if r["family"] == "alone"] == [0.04]
