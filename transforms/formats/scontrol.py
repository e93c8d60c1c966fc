"""Slurm's node and job dumps: `scontrol show node|job` (a record over several lines, or one with `-o`) and `sinfo -R`.

Canonical texts: `scontrol node n3 state=DOWN+DRAIN reason=...`, `sinfo node n[3-4] reason=...`,
`scontrol job 84213 state=NODE_FAIL exit=1:0 nodes=... reason=...`.
"""

import re
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from firstfault.transforms.formats import scontrol_json, times
from firstfault.transforms.formats.context import StreamContext
from firstfault.transforms.formats.hosts import short_host
from firstfault.transforms.formats.jsonwalk import is_json_file
from firstfault.transforms.formats.rows import BLANK, HEADER, NO_HEADER, Line, Rows, each_line, file_moment, moment

_START = re.compile(r"(?P<kind>NodeName|JobId|PartitionName|ReservationName|StepId)=(?P<id>\S+)")
_KEY = re.compile(r"(?:^|(?<=\s))(?P<key>[A-Z][\w:/]*)=")
_LONG = re.compile(
    r"\s*(?P<key>Reason|Comment|AdminComment|SystemComment|Extra|OS|Command|SubmitLine|WorkDir)=(?P<text>.*)$"
)
_BY = re.compile(r"(?P<reason>.*?)\s*\[(?P<by>[^\]@\s]*)@(?P<time>[^\]\s]+)\]\s*$")
_SINFO = re.compile(
    r"(?P<reason>\S.*?)(?:\s*\|\s*|\s+)(?P<by>[^\s|]+)(?:\s*\|\s*|\s+)(?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d|Unknown)"
    r"(?:\s*\|\s*|\s+)(?P<nodes>[A-Za-z][\w.,\[\]-]*)\s*$"
)
_SINFO_HEADER = re.compile(r"\s*REASON\b.*\bNODELIST\b")
_CONFIG = re.compile(
    r"[A-Z][\w/\[\]]*\s+=(?:\s|$)|[A-Z][\w ]* Configuration:|Configuration data as of|Slurmctld\(\S+\) at|Cgroup"
)
_SUFFIXES = "*~#%!$@^-"
_MARKS = {"*": "NOT_RESPONDING", "$": "MAINTENANCE"}
_NO_RECORD = "no_record"
_UNSET = {"", "(null)", "None", "N/A", "Unknown", "none"}


def read(data: bytes, ctx: StreamContext) -> pa.Table:
    """A row a record, whose units are its lines; the time is when the reason was set or the job ended."""
    if is_json_file(ctx.file):
        return scontrol_json.read(data, ctx)
    rows = Rows()
    for line, count in _records(data, ctx):
        start, reason = _START.match(line.text), _SINFO.match(line.text)
        if not line.text.strip():
            rows.drop(line, BLANK, count)
        elif start is not None:
            fields = parse_record(line.text)
            rows.log(line, count, fields=fields, **_columns(start["kind"], start["id"], fields, ctx))
        elif _SINFO_HEADER.match(line.text):
            rows.drop(line, HEADER, count)
        elif reason is not None:
            rows.log(line, count, **_drained(reason, ctx))
        elif _CONFIG.match(line.text):
            rows.log(line, count, text=f"scontrol config {' '.join(line.text.split())}", **file_moment(ctx))
        else:
            rows.quarantine(line, NO_HEADER if "|" in line.text else _NO_RECORD, count)
    return rows.table()


def _records(data: bytes, ctx: StreamContext) -> Iterator[tuple[Line, int]]:
    """Lines, those indented below the start of a record joined to it; and how many they are."""
    record: list[Line] = []
    for line in each_line(data, ctx):
        if record and line.text[:1] in (" ", "\t") and line.text.strip():
            record.append(line)
            continue
        yield from _joined(record)
        record = [line] if _START.match(line.text) else []
        if not record:
            yield line, 1
    yield from _joined(record)


def _joined(record: list[Line]) -> Iterator[tuple[Line, int]]:
    """The lines of one record as one."""
    if record:
        first = record[0]
        text = "\n".join(line.text for line in record)
        yield Line(first.offset, sum(line.length for line in record), first.number, text), len(record)


def parse_record(text: str) -> dict[str, str]:
    """Keys and values; a key of free text that begins a line takes all of it."""
    fields: dict[str, str] = {}
    for line in text.split("\n"):
        free = _LONG.match(line)
        if free is not None:
            fields[free["key"]] = free["text"].strip()
            continue
        keys = list(_KEY.finditer(line))
        ends = [key.start() for key in keys[1:]] + [len(line)]
        fields |= {key["key"]: line[key.end() : end].strip() for key, end in zip(keys, ends, strict=False)}
    return {key: value for key, value in fields.items() if value}


def _columns(kind: str, name: str, fields: dict[str, str], ctx: StreamContext) -> dict[str, Any]:
    """What a record says."""
    if kind == "NodeName":
        told = _BY.match(fields.get("Reason", ""))
        reason = told["reason"] if told else fields.get("Reason")
        words = [f"state={node_state(fields.get('State', ''))}", _pair("reason", reason)]
        text = " ".join(["scontrol node", name, *words]).strip()
        return {"text": text, "node": short_host(name)} | _stamp(told["time"] if told else None, ctx)
    if kind == "JobId":
        words = [f"state={fields.get('JobState', '').split(' ')[0]}", _pair("exit", fields.get("ExitCode"))]
        words += [_pair("nodes", fields.get("NodeList")), _pair("reason", fields.get("Reason"))]
        task = fields.get("ArrayTaskId", "")
        job = f"{fields['ArrayJobId']}_{task}" if task.isdecimal() and "ArrayJobId" in fields else name
        text = " ".join(word for word in ["scontrol job", job, *words] if word)
        return {"text": text} | _stamp(fields.get("EndTime"), ctx)
    return {"text": f"scontrol {kind.removesuffix('Name').removesuffix('Id').lower()} {name}"} | file_moment(ctx)


def _drained(row: re.Match[str], ctx: StreamContext) -> dict[str, Any]:
    """A row of `sinfo -R`; its reason is cut at twenty characters unless asked for."""
    nodes = row["nodes"]
    single = short_host(nodes) if not set("[,").intersection(nodes) else None
    fields = {"reason": row["reason"].strip(), "by": row["by"], "nodes": nodes}
    return {"text": f"sinfo node {nodes} reason={fields['reason']}", "node": single, "fields": fields} | _stamp(
        row["time"], ctx
    )


def node_state(text: str) -> str:
    """A state with its suffix spelt out: `IDLE*` does not respond, `DRAINED$` is in maintenance."""
    base, _, flags = text.partition("+")
    marks = [_MARKS[mark] for mark in base[len(base.rstrip(_SUFFIXES)) :] if mark in _MARKS]
    words = [base.rstrip(_SUFFIXES), *(flag for flag in flags.split("+") if flag), *marks]
    return "+".join(dict.fromkeys(word for word in words if word)) or "UNKNOWN"


def _pair(key: str, value: str | None) -> str:
    return "" if value is None or value in _UNSET else f"{key}={value}"


def _stamp(text: str | None, ctx: StreamContext) -> dict[str, Any]:
    """The time told, else the file's; a job's end may lie ahead, as its limit foretells it."""
    found = moment(text, ctx)
    known = found.get("event_time")
    late = known is not None and known > times.to_micros(ctx.file_time)
    return file_moment(ctx) if known is None or late else found
