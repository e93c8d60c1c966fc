"""event_windows: what counters and events did in windows of corrected time, and how far a node is from its peers.

A counter that rises on all nodes of an attempt accuses none of them. A window in which a metric only rested has no
row, but counts among its peers. Marks of progress have none either: every healthy rank writes them all the time.
"""

from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from firstfault.transforms.contract import Table, column
from firstfault.transforms.keys import ATTEMPT_KEY
from firstfault.transforms.peers import Peers, with_peers
from firstfault.transforms.types import BOOL, DAY, DOUBLE, INT, LONG, TEXT, TIME
from firstfault.transforms.window_figures import GROUP, in_windows
from firstfault.transforms.window_input import METRIC, PLACE, window_input

EVENT_WINDOWS = Table(
    name="event_windows",
    row="what a metric or type of event did at one place of an attempt within a window",
    fields=(
        column("cluster", TEXT, "cluster of the attempt", required=True),
        column("job_id", TEXT, "job", required=True),
        column("attempt", INT, "attempt", required=True),
        column("day", DAY, "day of the attempt"),
        column("node", TEXT, "node; null for events that name none"),
        column("device", TEXT, "PCI id of the device"),
        column("port", TEXT, "switch:port or node/hca/port"),
        column("kind", TEXT, "metric (samples) or event", required=True),
        column("name", TEXT, "metric as exported, or event type", required=True),
        column("window_s", INT, "length of the window", required=True),
        column("slide_s", INT, "seconds from one window to the next; window_s where they tumble", required=True),
        column("t_from", TIME, "start of the window, on corrected time", required=True),
        column("t_to", TIME, "end of the window, exclusive", required=True),
        column("n", LONG, "metric: samples in the window"),
        column("count", LONG, "event: records that began in the window"),
        column("first", DOUBLE, "metric: first value in the window"),
        column("last", DOUBLE, "metric: last value in the window"),
        column("min", DOUBLE, "metric: least value"),
        column("max", DOUBLE, "metric: largest value"),
        column("delta", DOUBLE, "counter: growth since the sample before the window, resets left out; gauge: change"),
        column("rate_per_s", DOUBLE, "counter: growth per second of the time it took; event: records per second"),
        column("resets", LONG, "counter: decreases, each of which counts as no growth"),
        column("saturated", BOOL, "counter: stood at its largest value, so that no growth says nothing", required=True),
        column("peers", INT, "other nodes of the attempt with a figure; for events all, a silent one counting 0"),
        column("peer_median", DOUBLE, "median of the other nodes' figures (counter: delta, gauge: max, event: count)"),
        column("peer_mad", DOUBLE, "their median absolute deviation"),
        column("distance", DOUBLE, "robust z: figure less peer_median by the spread; null with fewer than 3 peers"),
        column("everywhere", BOOL, "most other nodes rose as well, and it is not far from them", required=True),
    ),
    keys=(*ATTEMPT_KEY, *PLACE, "kind", "name", "window_s", "slide_s", "t_from"),
    partitions=("day",),
    keep_days=120,
)
PEER_DISTANCE, EVERYWHERE = "peer_distance", "everywhere"
"""Attributes of scoped events that a window gives."""


@dataclass(frozen=True)
class Shapes:
    """Windows and the comparison with peers (`rules/windows.yaml`).

    Attributes:
        windows: Length and slide in seconds; exactly one tumbles.
        peers: How a node is compared with the others.
    """

    windows: tuple[tuple[int, int], ...]
    peers: Peers


def build_event_windows(
    samples: DataFrame, scoped: DataFrame, attempts: DataFrame, signals: DataFrame, offsets: DataFrame, shapes: Shapes
) -> DataFrame:
    """One row per attempt, place, metric or event type, and window in which it did more than rest.

    Args:
        samples: raw_telemetry rows of the metrics that signals ask for.
        scoped: Scoped events.
        attempts: Attempts with nodes, source_cluster, window_from and window_to (null while it runs).
        signals: Rows of `signal_events.SIGNALS`.
        offsets: cluster, node, t_from, t_to, offset_s (`clock_offsets.best_offsets`).
        shapes: Windows and how peers are compared.
    """
    observed = window_input(samples, scoped, attempts, signals, offsets)
    compared = with_peers(in_windows(observed, shapes.windows), GROUP, shapes.peers)
    start, length = F.col("_start"), F.col("window_s").cast("bigint") * 1_000_000
    return EVENT_WINDOWS.conform(
        compared.where("_heard").withColumns(
            {"t_from": F.timestamp_micros(start), "t_to": F.timestamp_micros(start + length)}
        )
    )


def mark_everywhere(scoped: DataFrame, windows: DataFrame) -> DataFrame:
    """The scoped events, those found in metrics with `peer_distance` and `everywhere` of the window of their sample.

    Args:
        scoped: Scoped events.
        windows: Rows of event_windows of the same attempts; the tumbling ones of metrics are looked at.
    """
    tumbling = windows.where(f"kind = '{METRIC}' and window_s = slide_s").select(
        *(F.col(c).alias(f"_{c}") for c in (*ATTEMPT_KEY, *PLACE, "name", "t_from", "t_to")),
        "distance",
        EVERYWHERE,
    )
    same = [F.col(k) == F.col(f"_{k}") for k in ATTEMPT_KEY] + [F.col(p).eqNullSafe(F.col(f"_{p}")) for p in PLACE]
    # t lies between two samples; the one that showed the event is where its interval ends but for the clock's error.
    # Scrapes fall on the borders of windows: the error is cut to microseconds as it was when it was added.
    sampled = F.timestamp_micros(F.unix_micros("t_high") - (F.col("clock_error_s") * 1_000_000).cast("bigint"))
    shown = (F.col("time_basis") == "sample_window") & (F.col("attrs")["counter"] == F.col("_name"))
    on = shown & (sampled >= F.col("_t_from")) & (sampled < F.col("_t_to"))
    for clause in same:
        on = on & clause
    said = F.map_from_arrays(
        F.array(F.lit(PEER_DISTANCE), F.lit(EVERYWHERE)),
        F.array(F.format_string("%.3f", "distance"), F.when(F.col(EVERYWHERE), F.lit("true"))),
    )
    told = F.when(F.col("distance").isNotNull(), F.map_filter(said, lambda _, value: value.isNotNull()))
    attrs = F.when(told.isNull(), F.col("attrs")).otherwise(F.map_concat("attrs", told))
    return scoped.join(tumbling, on, "left").withColumn("attrs", attrs).select(*scoped.columns)
