"""Shares with their uncertainty, as column expressions: the Wilson interval, Fisher's exact test, false discoveries."""

import math
from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

Z_95 = 1.959963984540054
"""The normal quantile of a two-sided interval of 95 %."""
_EXACT_TO = 20
"""Spark's `factorial` ends here; beyond it Stirling's series is good to twelve digits."""


def share(part: Column, whole: Column) -> Column:
    """Part of the whole, rounded; null where there is no whole."""
    return F.round(F.try_divide(part.cast("double"), whole.cast("double")), 6)


def wilson(part: Column, whole: Column) -> tuple[Column, Column]:
    """Lower and upper end of the 95 % interval of a share; null where there is no whole.

    E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22 (1927) 209-212: unlike
    the textbook interval it stays within 0 and 1, and says something of 0 of 3 and of 3 of 3.
    """
    n = F.when(whole > 0, whole.cast("double"))
    p, z2 = part / n, Z_95 * Z_95
    middle = (p + z2 / (2 * n)) / (1 + z2 / n)
    half = Z_95 * F.sqrt(p * (1 - p) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    # At 0 and at n the ends are 0 and 1 but for the last digit; `greatest` passes over null.
    low, high = F.greatest(middle - half, F.lit(0.0)), F.least(middle + half, F.lit(1.0))
    return F.when(n.isNotNull(), F.round(low, 6)), F.when(n.isNotNull(), F.round(high, 6))


def fisher_less(part: Column, whole: Column, reference_part: Column, reference_whole: Column) -> Column:
    """Chance of a share as low as this one, or lower, if both came from one: Fisher's exact test, one-sided.

    R. A. Fisher, "Statistical Methods for Research Workers", section 21.02. It holds for any size of the groups, where
    tests by the normal curve need some ten of each kind.
    """
    k1, n1, k0, n0 = (c.cast("long") for c in (part, whole, reference_part, reference_whole))
    right, every = k1 + k0, n1 + n0
    least = F.greatest(F.lit(0).cast("long"), n1 - (every - right))
    fixed = _log_choose(every, n1)

    def chance(k: Column) -> Column:
        return F.exp(_log_choose(right, k) + _log_choose(every - right, n1 - k) - fixed)

    summed = F.aggregate(F.sequence(least, k1), F.lit(0.0), lambda total, k: total + chance(k))
    return F.when((n1 > 0) & (n0 > 0), F.least(summed, F.lit(1.0)))


def with_discovery_rate(tests: DataFrame, chance: str, *family: str) -> DataFrame:
    """The tests with `discovery_rate`: the rate of false alarms at which each would just be raised, within its family.

    Y. Benjamini and Y. Hochberg, "Controlling the false discovery rate", JRSS B 57 (1995) 289-300: the least of
    m x p / rank over this test and all that are less sure.

    Args:
        tests: One row a test.
        chance: Column of the p-value; null for a test that was not made.
        family: Columns of what is judged together.
    """
    made = Window.partitionBy(*family, F.col(chance).isNull())
    scaled = F.col(chance) * F.count(chance).over(made) / F.row_number().over(made.orderBy(chance))
    behind = made.orderBy(chance).rangeBetween(Window.currentRow, Window.unboundedFollowing)
    lowest = F.when(F.col(chance).isNotNull(), F.least(F.min("_scaled").over(behind), F.lit(1.0)))
    return tests.withColumn("_scaled", scaled).withColumn("discovery_rate", F.round(lowest, 6)).drop("_scaled")


def _log_choose(of: Column, chosen: Column) -> Column:
    return _log_factorial(of) - _log_factorial(chosen) - _log_factorial(of - chosen)


def _log_factorial(n: Column) -> Column:
    x = n.cast("double")
    series = (1 / (12 * x), -1 / (360 * x**3), 1 / (1260 * x**5))
    stirling = x * F.ln(x) - x + 0.5 * F.ln(2 * math.pi * x)
    return F.when(n <= _EXACT_TO, F.ln(F.factorial(n))).otherwise(reduce(lambda a, b: a + b, series, stirling))
