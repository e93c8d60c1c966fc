"""What falls into windows: the samples and events of attempts on corrected time, each with its series' past."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from firstfault.transforms.clock_of import clock
from firstfault.transforms.formats.saturation import largest_values
from firstfault.transforms.keys import ATTEMPT_KEY

METRIC, EVENT = "metric", "event"
PLACE = ("node", "device", "port")
HELD_PER_NODE = (*ATTEMPT_KEY, "kind", "name", "node")
"""All that is asked within one of these needs no further shuffle."""
_SANE = 1e100
"""Nothing that is counted or measured is larger; sums of what is smaller stay finite. NaN is not smaller."""


def window_input(
    samples: DataFrame, scoped: DataFrame, attempts: DataFrame, signals: DataFrame, offsets: DataFrame
) -> DataFrame:
    """One row per sample or event of an attempt, at `_at` (microseconds of corrected time), with its growth.

    Args:
        samples: As for `event_windows.build_event_windows`; so are the others.
        scoped: Scoped events.
        attempts: Attempts.
        signals: Signals.
        offsets: Clock offsets.
    """
    observed = _samples(samples, attempts, _how_read(signals), offsets).unionByName(_events(scoped, attempts))
    return _with_history(observed.repartition(*HELD_PER_NODE))


def _how_read(signals: DataFrame) -> DataFrame:
    """One row per metric: how the signals that ask for it read its values."""
    is_kind = {kind: F.bool_or(F.col("kind") == kind) for kind in ("counter", "change")}
    return signals.groupBy(F.col("metric").alias("name")).agg(
        is_kind["counter"].alias("_counter"),
        is_kind["change"].alias("_change"),
        F.min("gte").alias("_level"),
        F.bit_or("bits").alias("_bits"),
    )


def _samples(samples: DataFrame, attempts: DataFrame, how_read: DataFrame, offsets: DataFrame) -> DataFrame:
    usable = samples.where(f"event_time is not null and node is not null and abs(value) < {_SANE}")
    known = usable.withColumnRenamed("metric", "name").join(F.broadcast(how_read), "name")
    clocked = _on_true_time(known, offsets).alias("s")
    ran = attempts.select(
        *(F.col(k).alias(f"_{k}") for k in ATTEMPT_KEY),
        "day",
        F.col("source_cluster"),
        F.unix_micros("window_from").alias("_from"),
        F.unix_micros("window_to").alias("_to"),
        F.explode(F.array_distinct("nodes")).alias("_ran_on"),
    )
    here = (F.col("s.cluster") == F.col("source_cluster")) & (F.col("s.node") == F.col("_ran_on"))
    within = (F.col("_at") >= F.col("_from")) & (F.col("_to").isNull() | (F.col("_at") <= F.col("_to")))
    own = clocked.join(ran, here & within)
    return own.select(
        *(F.col(f"_{k}").alias(k) for k in ATTEMPT_KEY),
        "day",
        F.lit(0).alias("_silent"),
        F.lit(METRIC).alias("kind"),
        *("name", *PLACE, "_at", "value"),
        F.lit(None).cast("bigint").alias("_count"),
        *("_counter", "_change", F.when(~F.col("_counter"), F.col("_level")).alias("_level"), "_bits"),
        F.to_json(F.array_sort(F.map_entries("labels"))).alias("_labels"),
        "byte_offset",
    )


def _on_true_time(samples: DataFrame, offsets: DataFrame) -> DataFrame:
    """The samples with `_at`: a scraper's are in its own time, whatever node they speak of."""
    clocks = offsets.select(
        *(F.col(c).alias(f"_{c}") for c in ("cluster", "node", "t_from", "t_to")), F.col("offset_s").alias("_offset_s")
    )
    same = (F.col("cluster") == F.col("_cluster")) & (clock() == F.col("_node"))
    during = (F.col("event_time") >= F.col("_t_from")) & (F.col("event_time") < F.col("_t_to"))
    off = F.round(F.coalesce("_offset_s", F.lit(0.0)) * 1_000_000).cast("bigint")
    return (
        samples.join(clocks, same & during, "left")
        .withColumn("_at", F.unix_micros("event_time") - off)
        .drop("_cluster", "_node")
    )


def _events(scoped: DataFrame, attempts: DataFrame) -> DataFrame:
    """The scoped events but marks of progress, which every healthy rank writes all the time."""
    size = F.coalesce(F.size("nodes"), F.lit(0))
    sizes = attempts.select(*ATTEMPT_KEY, "day", F.greatest(size, F.lit(0)).alias("_silent"))
    said = scoped.where("t is not null and coalesce(role, '') <> 'progress'").drop("day")
    none = F.lit(None)
    return said.join(sizes, list(ATTEMPT_KEY)).select(
        *(*ATTEMPT_KEY, "day", "_silent"),
        F.lit(EVENT).alias("kind"),
        F.col("event_type").alias("name"),
        *PLACE,
        F.unix_micros("t").alias("_at"),
        none.cast("double").alias("value"),
        F.col("count").cast("bigint").alias("_count"),
        *(F.lit(False).alias(c) for c in ("_counter", "_change")),
        none.cast("double").alias("_level"),
        none.cast("bigint").alias("_bits"),
        none.cast("string").alias("_labels"),
        "byte_offset",
    )


def _with_history(observed: DataFrame) -> DataFrame:
    """The rows with growth since the sample before, which is that of the later one; a decrease is a reset, no growth.

    Adds `_before_at`, `_growth`, `_reset`, `_saturated` (it stands at its largest value and counts no further) and
    `_speaks` (it shows more than rest).
    """
    order = Window.partitionBy(*HELD_PER_NODE, "device", "port", "_labels").orderBy("_at", "byte_offset", "value")
    past = observed.withColumns({"_before": F.lag("value").over(order), "_before_at": F.lag("_at").over(order)})
    change = F.col("value") - F.col("_before")
    grown = F.when(F.col("_counter"), F.greatest(change, F.lit(0.0))).when(F.col("_level").isNotNull(), change)
    return past.withColumns(
        {
            "_growth": grown,
            "_reset": F.col("_counter") & (change < 0),
            "_saturated": (F.col("kind") == METRIC) & (F.col("value") == _largest()),
            "_speaks": _speaks(change),
        }
    )


def _speaks(change: Column) -> Column:
    moved = (F.col("_counter") | F.col("_change")) & (change != 0)
    flagged = F.col("value").try_cast("bigint").bitwiseAND(F.col("_bits")) != 0
    said = (moved, F.col("value") >= F.col("_level"), flagged)
    heard = [F.coalesce(clause, F.lit(False)) for clause in said]
    return (F.col("kind") == EVENT) | heard[0] | heard[1] | heard[2]


def _largest() -> Column:
    """The largest value of a counter that stops there, by the name that its readers give it."""
    pairs = (part for name, value in largest_values().items() for part in (f"'ib.{name}'", f"{value:.0f}D"))
    return F.expr(f"try_element_at(map({', '.join(pairs)}), name)")
