"""RMA lists given at the command line: which parts of which nodes were replaced, into the table `repairs`."""

from datetime import date
from pathlib import Path

from firstfault.jobs.label_words import MAX_NAME, LabelError, Row, clean
from firstfault.jobs.light import in_lake
from firstfault.jobs.tickets import TicketReport, tickets_of
from firstfault.transforms.formats.hosts import short_host
from firstfault.transforms.repairs import REPAIRS

_NEEDED = ("node", "part", "day")


def read_repairs(file: Path, cluster: str) -> tuple[list[Row], TicketReport]:
    """Rows of `repairs` of a CSV file (or JSON list) with node, part, day and perhaps device, serial and cluster.

    Args:
        file: The list.
        cluster: Cluster of rows that name none.

    Raises:
        LabelError: The file cannot be read at all, or lacks a column.
    """
    rows, report = [], TicketReport(file.name)
    for place, given in tickets_of(file):
        report.read += 1
        if isinstance(given, str):
            report.refused.append((f"{file.name}:{place}", given))
            continue
        cells = {str(k).strip().lower(): clean(str(v), MAX_NAME) for k, v in given.items() if v is not None}
        lacking = [name for name in _NEEDED if name not in cells]
        if lacking and place <= 2:
            raise LabelError(
                f"{file}: no column {', '.join(lacking)}; a list has {', '.join(_NEEDED)}, device, serial."
            )
        day = _day(cells.get("day"))
        if day is None or not cells.get("node") or not cells.get("part"):
            report.refused.append((f"{file.name}:{place}", "node, part or a readable day (2026-11-30) is missing"))
            continue
        rows.append(
            {
                "cluster": cells.get("cluster") or cluster,
                "node": short_host(cells["node"]),
                "device": (cells.get("device") or "").lower() or None,
                "serial": cells.get("serial"),
                "part": str(cells["part"]).lower(),
                "day": day,
            }
        )
    return rows, report


def add_repairs(lake: str, rows: list[Row]) -> list[Row]:
    """Appends the repairs that the lake does not know; those.

    Args:
        lake: Root of the lake, which the caller holds.
        rows: Rows of `repairs`.
    """
    table = in_lake(lake, REPAIRS)
    dataset = table.dataset()
    known = {_key(row) for row in dataset.to_table().to_pylist()} if dataset is not None else set()
    added: list[Row] = []
    for row in rows:
        if _key(row) not in known:
            known.add(_key(row))
            added.append(row)
    if added:
        table.append(table.of(added))
    return added


def _day(text: str | None) -> date | None:
    try:
        return date.fromisoformat((text or "")[:10])
    except ValueError:
        return None


def _key(row: Row) -> tuple[object, ...]:
    return tuple(row[name] for name in REPAIRS.keys)
