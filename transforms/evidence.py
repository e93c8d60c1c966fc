"""evidence: the chain of a verdict, step by step in the order it really happened."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from firstfault.transforms.clock_order import CLOCK_COLUMNS, Clock, common_slack_s
from firstfault.transforms.contract import Table, column
from firstfault.transforms.keys import ATTEMPT_KEY
from firstfault.transforms.types import BOOL, DAY, DOUBLE, INT, LONG, TEXT, TIME

MAX_STEPS = 60
EVIDENCE = Table(
    name="evidence",
    row="a step of a verdict's chain",
    fields=(
        column("cluster", TEXT, "cluster of the attempt", required=True),
        column("job_id", TEXT, "job", required=True),
        column("attempt", INT, "attempt", required=True),
        column("day", DAY, "day of the attempt"),
        column("ruleset_version", TEXT, "rule set of the verdict"),
        column("finding", TEXT, "rule that the chain belongs to"),
        column("position", INT, "place in the chain, from 0", required=True),
        column("offset_s", DOUBLE, "seconds after T0, on corrected time"),
        column("t", TIME, "corrected time"),
        column("t_low", TIME, "earliest"),
        column("t_high", TIME, "latest"),
        column("t_raw", TIME, "time as written"),
        column("order_certain", BOOL, "certainly after the step before it"),
        column("part", TEXT, "origin, support, cascade, earlier (felt before T0, not explained by it) or end"),
        column("node", TEXT, "node"),
        column("device", TEXT, "device"),
        column("rank", INT, "rank"),
        column("role", TEXT, "role of the event"),
        column("event_type", TEXT, "type of the event"),
        column("count", LONG, "records folded into it"),
        column("text", TEXT, "the line"),
        column("event_id", TEXT, "event", required=True),
        column("stream_id", TEXT, "raw pointer: stream"),
        column("byte_offset", LONG, "raw pointer: offset"),
        column("file", TEXT, "raw pointer: file"),
        column("line_no", LONG, "raw pointer: line"),
    ),
    keys=(*ATTEMPT_KEY, "ruleset_version", "position"),
    partitions=("day",),
    keep_days=400,
)


def build_evidence(scoped: DataFrame, winners: DataFrame, symptoms: DataFrame) -> DataFrame:
    """One row per step: what the winner rests on, what followed at each node, and how the scheduler ended it.

    Args:
        scoped: Scoped events with uid.
        winners: Deciding candidates with uid, rule_id, ruleset_version, t0, event_ids, explained, anchor_type.
        symptoms: First symptoms per node and type.
    """
    won = winners.select(
        "uid",
        "rule_id",
        "ruleset_version",
        "t0",
        F.col("event_ids").alias("_ids"),
        F.col("anchor_type").alias("_anchor"),
    )
    first = symptoms.select("event_id", "uid", F.lit(True).alias("_first"))
    events = scoped.join(won, "uid").join(first, ["uid", "event_id"], "left")
    is_basis = F.array_contains("_ids", F.col("event_id"))
    is_end = F.col("event_type") == "sched.end"
    part = (
        F.when(is_basis & (F.col("event_type") == F.col("_anchor")), "origin")
        .when(is_basis & (F.col("role") != "cascade"), "support")
        .when(is_end, "end")
        .when(F.col("_first") & (F.col("t_high") < F.col("t0")), "earlier")
        .when(F.col("_first") | is_basis, "cascade")
    )
    steps = events.withColumn("part", part).where("part is not null")
    ends = Window.partitionBy("uid", "part").orderBy("t", "event_id")
    single_end = steps.withColumn("_k", F.row_number().over(ends)).where("part != 'end' or _k = 1")
    chain = Window.partitionBy("uid").orderBy("t", "t_high", "event_id")
    slack = common_slack_s(Clock(*map(F.col, CLOCK_COLUMNS)), Clock(*(F.lag(c).over(chain) for c in CLOCK_COLUMNS)))
    after = F.col("t_low").cast("double") >= F.lag("t_high").over(chain).cast("double") - slack
    placed = single_end.select(
        "*",
        (F.row_number().over(chain) - 1).alias("position"),
        F.coalesce(after, F.lit(True)).alias("order_certain"),
        F.round(F.col("t").cast("double") - F.col("t0").cast("double"), 3).alias("offset_s"),
        F.col("rule_id").alias("finding"),
    )
    return EVIDENCE.conform(placed.where(F.col("position") < MAX_STEPS).select(*EVIDENCE.columns))
