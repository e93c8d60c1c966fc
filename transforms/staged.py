"""The batch in flight: what a reader yields for one byte range, and what of it goes on to Spark.

The task that reads a range writes its lines and samples into the raw tables' files itself. On to Spark go the few rows
that a later stage needs (events, scheduler records, witnesses of clocks, what was refused or dropped) and one report a
segment, whose figures say that lines read = landed + quarantined + dropped.
"""

import pyarrow as pa
from pyspark.sql.types import (
    ArrayType,
    DoubleType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructType,
    TimestampType,
)

from firstfault.transforms.contract import column

LANDED_LOG, LANDED_SAMPLE = "landed_log", "landed_sample"
QUARANTINED, DROPPED = "quarantined", "dropped"
DISPOSITIONS = (LANDED_LOG, LANDED_SAMPLE, QUARANTINED, DROPPED)
REPORT = "report"  # one a segment: what it held, counted apart from the reader, and what became of it

_TEXT_MAP = pa.map_(pa.string(), pa.string())
_TIME = pa.timestamp("us", tz="UTC")

HIT_TYPE = pa.struct(
    [
        ("ordinal", pa.int32()),
        ("pattern_id", pa.string()),
        ("event_type", pa.string()),
        ("node", pa.string()),
        ("device", pa.string()),
        ("port", pa.string()),
        ("rank", pa.int32()),
        ("attrs", _TEXT_MAP),
    ]
)

FOLDED_TYPE = pa.struct([*HIT_TYPE, ("count", pa.int64()), ("t_last", _TIME)])
"""A hit with the repeats that were folded into it in flight: how many records, and the latest written time."""

MARK_TYPE = pa.struct([("kind", pa.string()), ("key", pa.string()), ("t", _TIME)])
"""A moment that others write of too, as this line dates it (`marks_in_flight`)."""

REPORT_TYPE = pa.struct(
    [
        ("read", pa.int64()),
        *((name, pa.int64()) for name in DISPOSITIONS),
        ("first_time", _TIME),
        ("last_time", _TIME),
        ("nodes", pa.list_(pa.string())),
    ]
)
"""Units of one segment by what became of them, earliest and latest plausible time, nodes it speaks for."""

READ_SCHEMA = pa.schema(
    [
        ("disposition", pa.string()),  # one of the constants above
        ("units", pa.int32()),  # units of the books this row accounts for
        ("byte_offset", pa.int64()),  # of the line in the uncompressed stream
        ("length", pa.int32()),  # bytes of the line, end of line included
        ("line_no", pa.int64()),  # 1-based in the stream
        ("node", pa.string()),  # node the line or sample speaks for, if it says or the path does
        ("rank", pa.int32()),  # global rank
        ("event_time", _TIME),  # as written, brought to UTC; null when the line has none
        ("time_basis", pa.string()),  # zoned, assumed_zone, no_year, no_date, boot_relative, epoch, ...
        ("collected_at", _TIME),  # a collector's stamp, or null
        ("t_prev", _TIME),  # last written time before an untimed line in the same range
        ("t_next", _TIME),  # next written time after an untimed line in the same range
        ("message", pa.string()),  # the line, verbatim
        ("text", pa.string()),  # body that patterns are matched against; null: not matched
        ("fields", _TEXT_MAP),  # named fields of a structured record; null for plain lines
        ("device", pa.string()),
        ("port", pa.string()),
        ("metric", pa.string()),
        ("labels", _TEXT_MAP),
        ("value", pa.float64()),
        ("reason", pa.string()),  # why quarantined, or the named rule that dropped
    ]
)
"""What a reader of `transforms/formats` returns."""

_STREAM_FIELDS = [
    ("batch_id", pa.string()),
    ("cluster", pa.string()),
    ("job_id", pa.string()),  # home partition: the job, or _node, _net, _cluster, _unknown
    ("attempt_hint", pa.int32()),  # attempt named by the path
    ("source", pa.string()),  # format of sources.yaml
    ("zone", pa.string()),  # IANA zone assumed for times that name none
    ("stream_id", pa.string()),
    ("range_from", pa.int64()),  # first byte of the planned range
    ("file", pa.string()),
    ("file_time", _TIME),
]

STAGED_SCHEMA = pa.schema(
    _STREAM_FIELDS
    + [f for f in READ_SCHEMA if f.name != "text"]
    + [("hits", pa.list_(FOLDED_TYPE)), ("marks", pa.list_(MARK_TYPE))]
    + [("report", REPORT_TYPE), ("files", pa.list_(pa.string()))]
)
"""What the landing task yields, in Arrow; `files` are the files that it wrote, as JSON (`raw_files.RawFile`)."""

_STRINGS = MapType(StringType(), StringType())
HIT_STRUCT = StructType(
    [
        column("ordinal", IntegerType(), "position among the events of one record"),
        column("pattern_id", StringType(), "pattern that matched"),
        column("event_type", StringType(), "word of the vocabulary"),
        column("node", StringType(), "node named by the record"),
        column("device", StringType(), "PCI id named by the record"),
        column("port", StringType(), "port named by the record"),
        column("rank", IntegerType(), "rank named by the record"),
        column("attrs", _STRINGS, "attributes by name"),
        column("count", LongType(), "records folded into it in flight"),
        column("t_last", TimestampType(), "latest written time of those"),
    ]
)
MARK_STRUCT = StructType(
    [
        column("kind", StringType(), "kind of rules/clock_marks.yaml"),
        column("key", StringType(), "names the moment within the attempt"),
        column("t", TimestampType(), "time as written"),
    ]
)
REPORT_STRUCT = StructType(
    [
        *(
            column(n, LongType(), f"units {n}")
            for n in ("read", "landed_log", "landed_sample", "quarantined", "dropped")
        ),
        column("first_time", TimestampType(), "earliest plausible time"),
        column("last_time", TimestampType(), "latest plausible time"),
        column("nodes", ArrayType(StringType()), "nodes that the segment speaks for"),
    ]
)
_SPARK_TYPES = {
    pa.string(): StringType(),
    pa.int32(): IntegerType(),
    pa.int64(): LongType(),
    pa.float64(): DoubleType(),
    _TIME: TimestampType(),
    _TEXT_MAP: _STRINGS,
    pa.list_(FOLDED_TYPE): ArrayType(HIT_STRUCT),
    pa.list_(MARK_TYPE): ArrayType(MARK_STRUCT),
    REPORT_TYPE: REPORT_STRUCT,
    pa.list_(pa.string()): ArrayType(StringType()),
}
STAGED = StructType([column(f.name, _SPARK_TYPES[f.type], f"in flight: {f.name}") for f in STAGED_SCHEMA])
"""The same as a Spark schema."""
