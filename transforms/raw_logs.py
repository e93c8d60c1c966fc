"""raw_logs: every line as it was written. Its rows are made in flight: `raw_rows`."""

from datetime import timedelta

from firstfault.transforms.contract import Table, column
from firstfault.transforms.types import INT, LONG, TEXT, TIME

RAW_LOGS = Table(
    name="raw_logs",
    row="a line (or array item), verbatim",
    fields=(
        column("job_id", TEXT, "home partition: the job, or _node, _net, _cluster, _unknown", required=True),
        column("hour", TEXT, "yyyy-MM-dd-HH of the written time, else of the file", required=True),
        column("cluster", TEXT, "cluster of the source", required=True),
        column("node", TEXT, "node that the line speaks for"),
        column("rank", INT, "global rank"),
        column("source", TEXT, "format of sources.yaml", required=True),
        column("stream_id", TEXT, "stream; with byte_offset the key", required=True),
        column("byte_offset", LONG, "offset in the uncompressed stream", required=True),
        column("file", TEXT, "path below the landing zone", required=True),
        column("line_no", LONG, "1-based line (or item) in the stream"),
        column("event_time", TIME, "time as written, in UTC; null when the line has none"),
        column("time_basis", TEXT, "how event_time was known"),
        column("collected_at", TIME, "a collector's stamp"),
        column("message", TEXT, "the line"),
    ),
    keys=("stream_id", "byte_offset"),
    partitions=("job_id", "hour"),
    keep_days=30,
)


PLAUSIBLE_AFTER = timedelta(days=1)
"""A time later than its file by more than this was written by a clock that is wrong, or read wrongly."""
