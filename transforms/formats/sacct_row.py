"""One accounting record as a row, whichever form it came in."""

from firstfault.transforms.formats import times
from firstfault.transforms.formats.context import StreamContext
from firstfault.transforms.formats.rows import Line, Rows

_STAMPS = ("End", "Start", "Submit")
_TOLD = ("JobID", "State", "ExitCode", "DerivedExitCode", "Reason", "FailedNode", "NodeList")


def land(rows: Rows, record: Line, units: int, fields: dict[str, str], ctx: StreamContext) -> None:
    """Lands one job or step at its end, else its start, else its submission."""
    last = next((found for name in _STAMPS if (found := slurm_time(fields.get(name), ctx))), None)
    rows.log(
        record,
        units,
        event_time=last[0] if last else None,
        time_basis=last[1] if last else times.NONE,
        text=canonical(fields),
        fields=fields,
    )


def canonical(fields: dict[str, str]) -> str | None:
    """`sacct JobID=7 State=FAILED ...` of a job row; None for a step."""
    job = fields.get("JobID", "")
    if not job or "." in job:
        return None
    told = (f"{name}={' '.join(fields[name].split())}" for name in _TOLD if fields.get(name))
    return " ".join(["sacct", *told])


def slurm_time(text: str | None, ctx: StreamContext) -> tuple[int, str] | None:
    """UTC microseconds and basis; `Unknown`, `None` and relative spellings give None."""
    if text and text.isdecimal():
        micros = times.epoch_micros(text)
        return None if micros is None else (micros, times.EPOCH)
    return times.parse_time(text, ctx.zone) if text and "T" in text else None
