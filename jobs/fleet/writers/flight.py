"""PyTorch's Flight Recorder: the last collectives of a rank as JSON, dumped when a watchdog fires."""

import json
from datetime import datetime, timedelta

from firstfault.jobs.fleet.model import Attempt, Occurrence, after
from firstfault.jobs.fleet.world import World
from firstfault.jobs.fleet.writers.application import folder
from firstfault.jobs.fleet.writers.sink import Sink

KEPT = 6


def write(world: World, sink: Sink) -> None:
    """Writes one file a rank that dumped."""
    attempts = {a.key: a for a in world.attempts}
    for line in world.of("fr"):
        if line.job is None:
            continue
        attempt = attempts[line.job]
        path = f"{folder(attempt)}/flight-recorder/nccl_trace_rank_{line.rank}.json"
        sink.add(path, line.t, json.dumps(_dump(attempt, line, world), separators=(",", ":")))


def _dump(attempt: Attempt, line: Occurrence, world: World) -> dict[str, object]:
    """Entries up to the last one this rank enqueued; `completed` is the last that every rank finished."""
    said = line.attrs
    enqueued, completed = int(said["enqueued"] or 0), int(said["completed"] or 0)
    world_ranks = json.dumps([r.rank for r in attempt.ranks])
    off = timedelta(seconds=world.clock(line.node).offset(line.t))
    began = datetime.fromisoformat(str(said["began"]))
    numbers = range(completed - KEPT, enqueued + 1)
    status = {"last_enqueued_collective": str(enqueued), "last_started_collective": str(enqueued)}
    return {
        "version": "2.10",
        "comm_lib_version": "2.26.2",
        "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": world_ranks}},
        "pg_status": {"0": {**status, "last_completed_collective": str(completed)}},
        "entries": [
            _entry(attempt, n, after(began, (n - completed - 1) * attempt.step_s / 6) + off, completed) for n in numbers
        ],
    }


def _entry(attempt: Attempt, number: int, at: datetime, completed: int) -> dict[str, object]:
    done = number <= completed
    created = round(at.timestamp() * 1e6) * 1000
    size = [[4194304]]
    return {
        "record_id": number,
        "pg_id": 0,
        "process_group": ["0", "default_pg"],
        "collective_seq_id": number,
        "p2p_seq_id": 0,
        "op_id": number,
        "is_p2p": False,
        "profiling_name": "nccl:all_reduce",
        "state": "completed" if done else "scheduled",
        "input_sizes": size,
        "input_dtypes": ["BFloat16"],
        "output_sizes": size,
        "output_dtypes": ["BFloat16"],
        "time_created_ns": created,
        "time_discovered_started_ns": 0,
        "time_discovered_completed_ns": created + 84_000_000 if done else 0,
        "timeout_ms": attempt.timeout_s * 1000,
        "retired": done,
        "thread_id": "139912345",
        "thread_name": "pt_main_thread",
    }
