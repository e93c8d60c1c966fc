"""NCCL RAS: the text of `ncclras` and its monitor, and its JSON.

Travel times are samples `clock.ras_travel_s`, labelled from and to. The JSON gives a row a rank: `ras comm=0x9c51
rank=17 host=n3 pid=41201 state=ok AllReduce=577`, and ` lags=AllReduce seq=577 lead=578` behind it where a minority of
the communicator launched fewer. A rank here is one inside its communicator, so no row is given a global one.
"""

import re
from typing import Any

import pyarrow as pa

from firstfault.transforms.formats.context import StreamContext
from firstfault.transforms.formats.hosts import short_host
from firstfault.transforms.formats.jsonwalk import Json, load_json, nested_spans
from firstfault.transforms.formats.linebook import LineBook
from firstfault.transforms.formats.rows import BAD_JSON, BANNER, BLANK, Rows, each_line, file_moment, moment

TRAVEL = "clock.ras_travel_s"

_STAMPED = re.compile(r"\[(?P<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?)\] (?P<text>.*)$")
_TRAVEL = re.compile(
    r"From node (?P<from>\S+) process (?P<from_pid>\d+) to node (?P<to>\S+) process (?P<to_pid>\d+): "
    r"observed travel time of (?P<seconds>-?\d+(?:\.\d+)?)\s*s"
)
_STAMP = re.compile(r'"timestamp"\s*:\s*"(?P<time>[^"]{0,40})"')
_HEADING = re.compile(r"[=\-~^]+$")


def read(data: bytes, ctx: StreamContext) -> pa.Table:
    """What RAS knows of each peer."""
    rows = Rows()
    if data.lstrip()[:1] == b"{":
        _read_json(rows, data, ctx)
    else:
        for line in each_line(data, ctx):
            stamped, travel = _STAMPED.match(line.text), _TRAVEL.search(line.text)
            about = moment(stamped["time"], ctx) if stamped else file_moment(ctx)
            if not line.text.strip():
                rows.drop(line, BLANK)
            elif _HEADING.match(line.text.strip()):
                rows.drop(line, BANNER)
            elif travel is not None:
                labels = {name: travel[name] for name in ("from", "from_pid", "to", "to_pid")}
                rows.samples(line, {TRAVEL: float(travel["seconds"])}, labels=labels, node=ctx.node, **about)
            else:
                text = stamped["text"] if stamped else line.text.strip()
                rows.log(line, text=text, node=ctx.node, **about)
    return rows.table()


def _read_json(rows: Rows, data: bytes, ctx: StreamContext) -> None:
    """Ranks of each communicator, those that are missing as well."""
    view, book = data.decode("latin-1"), LineBook(rows, data, ctx)
    stamp = _STAMP.search(view)
    found = moment(stamp["time"], ctx) if stamp else file_moment(ctx)
    about = found if found.get("event_time") is not None else file_moment(ctx)
    start = len(view) - len(view.lstrip())
    for comm in nested_spans(view, start, ("communicators",)):
        told = _object(load_json(view[comm[0] : comm[1]]))
        name, leads = str(told.get("hash", "-")), _leads(told)
        ranks = [(span, "ok") for span in nested_spans(view, comm[0], ("ranks",))]
        ranks += [(span, "missing") for span in nested_spans(view, comm[0], ("missing_ranks",))]
        for span, state in sorted(ranks):
            line, units = book.record(*span)
            rank = load_json(line.text)
            if isinstance(rank, dict):
                rows.log(line, units, **_columns(rank, name, state, leads) | about)
            else:
                rows.quarantine(line, BAD_JSON, units)
    whole = load_json(data.decode(errors="replace"))
    book.finish(BAD_JSON, refuse=True) if whole is None else book.finish()


def _leads(comm: dict[str, Json]) -> dict[str, int]:
    """Most launches by operation, of those operations of which at most half of the ranks launched fewer."""
    listed = comm.get("ranks")
    counts = [_object(_object(rank).get("collective_counts")) for rank in (listed if isinstance(listed, list) else [])]
    leads: dict[str, int] = {}
    for op in dict.fromkeys(name for count in counts for name in count):
        known = [value for count in counts if isinstance(value := count.get(op), int)]
        most = max(known, default=0)
        if 0 < sum(value < most for value in known) * 2 <= len(known):
            leads[op] = most
    return leads


def _columns(rank: dict[str, Json], comm: str, state: str, leads: dict[str, int]) -> dict[str, Any]:
    """What one rank says."""
    counts, status = (_object(rank.get(name)) for name in ("collective_counts", "status"))
    told = {"comm": comm, "rank": rank.get("rank"), "host": rank.get("host"), "pid": rank.get("pid"), "state": state}
    fields = {name: str(value) for name, value in (told | counts | status).items() if value is not None}
    words = [f"{name}={value}" for name, value in fields.items()]
    for op, most in leads.items():
        if isinstance(count := counts.get(op), int) and count < most:
            words += [f"lags={op}", f"seq={count}", f"lead={most}"]
            break
    host = rank.get("host")
    node = short_host(host) if isinstance(host, str) else None
    return {"text": " ".join(["ras", *words]), "fields": fields, "node": node}


def _object(value: Json) -> dict[str, Json]:
    return value if isinstance(value, dict) else {}
