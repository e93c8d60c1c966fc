"""The run: its row in `runs`, which is also the lock of the lake, its heartbeat and its stage times."""

import json
import os
import platform
import socket
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Any

from firstfault.jobs.frames import local_frame
from firstfault.jobs.lake import Lake
from firstfault.transforms.runs import DONE, FAILED, RUNNING, RUNS

LOCK_FILE = "_lock.json"


class LakeBusyError(RuntimeError):
    """Another run holds the lake; the message names it and what to do."""


@dataclass
class Run:
    """A run in progress.

    Attributes:
        facts: Columns of its row that stages fill in.
        redo: An earlier run was cut or failed, so that its attempts may be unpublished.
    """

    job: str
    redo: bool = False
    run_id: str = field(default_factory=lambda: uuid.uuid4().hex[:16])
    started_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    facts: dict[str, Any] = field(default_factory=dict)
    durations_s: dict[str, float] = field(default_factory=dict)

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
    run.redo = lock.take(stale_s, steal=steal) or not _last_ended_well(lake)
    heart = Heart(lock, heartbeat_s)
    try:
        yield run
    except BaseException as error:
        _record(lake, run, FAILED, str(error) or type(error).__name__)
        raise
    else:
        _record(lake, run, DONE, None)
    finally:
        heart.stop()
        lock.release()


class Lock:
    """A file that only one run can create."""

    def __init__(self, path: Path, run_id: str) -> None:
        self.path = path
        self._content = {
            "run_id": run_id,
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "status": RUNNING,
        }

    def take(self, stale_s: int, *, steal: bool) -> bool:
        """Creates the file, after removing one that is stale or is to be stolen; whether one had to be removed."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        for removed in (False, True):
            try:
                with self.path.open("x", encoding="utf-8") as file:
                    file.write(json.dumps(self._content | {"started_at": datetime.now(UTC).isoformat()}))
                return removed
            except FileExistsError:
                self._clear(stale_s, steal=steal)
        raise LakeBusyError(f"{self.path.parent}: another run took the lake at the same moment; run again.")

    def _clear(self, stale_s: int, *, steal: bool) -> None:
        try:
            age = datetime.now(UTC) - datetime.fromtimestamp(self.path.stat().st_mtime, UTC)
            text = self.path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return
        try:
            holder = dict(json.loads(text))
        except (ValueError, TypeError):
            holder = {}
        if not steal and age < timedelta(seconds=stale_s):
            who = f"run {holder.get('run_id', '?')} of {holder.get('host', '?')} (process {holder.get('pid', '?')})"
            raise LakeBusyError(
                f"{self.path.parent} is held by {who}, last heartbeat {age.total_seconds():.0f} s ago; wait for it, "
                "or give --steal if it is gone."
            )
        self.path.unlink(missing_ok=True)

    def beat(self) -> None:
        """Says that the run lives; a lock that was stolen and freed is not made anew."""
        with suppress(FileNotFoundError):
            os.utime(self.path)

    def release(self) -> None:
        """Frees the lake if this run still holds it."""
        try:
            held = json.loads(self.path.read_text(encoding="utf-8")).get("run_id") == self._content["run_id"]
        except (OSError, ValueError):
            return
        if held:
            self.path.unlink(missing_ok=True)


class Heart:
    """Beats in the background until stopped."""

    def __init__(self, lock: Lock, every_s: int) -> None:
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(lock, every_s), daemon=True)
        self._thread.start()

    def _run(self, lock: Lock, every_s: int) -> None:
        while not self._stop.wait(every_s):
            lock.beat()

    def stop(self) -> None:
        """Ends the beating."""
        self._stop.set()


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
    lake.append(RUNS, local_frame(lake.spark, [row | run.facts], RUNS.schema))
