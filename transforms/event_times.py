"""Events on true time: the written time less the offset of the clock that wrote it, with the interval that is left.

Decision 2026-11-30: an event is corrected by the clock that *wrote* it, not by that of the node it speaks of: a line of
the controller about a node is in the controller's time, one of a rank in the time of the node that the rank ran on.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from firstfault.transforms.clock_offsets import EVERY_SOURCE, error_at, offset_at
from firstfault.transforms.events import EVENTS
from firstfault.transforms.formats.times import BOOT_WALL, OTHER_NEIGHBOUR
from firstfault.transforms.placement import with_rank_node

HOUR_S = 3600.0
"""Length of an interval of offsets, over which a drift adds up."""
_EXACT = ("sample_window", "file_time")
"""Bases whose times are not rounded to their second."""


def place_in_time(
    found: DataFrame, offsets: DataFrame, windows: DataFrame, ranks: DataFrame, unwitnessed_error_s: float
) -> DataFrame:
    """The events table: every event with [t_low, t_high] on true time.

    A timed event is its written time less the clock's offset, plus or minus the clock's error, plus the resolution
    of its stamp. An untimed one lies between its timed neighbours; where it has none, within its job's window.

    Args:
        found: Events of `FOUND_COLUMNS`.
        offsets: Rows of `clock_offsets.reaching`.
        windows: cluster, job_id, nodes, start, end of each attempt.
        ranks: cluster, job_id, attempt_hint, rank, node (`placement.rank_nodes`).
        unwitnessed_error_s: Error of a clock that no witness speaks of.
    """
    jobs = _of_jobs(windows, offsets, unwitnessed_error_s)
    bounded = found.join(F.broadcast(jobs), ["cluster", "job_id"], "left")
    clocked = _with_offset(_with_clock(bounded, ranks), offsets, unwitnessed_error_s)
    low, high = _interval()
    middle = F.timestamp_micros(((F.unix_micros("t_low") + F.unix_micros("t_high")) / 2).cast("bigint"))
    placed = clocked.withColumns({"t_low": low, "t_high": high}).withColumn("t_high", F.greatest("t_low", "t_high"))
    last = _shift(F.col("t_raw_last"), -F.col("_offset"))
    return EVENTS.conform(
        placed.withColumn("t", middle)
        .withColumn("t_last", F.greatest("t", F.coalesce(last, F.col("t"))))
        .withColumn("day", F.to_date("t"))
    )


def _with_clock(found: DataFrame, ranks: DataFrame) -> DataFrame:
    """The clock of lines that name only a rank, or no place: the rank's node, or the job's only one.

    A line that is dated by lines of other ranks has no clock of its own, but on a single node.
    """
    only = F.when(F.size("_nodes") == 1, F.col("_nodes")[0])
    by_others = F.col("time_basis") == OTHER_NEIGHBOUR
    known = with_rank_node(found, ranks)
    clock = F.when(by_others, only).otherwise(F.coalesce("clock", "_ran", only))
    return known.withColumn("clock", clock).drop("_ran", "_nodes")


def _of_jobs(windows: DataFrame, offsets: DataFrame, unwitnessed_error_s: float) -> DataFrame:
    """One row per job: its windows, its nodes, and between which offsets (`_least`, `_most`) all their clocks lie."""
    jobs = windows.groupBy("cluster", "job_id").agg(
        F.min("start").alias("_start"),
        F.array_sort(F.collect_list("end")).alias("_ends"),
        F.array_distinct(F.flatten(F.collect_list("nodes"))).alias("_nodes"),
    )
    wide = F.col("error_s") + F.abs(F.coalesce("drift_ppm", F.lit(0.0))) * 1e-6 * HOUR_S
    clocks = (
        offsets.where(F.col("source") == EVERY_SOURCE)
        .groupBy("cluster", "node")
        .agg(F.min(F.col("offset_s") - wide).alias("_low"), F.max(F.col("offset_s") + wide).alias("_high"))
    )
    several = jobs.where("size(_nodes) > 1").select("cluster", "job_id", F.explode("_nodes").alias("node"))
    unseen = F.lit(unwitnessed_error_s)
    spans = several.join(F.broadcast(clocks), ["cluster", "node"], "left").groupBy("cluster", "job_id").agg(
        F.min(F.coalesce("_low", -unseen)).alias("_least"), F.max(F.coalesce("_high", unseen)).alias("_most")
    )  # fmt: skip
    return jobs.join(spans, ["cluster", "job_id"], "left")


def _with_offset(found: DataFrame, offsets: DataFrame, unwitnessed_error_s: float) -> DataFrame:
    """The events with the offset of their clock: that of their source where it writes another zone than its node."""
    zones = offsets.where(F.col("source") != EVERY_SOURCE).select(
        F.col("cluster").alias("_z_cluster"), F.col("node").alias("_z_node"), F.col("source").alias("_z_source")
    )
    other = (
        (F.col("cluster") == F.col("_z_cluster"))
        & (F.col("clock") == F.col("_z_node"))
        & (F.col("source") == F.col("_z_source"))
    )
    at = F.coalesce("t_raw", "t_prev", "t_next", "file_time")
    rows = found.join(F.broadcast(zones.distinct()), other, "left").withColumns(
        {"_at": at, "_by": F.coalesce("_z_source", F.lit(EVERY_SOURCE))}
    )
    own = (
        (F.col("o.cluster") == rows["cluster"])
        & (F.col("o.node") == rows["clock"])
        & (F.col("o.source") == rows["_by"])
        & (F.col("_at") >= F.col("o.t_from"))
        & (F.col("_at") < F.col("o.t_to"))
    )
    # A line of which nobody says who wrote it was written by some node of its job.
    nobody = rows["clock"].isNull()
    any_node = F.when(nobody, (F.col("_least") + F.col("_most")) / 2)
    half = F.when(nobody, (F.col("_most") - F.col("_least")) / 2)
    return rows.join(F.broadcast(offsets).alias("o"), own, "left").select(
        *(rows[c] for c in found.columns),
        F.coalesce(offset_at(F.col("_at"), "o"), any_node, F.lit(0.0)).alias("_offset"),
        F.coalesce(error_at(F.col("_at"), "o"), half, F.lit(unwitnessed_error_s)).alias("clock_error_s"),
        F.coalesce("o.shared_error_s", F.lit(0.0)).alias("clock_shared_s"),
        F.col("o.reference").alias("clock_reference"),
    )


def _interval() -> tuple[Column, Column]:
    """Earliest and latest true time from the written times, the clock and the job's window."""
    whole_second = F.unix_micros("t_raw") % 1_000_000 == 0
    resolution_s = F.when(whole_second & ~F.col("time_basis").isin(*_EXACT), 1.0).otherwise(0.0)
    early, late = -F.col("_offset") - F.col("clock_error_s"), -F.col("_offset") + F.col("clock_error_s")
    timed_low, timed_high = _shift(F.col("t_raw"), early), _shift(F.col("t_raw"), late + resolution_s)
    bounded = F.col("time_basis").isin("sample_window", BOOT_WALL)
    known_low = F.when(bounded, _shift(F.col("t_prev"), early))
    known_high = F.when(F.col("time_basis") == BOOT_WALL, _shift(F.col("t_next"), late))
    after = F.coalesce(_shift(F.col("t_prev"), early), F.col("_start"), F.col("file_time"))
    # The attempt that the record belongs to is over at the first end after it.
    end = F.array_min(F.filter("_ends", lambda e: e >= after))
    before = F.coalesce(_shift(F.col("t_next"), late), end, F.greatest(F.array_max("_ends"), after), F.col("file_time"))
    return F.coalesce(known_low, timed_low, after), F.coalesce(known_high, timed_high, before)


def _shift(time: Column, seconds: Column) -> Column:
    return F.timestamp_micros(F.unix_micros(time) + (seconds * 1_000_000).cast("bigint"))
