"""Landing: log files to the raw table, beside DuckDB on the same files and the same cores.

Ours is the night's own plan and landing: list the zone, plan byte ranges, read lines, split header and time, mask,
match all patterns, fold their events, keep the books, write raw_logs; once more without patterns. The
peer reads lines, takes the time by a regular expression and the owner from the path, and writes Parquet with the same
partitions; it keeps no offsets, line numbers or books, masks nothing and matches nothing.
"""

import os
import random
import re
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Literal

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from firstfault.jobs.fleet import generate
from firstfault.jobs.knowledge import knowledge_frames, load_knowledge
from firstfault.jobs.lake import Lake
from firstfault.jobs.landing import Landing
from firstfault.jobs.night import Night
from firstfault.jobs.plan import Known, make_plan
from firstfault.jobs.runs import Run
from firstfault.jobs.settings import load_settings
from firstfault.jobs.sources import load_sources
from firstfault.jobs.take import land_batch
from firstfault.transforms.raw_logs import RAW_LOGS
from tests.benchmarks.conftest import CORES, Bench, in_turn

pytestmark = [pytest.mark.bench, pytest.mark.timeout(3600)]

MEGABYTES = int(os.environ.get("BENCH_MB", "1000"))
ROUNDS = 3
DAY = np.datetime64("2026-11-20T00:00:00", "us")
CLOSE = datetime(2026, 11, 21, tzinfo=UTC)
HOUR_US = 3_600_000_000
JOBS, NODES_PER_JOB, GPUS, JOB_HOURS = 8, 4, 8, 3
APP_SHARE, KERNEL_SHARE = 0.80, 0.18  # the rest is the controller's
STAMPS = {
    "app": re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}"),
    "kernel": re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00 \S+"),
    "slurm": re.compile(r"\[\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\]"),
}
_CLOCK = re.compile(r"\d\d:\d\d:\d\d")

TIME = r"^\[?(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.,]\d{3,6})"
PEER = """
copy (
  with lines as (
    select line, filename,
      try_cast(replace(regexp_extract(line, $time, 1), ',', '.') as timestamp) as event_time
    from read_csv($files, columns = {'line': 'varchar'}, header = false, delim = '\\0', quote = '', escape = '',
      auto_detect = false, filename = true, max_line_size = 1000000)
  )
  select
    case when o.job != '' then o.job when o.node != '' then '_node' else '_cluster' end as job_id,
    strftime(coalesce(event_time, $file_time), '%Y-%m-%d-%H') as hour,
    'main' as cluster, o.node, o.rank, o.source, filename as file, event_time, line as message
  from lines join owners o on o.file = lines.filename
) to '$out' (format parquet, partition_by (job_id, hour))
"""
OWNERS = """
create or replace table owners as
select file,
  regexp_extract(file, '/jobs/([^/]+)/', 1) as job,
  regexp_extract(file, '/(?:jobs/[^/]+|nodes)/([^/]+)/', 1) as node,
  try_cast(regexp_extract(file, '/rank-(\\d+)[.]', 1) as integer) as rank,
  case when file like '%/jobs/%' then 'app' when file like '%/nodes/%' then 'kernel' else 'slurmctld' end as source
from (select unnest($files) as file)
"""


@dataclass(frozen=True)
class Zone:
    """A landing zone of known size."""

    root: Path
    files: list[str]
    size_bytes: int
    lines: int


def records(fleet: Path) -> dict[str, list[str]]:
    """What a rehearsed fleet writes, by kind, without time and host; a record keeps its lines without a time."""
    globs = {"app": "jobs/*/*/rank-*.log", "kernel": "nodes/*/kern.log", "slurm": "scheduler/slurmctld.log"}
    found: dict[str, list[str]] = {kind: [] for kind in globs}
    for kind, glob in globs.items():
        for file in sorted(fleet.glob(glob)):
            begun = False
            for line in file.read_text("utf-8").splitlines():
                stamp = STAMPS[kind].match(line)
                if stamp:
                    found[kind].append(line[stamp.end() :])
                elif begun and line and not _CLOCK.search(line):
                    found[kind][-1] += f"\n{line}"
                begun = bool(stamp) or (begun and not _CLOCK.search(line))
    return found


class Writer:
    """Writes files of a wanted size: records in random order, times that rise evenly."""

    def __init__(self, root: Path, known: dict[str, list[str]]) -> None:
        self.root = root
        self._known = known
        self._rng = random.Random(20261129)

    def write(self, path: str, kind: str, size: float, first: np.datetime64, hours: int, host: str = "") -> None:
        tails = self._known[kind]
        before, after = {"app": ("", ""), "kernel": ("", f"+00:00 {host}"), "slurm": ("[", "]")}[kind]
        precision: Literal["us", "ms"] = "us" if kind == "kernel" else "ms"
        width = len(f"{DAY.astype(f'M8[{precision}]')}{before}{after}\n") + sum(map(len, tails)) / len(tails)
        n = max(1, int(size / width))
        step = hours * HOUR_US / n
        times = first + (np.arange(n) * step + self._rng.random() * step).astype("timedelta64[us]")
        stamps = "\n".join(np.datetime_as_string(times, unit=precision).tolist())
        if kind == "app":
            stamps = stamps.replace("T", " ").replace(".", ",")
        chosen = self._rng.choices(tails, k=n)
        lines = (before + stamp + after + tail for stamp, tail in zip(stamps.split("\n"), chosen, strict=True))
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("\n".join(lines) + "\n", "utf-8")
        os.utime(file, (CLOSE.timestamp(), CLOSE.timestamp()))


@pytest.fixture(scope="module")
def zone(tmp_path_factory: pytest.TempPathFactory) -> Zone:
    """`MEGABYTES` of rank logs, kernel logs and the controller's log of one day."""
    root = tmp_path_factory.mktemp("zone")
    writer = Writer(root, records(generate("demo", tmp_path_factory.mktemp("fleet")).landing))
    total, ranks, nodes = MEGABYTES * 1e6, NODES_PER_JOB * GPUS, JOBS * NODES_PER_JOB
    for job in range(JOBS):
        first = DAY + np.timedelta64(job * JOB_HOURS, "h")
        for rank in range(ranks):
            node = f"gpu-{job * NODES_PER_JOB + rank // GPUS:03d}"
            size = total * APP_SHARE / (JOBS * ranks)
            writer.write(f"jobs/{84301 + job}/{node}/rank-{rank}.worker.log", "app", size, first, JOB_HOURS)
    for k in range(nodes):
        name = f"gpu-{k:03d}"
        writer.write(f"nodes/{name}/kern.log", "kernel", total * KERNEL_SHARE / nodes, DAY, 24, name)
    rest = total * (1 - APP_SHARE - KERNEL_SHARE)
    writer.write("scheduler/slurmctld.log", "slurm", rest, DAY, 24)
    files = sorted(str(f) for f in root.rglob("*.log"))
    contents = [Path(f).read_bytes() for f in files]
    return Zone(root, files, sum(map(len, contents)), sum(c.count(b"\n") for c in contents))


def ours(spark: SparkSession, zone: Zone, out: Path, *, events: bool = True) -> float:
    """Megabytes a second of plan, landing and raw_logs, with or without the search for events."""
    knowledge = load_knowledge()
    every = tuple(rule.id for rule in knowledge.retention.written)  # the peer keeps all lines, so do we here
    settings = load_settings(None, landing=str(zone.root), lake=str(out), retention_off=every)
    if not events:
        knowledge = replace(knowledge, patterns=SimpleNamespace(compiled=()))
    lake, landing = Lake(spark, str(out)), Landing(str(zone.root))
    frames = knowledge_frames(spark, knowledge)
    night = Night(spark, lake, landing, settings, knowledge, frames, Run("bench"), lambda _: None)
    begun = time.perf_counter()
    plan = make_plan(landing, load_sources(), Known({}), settings.split_bytes, datetime.now(UTC))
    batch = land_batch(night, plan.ranges)
    took = time.perf_counter() - begun
    assert batch.books.read == batch.books.landed == zone.lines
    batch.staged.unpersist(blocking=True)
    return zone.size_bytes / 1e6 / took


def peers(database: duckdb.DuckDBPyConnection, zone: Zone, out: Path) -> float:
    """Megabytes a second of DuckDB."""
    begun = time.perf_counter()
    database.execute(OWNERS, {"files": zone.files})
    database.execute(
        PEER.replace("$out", str(out)),
        {"files": zone.files, "time": TIME, "file_time": CLOSE.replace(tzinfo=None)},
    )
    return zone.size_bytes / 1e6 / (time.perf_counter() - begun)


def partitions(dataset: Callable[[], ds.Dataset]) -> dict[tuple[str, str], int]:
    """Rows of each partition."""
    counted = dataset().to_table(columns=["job_id", "hour"]).group_by(["job_id", "hour"]).aggregate([([], "count_all")])
    return {(r["job_id"], r["hour"]): r["count_all"] for r in counted.to_pylist()}


def emptied(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    return folder


def test_landing(spark: SparkSession, zone: Zone, tmp_path: Path, bench: Bench) -> None:
    database = duckdb.connect()
    database.execute(f"set threads = {CORES}; set preserve_insertion_order = false")
    lake, parquet = tmp_path / "lake", tmp_path / "parquet"
    bare, mine, theirs = in_turn(
        ROUNDS,
        lambda: ours(spark, zone, emptied(lake), events=False),
        lambda: ours(spark, zone, emptied(lake)),
        lambda: peers(database, zone, emptied(parquet)),
    )
    schema = pa.schema([("job_id", pa.string()), ("hour", pa.string())])
    written = partitions(lambda: DeltaTable(str(lake / RAW_LOGS.name)).to_pyarrow_dataset())
    assert partitions(lambda: ds.dataset(parquet, partitioning=ds.partitioning(schema, flavor="hive"))) == written
    about = {
        "n": zone.lines,
        "size": f"{zone.size_bytes / 1e6:.0f} MB, {len(zone.files)} files, {len(written)} partitions",
        "peer": f"DuckDB {duckdb.__version__}, {CORES} threads: lines, time and owner to Parquet",
        "peer_value": theirs,
    }
    bench.add("land, without events", bare, "MB/s", **about)
    bench.add("land", mine, "MB/s", **about)
    shutil.rmtree(tmp_path)
