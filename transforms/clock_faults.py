"""clock_faults: clocks that someone should mend, and what each one's events cost in certainty."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from firstfault.transforms.clock_offsets import EVERY_SOURCE
from firstfault.transforms.clock_witnesses import ARRIVAL
from firstfault.transforms.columns import seconds
from firstfault.transforms.contract import Table, column
from firstfault.transforms.types import DAY, DOUBLE, TEXT, TIME

OFF_S = 1.0
"""NTP steps a clock that is off by 0.128 s; one that is a second off is not disciplined by anything."""
ZONE_STEP_S, ZONE_SLACK_S = 900, 30
"""Zones lie at quarters of an hour; that far off by chance, to 30 s, is rarer than a wrong zone."""
ZONE_ERROR_S = 120.0
"""An offset known no better may lie at any quarter."""
DRIFT_PPM = 100.0
"""Crystals lie within 50 ppm; what drifts by more is damaged, or a virtual clock that is not kept."""
UNSURE_S = 5.0
"""An offset known no better orders few things."""
FROZEN_SPAN_S, FROZEN_STEP_S = 600, 1.0
"""A collector that gives one stamp to lines of ten minutes, earlier than their own times, stands still."""
DAY_S = 86_400
UNSYNCED_EVENT = "clock.unsynced"
FAULTS = (
    "unsynchronised", "step", "whole_hour", "drift", "off", "unsure", "frozen_collector",
)  # fmt: skip

CLOCK_FAULTS = Table(
    name="clock_faults",
    row="a fault of a clock on a day",
    fields=(
        column("day", DAY, "day of t_from", required=True),
        column("cluster", TEXT, "cluster of the clock", required=True),
        column("node", TEXT, "node whose clock it is", required=True),
        column("source", TEXT, "source whose times are wrong; * for all of the node", required=True),
        column("fault", TEXT, ", ".join(FAULTS), required=True),
        column("t_from", TIME, "earliest time that shows it, on that clock", required=True),
        column("t_to", TIME, "latest"),
        column("figure", DOUBLE, "how bad, in the unit that the text names"),
        column("text", TEXT, "what was found, in words", required=True),
    ),
    keys=("day", "cluster", "node", "source", "fault"),
    partitions=("day",),
    keep_days=400,
)


def offset_faults(offsets: DataFrame) -> DataFrame:
    """One row per clock, day and fault that its offsets show.

    Args:
        offsets: Rows of `clock_offsets` of whole days.
    """
    quarters = F.round(F.col("offset_s") / ZONE_STEP_S)
    near = F.abs(F.col("offset_s") - quarters * ZONE_STEP_S) <= ZONE_SLACK_S + F.col("error_s")
    is_hour = (quarters != 0) & near & (F.col("error_s") <= ZONE_ERROR_S)
    known = F.abs("offset_s") > F.col("error_s")
    step = F.col("step_s").isNotNull()
    own = F.col("source") == EVERY_SOURCE
    tests = [
        ("step", own & step, F.col("step_s"), "stepped by %.3f s"),
        ("whole_hour", is_hour & ~step, F.col("offset_s") / 3600, "off by %.2f h: zone?"),
        ("off", own & ~is_hour & known & ~step & (F.abs("offset_s") > OFF_S), F.col("offset_s"), "off by up to %.3f s"),
        ("drift", own & ~step & (F.abs("drift_ppm") > DRIFT_PPM), F.col("drift_ppm"), "drifts by %.0f ppm"),
        ("unsure", own & ~step & (F.col("error_s") > UNSURE_S), F.col("error_s"), "known to %.1f s only"),
    ]
    found = F.array_compact(
        F.array(
            *(
                F.when(
                    holds,
                    F.struct(F.lit(name).alias("fault"), figure.alias("figure"), F.lit(words).alias("words")),
                )
                for name, holds, figure, words in tests
            )
        )
    )
    every = offsets.select("day", "cluster", "node", "source", "t_from", "t_to", F.explode(found).alias("_f"))
    return _by_day(every.select("*", "_f.*"))


def told_faults(events: DataFrame) -> DataFrame:
    """One row per clock and day of which a daemon or a metric says that nothing keeps it.

    Args:
        events: Rows of events of the type `clock.unsynced`.
    """
    told = events.where((F.col("event_type") == UNSYNCED_EVENT) & F.col("node").isNotNull())
    return _by_day(
        told.select(
            F.to_date("t").alias("day"), "cluster", "node", F.lit(EVERY_SOURCE).alias("source"),
            F.col("t").alias("t_from"), F.coalesce("t_last", "t").alias("t_to"), F.lit("unsynchronised").alias("fault"),
            F.col("count").cast("double").alias("figure"), F.lit("not synchronised (told %.0f times)").alias("words"),
        ),
        total=True,
    )  # fmt: skip


def frozen_collectors(marks: DataFrame) -> DataFrame:
    """One row per node, source and day whose collector's stamp stood still while lines went on.

    Args:
        marks: Rows of `clock_marks`; those of kind arrival carry written less collected.
    """
    stamp = F.round(seconds("t") - F.col("value_s"))
    still = (
        marks.where((F.col("kind") == ARRIVAL) & F.col("node").isNotNull())
        .withColumn("_stamp", F.floor(stamp / FROZEN_STEP_S))
        .groupBy("day", "cluster", "node", "source", "_stamp")
        .agg(
            F.min("t").alias("t_from"), F.max("t").alias("t_to"), F.max("value_s").alias("_ahead"),
            F.count("*").alias("_n"),
        )
    )  # fmt: skip
    span = seconds("t_to") - seconds("t_from")
    # A backlog that is sent at once has one stamp too, but after its lines.
    frozen = still.where((span > FROZEN_SPAN_S) & (F.col("_ahead") > FROZEN_SPAN_S / 2) & (F.col("_n") > 1))
    return _by_day(
        frozen.withColumns(
            {
                "fault": F.lit("frozen_collector"),
                "figure": span,
                "words": F.lit("collector's stamp stands still for %.0f s of lines"),
            }
        )
    )


def _by_day(rows: DataFrame, *, total: bool = False) -> DataFrame:
    """One row per clock, day and fault: from when to when, and the worst figure (or their sum)."""
    worst = F.sum("figure") if total else F.max_by("figure", F.abs("figure"))
    grouped = rows.groupBy("day", "cluster", "node", "source", "fault", "words").agg(
        F.min("t_from").alias("t_from"), F.max("t_to").alias("t_to"), F.round(worst, 6).alias("figure")
    )
    return CLOCK_FAULTS.conform(grouped.withColumn("text", _sentence()).drop("words"))


def _sentence() -> Column:
    return F.expr("format_string(words, figure)")


def faulty_clocks(faults: DataFrame, factor: float) -> DataFrame:
    """The faults as `data_quality.poor_inputs` takes them: what such a clock wrote is corrected, and less sure.

    Args:
        faults: Rows of `clock_faults`; their times are the clock's own, so a fault is taken as that of its whole days.
        factor: Part of a verdict's confidence that is left when it rests on such a clock.
    """
    day = seconds(F.col("day").cast("timestamp"))
    return faults.select(
        "cluster",
        "node",
        "source",
        F.timestamp_seconds(day).alias("t_from"),
        F.timestamp_seconds(day + DAY_S).alias("t_to"),
        "text",
        F.lit(True).alias("is_clock"),
        F.lit(factor).alias("factor"),
    )
