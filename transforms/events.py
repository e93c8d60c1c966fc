"""events: one typed event per matched record, bursts folded, on corrected time with its interval.

Decision 2026-11-29: events are rewritten by day (replaceWhere), not appended: a better clock then corrects events that
landed before it, and a night that was cut short cannot double them.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from firstfault.transforms.bursts import PROGRESS_BURST_S
from firstfault.transforms.clock_of import clock
from firstfault.transforms.contract import Table, column
from firstfault.transforms.hostlist import MAX_HOSTS, hosts
from firstfault.transforms.keys import id_column
from firstfault.transforms.types import DAY, DOUBLE, INT, LONG, TEXT, TEXT_MAP, TIME

EVENTS = Table(
    name="events",
    row="one typed event; repeats within the type's gap are folded into it",
    fields=(
        column("event_id", TEXT, "hash of stream, offset, type and ordinal", required=True),
        column("day", DAY, "UTC day of t", required=True),
        column("cluster", TEXT, "cluster of the stream", required=True),
        column("job_id", TEXT, "home of the record: a job, or _node, _net, _cluster", required=True),
        column("attempt_hint", INT, "attempt named by the path"),
        column("event_type", TEXT, "word of the vocabulary", required=True),
        column("t", TIME, "corrected time: middle of the interval"),
        column("t_low", TIME, "earliest true time"),
        column("t_high", TIME, "latest true time"),
        column("t_raw", TIME, "time as written"),
        column("t_last", TIME, "corrected time of the last repeat"),
        column("time_basis", TEXT, "how t_raw was known"),
        column("clock", TEXT, "whose clock wrote t_raw: a node, or server:<source>; null when unknown"),
        column("clock_error_s", DOUBLE, "part of the interval, to each side, that this clock accounts for"),
        column("clock_shared_s", DOUBLE, "part of clock_error_s that all clocks of clock_reference share"),
        column("clock_reference", TEXT, "what true time is taken from"),
        column("node", TEXT, "node the event speaks of"),
        column("device", TEXT, "PCI id"),
        column("port", TEXT, "switch:port or node/hca/1"),
        column("rank", INT, "global rank"),
        column("code", TEXT, "value of the type's key attribute"),
        column("class", TEXT, "class of the code in its catalogue"),
        column("role", TEXT, "initiating, cascade, teardown, confirmation, progress or context"),
        column("category", TEXT, "what it would mean as an origin"),
        column("count", LONG, "records folded into it"),
        column("attrs", TEXT_MAP, "attributes by name"),
        column("source", TEXT, "format of the source"),
        column("stream_id", TEXT, "raw pointer: stream"),
        column("byte_offset", LONG, "raw pointer: offset"),
        column("file", TEXT, "raw pointer: file"),
        column("line_no", LONG, "raw pointer: line"),
        column("text", TEXT, "the line, at most 400 characters"),
        column("pattern_id", TEXT, "pattern or signal that found it"),
        column("t_prev", TIME, "written time before an untimed record"),
        column("t_next", TIME, "written time after an untimed record"),
        column("file_time", TIME, "time of the file"),
        column("t_raw_last", TIME, "time as written of the last repeat"),
    ),
    keys=("event_id",),
    partitions=("day",),
    keep_days=120,
    version=2,
)

PLACED_COLUMNS = {"day", "t", "t_low", "t_high", "t_last", "clock_error_s", "clock_shared_s", "clock_reference"}
FOUND_COLUMNS = [c for c in EVENTS.columns if c not in PLACED_COLUMNS]
"""What is known of an event before it is placed in time."""
TEXT_CHARS = 400


def extract_events(staged: DataFrame, vocabulary: DataFrame, catalogues: DataFrame) -> DataFrame:
    """One row per event found in the batch (`FOUND_COLUMNS`), bursts folded.

    Args:
        staged: The batch in flight.
        vocabulary: event_type, scope, role, category, gap_s, key, catalogue.
        catalogues: catalogue, code, class, role, category.
    """
    hits = staged.where(F.size("hits") > 0).select("*", F.explode("hits").alias("hit"))
    return fold_bursts(judge(_spread_nodes(_found(hits)), vocabulary, catalogues))


def _found(hits: DataFrame) -> DataFrame:
    attrs = F.col("hit.attrs")
    node = F.coalesce("hit.node", "node")
    port = F.coalesce("hit.port", "port", F.concat_ws("/", node, attrs["hca"], F.lit("1")))
    named_port = F.when(F.col("hit.port").isNotNull() | F.col("port").isNotNull() | attrs["hca"].isNotNull(), port)
    return hits.select(
        "cluster",
        "job_id",
        "attempt_hint",
        F.col("hit.event_type").alias("event_type"),
        F.col("event_time").alias("t_raw"),
        "time_basis",
        clock().alias("clock"),
        node.alias("node"),
        F.coalesce("hit.device", "device").alias("device"),
        named_port.alias("port"),
        F.coalesce("hit.rank", "rank").alias("rank"),
        attrs.alias("attrs"),
        "source",
        "stream_id",
        "byte_offset",
        "file",
        "line_no",
        F.substring("message", 1, TEXT_CHARS).alias("text"),
        F.col("hit.pattern_id").alias("pattern_id"),
        F.col("hit.ordinal").alias("_ordinal"),
        F.coalesce("hit.count", F.lit(1)).alias("_count"),
        F.coalesce("hit.t_last", "event_time", "t_prev").alias("_last"),
        "t_prev",
        "t_next",
        "file_time",
    )


def _spread_nodes(found: DataFrame) -> DataFrame:
    """A record that names several nodes becomes an event of each."""
    listed = F.col("node").isNull() & F.col("attrs")["nodes"].isNotNull()
    named = found.where(listed).withColumn("_nodes", hosts(F.col("attrs")["nodes"]))
    spread = named.select("*", F.posexplode_outer("_nodes").alias("_i", "_node"))
    each = spread.select(
        *(F.col("_node").alias("node") if c == "node" else F.col(c) for c in found.columns if c != "_ordinal"),
        # Below zero, apart from the ordinals of records that name one node.
        (-(F.col("_ordinal") * (MAX_HOSTS + 1) + F.coalesce("_i", F.lit(0)) + 1)).alias("_ordinal"),
    )
    return found.where(~listed).unionByName(each)


def judge(found: DataFrame, vocabulary: DataFrame, catalogues: DataFrame) -> DataFrame:
    """The events with code, class, role and category: the catalogue's word on the code, else the vocabulary's."""
    words = vocabulary.select(
        "event_type",
        F.col("role").alias("_role"),
        F.col("category").alias("_category"),
        "gap_s",
        "key",
        F.col("catalogue").alias("_catalogue"),
    )
    known = catalogues.select(
        F.col("catalogue").alias("_catalogue"),
        "code",
        "class",
        F.col("role").alias("_code_role"),
        F.col("category").alias("_code_category"),
    )
    coded = found.join(F.broadcast(words), "event_type").withColumn("code", F.col("attrs")[F.col("key")])
    return (
        coded.join(F.broadcast(known), ["_catalogue", "code"], "left")
        .withColumn("role", F.coalesce("_code_role", "_role"))
        .withColumn("category", F.coalesce("_code_category", "_category"))
        .drop("_role", "_category", "_code_role", "_code_category", "_catalogue", "key")
    )


def fold_bursts(judged: DataFrame) -> DataFrame:
    """One row per burst: repeats of one type, place and code in a stream whose gap is at most `gap_s`.

    Args:
        judged: Events with `gap_s`, `_ordinal`, raw pointers, and what was folded in flight (`bursts.fold_hits`, the
            same rule): `_count` records, the latest of them at `_last`.
    """
    key = ["stream_id", "event_type", "node", "device", "port", "rank", "code", "_ordinal"]
    order = Window.partitionBy(*key).orderBy("byte_offset", "t_raw")
    time = F.coalesce("t_raw", "t_prev").cast("double")
    before = F.max("_last").over(order.rowsBetween(Window.unboundedPreceding, -1)).cast("double")
    next_slot = (F.col("role") == "progress") & (F.floor(time / PROGRESS_BURST_S) > F.floor(before / PROGRESS_BURST_S))
    starts = F.coalesce(((time - before > F.col("gap_s")) | next_slot).cast("int"), F.lit(0))
    bursts = judged.withColumn("_starts", starts).withColumn("_burst", F.sum("_starts").over(order))
    first = F.min_by(F.struct(*judged.columns), F.struct("byte_offset", "t_raw")).alias("first")
    folded = bursts.groupBy(*(F.col(k).alias(f"_{k}") for k in key), "_burst").agg(
        first, F.sum("_count").alias("count"), F.max("_last").alias("t_raw_last")
    )
    return folded.select(
        _event_id().alias("event_id"),
        *(F.col(f"first.{c}").alias(c) for c in FOUND_COLUMNS if c not in {"event_id", "count", "t_raw_last"}),
        "count",
        "t_raw_last",
    )


def _event_id() -> Column:
    """Of a record: stream, offset, type and ordinal; of a metric: its series, the time of its sample and the type."""
    f = {name: F.col(f"first.{name}") for name in (*_RECORD_KEY, *_SAMPLE_KEY)}
    record = id_column(*(f[name] for name in _RECORD_KEY))
    sample = id_column(*(f[name] for name in _SAMPLE_KEY))
    return F.when(F.col("first.time_basis") == "sample_window", sample).otherwise(record)


_RECORD_KEY = ("stream_id", "byte_offset", "event_type", "_ordinal")
_SAMPLE_KEY = ("cluster", "node", "device", "port", "_ordinal", "t_raw", "event_type")
