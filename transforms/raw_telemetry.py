"""raw_telemetry: every sample as it was exported. Its rows are made in flight: `raw_rows`."""

from firstfault.transforms.contract import Table, column
from firstfault.transforms.types import DOUBLE, INT, LONG, TEXT, TEXT_MAP, TIME

RAW_TELEMETRY = Table(
    name="raw_telemetry",
    row="a sample of a metric",
    fields=(
        column("job_id", TEXT, "home partition: the job, or _node, _net, _cluster, _unknown", required=True),
        column("hour", TEXT, "yyyy-MM-dd-HH of the sample, else of the file", required=True),
        column("cluster", TEXT, "cluster of the source", required=True),
        column("node", TEXT, "node that the sample speaks of"),
        column("device", TEXT, "PCI id of the device"),
        column("port", TEXT, "switch:port or node/hca/port"),
        column("metric", TEXT, "name as exported", required=True),
        column("labels", TEXT_MAP, "labels as exported"),
        column("source", TEXT, "format of sources.yaml", required=True),
        column("stream_id", TEXT, "stream; with byte_offset, metric, places and time the key", required=True),
        column("byte_offset", LONG, "offset in the uncompressed stream", required=True),
        column("file", TEXT, "path below the landing zone", required=True),
        column("line_no", LONG, "1-based line (or item) in the stream"),
        column("units", INT, "lines or items that it accounts for: on the first sample of them, 0 on the others"),
        column("event_time", TIME, "time of the sample, in UTC"),
        column("time_basis", TEXT, "how event_time was known"),
        column("collected_at", TIME, "a collector's stamp"),
        column("value", DOUBLE, "value as exported"),
    ),
    keys=("stream_id", "byte_offset", "metric", "node", "device", "port", "event_time"),
    partitions=("job_id", "hour"),
    keep_days=30,
)
