"""Labels in the lake without Spark: statements are only ever added, and `results` shows what they come to."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from datetime import date
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from firstfault.jobs.label_words import Row, Verdict, come_to, new_statements
from firstfault.jobs.light import in_lake
from firstfault.transforms.attempts import ATTEMPTS
from firstfault.transforms.contract import Table
from firstfault.transforms.keys import ATTEMPT_KEY
from firstfault.transforms.labels import LABELS, OPERATOR
from firstfault.transforms.results import LABEL_COLUMNS, RESULTS

Key = tuple[Any, ...]


def statements_of(lake: str, jobs: Collection[str] | None = None, kind: str | None = OPERATOR) -> list[Row]:
    """The rows of `labels` of these jobs (all when None), with all columns of the contract.

    Args:
        lake: Root of the lake.
        jobs: Job ids.
        kind: Operator or weak; None for both.
    """
    found = _of_jobs(lake, LABELS, jobs)
    return [dict.fromkeys(LABELS.columns) | row for row in found if kind in {None, row["kind"]}]


def add_statements(lake: str, given: Iterable[Row]) -> list[Row]:
    """Appends the statements of operators that say something new; those.

    Args:
        lake: Root of the lake, which the caller holds.
        given: Rows of `labels`.
    """
    rows, table = list(given), in_lake(lake, LABELS)
    added = new_statements(rows, statements_of(lake, {row["job_id"] for row in rows}))
    if added or not table.exists():
        table.append(table.of(added))
    return added


def statements_on(lake: str, attempt: Row, kind: str | None = OPERATOR) -> list[Row]:
    """The statements on one attempt; some name the cluster of the file that they stood in.

    Args:
        lake: Root of the lake.
        attempt: Row of `attempts`.
        kind: Operator or weak; None for both.
    """
    names = {attempt["cluster"], attempt.get("source_cluster")}
    said = statements_of(lake, {attempt["job_id"]}, kind)
    return [row for row in said if row["cluster"] in names and row["attempt"] == attempt["attempt"]]


def show_in_results(lake: str, jobs: Collection[str] | None = None) -> int:
    """Brings the label columns of `results` up to the labels; how many rows changed.

    Args:
        lake: Root of the lake, which the caller holds.
        jobs: Job ids whose labels may have changed; all that have any when None.
    """
    said: dict[Key, list[Row]] = defaultdict(list)
    for row in statements_of(lake, jobs):
        said[tuple(row[k] for k in ATTEMPT_KEY)].append(row)
    if not said:
        return 0
    verdicts: dict[Key, Verdict] = {}
    days: set[date] = set()
    for attempt in _of_jobs(lake, ATTEMPTS, {job for _, job, _ in said}):
        names = sorted({attempt["cluster"], attempt["source_cluster"] or attempt["cluster"]})
        own = [row for name in names for row in said.get((name, attempt["job_id"], attempt["attempt"]), ())]
        if own and attempt["day"]:
            verdicts[tuple(attempt[k] for k in ATTEMPT_KEY)] = come_to(own)
            days.add(attempt["day"])
    return sum(_rewrite(lake, day, verdicts) for day in sorted(days))


def _rewrite(lake: str, day: date, verdicts: Mapping[Key, Verdict]) -> int:
    """Writes the results of one day anew where a label column differs; how many rows do."""
    table = in_lake(lake, RESULTS)
    rows = table.of_days([day])
    if not rows.num_rows:
        return 0
    told = rows.select([*ATTEMPT_KEY, "category", *LABEL_COLUMNS]).to_pylist()
    wanted = [_columns(row, verdicts.get(tuple(row[k] for k in ATTEMPT_KEY))) for row in told]
    changed = sum(any(row[c] != new[c] for c in LABEL_COLUMNS) for row, new in zip(told, wanted, strict=True))
    if changed:
        for name in LABEL_COLUMNS:
            at = rows.schema.get_field_index(name)
            rows = rows.set_column(at, rows.field(at), pa.array([new[name] for new in wanted], rows.field(at).type))
        table.replace(rows, [day])
    return changed


def _columns(row: Row, verdict: Verdict | None) -> Row:
    """The label columns of one row of results, as `results.build_results` makes them."""
    if verdict is None:
        return row
    if not verdict.statements:
        return dict.fromkeys(LABEL_COLUMNS)
    return {
        "label_category": verdict.category,
        "label_origin": verdict.origin,
        "label_agrees": None if verdict.category is None else verdict.category == row["category"],
        "label_conflict": verdict.is_conflict,
    }


def _of_jobs(lake: str, table: Table, jobs: Collection[str] | None) -> list[Row]:
    dataset = in_lake(lake, table).dataset()
    if dataset is None:
        return []
    wanted = None if jobs is None else pc.field("job_id").isin(pa.array(sorted(jobs), pa.string()))
    return list(dataset.to_table(filter=wanted).to_pylist())
