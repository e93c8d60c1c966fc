"""clock_marks: lines that tell of the clock that wrote them, kept to be paired with those of later nights."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from firstfault.transforms.clock_of import clock, clock_node
from firstfault.transforms.clock_witnesses import ARRIVAL, TOLD_STEP
from firstfault.transforms.columns import seconds
from firstfault.transforms.contract import Table, column
from firstfault.transforms.keys import HOME_CLUSTER
from firstfault.transforms.placement import with_rank_node
from firstfault.transforms.types import DAY, DOUBLE, INT, LONG, TEXT, TIME

STEP_EVENT = "clock.step"
CLOCK_MARKS = Table(
    name="clock_marks",
    row="a line that tells of its writer's clock: a moment shared with others, a delivery, or a step",
    fields=(
        column("day", DAY, "day of t", required=True),
        column("cluster", TEXT, "cluster of the stream", required=True),
        column("kind", TEXT, "kind of rules/clock_marks.yaml, or arrival, or told_step", required=True),
        column("job_id", TEXT, "home of the line", required=True),
        column("attempt_hint", INT, "attempt named by the path"),
        column("key", TEXT, "names the moment within the attempt; empty for arrival and told_step", required=True),
        column("source", TEXT, "format of the source", required=True),
        column("stream_id", TEXT, "raw pointer: stream", required=True),
        column("byte_offset", LONG, "raw pointer: offset", required=True),
        column("node", TEXT, "clock that wrote it: a node as far as path, line or rank say so, a switch, a server"),
        column("rank", INT, "global rank that wrote it"),
        column("t", TIME, "time as written", required=True),
        column("value_s", DOUBLE, "arrival: written less collected; told_step: size of the step"),
        column("n", LONG, "lines that it stands for"),
    ),
    keys=("stream_id", "byte_offset", "kind", "key"),
    partitions=("day",),
    keep_days=30,
)


def build_clock_marks(staged: DataFrame, ranks: DataFrame, topology: DataFrame, kinds: DataFrame) -> DataFrame:
    """One row per line of the batch that tells of a clock.

    Args:
        staged: The batch in flight; `marks` are the moments that landing found on a line.
        ranks: cluster, job_id, attempt_hint, rank, node (`placement.rank_nodes`), for lines that name no node.
        topology: HCAs of nodes with their leaf ports.
        kinds: kind, within, events.
    """
    moments = staged.where("marks is not null").select("*", F.explode("marks").alias("_m"))
    shared = _row(moments, F.col("_m.kind"), key=F.col("_m.key"), time=F.col("_m.t"), node=clock())
    delivered = staged.where("collected_at is not null and event_time is not null").where(clock_node().isNotNull())
    lag = seconds("event_time") - seconds("collected_at")
    arrived = _row(delivered, F.lit(ARRIVAL), time=F.col("event_time"), value=lag, node=clock_node())
    hits = staged.where("hits is not null").select("*", F.explode("hits").alias("_m"))
    size = F.col("_m.attrs")["step_s"].try_cast("double")
    told = hits.where((F.col("_m.event_type") == STEP_EVENT) & size.isNotNull())
    stepped = _row(told, F.lit(TOLD_STEP), time=F.col("event_time"), value=size, node=clock_node())
    every = shared.unionByName(arrived).unionByName(stepped).unionByName(_of_links(hits, topology, kinds))
    timed = every.where("t is not null").dropDuplicates(list(CLOCK_MARKS.keys))
    placed = with_rank_node(timed, ranks).withColumn("node", F.coalesce("node", "_ran"))
    wide = F.broadcast(kinds.where("within != 'attempt'").select("kind", F.lit(True).alias("_wide")))
    homes = placed.join(wide, "kind", "left")
    home = {
        "job_id": F.when(F.col("_wide"), HOME_CLUSTER).otherwise(F.col("job_id")),
        "attempt_hint": F.when(F.col("_wide").isNull(), F.col("attempt_hint")),
    }
    return CLOCK_MARKS.conform(homes.withColumns(home))


def _of_links(hits: DataFrame, topology: DataFrame, kinds: DataFrame) -> DataFrame:
    """Events of both ends of a link: the n-th at one end is the n-th at the other, where both have equally many."""
    words = kinds.where("within = 'port'").select("kind", F.explode("events").alias("_word"))
    port = F.coalesce("_m.port", "port", F.concat_ws("/", "node", F.col("_m.attrs")["iface"], F.lit("1")))
    told = hits.join(F.broadcast(words), F.col("_m.event_type") == F.col("_word")).withColumn("_port", port)
    ends = topology.select(
        F.col("cluster").alias("_c"), "leaf_port", F.explode(F.array("hca_port", "leaf_port")).alias("_end")
    ).dropDuplicates(["_c", "_end"])
    known = told.join(F.broadcast(ends), (F.col("cluster") == F.col("_c")) & (F.col("_port") == F.col("_end")))
    link = Window.partitionBy("cluster", "kind", "leaf_port")
    side = Window.partitionBy("cluster", "kind", "leaf_port", "_clock")
    counted = known.withColumn("_clock", clock()).withColumns(
        {"_n": F.row_number().over(side.orderBy("event_time", "byte_offset")), "_all": F.count("*").over(side)}
    )
    even = (F.min("_all").over(link) == F.max("_all").over(link)) & (F.size(F.collect_set("_clock").over(link)) == 2)
    paired = counted.withColumn("_even", even).where("_even")
    key = F.concat_ws("#", "leaf_port", F.col("_n").cast("string"))
    return _row(paired, F.col("kind"), key=key, time=F.col("event_time"), node=F.col("_clock"))


def _row(
    rows: DataFrame,
    kind: Column,
    *,
    time: Column,
    node: Column,
    key: Column | None = None,
    value: Column | None = None,
) -> DataFrame:
    return rows.select(
        F.to_date(time).alias("day"),
        "cluster",
        kind.alias("kind"),
        "job_id",
        "attempt_hint",
        (F.lit("") if key is None else key).alias("key"),
        "source",
        "stream_id",
        "byte_offset",
        node.alias("node"),
        "rank",
        time.alias("t"),
        (F.lit(None) if value is None else value).cast("double").alias("value_s"),
        F.lit(1).alias("n"),
    )
