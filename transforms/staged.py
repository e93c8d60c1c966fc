"""The batch in flight: what a reader yields for one byte range, before it is split into tables.

One row accounts for `units` units of the books (a physical line, an array item or a sample), so that
lines read = landed + quarantined + dropped can be summed from this frame alone.
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
COUNTED = "counted"  # what a range held, counted apart from the reader: the other side of the books

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
    _STREAM_FIELDS + [f for f in READ_SCHEMA if f.name != "text"] + [("hits", pa.list_(HIT_TYPE))]
)
"""What the landing task yields per unit, in Arrow."""

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
    ]
)
_SPARK_TYPES = {
    pa.string(): StringType(),
    pa.int32(): IntegerType(),
    pa.int64(): LongType(),
    pa.float64(): DoubleType(),
    _TIME: TimestampType(),
    _TEXT_MAP: _STRINGS,
    pa.list_(HIT_TYPE): ArrayType(HIT_STRUCT),
}
STAGED = StructType([column(f.name, _SPARK_TYPES[f.type], f"in flight: {f.name}") for f in STAGED_SCHEMA])
"""The same as a Spark schema."""
