"""Figures of windows: samples and events summed up by slot, and slots by the windows that they lie in."""

from collections.abc import Sequence
from math import gcd

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from firstfault.transforms.keys import ATTEMPT_KEY
from firstfault.transforms.window_input import EVENT, METRIC, PLACE

_NAMED = (*ATTEMPT_KEY, "day", "_silent", "kind", "name", "_counter", "_level")
GROUP = (*_NAMED, "window_s", "slide_s", "_start")
"""What the windows of an attempt's nodes have in common."""
_MICROS = 1_000_000


def in_windows(observed: DataFrame, shapes: Sequence[tuple[int, int]]) -> DataFrame:
    """One row per attempt, place, name and window with its figures.

    `_figure` is what nodes are compared by, `_heard` whether it did more than rest. Windows overlap, so that a sample
    counts in several: what lies between two borders is summed up once.

    Args:
        observed: Rows of `window_input`.
        shapes: Length and slide in seconds.
    """
    slots = observed.withColumn("_slot", _floor("_at", gcd(*(slide_s for _, slide_s in shapes))))
    summed = slots.groupBy(*_NAMED, *PLACE, "_slot").agg(*_of_samples())
    windows = summed.select("*", F.inline(_windows_of(shapes))).groupBy(*GROUP, *PLACE).agg(*_of_slots())
    return windows.withColumn("_figure", _figure()).withColumn("_heard", F.col("_speaks") | F.col("saturated"))


def _floor(name: str, seconds: int) -> Column:
    return F.col(name) - F.pmod(F.col(name), F.lit(seconds * _MICROS).cast("bigint"))


def _windows_of(shapes: Sequence[tuple[int, int]]) -> Column:
    """The windows that a slot lies in; all start at multiples of their slide since the epoch."""
    found = []
    for window_s, slide_s in shapes:
        for back in range(window_s // slide_s):
            start = _floor("_slot", slide_s) - F.lit(back * slide_s * _MICROS).cast("bigint")
            found.append(
                F.struct(F.lit(window_s).alias("window_s"), F.lit(slide_s).alias("slide_s"), start.alias("_start"))
            )
    return F.array(*found)


def _of_samples() -> list[Column]:
    point = F.when(F.col("kind") == METRIC, F.struct("_at", "value"))
    return [
        F.count("value").alias("n"),
        F.sum("_count").alias("count"),
        F.min(point).alias("_first"),
        F.max(point).alias("_last"),
        F.min("value").alias("min"),
        F.max("value").alias("max"),
        F.sum("_growth").alias("delta"),
        F.min(F.when(F.col("_growth").isNotNull(), F.col("_before_at"))).alias("_grew_from"),
        F.count_if("_reset").alias("resets"),
        F.bool_or("_saturated").alias("saturated"),
        F.bool_or("_speaks").alias("_speaks"),
    ]


def _of_slots() -> list[Column]:
    first, last, grew_from = F.min("_first"), F.max("_last"), F.min("_grew_from")
    delta = F.round(F.sum("delta"), 6)
    took_s = (last["_at"] - grew_from) / _MICROS
    per_s = F.when(F.col("kind") == EVENT, F.sum("count") / F.col("window_s")).when(
        F.col("_counter") & (took_s > 0), delta / took_s
    )
    return [
        F.when(F.col("kind") == METRIC, F.sum("n")).alias("n"),
        F.sum("count").alias("count"),
        first["value"].alias("first"),
        last["value"].alias("last"),
        F.min("min").alias("min"),
        F.max("max").alias("max"),
        delta.alias("delta"),
        F.round(per_s, 6).alias("rate_per_s"),
        F.when(F.col("_counter"), F.sum("resets")).alias("resets"),
        F.coalesce(F.bool_or("saturated"), F.lit(False)).alias("saturated"),
        F.bool_or("_speaks").alias("_speaks"),
    ]


def _figure() -> Column:
    """Records, growth or the highest reading; states and bits are not compared."""
    return (
        F.when(F.col("kind") == EVENT, F.col("count").cast("double"))
        .when(F.col("_counter"), F.col("delta"))
        .when(F.col("_level").isNotNull(), F.col("max"))
    )
