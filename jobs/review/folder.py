"""The folder of a review: report, plots, tables and drafts, made aside and put in place whole."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq
from pyspark.sql.pandas.types import to_arrow_schema

from firstfault.jobs.raw_files import lake_filesystem
from firstfault.jobs.report import FOLDER
from firstfault.jobs.review.changes import changes
from firstfault.jobs.review.month import Figures, Rows
from firstfault.jobs.review.report import page_html
from firstfault.jobs.review.unknown import Unknowns
from firstfault.transforms.contract import Table
from firstfault.transforms.review_findings import REVIEW_FINDINGS
from firstfault.transforms.rule_calibration import RULE_CALIBRATION
from firstfault.transforms.rule_confusion import RULE_CONFUSION
from firstfault.transforms.rule_stats import RULE_STATS

REPORT, PLOTS, TABLES, PROPOSALS = "report.html", "plots", "tables", "proposals"
_HEAD = "# Draft of the review of {month}; {n} attempts. Before it is a rule, decide:\n{todo}"


def fill(folder: Path, figures: Figures, unknowns: Unknowns) -> None:
    """Writes all files of a review below a local folder."""
    # matplotlib takes a quarter of a second to import.
    from firstfault.jobs.review import plots

    links = _proposals(folder / PROPOSALS, figures.month, unknowns)
    drawings = plots.drawn(figures)
    plots.save(drawings, folder / PLOTS)
    _tables(folder / TABLES, figures, unknowns)
    page = page_html(figures, unknowns, plots.as_svg(drawings), links)
    (folder / REPORT).write_text(page, encoding="utf-8")


def put(made: Path, lake: str, month: str) -> str:
    """Copies the files to the lake, in the place of those of an earlier review of the month; where they lie."""
    fs, root = lake_filesystem(lake)
    place = f"{root}/{FOLDER}/review-{month}"
    fs.create_dir(place, recursive=True)
    fs.delete_dir_contents(place)
    pafs.copy_files(str(made), place, destination_filesystem=fs)
    return f"{lake.rstrip('/')}/{FOLDER}/review-{month}"


def _proposals(folder: Path, month: str, unknowns: Unknowns) -> dict[str, str]:
    """Writes the drafts; their places beside the report, by id and by id.pattern."""
    links = {}
    folder.mkdir(parents=True)
    for group, draft in zip(unknowns.groups, unknowns.proposals, strict=True):
        todo = "".join(f"#   - {_one_line(what)}\n" for what in draft.missing)
        head = _HEAD.format(month=month, n=group["n"], todo=todo)
        for name, text in ((draft.id, draft.rule), (f"{draft.id}.pattern", draft.pattern)):
            if text:
                (folder / f"{name}.yaml").write_text(head + text, encoding="utf-8")
                links[name] = f"{PROPOSALS}/{name}.yaml"
    return links


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _tables(folder: Path, figures: Figures, unknowns: Unknowns) -> None:
    """The rows of the month as Parquet, and what people open by hand as CSV."""
    folder.mkdir(parents=True)
    of_month = [row for row in figures.stats if row["month"] == figures.month]
    for table, rows in (
        (RULE_STATS, of_month), (RULE_CONFUSION, figures.confusion), (RULE_CALIBRATION, figures.calibration),
        (REVIEW_FINDINGS, figures.findings),
    ):  # fmt: skip
        _parquet(folder / f"{table.name}.parquet", table, rows)
    _csv(folder / "changes.csv", [asdict(change) for change in changes(figures)])
    _csv(folder / "findings.csv", figures.findings)
    _csv(folder / "templates.csv", unknowns.templates)


def _parquet(file: Path, table: Table, rows: Rows) -> None:
    schema = to_arrow_schema(table.schema, timezone="UTC")
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), file)


def _csv(file: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    with file.open("w", encoding="utf-8", newline="") as out:
        if rows:
            writer = csv.DictWriter(out, list(rows[0]))
            writer.writeheader()
            writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)


def _cell(value: object) -> object:
    """A value that a spreadsheet shows and does not run: a line that begins with `=` is no formula."""
    if isinstance(value, str) and value[:1] in {"=", "+", "-", "@", "\t", "\r"}:
        return f"'{value}"
    return value
