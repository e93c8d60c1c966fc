"""`scontrol --json` and slurmrestd's answers on nodes, controllers and jobs: a record an item, in canonical text."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from firstfault.transforms.formats import times
from firstfault.transforms.formats.context import StreamContext
from firstfault.transforms.formats.hosts import short_host
from firstfault.transforms.formats.jsonwalk import Json, walk_items
from firstfault.transforms.formats.kube import leaves
from firstfault.transforms.formats.rows import BAD_JSON, Line, Rows, file_moment
from firstfault.transforms.formats.sacct_json import job_fields, number

_LISTS = ("nodes", "pings", "jobs", "partitions", "reservations")
_NO_RECORD = "no_record"


def read(data: bytes, ctx: StreamContext) -> pa.Table:
    """A row an item of the document's list; an answer without one is set aside."""
    rows = Rows()
    for item in walk_items(data, (listed(data) or _LISTS[0],)):
        line = Line(item.offset + ctx.byte_from, item.length, None, item.text)
        told = _told(item.value, ctx) if isinstance(item.value, dict) else None
        if told is None:
            rows.quarantine(line, BAD_JSON if item.value is None else _NO_RECORD)
        else:
            rows.log(line, **told)
    return rows.table()


def listed(data: bytes) -> str | None:
    """Name of the list that the document holds: the first of those known."""
    places = {name: data.find(b'"%s"' % name.encode()) for name in _LISTS}
    return min((name for name, at in places.items() if at >= 0), key=lambda name: places[name], default=None)


def _told(item: Mapping[str, Any], ctx: StreamContext) -> dict[str, Any] | None:
    """What one item says, or None when it is none of the known kinds."""
    fields = dict(leaves(item))
    if "pinged" in item:
        words = [f"scontrol controller {item.get('hostname')}", f"mode={item.get('mode')}", f"ping={item['pinged']}"]
        return {"text": " ".join(words), "node": short_host(_word(item.get("hostname")))} | _rest(fields, None, ctx)
    if "job_id" in item:
        job = job_fields(item)
        keys = {"state": "State", "exit": "ExitCode", "nodes": "NodeList", "reason": "Reason"}
        words = [f"{key}={job[name]}" for key, name in keys.items() if job.get(name) not in (None, "None")]
        return {"text": " ".join(["scontrol job", job["JobID"], *words])} | _rest(job, job.get("End"), ctx)
    name = _word(item.get("name"))
    if name and ("state" in item or "next_state_after_reboot" in item):
        reason = " ".join(_word(item.get("reason")).split())
        text = f"scontrol node {name} state={_state(item.get('state'))}" + (f" reason={reason}" if reason else "")
        return {"text": text, "node": short_host(name)} | _rest(fields, _since(item, reason), ctx)
    return {"text": f"scontrol partition {name}"} | _rest(fields, None, ctx) if name else None


def _state(value: Json) -> str:
    """A state as one word with its flags; older releases write one word and a list of flags."""
    words = value if isinstance(value, list) else [value]
    return "+".join(str(word) for word in words if word) or "UNKNOWN"


def _since(item: Mapping[str, Any], reason: str) -> Json:
    """When the reason was set."""
    return number(item.get("reason_changed_at")) if reason else None


def _rest(fields: dict[str, str], epoch: object, ctx: StreamContext) -> dict[str, Any]:
    """Fields and time: the epoch told, else the file's; a job's end may lie ahead, as its limit foretells it."""
    moment = times.epoch_micros(epoch) if epoch else None
    if moment is None or moment > times.to_micros(ctx.file_time):
        return {"fields": fields} | file_moment(ctx)
    return {"fields": fields, "event_time": moment, "time_basis": times.EPOCH}


def _word(value: object) -> str:
    return value if isinstance(value, str) else ""
