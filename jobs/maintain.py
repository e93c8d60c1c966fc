"""maintain: removes what is past its time, compacts small files, frees what no reader needs."""

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from firstfault.jobs.expire import expire
from firstfault.jobs.lake import Lake
from firstfault.jobs.live_files import live_files, partitions_of, sql_partitions
from firstfault.jobs.lock import LakeBusyError
from firstfault.jobs.raw_files import lake_filesystem
from firstfault.jobs.readers import live_readers
from firstfault.jobs.runs import Run, open_run
from firstfault.jobs.settings import Settings
from firstfault.jobs.upkeep import Policy, Report, Say, Upkeep, UsageError, session_settings
from firstfault.transforms.contract import Table
from firstfault.transforms.runs import FAILED

DEFAULTS = Policy()
_SORTED_BY = ("job_id", "node")
_STEP = 200  # partitions that one statement names
_CUT = "maintenance is done; the run before it was cut or failed, so the next night publishes again"


def maintain(
    spark: SparkSession,
    settings: Settings,
    *,
    say: Say,
    dry_run: bool = False,
    policy: Policy = DEFAULTS,
    now: datetime | None = None,
    steal: bool = False,
) -> Report:
    """Maintains the lake under its lock.

    Args:
        spark: Session.
        settings: Names the lake.
        say: Takes one sentence a step.
        dry_run: Only tell what would be done; nothing is written, no lock is taken.
        policy: How much is kept.
        now: When ages are counted from; the wall clock unless a test says otherwise.
        steal: Take a lake that a dead run still holds.

    Raises:
        UsageError: The policy would break readers, or there is no lake.
        LakeBusyError: Another run holds the lake, or a reader needs what would be freed.
    """
    lake, stale_s = Lake(spark, str(settings.lake)), settings.lock_stale_s
    upkeep = Upkeep(lake, policy.checked(), now or datetime.now(UTC), say, dry_run)
    if not upkeep.tables:
        raise UsageError(f"{lake.root} holds no tables; give --lake the folder that firstfault nightly writes to.")
    if dry_run:
        _steps(upkeep, Run(job="maintain"), stale_s)
        return upkeep.report
    if why := blocked(lake.root, policy, stale_s):
        raise LakeBusyError(why)
    with open_run(lake, "maintain", day=None, stale_s=stale_s, heartbeat_s=settings.heartbeat_s, steal=steal) as run:
        _steps(upkeep, run, stale_s)
        if run.redo:  # the last row of `runs` is what the next night goes by
            run.facts |= {"status": FAILED, "error": _CUT}
    return upkeep.report


def _steps(upkeep: Upkeep, run: Run, stale_s: int) -> None:
    with run.stage("expire"):
        expire(upkeep)
    with run.stage("compact"):
        compact(upkeep)
    with run.stage("vacuum"):
        vacuum(upkeep, stale_s)


def compact(upkeep: Upkeep) -> None:
    """Writes partitions with many small files as few; all others are not touched."""
    policy = upkeep.policy
    sizes = {
        "spark.databricks.delta.optimize.minFileSize": str(policy.small_bytes),
        "spark.databricks.delta.optimize.maxFileSize": str(policy.target_bytes),
        "spark.databricks.io.skipping.mdc.sortWithinFiles": "true",
    }
    with session_settings(upkeep.lake.spark, sizes):
        for table in upkeep.tables:
            live = partitions_of(live_files(upkeep.log(table), table), table, policy.small_bytes)
            scattered = live.filter(pc.greater(live["small"], policy.small_files))
            if scattered.num_rows:
                _compact_table(upkeep, table, scattered)


def _compact_table(upkeep: Upkeep, table: Table, scattered: pa.Table) -> None:
    told = upkeep.report.tables[table.name]
    told.partitions_compacted = scattered.num_rows
    small = pc.sum(scattered["small"]).as_py()
    upkeep.say(f"{table.name}: {small} small files in {scattered.num_rows} partitions are to be compacted")
    if upkeep.dry_run:
        return
    chosen = scattered.select(list(table.partitions)).to_pylist() if table.partitions else [{}]
    # Within a raw partition rows are in the order of their stream; by day they are sorted by job.
    order = [name for name in _SORTED_BY if name in table.columns][:1] if "day" in table.partitions else []
    for at in range(0, len(chosen), _STEP):
        optimize = upkeep.delta(table).optimize()
        if table.partitions:
            optimize = optimize.where(sql_partitions(chosen[at : at + _STEP], table.partitions))
        if order:
            optimize.executeZOrderBy(*order)
        else:
            optimize.executeCompaction()
    told.files_after = len(upkeep.log(table).file_uris())


def blocked(root: str, policy: Policy, stale_s: int) -> str | None:
    """Why files must not be freed: a reader began before they were removed, and may still open them.

    Args:
        root: The lake.
        policy: How long removed files stay.
        stale_s: Age of its last sign of life after which a reader is gone.
    """
    now = datetime.now(UTC)
    readers = live_readers(root, stale_s)
    if not readers or readers[0].started_at >= now - timedelta(hours=policy.retention_hours):
        return None
    hours = (now - readers[0].started_at) // timedelta(hours=1) + 1
    return (
        f"{root} is read by {readers[0].who} since {readers[0].started_at:%Y-%m-%d %H:%M} UTC, which may need files "
        f"that were removed since; wait for it, or give --retention-hours {hours} or more."
    )


def vacuum(upkeep: Upkeep, stale_s: int) -> None:
    """Frees files that were removed, or written and never committed, longer ago than readers need."""
    free = {
        "spark.databricks.delta.retentionDurationCheck.enabled": "false",  # `Policy.checked` is stricter
        "spark.databricks.delta.vacuum.logging.enabled": "false",  # two commits a table that tell nothing of its rows
    }
    with session_settings(upkeep.lake.spark, free):
        for table in upkeep.tables:
            if not upkeep.dry_run and (why := blocked(upkeep.lake.root, upkeep.policy, stale_s)):
                upkeep.warn(f"no more files are freed: {why}")
                return
            _vacuum_table(upkeep, table)


def _vacuum_table(upkeep: Upkeep, table: Table) -> None:
    hours = upkeep.policy.retention_hours
    dead = upkeep.log(table).vacuum(hours, dry_run=True, enforce_retention_duration=False, full=True)
    if not dead:
        return
    store, folder = lake_filesystem(upkeep.lake.root)
    paths = [f"{folder}/{table.name}/{path}" for path in dead]
    # The log names removed files until it is cleaned, also those that were freed long ago.
    sizes = {info.path: info.size for info in store.get_file_info(paths) if info.is_file}
    if not sizes:
        return
    left = set[str]()
    if not upkeep.dry_run:
        upkeep.delta(table).vacuum(float(hours))
        left = {info.path for info in store.get_file_info(list(sizes)) if info.is_file}
    told = upkeep.report.tables[table.name]
    told.files_freed = len(sizes) - len(left)
    told.bytes_freed = sum(size for path, size in sizes.items() if path not in left)
    if told.files_freed:
        upkeep.say(f"{table.name}: {told.files_freed} files with {told.bytes_freed} bytes are of no use to any reader")
