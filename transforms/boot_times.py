"""Boot-relative lines on wall time: a kernel message that carries both times anchors the boot of its node.

A dump such as `dmesg` says only seconds since boot. Its reader places the last line at the file's own time, which is an
upper bound: a quiet kernel may have written nothing for hours before the dump.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from firstfault.transforms.columns import moved_hits, seconds
from firstfault.transforms.wall_of_boot import with_boot_walls

BOOT_FORMATS = frozenset({"dmesg", "kernel"})
"""Sources with lines that say seconds since boot alone."""
BOOT_ANCHORS = BOOT_FORMATS | {"journal"}
"""Sources with lines that say both times."""
BOOT_RELATIVE = "boot_relative"
REACH_S = 21_600
"""An unanchored line lies at most this long before its upper bound: dumps are taken within a shift of the failure."""


def with_boot_times(staged: DataFrame, *, walls: bool = True) -> DataFrame:
    """The rows in flight, boot-relative and `dmesg -T` ones on their node's clock, with the interval that is left.

    Args:
        staged: The batch in flight; `fields['boot_s']` is a line's seconds since boot.
        walls: Whether any line may be of `dmesg -T`; else its joins are spared.
    """
    boot_s = F.col("fields")["boot_s"].try_cast("double")
    boots = (
        staged.where((F.col("time_basis") != BOOT_RELATIVE) & boot_s.isNotNull() & F.col("event_time").isNotNull())
        .groupBy("cluster", "node")
        .agg(F.max_by(seconds("event_time") - boot_s, "event_time").alias("_boot"))
    )
    known = staged.join(F.broadcast(boots), ["cluster", "node"], "left")
    relative = F.coalesce(F.col("time_basis") == BOOT_RELATIVE, F.lit(False))
    anchored, loose = relative & F.col("_boot").isNotNull(), relative & F.col("_boot").isNull()
    on_boot = F.timestamp_seconds(F.round(F.col("_boot") + boot_s, 6))
    earliest = F.timestamp_seconds(seconds("event_time") - REACH_S)
    moved = moved_hits(F.when(anchored, F.col("_boot") + boot_s - seconds("event_time")))
    # On its own: names inside a function of an array are resolved last, and would find the new event_time.
    placed = known.withColumn("hits", F.when(relative, moved).otherwise(F.col("hits"))).withColumns(
        {
            "event_time": F.when(loose, None).when(anchored, on_boot).otherwise(F.col("event_time")),
            "t_prev": F.when(loose, earliest).otherwise(F.col("t_prev")),
            "t_next": F.when(loose, F.col("event_time")).otherwise(F.col("t_next")),
        }
    )
    on_node = placed.select(*staged.columns)
    return with_boot_walls(on_node) if walls else on_node
