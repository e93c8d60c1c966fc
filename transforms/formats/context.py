"""What a reader knows of the stream it reads, beside its bytes."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class StreamContext:
    """One byte range of one stream, as planned.

    Attributes:
        source: Format name of sources.yaml.
        node: Node named by the path, or None.
        rank: Global rank named by the path, or None.
        zone: IANA zone assumed for times that name none.
        file_time: UTC time in the file's name, else its modification time.
        byte_from: Offset of the first byte in the uncompressed stream.
        lines_before: Lines of the stream before this range.
        header: First line of the stream, for tables whose header a later range does not see.
        file: Path of the file, for dumps that name their device there only.
    """

    source: str
    node: str | None
    rank: int | None
    zone: str
    file_time: datetime
    byte_from: int = 0
    lines_before: int = 0
    header: bytes = b""
    file: str = ""
