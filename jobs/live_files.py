"""What a table's log says of its live files, and which partitions are to go or to be compacted: Arrow, no Spark."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from firstfault.jobs.raw_files import arrow_uri
from firstfault.transforms.attempts import ATTEMPTS
from firstfault.transforms.contract import Table
from firstfault.transforms.diagnoses import DIAGNOSES

HOUR = "%Y-%m-%d-%H"
LEAST = "min."
"""Before the name of a column: its least value in a file."""
_PARTITION = "partition."


def open_log(root: str, table: Table) -> DeltaTable | None:
    """The table as delta-rs sees it; None when it was never written."""
    path = f"{root.rstrip('/')}/{table.name}"
    path = arrow_uri(path) if "://" in path else path
    return DeltaTable(path) if DeltaTable.is_deltatable(path) else None


def live_files(log: DeltaTable, table: Table, least: str | None = None) -> pa.Table:
    """One row per live file: path, size_bytes, num_records, its partition, and the least value of one column."""
    told = pa.table(log.get_add_actions(flatten=True))
    names = {n: n for n in ("path", "size_bytes", "num_records")} | {_PARTITION + p: p for p in table.partitions}
    if least and LEAST + least in told.column_names:
        names[LEAST + least] = LEAST + least
    return told.select(list(names)).rename_columns(list(names.values()))


def partitions_of(files: pa.Table, table: Table, small_bytes: int) -> pa.Table:
    """One row per live partition: files, bytes, rows and how many of the files are small."""
    small = pc.less(files["size_bytes"], small_bytes).cast(pa.int64())
    counted = files.append_column("small", small).group_by(list(table.partitions), use_threads=False)
    sums = [("path", "count"), ("size_bytes", "sum"), ("num_records", "sum"), ("small", "sum")]
    return counted.aggregate(sums).rename_columns([*table.partitions, "files", "bytes", "rows", "small"])


@dataclass(frozen=True)
class Expiry:
    """Which partitions of the raw tables go.

    Attributes:
        before: Hours before this one go.
        healthy_before: Hours before this one go of the jobs in `healthy`.
        healthy: Jobs all of whose attempts ended well.
    """

    before: str
    healthy_before: str
    healthy: pa.Array

    def gone(self, partitions: pa.Table) -> pa.ChunkedArray:
        """Which of the partitions go."""
        well = pc.and_(self.is_healthy(partitions), pc.less(partitions["hour"], self.healthy_before))
        return pc.or_(pc.less(partitions["hour"], self.before), well)

    def is_healthy(self, partitions: pa.Table) -> pa.ChunkedArray:
        """Which of the partitions are of healthy jobs."""
        return pc.is_in(partitions["job_id"], self.healthy)

    def condition(self, partitions: pa.Table) -> str:
        """The same as SQL over partition columns."""
        old = f"hour < {sql_text(self.before)}"
        well = pc.and_(self.gone(partitions), pc.greater_equal(partitions["hour"], self.before))
        jobs = sorted(set(partitions.filter(well)["job_id"].to_pylist()))
        if not jobs:
            return old
        listed = ", ".join(map(sql_text, jobs))
        return f"{old} or (hour < {sql_text(self.healthy_before)} and job_id in ({listed}))"


def within_budget(expiries: Sequence[Expiry], tables: Sequence[pa.Table], budget: int) -> tuple[list[Expiry], int]:
    """What goes so that the live partitions of all raw tables are few enough, oldest healthy ones first.

    Args:
        expiries: What goes of each table for its age.
        tables: Their live partitions.
        budget: Partitions that may stay.

    Returns:
        The expiry of each table, and how many partitions are over the budget all the same: only healthy ones go early.
    """
    left = [(e, live.filter(pc.invert(e.gone(live)))) for e, live in zip(expiries, tables, strict=True)]
    excess = sum(live.num_rows for _, live in left) - budget
    if excess <= 0:
        return list(expiries), 0
    hours = pa.chunked_array(
        [c for e, live in left for c in live.filter(e.is_healthy(live))["hour"].chunks], pa.string()
    )
    if not len(hours):
        return list(expiries), excess
    ordered = hours.take(pc.sort_indices(hours))
    last = datetime.strptime(ordered[min(excess, len(hours)) - 1].as_py(), HOUR)  # noqa: DTZ007  UTC, as text
    before = (last + timedelta(hours=1)).strftime(HOUR)
    gone = pc.sum(pc.less(ordered, before)).as_py()
    return [replace(e, healthy_before=before) for e in expiries], max(0, excess - gone)


def healthy_jobs(root: str) -> pa.Array:
    """Jobs, by any of their ids, whose attempts all ended well by the scheduler's word and that have no verdict."""
    log = open_log(root, ATTEMPTS)
    if log is None:
        return pa.array([], pa.string())
    attempts = log.to_pyarrow_table(columns=["job_id", "aliases", "state", "is_ended", "is_failure"])
    verdicts = open_log(root, DIAGNOSES)
    failed = (
        verdicts.to_pyarrow_table(columns=["job_id"])["job_id"] if verdicts else pa.chunked_array([[]], pa.string())
    )
    fine = pc.and_(pc.and_(attempts["is_ended"], pc.invert(attempts["is_failure"])), attempts["state"].is_valid())
    well = pc.and_(
        pc.fill_null(fine, fill_value=False), pc.invert(pc.is_in(attempts["job_id"], failed.combine_chunks()))
    )
    aliases = attempts["aliases"].combine_chunks()
    names = pa.chunked_array([attempts["job_id"].combine_chunks(), pc.list_flatten(aliases)])
    owners = pa.chunked_array([well.combine_chunks(), well.combine_chunks().take(pc.list_parent_indices(aliases))])
    known = pa.table({"name": names, "well": owners}).group_by("name", use_threads=False).aggregate([("well", "min")])
    return known.filter(known["well_min"])["name"].combine_chunks()


def sql_partitions(partitions: Iterable[dict[str, Any]], columns: Sequence[str]) -> str:
    """SQL that chooses the partitions."""
    chosen = (" and ".join(f"{c} <=> {_literal(row[c])}" for c in columns) for row in partitions)
    return " or ".join(f"({one})" for one in chosen)


def _literal(value: object) -> str:
    if value is None:
        return "null"
    return sql_text(value) if isinstance(value, str) else f"date'{value}'"


def sql_text(text: str) -> str:
    """The text as an SQL literal."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
