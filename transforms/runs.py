"""runs: one row per run of a job, with its lock, its books and its times."""

from pyspark.sql.types import MapType

from firstfault.transforms.contract import Table, column
from firstfault.transforms.types import DAY, DOUBLE, LONG, TEXT, TEXT_MAP, TIME

RUNNING, DONE, FAILED = "running", "done", "failed"

RUNS = Table(
    name="runs",
    row="a run of a job",
    fields=(
        column("run_id", TEXT, "run", required=True),
        column("job", TEXT, "job that ran", required=True),
        column("day", DAY, "day it was asked to diagnose; null for all that is due"),
        column("status", TEXT, "running, done or failed", required=True),
        column("host", TEXT, "host that holds the lock"),
        column("pid", LONG, "process that holds the lock"),
        column("started_at", TIME, "wall clock", required=True),
        column("heartbeat_at", TIME, "last sign of life"),
        column("ended_at", TIME, "wall clock"),
        column("error", TEXT, "why it failed"),
        column("batch_id", TEXT, "batch that it landed"),
        column("lines_read", LONG, "units read"),
        column("lines_landed", LONG, "units landed"),
        column("lines_quarantined", LONG, "units quarantined"),
        column("lines_dropped", LONG, "units dropped by a named rule"),
        column("files_unmatched", LONG, "files that no source matches"),
        column("attempts", LONG, "attempts looked at"),
        column("diagnosed", LONG, "verdicts written"),
        column("ruleset_version", TEXT, "rule set"),
        column("versions", TEXT_MAP, "versions of firstfault, pyspark, delta and python"),
        column("durations_s", MapType(TEXT, DOUBLE), "seconds per stage"),
    ),
    keys=("run_id",),
    keep_days=400,
)
