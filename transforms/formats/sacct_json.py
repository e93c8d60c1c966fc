"""`sacct --json` and slurmrestd job documents, flattened to the columns of the table form.

Releases differ: numbers are bare or `{set, infinite, number}`, states a word or a list, times under `time` or
beside it, and a running job's end is a forecast. Times stay epoch seconds.
"""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from firstfault.transforms.formats import times
from firstfault.transforms.formats.context import StreamContext
from firstfault.transforms.formats.jsonwalk import Json, walk_items
from firstfault.transforms.formats.rows import BAD_JSON, Line, Rows
from firstfault.transforms.formats.sacct_row import land

_OPEN = {"PENDING", "RUNNING", "SUSPENDED", "CONFIGURING", "COMPLETING", "REQUEUED"}
_FLAGS = ("COMPLETING", "CONFIGURING", "REQUEUED", "RESIZING", "STAGE_OUT", "SIGNALING", "SPECIAL_EXIT")
_TEXTS = {  # column -> places it is found at, first filled one wins
    "JobName": ("name",),
    "User": ("association.user", "user_name", "user"),
    "Account": ("account", "association.account"),
    "Partition": ("partition",),
    "Cluster": ("cluster", "association.cluster"),
    "NodeList": ("nodes", "node_list"),
    "Reason": ("state.reason", "state_reason", "reason"),
    "FailedNode": ("failed_node",),
    "QOS": ("qos",),
    "Flags": ("flags",),
    "StdOut": ("stdout_expanded", "standard_output"),
    "WorkDir": ("working_directory", "current_working_directory"),
    "SLUID": ("sluid",),
}
_NUMBERS = {
    "Restarts": ("restart_cnt", "restarts"),
    "NNodes": ("allocation_nodes", "node_count"),
    "ElapsedRaw": ("time.elapsed",),
}
_TIMES = {
    "Submit": ("time.submission", "submit_time"),
    "Eligible": ("time.eligible", "eligible_time"),
    "Start": ("time.start", "start_time"),
    "End": ("time.end", "end_time"),
}


def read(data: bytes, ctx: StreamContext) -> pa.Table:
    """A row a job."""
    rows = Rows()
    for item in walk_items(data, ("jobs",)):
        line = Line(item.offset + ctx.byte_from, item.length, None, item.text)
        fields = job_fields(item.value) if isinstance(item.value, dict) else {}
        if fields.get("JobID"):
            land(rows, line, 1, fields, ctx)
        else:
            rows.quarantine(line, BAD_JSON if item.value is None else "no_job_id")
    return rows.table()


def job_fields(job: Mapping[str, Any]) -> dict[str, str]:
    """Columns of one job."""
    fields = {name: text for name, places in _TEXTS.items() if (text := _text(job, places))}
    numbers = {name: number(_first(job, places)) for name, places in _NUMBERS.items()}
    fields |= {name: str(value) for name, value in numbers.items() if value is not None}
    fields |= _identity(job) | _state(job)
    stamps = {name: number(_first(job, places)) for name, places in _TIMES.items()}
    if fields.get("State", "").split(" ")[0] in _OPEN:
        stamps["End"] = None
        if fields["State"] == "PENDING":
            stamps["Start"] = None
    for name, seconds in stamps.items():
        if seconds and times.epoch_micros(seconds) is not None:
            fields[name] = str(seconds)
    if "ElapsedRaw" not in fields and stamps["Start"] and stamps["End"]:
        fields["ElapsedRaw"] = str(max(0, stamps["End"] - stamps["Start"]))
    fields["AllocTRES"] = _text(job, ("tres_alloc_str",)) or _resources(_first(job, ("tres.allocated",)))
    codes = {"ExitCode": _exit(job.get("exit_code")), "DerivedExitCode": _exit(job.get("derived_exit_code"))}
    limit = _limit(_first(job, ("time.limit", "time_limit")))
    return {name: value for name, value in (fields | codes | {"Timelimit": limit}).items() if value}


def number(value: object) -> int | None:
    """A bare number, or the number of `{set, infinite, number}`; unset and infinite give None."""
    if isinstance(value, Mapping):
        value = value.get("number") if value.get("set") and not value.get("infinite") else None
    return int(value) if isinstance(value, int) and not isinstance(value, bool) else None


def _identity(job: Mapping[str, Any]) -> dict[str, str]:
    """JobID as sacct prints it (`123_4` of an array, `123+1` of a heterogeneous job), and the raw id."""
    raw = number(job.get("job_id"))
    if raw is None:
        return {}
    array = number(_first(job, ("array.job_id", "array_job_id")))
    task = number(_first(job, ("array.task_id", "array_task_id")))
    leader = number(_first(job, ("het.job_id", "het_job_id")))
    offset = number(_first(job, ("het.job_offset", "het_job_offset")))
    name = f"{leader}+{offset}" if leader and offset is not None else str(raw)
    return {"JobID": f"{array}_{task}" if array and task is not None else name, "JobIDRaw": str(raw)}


def _state(job: Mapping[str, Any]) -> dict[str, str]:
    """The base state, and who cancelled if told."""
    told = _first(job, ("state.current", "job_state", "state"))
    words = [str(word) for word in told] if isinstance(told, list) else [str(told)] if told else []
    if not words:
        return {}
    state = next((word for word in words if word not in _FLAGS), words[0])
    killer = _text(job, ("kill_request_user",))
    return {"State": f"{state} by {killer}" if state == "CANCELLED" and killer else state}


def _exit(code: object) -> str | None:
    """`exit:signal`."""
    if isinstance(code, Mapping):
        signal = code.get("signal") or {}
        told = signal.get("id", signal.get("signal_id")) if isinstance(signal, Mapping) else signal
        return f"{number(code.get('return_code')) or 0}:{number(told) or 0}"
    status = number(code)
    return None if status is None else f"{status >> 8 & 0xFF}:{status & 0x7F}"


def _resources(items: object) -> str:
    """`cpu=96,gres/gpu=8` of a list of resources."""
    listed = [item for item in items if isinstance(item, Mapping)] if isinstance(items, list) else []
    names = ("/".join(str(part) for part in (i.get("type"), i.get("name")) if part) for i in listed)
    return ",".join(f"{name}={i.get('count')}" for name, i in zip(names, listed, strict=True))


def _limit(value: object) -> str | None:
    """Minutes as `[D-]HH:MM:SS`."""
    if isinstance(value, Mapping) and value.get("infinite"):
        return "UNLIMITED"
    minutes = number(value)
    if minutes is None:
        return None
    days, rest = divmod(minutes, 1440)
    return f"{f'{days}-' if days else ''}{rest // 60:02d}:{rest % 60:02d}:00"


def _first(job: Mapping[str, Any], places: tuple[str, ...]) -> Json:
    """First value that is there, of dotted places."""
    for place in places:
        value: Json = job
        for key in place.split("."):
            value = value.get(key) if isinstance(value, Mapping) else None
        if value not in (None, "", []):
            return value
    return None


def _text(job: Mapping[str, Any], places: tuple[str, ...]) -> str | None:
    """First filled text; a list is joined."""
    value = _first(job, places)
    if isinstance(value, list):
        return ",".join(str(word) for word in value)
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else None
