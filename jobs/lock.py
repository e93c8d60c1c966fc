"""The lock of a lake: a file that only one run can create, kept alive by a heartbeat."""

import json
import os
import socket
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

LOCK_FILE = "_lock.json"
CUT_FILE = "_cut.json"
"""Left by a run that could not even write how it ended: the next one redoes what it may have left unpublished."""
HELD = "running"


class LakeBusyError(RuntimeError):
    """Another run holds the lake; the message names it and what to do."""


class Lock:
    """A file that only one run can create."""

    def __init__(self, path: Path, run_id: str) -> None:
        self.path = path
        self._content = {
            "run_id": run_id,
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "status": HELD,
        }

    def take(self, stale_s: int, *, steal: bool) -> bool:
        """Creates the file, after removing one that is stale or is to be stolen; whether one had to be removed."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        for removed in (False, True):
            try:
                self._create()
                return removed
            except FileExistsError:
                self._clear(stale_s, steal=steal)
        raise LakeBusyError(f"{self.path.parent}: another run took the lake at the same moment; run again.")

    def _create(self) -> None:
        """Appears with its content or not at all, where the disk is full."""
        with self.path.open("x", encoding="utf-8") as file:
            try:
                file.write(json.dumps(self._content | {"started_at": datetime.now(UTC).isoformat()}))
                file.flush()
            except OSError:
                self.path.unlink()
                raise

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

    @property
    def held(self) -> bool:
        """Whether this run still holds the lake."""
        try:
            return bool(json.loads(self.path.read_text(encoding="utf-8")).get("run_id") == self._content["run_id"])
        except (OSError, ValueError):
            return False

    def release(self, *, cut: bool = False) -> None:
        """Frees the lake if this run still holds it; `cut` leaves a mark that needs no space."""
        if self.held and cut:
            self.path.rename(self.path.with_name(CUT_FILE))
        elif self.held:
            self.path.unlink(missing_ok=True)

    @property
    def after_cut(self) -> bool:
        """Whether a run before this one left that mark."""
        return self.path.with_name(CUT_FILE).exists()

    def forget_cut(self) -> None:
        """What was cut is made whole."""
        self.path.with_name(CUT_FILE).unlink(missing_ok=True)


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


@contextmanager
def holding(lake: str, *, stale_s: int, heartbeat_s: int, steal: bool = False) -> Iterator[None]:
    """Holds the lake for a small write that is no run; where a dead run had held it, the next night still redoes that.

    Raises:
        LakeBusyError: Another run holds the lake and is not stale.
    """
    lock = Lock(Path(lake) / LOCK_FILE, uuid.uuid4().hex[:16])
    after_dead = lock.take(stale_s, steal=steal)
    heart = Heart(lock, heartbeat_s)
    try:
        yield
    finally:
        heart.stop()
        lock.release(cut=after_dead)
