"""What srun, slurmstepd and torchrun's agents print into the job's output."""

from collections.abc import Callable
from datetime import datetime, timedelta

from firstfault.jobs.fleet.model import Attempt, Occurrence
from firstfault.jobs.fleet.writers.stamps import asctime, slurm

SIGNALS = {
    -6: ("Aborted", "SIGABRT"),
    -7: ("Bus error", "SIGBUS"),
    -9: ("Killed", "SIGKILL"),
    -11: ("Segmentation fault", "SIGSEGV"),
    -15: ("Terminated", "SIGTERM"),
}
AGENT_PID = 3900
_TERM = ("torch/distributed/elastic/multiprocessing/api.py", 897)
_FAILED = ("torch/distributed/elastic/multiprocessing/api.py", 869)
_SIGNAL = ("torch/distributed/elastic/agent/server/api.py", 752)
_RULE = "=" * 60


def text(attempt: Attempt, line: Occurrence, written: datetime) -> str:
    """The record a launcher prints for an occurrence.

    Args:
        attempt: Whose output it is.
        line: What happens.
        written: What the clock of its node says.

    Returns:
        One or more physical lines, without the task label.
    """
    return TEXTS[line.kind](attempt, line, written)


def _exit(_attempt: Attempt, line: Occurrence, _written: datetime) -> str:
    code = int(line.attrs["code"] or 0)
    how = SIGNALS[code][0] if code in SIGNALS else f"Exited with exit code {code}"
    return f"srun: error: {line.node}: task {line.attrs['task']}: {how}"


def _aborted(_attempt: Attempt, _line: Occurrence, _written: datetime) -> str:
    return "srun: Job step aborted: Waiting up to 32 seconds for job step to finish."


def _node_failure(_attempt: Attempt, line: Occurrence, _written: datetime) -> str:
    return f"srun: error: Node failure on {line.attrs['failed']}"


def _cancel(attempt: Attempt, line: Occurrence, written: datetime) -> str:
    said = line.attrs
    name = f"{said['what']} {attempt.job_id}{said['step']}"
    return f"slurmstepd: error: *** {name} ON {line.node} CANCELLED AT {slurm(written)} {said['why']} ***"


def _said(_attempt: Attempt, line: Occurrence, _written: datetime) -> str:
    return "\n".join(f"slurmstepd: error: {part}" for part in str(line.attrs["text"]).split("\n"))


def _oom(attempt: Attempt, _line: Occurrence, _written: datetime) -> str:
    return (
        f"slurmstepd: error: Detected 1 oom_kill event in StepId={attempt.job_id}.0. Some of the step "
        "tasks have been OOM Killed."
    )


def _agent(attempt: Attempt, level: str, source: tuple[str, int], said: str, written: datetime) -> str:
    """A line of torchrun's agent; older ones name the logger, newer ones the file."""
    if attempt.style.torch == "2.1":
        logger = source[0].removesuffix(".py").replace("/", ".")
        word = {"W": "WARNING", "E": "ERROR"}[level]
        return f"[{asctime(written)}] {logger}: [{word}] {said}"
    millis = written.microsecond // 1000
    return f"{level}{written:%m%d %H:%M:%S}.{millis:03d}000 {AGENT_PID} {source[0]}:{source[1]}] {said}"


def _sigterm(attempt: Attempt, line: Occurrence, written: datetime) -> str:
    said = f"Sending process {line.attrs['pid']} closing signal SIGTERM"
    return _agent(attempt, "W", _TERM, said, written)


def _failed(attempt: Attempt, line: Occurrence, written: datetime) -> str:
    said = line.attrs
    who = f"local_rank: {said['local']} (pid: {said['pid']})"
    what = f"failed (exitcode: {said['code']}) {who} of binary: /opt/py/bin/python3"
    return _agent(attempt, "E", _FAILED, what, written)


def _signal(attempt: Attempt, _line: Occurrence, written: datetime) -> str:
    return _agent(attempt, "W", _SIGNAL, "Received 15 death signal, shutting down workers", written)


def _table(_attempt: Attempt, line: Occurrence, written: datetime) -> str:
    """Torchrun's failure table: its `time` is local, and its root cause is only the first death it saw."""
    said = line.attrs
    code = int(said["code"] or 0)
    offset = written - line.t
    local: datetime = datetime.fromisoformat(str(said["died"])) + timedelta(seconds=offset.total_seconds())
    why = "To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html"
    if code in SIGNALS:
        why = f"Signal {-code} ({SIGNALS[code][1]}) received by PID {said['pid']}"
    return "\n".join(
        (
            "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ",
            _RULE,
            "train.py FAILED",
            "-" * 60,
            "Failures:",
            "  <NO_OTHER_FAILURES>",
            "-" * 60,
            "Root Cause (first observed failure):",
            "[0]:",
            f"  time      : {local:%Y-%m-%d_%H:%M:%S}",
            f"  host      : {line.node}.cl",
            f"  rank      : {said['rank']} (local_rank: {said['local']})",
            f"  exitcode  : {code} (pid: {said['pid']})",
            "  error_file: <N/A>",
            f"  traceback : {why}",
            _RULE,
        )
    )


TEXTS: dict[str, Callable[[Attempt, Occurrence, datetime], str]] = {
    "srun.exit": _exit,
    "srun.aborted": _aborted,
    "srun.node_failure": _node_failure,
    "step.cancel": _cancel,
    "step.oom": _oom,
    "step.said": _said,
    "agent.sigterm": _sigterm,
    "agent.failed": _failed,
    "agent.signal": _signal,
    "agent.table": _table,
}
