"""What the gates of a stage found, written where it is looked for: quarantine and data_quality."""

from collections.abc import Sequence
from datetime import datetime
from functools import reduce
from typing import Any

from pyspark.sql import DataFrame

from firstfault.expectations.verdict import Failure
from firstfault.jobs.batch import Batch
from firstfault.jobs.frames import local_frame
from firstfault.jobs.gates import Gates
from firstfault.jobs.lake import Lake
from firstfault.transforms.contract import Table
from firstfault.transforms.data_quality import DATA_QUALITY
from firstfault.transforms.quarantine import QUARANTINE, failing_rows

WHOLE = ("", None, "")
"""The whole batch. A source that fell silent has no times of its own in it, and is poor no longer than it."""
Span = tuple[datetime | None, datetime | None]
Warned = tuple[Table, tuple[Failure, ...]]


def note(lake: Lake, gates: Gates, batch: Batch, stage: str, warned: Sequence[Warned]) -> None:
    """Appends the warnings of one stage, once a batch and stage.

    Args:
        lake: The lake.
        gates: They check what they wrote, too.
        batch: The batch that brought the rows.
        stage: Name of the stage.
        warned: Tables with their warnings.
    """
    found = [(table, failure) for table, failures in warned for failure in failures]
    if not found:
        return
    intent = f"{batch.batch_id}/{stage}"
    rows = [failing_rows(f.rows, table, f.check) for table, f in found if f.rows is not None]
    if rows:
        lake.append(QUARANTINE, reduce(DataFrame.unionByName, rows), intent=intent)
    spans = source_spans(batch)
    told = [row for _, failure in found for row in quality_rows(failure, batch.batch_id, spans)]
    quality = local_frame(lake.spark, told, DATA_QUALITY.schema)
    gates.check(DATA_QUALITY, quality)
    lake.append(DATA_QUALITY, quality, intent=intent)


def source_spans(batch: Batch) -> dict[tuple[str, str | None, str], Span]:
    """Earliest and latest time in the batch of each (cluster, node, format), each (cluster, None, format), and all."""
    spans: dict[tuple[str, str | None, str], Span] = {}
    for planned in batch.ranges:
        report = batch.books_by_range.get((planned.stream_id, planned.from_byte))
        if report is None or report["first_time"] is None:
            continue
        source = {(planned.cluster, node, planned.format) for node in (planned.node, None)}
        for key in {*source, WHOLE}:
            first, last = spans.get(key, (None, None))
            spans[key] = (
                min(filter(None, (first, report["first_time"]))),
                max(filter(None, (last, report["last_time"]))),
            )
    return spans


def quality_rows(
    failure: Failure, batch_id: str, spans: dict[tuple[str, str | None, str], Span]
) -> list[dict[str, Any]]:
    """Rows of data_quality of one warning: one a poor source, or one for all rows that failed."""
    common = dict.fromkeys(DATA_QUALITY.columns) | {
        "batch_id": batch_id,
        "table_name": failure.table,
        "check": failure.check,
        "severity": failure.severity.value,
        "failed": failure.failed,
        "total": failure.total,
        "text": str(failure),
        **dict(zip(("t_from", "t_to"), spans.get(WHOLE, (None, None)), strict=True)),
    }
    rows = []
    for group in failure.groups:
        own = (group.cluster or "", group.node, group.source or "")
        first, last = spans.get(own, spans.get(WHOLE, (None, None)))
        place = {"cluster": group.cluster, "node": group.node, "source": group.source}
        rows.append(
            common | place | {"t_from": first, "t_to": last, "figure": group.figure, "text": group.text, "failed": 1}
        )
    return rows or [common]
