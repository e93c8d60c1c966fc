"""Signals: samples of metrics -> events, by thresholds, deltas and change; a sticky gauge's value is never one."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, StructType

from firstfault.transforms.clock_of import clock
from firstfault.transforms.contract import column
from firstfault.transforms.events import FOUND_COLUMNS, fold_bursts, judge
from firstfault.transforms.types import DOUBLE, INT, LONG, TEXT

SIGNALS = StructType(
    [
        column("signal_id", TEXT, "name of the signal"),
        column("event_type", TEXT, "word of the vocabulary"),
        column("metric", TEXT, "one row per name under which the metric is exported"),
        column("kind", TEXT, "counter, gauge, bitmask or change"),
        column("delta_gte", DOUBLE, "counter: least growth within window_s"),
        column("window_s", INT, "counter: seconds"),
        column("gte", DOUBLE, "gauge: least value"),
        column("for_s", INT, "gauge: seconds for which it must hold"),
        column("bits", LONG, "bitmask: any of these bits"),
        column("ignore", ArrayType(DOUBLE), "change: values that are no event"),
        column("min_samples", INT, "samples that a series needs"),
        column("attribute", TEXT, "attribute that takes the figure"),
    ]
)
"""A compiled signal; `rules/signals` as rows."""

_SERIES = ["cluster", "node", "device", "port", "metric", "_labels", "signal_id"]


def signal_events(samples: DataFrame, signals: DataFrame, vocabulary: DataFrame, catalogues: DataFrame) -> DataFrame:
    """One row per event that the samples show (`events.FOUND_COLUMNS`), bursts folded.

    A counter's growth counts from sample to sample; a decrease is a reset and counts as nothing. The time of an
    event is that of the sample that showed it, its interval reaches back to the sample before.

    Args:
        samples: raw_telemetry rows, with the last sample of each series before them.
        signals: Rows of `SIGNALS`.
        vocabulary: As for `events.extract_events`.
        catalogues: As for `events.extract_events`.
    """
    known = samples.where("event_time is not null and value is not null").join(F.broadcast(signals), "metric")
    series = known.withColumn("_labels", F.to_json(F.array_sort(F.map_entries("labels"))))
    shown = _shown(_with_history(series))
    found = shown.where("_shown").select(*_found_columns())
    return fold_bursts(judge(found, vocabulary, catalogues))


def _with_history(series: DataFrame) -> DataFrame:
    """The samples with their series' past: value and time before, growth, growth within the tumbling window."""
    order = Window.partitionBy(*_SERIES).orderBy("event_time", "byte_offset")
    at = F.col("event_time").cast("bigint")
    grown = series.withColumn("_at", at).withColumns(
        {
            "_before": F.lag("value").over(order),
            "_seen_at": F.lag("event_time").over(order),
            "_growth": F.greatest(F.col("value") - F.lag("value").over(order), F.lit(0.0)),
            "_n": F.count("*").over(order),
            "_below": F.sum(F.when(F.col("value") < F.col("gte"), 1).otherwise(0)).over(order),
            "_slot": F.floor(at / F.coalesce("window_s", F.lit(1))),
        }
    )
    slot = Window.partitionBy(*_SERIES, "_slot").orderBy("event_time", "byte_offset")
    run = Window.partitionBy(*_SERIES, "_below").orderBy("event_time", "byte_offset")
    above_at = F.when(F.col("value") >= F.col("gte"), F.col("_at"))
    return grown.withColumns(
        {"_in_window": F.sum("_growth").over(slot), "_held_s": F.col("_at") - F.min(above_at).over(run)}
    )


def _shown(series: DataFrame) -> DataFrame:
    """The samples with `_shown`, whether the signal's test holds, and `_figure`, the value that it tested."""
    ignored = F.array_contains(F.coalesce("ignore", F.array().cast("array<double>")), F.col("value"))
    shown = (
        F.when(F.col("kind") == "counter", F.col("_in_window") >= F.col("delta_gte"))
        .when(
            F.col("kind") == "gauge",
            (F.col("value") >= F.col("gte")) & (F.col("_held_s") >= F.coalesce("for_s", F.lit(0))),
        )
        .when(F.col("kind") == "bitmask", F.col("value").cast("bigint").bitwiseAND(F.col("bits")) != 0)
        .when(F.col("kind") == "change", (F.col("value") != F.col("_before")) & ~ignored)
    )
    enough = F.col("_n") >= F.coalesce("min_samples", F.lit(1))
    figure = F.when(F.col("kind") == "counter", F.col("_in_window")).otherwise(F.col("value"))
    return series.withColumns({"_shown": F.coalesce(shown & enough, F.lit(False)), "_figure": figure})


def _found_columns() -> list[Column]:
    """The sample as an event: pointed at by its raw row, ordered by time within its series."""
    figure = F.round("_figure", 3).cast("string")
    attrs = F.map_from_arrays(
        F.array(F.coalesce("attribute", F.lit("value")), F.lit("counter"), F.lit("code")),
        F.array(figure, F.col("metric"), F.col("value").cast("bigint").cast("string")),
    )
    values = {
        "event_type": F.col("event_type"),
        "t_raw": F.col("event_time"),
        "time_basis": F.lit("sample_window"),
        "clock": clock(),
        "attrs": attrs,
        "t_prev": F.col("_seen_at"),
        "t_next": F.lit(None).cast("timestamp"),
        "text": F.concat_ws(" ", "metric", F.coalesce("port", "device", "node"), F.col("value").cast("string")),
        "pattern_id": F.col("signal_id"),
        "attempt_hint": F.lit(None).cast("int"),
        "rank": F.lit(None).cast("int"),
        # Samples of one document share an offset; the series tells them apart.
        "_ordinal": F.pmod(F.xxhash64("node", "device", "port", "metric", "_labels"), F.lit(2**31)).cast("int"),
        "file_time": F.col("event_time"),
        "byte_offset": F.col("byte_offset"),
    }
    left_out = {"event_id", "code", "class", "role", "category", "count", "t_raw_last"}
    names = [c for c in FOUND_COLUMNS if c not in left_out]
    folding = {"_ordinal": values["_ordinal"], "_count": F.lit(1), "_last": F.col("event_time")}
    return [*(values.get(c, F.col(c)).alias(c) for c in names), *(v.alias(c) for c, v in folding.items())]
