"""The run: its row in `runs`, which is also the lock of the lake, its heartbeat and its stage times."""

import os
import platform
import socket
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame

from firstfault.jobs.frames import local_frame
from firstfault.jobs.lake import Lake
from firstfault.jobs.lock import LOCK_FILE, Heart, Lock
from firstfault.transforms.contract import Table
from firstfault.transforms.runs import DONE, FAILED, RUNS


@dataclass
class Run:
    """A run in progress.

    Attributes:
        facts: Columns of its row that stages fill in.
        redo: An earlier run was cut or failed, so that its attempts may be unpublished.
        mask: What an error's text goes through before it is kept.
        check: Runs the suite of `runs` on its row.
    """

    job: str
    redo: bool = False
    run_id: str = field(default_factory=lambda: uuid.uuid4().hex[:16])
    started_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    facts: dict[str, Any] = field(default_factory=dict)
    durations_s: dict[str, float] = field(default_factory=dict)
    mask: Callable[[str], str] = str
    check: Callable[[Table, DataFrame], object] = lambda _table, _rows: None

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Times a stage."""
        begun = time.monotonic()
        try:
            yield
        finally:
            self.durations_s[name] = round(self.durations_s.get(name, 0) + time.monotonic() - begun, 3)


@contextmanager
def open_run(
    lake: Lake, job: str, *, day: date | None, stale_s: int, heartbeat_s: int, steal: bool = False
) -> Iterator[Run]:
    """Holds the lake for one run and writes its row.

    The lock is a file that is created only if absent, which two nights cannot both do, and that the heartbeat
    rewrites. (Decision 2026-11-29: design section 3 makes the lock a row in `runs`; a Delta append does not refuse a
    second writer, so the row tells of the lock and the file is it.)

    Raises:
        LakeBusyError: Another run holds the lake and is not stale.
    """
    run = Run(job=job)
    run.facts["day"] = day
    lock = Lock(Path(lake.root) / LOCK_FILE, run.run_id)
    run.redo = lock.take(stale_s, steal=steal) or lock.after_cut or not _last_ended_well(lake)
    heart = Heart(lock, heartbeat_s)
    recorded = False
    try:
        yield run
        _record(lake, run, DONE, None)
        recorded = True
        lock.forget_cut()
    except BaseException as error:
        with suppress(Exception):  # the first error is the one to tell; a full disk takes no row
            _record(lake, run, FAILED, run.mask(str(error) or type(error).__name__))
            recorded = True
        raise
    finally:
        heart.stop()
        lock.release(cut=not recorded)


def _last_ended_well(lake: Lake) -> bool:
    if not lake.exists(RUNS):
        return True
    newest = lake.read(RUNS).orderBy("started_at", ascending=False).select("status").first()
    return newest is None or newest["status"] == DONE


def _record(lake: Lake, run: Run, status: str, error: str | None) -> None:
    now = datetime.now(UTC)
    row = dict.fromkeys(RUNS.columns) | {
        "run_id": run.run_id,
        "job": run.job,
        "status": status,
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "started_at": run.started_at,
        "heartbeat_at": now,
        "ended_at": now,
        "error": error,
        "versions": {name: version(name) for name in ("firstfault", "pyspark", "delta-spark")}
        | {"python": platform.python_version()},
        "durations_s": run.durations_s,
    }
    made = local_frame(lake.spark, [row | run.facts], RUNS.schema)
    run.check(RUNS, made)
    lake.append(RUNS, made)
