"""`ntpq -p`: a peer a line. Offsets are server minus local in milliseconds; stored local minus server in seconds."""

import re

import pyarrow as pa

from firstfault.transforms.formats.chrony import OFFSET, PEER_OFFSET
from firstfault.transforms.formats.context import StreamContext
from firstfault.transforms.formats.rows import (
    BAD_VALUE,
    BANNER,
    BLANK,
    HEADER,
    NO_VALUE,
    Rows,
    each_line,
    file_moment,
)

_PEER = re.compile(
    r"(?P<tally>[ x.\-+#*o])?(?P<remote>\S+)\s+(?P<refid>\S+)\s+(?P<stratum>\d+)\s+(?P<kind>[a-zA-Z-])\s+(?P<when>\S+)"
    r"\s+(?P<poll>\d+\w?)\s+(?P<reach>[0-7]+)\s+(?P<delay>-?[\d.]+)\s+(?P<offset>[+-]?[\d.]+)\s+(?P<jitter>[\d.]+)\s*$"
)
_HEADER = re.compile(r"\s*remote\s+refid\s+st\b")
_SELECTED = ("*", "o")
_MILLI = 1e-3


def read(data: bytes, ctx: StreamContext) -> pa.Table:
    """The selected peer is `clock.offset_s`, any other one that answers `clock.peer_offset_s`."""
    rows = Rows()
    for line in each_line(data, ctx):
        peer = _PEER.match(line.text)
        if not line.text.strip():
            rows.drop(line, BLANK)
        elif _HEADER.match(line.text):
            rows.drop(line, HEADER)
        elif line.text.strip("=") == "":
            rows.drop(line, BANNER)
        elif peer is None:
            rows.quarantine(line, BAD_VALUE)
        elif int(peer["reach"], 8) == 0:
            rows.drop(line, NO_VALUE)
        else:
            metric = OFFSET if peer["tally"] in _SELECTED else PEER_OFFSET
            labels = {"source": peer["remote"], "state": (peer["tally"] or " ").strip()}
            values = _offset(metric, peer["offset"])
            if values is None:
                rows.quarantine(line, BAD_VALUE)
            else:
                rows.samples(line, values, labels=labels, node=ctx.node, **file_moment(ctx))
    return rows.table()


def _offset(metric: str, text: str) -> dict[str, float] | None:
    try:
        return {metric: -float(text) * _MILLI}
    except ValueError:
        return None
