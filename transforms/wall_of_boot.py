"""`dmesg -T` on the node's clock: the tool made its times of seconds since boot when it was read, and they are off.

util-linux adds each stamp to one boot time. The stamps stand still while the machine sleeps ("works only for messages
printed after last resume", dmesg(1); hours, even days off: util-linux issue 4066, node-problem-detector issue 479), and
no NTP disciplines their clock. The same message in a log with real times says by how much a dump is off there.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from firstfault.transforms.columns import moved_hits, seconds
from firstfault.transforms.formats.times import BOOT_WALL
from firstfault.transforms.twins_in_flight import BODY, CLOCKED, TWIN_SOURCES

BOOT_EVENT = "sys.boot"
COPY_S = 2.0
"""Times of one message in several logs of its node lie this close; what lies apart is a repeated message."""
REACH_S = 86_400
"""No twin is further off; a message of another boot usually is."""
RESTART_S = 60
"""The first messages of a boot may be dated by its loggers in any order."""
EARLY_S, LATE_S = 1.0, 2.0
"""What whole seconds leave open: that of the dump before, that of the line and of its twin's log after."""
DRIFT_PPM = 100.0
"""Drift of an undisciplined kernel clock: crystals lie within 50, and counters of CPUs against NTP were seen at 83."""
LOOSE_S = 1.0
"""Two reads of one ring differ by a second (util-linux issue 24)."""
UPTIME_S = 2_592_000
"""Time since boot before the first line of a ring that has lost its boot: nodes run about a month between reboots."""


def with_boot_walls(staged: DataFrame) -> DataFrame:
    """The rows in flight, those of `dmesg -T` moved by the shift of their nearest twins, all with what is left open.

    Args:
        staged: The batch in flight; `fields['body']` names a line's message.
    """
    walls = staged.where((F.col("time_basis") == BOOT_WALL) & F.col("event_time").isNotNull())
    dumps = _dumps(staged).join(_twins(staged, walls), "stream_id", "left")
    known = staged.join(F.broadcast(dumps), "stream_id", "left")
    is_wall = F.coalesce((F.col("time_basis") == BOOT_WALL) & F.col("event_time").isNotNull(), F.lit(False))
    at = seconds("event_time")
    shift, low, high = _placed(at)
    moved = known.withColumns({"_shift": shift, "_low": low, "_high": high})
    return moved.withColumns(
        {
            "event_time": F.when(is_wall, _moment(at - F.col("_shift"))).otherwise(F.col("event_time")),
            "t_prev": F.when(is_wall, _moment(F.col("_low"))).otherwise(F.col("t_prev")),
            "t_next": F.when(is_wall, _moment(F.col("_high"))).otherwise(F.col("t_next")),
            "hits": F.when(is_wall, moved_hits(-F.col("_shift"))).otherwise(F.col("hits")),
        }
    ).select(*staged.columns)


def _dumps(staged: DataFrame) -> DataFrame:
    """One row per stream with such lines: the first time in it, and those of the boots that it shows."""
    wall = F.col("time_basis") == BOOT_WALL
    return (
        staged.where(wall | F.col("report").isNotNull())
        .groupBy("stream_id")
        .agg(
            F.min(F.coalesce("report.first_time", "event_time")).alias("_first"),
            F.collect_list(F.when(wall & _boots(), seconds("event_time"))).alias("_boots"),
            F.max(wall).alias("_has"),
        )
        .where("_has")
        .drop("_has")
    )


def _twins(staged: DataFrame, walls: DataFrame) -> DataFrame:
    """One row per dump: where it has twins, and its shift there, the median of a twin and its neighbours."""
    real = staged.where(F.col("source").isin(*sorted(TWIN_SOURCES)) & F.col("time_basis").isin(*CLOCKED))
    restarts = F.collect_list(seconds("event_time")).alias("_restarts")
    boots = real.where(_boots()).groupBy("cluster", "node").agg(restarts)
    logged = _messages(real, "cluster", "node").where(F.col("_to") - F.col("_from") <= COPY_S)
    dumped = _messages(walls, "cluster", "node", "stream_id").where("_n = 1")
    pairs = dumped.select("cluster", "node", "stream_id", "_body", "_read", F.col("_from").alias("at")).join(
        logged.select("cluster", "node", "_body", F.col("_from").alias("_true")), ["cluster", "node", "_body"]
    )
    of_this_boot = ~F.exists("_restarts", lambda b: (b > F.col("_true") + RESTART_S) & (b <= F.col("_read")))
    near = pairs.where(F.abs(F.col("at") - F.col("_true")) <= REACH_S).join(boots, ["cluster", "node"], "left")
    twin = F.struct("at", (F.col("at") - F.col("_true")).alias("shift"))
    return (
        near.where(F.coalesce(of_this_boot, F.lit(True)))
        .groupBy("stream_id")
        .agg(F.array_sort(F.collect_list(twin)).alias("_raw"))
        .select("stream_id", F.transform("_raw", _smoothed).alias("_twins"))
    )


def _messages(lines: DataFrame, *place: str) -> DataFrame:
    """One row per message of a place: from when to when it was written, how often, and when its file was."""
    folded = F.coalesce(F.exists("hits", lambda hit: hit["count"] > 1), F.lit(False))
    return (
        lines.where(F.col("event_time").isNotNull() & F.col("fields")[BODY].isNotNull())
        .groupBy(*place, F.col("fields")[BODY].alias("_body"))
        .agg(
            F.min(seconds("event_time")).alias("_from"),
            F.max(seconds("event_time")).alias("_to"),
            F.count("*").alias("_n"),
            F.max(folded).alias("_folded"),
            F.max(seconds("file_time")).alias("_read"),
        )
        .where("not _folded")
    )


def _boots() -> Column:
    """Whether the line says that the kernel started."""
    return F.coalesce(F.exists("hits", lambda hit: hit["event_type"] == BOOT_EVENT), F.lit(False))


def _smoothed(twin: Column, place: Column) -> Column:
    """A twin with the median of its own shift and its neighbours': one that stands alone among others is a mistake."""
    before, after = (F.coalesce(F.get("_raw", place + step)["shift"], twin["shift"]) for step in (-1, 1))
    return F.struct(twin["at"].alias("at"), F.array_sort(F.array(before, twin["shift"], after))[1].alias("shift"))


def _placed(at: Column) -> tuple[Column, Column, Column]:
    """Shift of a line at a time of its dump, and the earliest and latest time that are left."""
    earlier = F.filter("_twins", lambda twin: twin["at"] <= at)
    later = F.filter("_twins", lambda twin: twin["at"] >= at)
    before, after = F.get(earlier, F.size(earlier) - 1), F.get(later, F.lit(0))
    back, ahead = at - before["at"], after["at"] - at
    nearer_before = F.coalesce(back <= ahead, before.isNotNull())
    shift = F.when(nearer_before, before["shift"]).otherwise(after["shift"])
    # Between two twins the shift is one of theirs or lies between: the clock drifts one way, a sleep adds at once.
    drift = F.when(back.isNull() | ahead.isNull(), F.coalesce(back, ahead) * DRIFT_PPM * 1e-6).otherwise(0.0)
    low = at - F.greatest(before["shift"], after["shift"]) - EARLY_S - drift
    high = at - F.least(before["shift"], after["shift"]) + LATE_S + drift
    error = LOOSE_S + _since_boot(at) * DRIFT_PPM * 1e-6
    return F.coalesce(shift, F.lit(0.0)), F.coalesce(low, at - error), F.coalesce(high, at + error + LOOSE_S)


def _since_boot(at: Column) -> Column:
    """Seconds from the last boot that the dump shows, else from its first line and what may lie before."""
    boot = F.array_max(F.filter("_boots", lambda b: b <= at))
    return F.greatest(at - boot, F.coalesce(at - boot, at - seconds("_first") + UPTIME_S), F.lit(0.0))


def _moment(at: Column) -> Column:
    return F.timestamp_seconds(F.round(at, 6))
