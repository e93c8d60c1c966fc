"""inputs: what was read, planned before it is read (intent first)."""

from firstfault.transforms.contract import Table, column
from firstfault.transforms.types import INT, LONG, TEXT, TIME

PLANNED, LANDED, UNMATCHED = "planned", "landed", "unmatched"

INPUTS = Table(
    name="inputs",
    row="a byte range of a stream in a batch, once per state it reached",
    fields=(
        column("batch_id", TEXT, "hash of the batch's ranges", required=True),
        column("stream_id", TEXT, "identity of the stream, kept over rotation", required=True),
        column("identity", TEXT, "what the stream is but for its content"),
        column("head_bytes", LONG, "length of the head that the stream's id was made from"),
        column("from_byte", LONG, "first byte, in the uncompressed stream", required=True),
        column("to_byte", LONG, "end of the range, exclusive", required=True),
        column("lines_before", LONG, "lines of the stream before this range"),
        column("state", TEXT, "planned, landed or unmatched", required=True),
        column("format", TEXT, "format of sources.yaml"),
        column("zone", TEXT, "IANA zone assumed for times that name none"),
        column("owner", TEXT, "job:<id>, node:<name>, net or cluster"),
        column("cluster", TEXT, "cluster of the source"),
        column("job_id", TEXT, "home partition of the lines"),
        column("attempt_hint", INT, "attempt named by the path"),
        column("node", TEXT, "node named by the path"),
        column("rank", INT, "rank named by the path"),
        column("file", TEXT, "path below the landing zone"),
        column("file_time", TIME, "time in the file's name, else its modification time"),
        column("compression", TEXT, "none, gzip or zstd"),
        column("lines_read", LONG, "units read (landed rows only)"),
        column("lines_landed", LONG, "units landed"),
        column("lines_quarantined", LONG, "units quarantined"),
        column("lines_dropped", LONG, "units dropped by a named rule"),
        column("first_time", TIME, "earliest written time in the range"),
        column("last_time", TIME, "latest written time in the range"),
    ),
    keys=("stream_id", "from_byte", "state"),
)
