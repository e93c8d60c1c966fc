"""Accounting as `sacct --json` of Slurm 23.11 and later gives it: epoch seconds, numbers that may be unset."""

import json
from collections.abc import Mapping

from firstfault.jobs.fleet.hostlist import compress
from firstfault.jobs.fleet.model import Attempt

CPUS = 96


def document(attempts: list[Attempt]) -> str:
    """The answer for some attempts.

    Args:
        attempts: Attempts that ended, in the order of the answer.

    Returns:
        One JSON document.
    """
    meta = {"plugin": {"accounting_storage": "accounting_storage/slurmdbd"}, "slurm": {"release": "24.05.2"}}
    return json.dumps({"meta": meta, "jobs": [_job(a) for a in attempts], "errors": [], "warnings": []}, indent=1)


def _job(attempt: Attempt) -> dict[str, object]:
    state, _, killer = attempt.state.partition(" by ")
    step_state = attempt.step_state.partition(" by ")[0]
    cpus = CPUS * len(attempt.nodes)
    tres = (("cpu", "", cpus), ("node", "", len(attempt.nodes)), ("gres", "gpu", len(attempt.ranks)))
    return {
        "job_id": int(attempt.job_id),
        "name": attempt.name,
        "user": attempt.user,
        "account": "research",
        "association": {"account": "research", "cluster": attempt.cluster, "user": attempt.user},
        "cluster": attempt.cluster,
        "partition": "train",
        "state": {"current": [state], "reason": "None"},
        "exit_code": _code(attempt.exit_code),
        "derived_exit_code": _code("0:0" if attempt.state == "COMPLETED" else attempt.step_exit),
        "nodes": compress(attempt.nodes),
        "allocation_nodes": len(attempt.nodes),
        "failed_node": "",
        "kill_request_user": killer,
        "restart_cnt": attempt.attempt,
        "time": _times(attempt),
        "tres": {"allocated": [{"type": kind, "name": name, "count": n} for kind, name, n in tres]},
        "steps": [_step(attempt, "0", "train.sh", step_state), _step(attempt, "batch", "batch", step_state)],
    }


def _times(attempt: Attempt) -> dict[str, object]:
    submit, start, end = (int(t.timestamp()) for t in (attempt.submit, attempt.start, attempt.end))
    limit = _number(attempt.time_limit_s // 60)
    return {
        "submission": submit,
        "eligible": submit,
        "start": start,
        "end": end,
        "elapsed": end - start,
        "limit": limit,
    }


def _step(attempt: Attempt, number: str, name: str, state: str) -> Mapping[str, object]:
    start, end = int(attempt.start.timestamp()), int(attempt.end.timestamp())
    return {
        "step": {"id": f"{attempt.job_id}.{number}", "name": name},
        "state": [state],
        "exit_code": _code(attempt.step_exit),
        "nodes": {"count": len(attempt.nodes), "range": compress(attempt.nodes)},
        "time": {"start": _number(start), "end": _number(end), "elapsed": end - start},
    }


def _code(code: str) -> dict[str, object]:
    status, signal = (int(part) for part in code.split(":"))
    word = "SIGNALED" if signal else "ERROR" if status else "SUCCESS"
    told = {"id": _number(signal) if signal else {"set": False, "infinite": False, "number": 0}, "name": ""}
    return {"status": [word], "return_code": _number(status), "signal": told}


def _number(value: int) -> dict[str, object]:
    return {"set": True, "infinite": False, "number": value}
