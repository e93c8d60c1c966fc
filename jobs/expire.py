"""What is past its time goes: whole partitions where a table has them, raw ones of healthy jobs first."""

from collections.abc import Sequence
from datetime import UTC

import pyarrow as pa
import pyarrow.compute as pc

from firstfault.jobs.live_files import (
    HOUR,
    LEAST,
    Expiry,
    healthy_jobs,
    live_files,
    partitions_of,
    within_budget,
)
from firstfault.jobs.upkeep import Upkeep
from firstfault.transforms.contract import Table

AGE_COLUMNS = {"quarantine": "file_time", "runs": "started_at", "data_quality": "t_to"}
"""Times by which rows of tables without partitions age; a table that is neither here nor partitioned keeps all."""


def expire(upkeep: Upkeep) -> None:
    """Removes what is older than its table keeps it."""
    raw: list[tuple[Table, pa.Table]] = []
    for table in upkeep.tables:
        told, age = upkeep.report.tables[table.name], AGE_COLUMNS.get(table.name)
        files = live_files(upkeep.log(table), table, age)
        told.files_before = told.files_after = files.num_rows
        if table.keep_days is None:
            continue
        if "hour" in table.partitions:
            raw.append((table, partitions_of(files, table, upkeep.policy.small_bytes)))
        elif "day" in table.partitions:
            days = partitions_of(files, table, upkeep.policy.small_bytes)
            before = upkeep.before(table.keep_days).date()
            _drop(upkeep, table, days, pc.less(days["day"], pa.scalar(before)), f"day < date'{before}'")
        elif age:
            _delete_rows(upkeep, table, age, files)
    _expire_raw(upkeep, raw)


def _expire_raw(upkeep: Upkeep, raw: Sequence[tuple[Table, pa.Table]]) -> None:
    """Raw partitions by hour, those of jobs that ended well sooner, and sooner still where there are too many."""
    healthy = healthy_jobs(upkeep.lake.root)
    sooner = upkeep.before(upkeep.policy.keep_healthy_days).strftime(HOUR)
    expiries = [Expiry(upkeep.before(t.keep_days or 0).strftime(HOUR), sooner, healthy) for t, _ in raw]
    expiries, over = within_budget(expiries, [live for _, live in raw], upkeep.policy.live_partitions)
    if over:
        upkeep.warn(
            f"the raw tables have {over} partitions over the budget of {upkeep.policy.live_partitions}, all of failed, "
            "running or unknown jobs, which stay until their time; raise the budget or shorten what is kept."
        )
    for (table, live), expiry in zip(raw, expiries, strict=True):
        _drop(upkeep, table, live, expiry.gone(live), expiry.condition(live))


def _drop(upkeep: Upkeep, table: Table, live: pa.Table, gone: pa.ChunkedArray, condition: str) -> None:
    """Removes whole partitions: no file is read or written."""
    dropped = live.filter(pc.fill_null(gone, fill_value=False))
    if not dropped.num_rows:
        return
    told = upkeep.report.tables[table.name]
    told.partitions_removed, told.rows_removed = dropped.num_rows, pc.sum(dropped["rows"]).as_py() or 0
    told.files_after -= pc.sum(dropped["files"]).as_py()
    upkeep.say(f"{table.name}: {told.partitions_removed} partitions with {told.rows_removed} rows are past their time")
    if not upkeep.dry_run:
        upkeep.delta(table).delete(condition)


def _delete_rows(upkeep: Upkeep, table: Table, column: str, files: pa.Table) -> None:
    """Removes old rows of a table without partitions, if its log says that it holds any."""
    before = upkeep.before(table.keep_days or 0)
    least = pc.min(files[LEAST + column]).as_py() if LEAST + column in files.column_names else None
    if least is None or least.astimezone(UTC) >= before:
        return
    condition = f"{column} < timestamp'{before:%Y-%m-%d %H:%M:%S} UTC'"
    rows = upkeep.log(table).to_pyarrow_dataset().count_rows(filter=pc.field(column) < pa.scalar(before))
    if not rows:
        return
    told = upkeep.report.tables[table.name]
    told.rows_removed = rows
    upkeep.say(f"{table.name}: {rows} rows are past their time")
    if not upkeep.dry_run:
        upkeep.delta(table).delete(condition)
        told.files_after = len(upkeep.log(table).file_uris())
