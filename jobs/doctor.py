"""Looks whether this machine can run a night, and says of each thing that is wrong what to do."""

import json
import os
import platform
import shutil
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from firstfault.jobs.jars import JAVA_AT_LEAST, JarsError, JavaError, find_java, jar_paths
from firstfault.jobs.session import SessionError, spark_session
from firstfault.jobs.settings import Settings, machine_memory_mb

PYTHON_AT_LEAST = (3, 11)
PYTHON_BELOW = (3, 14)
FREE_AT_LEAST_MB = 5 * 1024


@dataclass(frozen=True)
class Check:
    """One thing looked at; the advice is empty when it is in order."""

    name: str
    ok: bool
    found: str
    advice: str = ""


def run_doctor(settings: Settings) -> list[Check]:
    """Look at everything a night needs; what cannot work without Java or the jars is not tried."""
    base = [check_python(), check_java(), check_jars(), check_memory(settings)]
    base += [check_spark(settings)] if all(check.ok for check in base[:3]) else []
    return base + check_lake(settings.lake) + check_landing(settings.landing)


def report(settings: Settings, console: Console, *, as_json: bool = False) -> bool:
    """Look, print, keep the checks in the lake if one is given; whether all is in order."""
    checks = run_doctor(settings)
    if settings.lake is not None:
        save(checks, settings.lake)
    if as_json:
        console.print_json(data=as_document(checks))
    else:
        console.print(render(checks))
    return all(check.ok for check in checks)


def check_python() -> Check:
    """Python's version."""
    ok = PYTHON_AT_LEAST <= sys.version_info < PYTHON_BELOW
    return _check("python", ok, f"{platform.python_version()} at {sys.executable}", "use Python 3.11 to 3.13")


def check_java() -> Check:
    """Java's version and place."""
    try:
        java = find_java()
    except JavaError as error:
        return Check("java", ok=False, found="none", advice=str(error))
    return Check("java", ok=True, found=f"{java.major} at {java.path} (needs {JAVA_AT_LEAST})")


def check_jars() -> Check:
    """Delta's jars: there and whole; nothing is fetched."""
    try:
        paths = jar_paths(fetch=False)
    except JarsError as error:
        return Check("jars", ok=False, found="missing or cut", advice=str(error))
    return Check("jars", ok=True, found=f"{len(paths)} in {paths[0].parent}")


def check_memory(settings: Settings) -> Check:
    """The driver's heap against the machine's memory."""
    memory_mb = machine_memory_mb()
    found = f"{memory_mb} MB, {settings.driver_memory_mb} MB of it for the driver"
    return _check("memory", settings.driver_memory_mb < memory_mb, found, "set driver_memory_mb lower")


def check_spark(settings: Settings) -> Check:
    """Spark starts, writes a small Delta table and reads it again."""
    try:
        spark = spark_session(settings)
    except SessionError as error:
        return Check("spark", ok=False, found="does not start", advice=str(error))
    try:
        done = _try_out(spark, settings)
        return Check("spark", ok=True, found=f"{spark.version} on {settings.master}, {done}")
    except Exception as error:  # whatever Spark throws is the finding
        said = str(error).strip().splitlines()[0][:200]
        advice = "check disk and memory here, or the master's own log"
        return Check("spark", ok=False, found=f"starts, but fails: {said}", advice=advice)


def _try_out(spark: SparkSession, settings: Settings) -> str:
    """Use Delta here; on a cluster, whose executors do not see our folders, only count."""
    if not settings.master.startswith("local"):
        return f"{spark.range(3).count()} rows counted"
    with tempfile.TemporaryDirectory(prefix="firstfault-doctor-") as folder:
        table = f"file://{folder}/table"
        spark.range(3).write.format("delta").save(table)
        return f"{spark.read.format('delta').load(table).count()} rows written to Delta and read"


def check_lake(lake: str | None) -> list[Check]:
    """A local lake: writable, on a disk with room."""
    if lake is None or "://" in lake:
        return []
    holder = Path(lake).absolute()
    while not holder.exists():
        holder = holder.parent
    free_mb = shutil.disk_usage(holder).free // 2**20
    return [
        _check("lake", holder.is_dir() and os.access(holder, os.W_OK | os.X_OK), f"{holder}",
               f"make {holder} writable for {_user()}, or name another --lake"),
        _check("disk", free_mb >= FREE_AT_LEAST_MB, f"{free_mb} MB free at {holder}",
               f"free disk, a night wants {FREE_AT_LEAST_MB} MB, or name another --lake"),
    ]  # fmt: skip


def check_landing(landing: str | None) -> list[Check]:
    """A local landing zone: there and readable."""
    if landing is None or "://" in landing:
        return []
    path = Path(landing)
    if not path.is_dir():
        return [Check("landing", ok=False, found=f"{path} is no folder", advice="name another --landing")]
    ok = os.access(path, os.R_OK | os.X_OK)
    return [_check("landing", ok, str(path), f"make {path} readable for {_user()}")]


def render(checks: list[Check]) -> Table:
    """The checks as a table for the terminal."""
    table = Table("check", "", "found", "what to do", box=None)
    for check in checks:
        mark = "[green]ok[/]" if check.ok else "[red]no[/]"
        table.add_row(check.name, mark, escape(check.found), escape(check.advice))
    return table


def as_document(checks: list[Check]) -> dict[str, Any]:
    """The checks as the CLI prints them with --json and keeps them in the lake's doctor.json."""
    return {"ok": all(check.ok for check in checks), "checks": [asdict(check) for check in checks]}


def save(checks: list[Check], lake: str) -> Path | None:
    """Keep the checks in a local lake as doctor.json; None where it cannot be written or is remote."""
    if "://" in lake or not all(check.ok for check in checks if check.name == "lake"):
        return None
    path = Path(lake) / "doctor.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(as_document(checks), indent=2) + "\n", encoding="utf-8")
    return path


def _check(name: str, ok: bool, found: str, advice: str) -> Check:  # noqa: FBT001
    return Check(name, ok, found, "" if ok else advice)


def _user() -> str:
    return os.environ.get("USER") or f"uid {os.getuid()}"
