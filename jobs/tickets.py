"""Ticket exports (CSV or JSON) to labels: each ticket is taken, passed over, or refused with place and reason."""

import csv
import io
import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from firstfault.jobs.knowledge import RULES_ROOT
from firstfault.jobs.label_words import (
    MAX_NAME,
    MAX_NOTE,
    LabelError,
    Row,
    checked_category,
    checked_origin,
    clean,
    statement,
)
from firstfault.jobs.labelling import add_statements
from firstfault.jobs.light import in_lake
from firstfault.jobs.ticket_mapping import Taken, TicketMapping
from firstfault.rules.engine.vocabulary import Vocabulary
from firstfault.transforms.attempts import ATTEMPTS

MAX_FILE_BYTES = 256 * 2**20
_EARLIEST = datetime.min.replace(tzinfo=UTC)
Ticket = Mapping[str, Any]


@dataclass
class TicketReport:
    """What became of the rows of a file.

    Attributes:
        read: Rows of the file.
        added: Rows that were added.
        repeated: Rows that say what is known already.
        passed: Rows that are no label.
        refused: Place and reason of each row that cannot be taken.
    """

    file: str
    read: int = 0
    added: list[Row] = field(default_factory=list)
    repeated: int = 0
    passed: int = 0
    refused: list[tuple[str, str]] = field(default_factory=list)

    @property
    def balances(self) -> bool:
        """Whether every row is accounted for."""
        return self.read == len(self.added) + self.repeated + self.passed + len(self.refused)

    @property
    def sentence(self) -> str:
        """The books in words."""
        return (
            f"{self.file}: {self.read} rows: {len(self.added)} added, {self.repeated} known already, "
            f"{self.passed} passed over, {len(self.refused)} refused"
        )


class UnusableTicketError(ValueError):
    """A ticket that cannot be taken, and why."""


def import_tickets(lake: str, file: Path, mapping: TicketMapping, mask: Callable[[str], str] = str) -> TicketReport:
    """Adds what the tickets of a file say; what became of each.

    Args:
        lake: Root of the lake, which the caller holds.
        file: CSV with a header row, or JSON.
        mapping: Which field says what.
        mask: What free text and names go through before they are kept.

    Raises:
        LabelError: The file cannot be read at all.
    """
    report, rows = TicketReport(file.name), []
    vocabulary = Vocabulary.load(RULES_ROOT / "vocabulary.yaml")
    tickets = list(tickets_of(file, mapping.rows))
    wanted = {job for _, ticket in tickets if isinstance(ticket, Mapping) and (job := _first(mapping.job, ticket))}
    attempts = _attempts(lake, wanted)
    written = datetime.fromtimestamp(file.stat().st_mtime, UTC)
    for place, ticket in tickets:
        report.read += 1
        try:
            if isinstance(ticket, str):
                raise UnusableTicketError(ticket)
            if mapping.only and _first(mapping.only, ticket) is None:
                report.passed += 1
                continue
            rows.append(_label(ticket, mapping, vocabulary, attempts, written, mask))
        except (UnusableTicketError, LabelError) as error:
            report.refused.append((f"{file.name}:{place}", str(error)))
    report.added = add_statements(lake, rows)
    report.repeated = len(rows) - len(report.added)
    return report


def tickets_of(file: Path, rows: str = "") -> Iterator[tuple[int, Ticket | str]]:
    """Number and fields of each ticket, or why it has none: lines of CSV as a spreadsheet counts them, items of JSON.

    Raises:
        LabelError: The file cannot be read at all.
    """
    try:
        if file.stat().st_size > MAX_FILE_BYTES:
            raise LabelError(f"{file}: larger than {MAX_FILE_BYTES >> 20} MB; export fewer tickets at a time.")
        text = file.read_text(encoding="utf-8-sig", errors="replace")
    except OSError as error:
        raise LabelError(f"{file}: cannot be read ({error.strerror}); give a CSV or JSON export.") from None
    if file.suffix.lower() == ".json":
        yield from _items(file, text, rows)
    elif file.suffix.lower() == ".csv":
        yield from _records(file, text)
    else:
        raise LabelError(f"{file}: neither .csv nor .json; export the tickets as one of them.")


def _items(file: Path, text: str, rows: str) -> Iterator[tuple[int, Ticket | str]]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise LabelError(f"{file}: no JSON ({str(error)[:100]}); export it again.") from None
    for part in rows.split(".") if rows else ():
        found = found.get(part) if isinstance(found, dict) else None
    if not isinstance(found, list):
        raise LabelError(f"{file}: no list at {rows or 'its top'}; set `rows` of the mapping to where the tickets are.")
    for number, item in enumerate(found, 1):
        yield number, item if isinstance(item, dict) else "is no object with fields"


def _records(file: Path, text: str) -> Iterator[tuple[int, Ticket | str]]:
    reader = csv.DictReader(io.StringIO(text.replace("\0", ""), newline=""), restkey="")
    try:
        if not reader.fieldnames:
            raise LabelError(f"{file}: empty; export it with a header row.")
        for number, record in enumerate(reader, 2):
            torn = "" in record and isinstance(record[""], list)
            short = any(value is None for value in record.values())
            yield number, "has not as many cells as the header" if torn or short else record
    except csv.Error as error:
        raise LabelError(f"{file}: no CSV ({error}, line {reader.line_num}); export it again.") from None


def _first(ways: list[Taken], ticket: Ticket) -> str | None:
    return next((text for way in ways if (text := way.of(ticket)) is not None), None)


def _label(
    ticket: Ticket, mapping: TicketMapping, vocabulary: Vocabulary, attempts: Mapping[str, list[Row]],
    written: datetime, mask: Callable[[str], str],
) -> Row:  # fmt: skip
    """The statement that a ticket makes."""
    job = _need(mapping.job, ticket, "job")
    category = checked_category(_need(mapping.category, ticket, "category"), vocabulary)
    when = written
    if mapping.when is not None:
        said = mapping.when.of(ticket)
        if said is None:
            raise UnusableTicketError(f"field {mapping.when.field} holds no time that can be read")
        when = said.astimezone(UTC)
    names = next((found for way in mapping.origin if (found := way.all_of(ticket))), [])
    scope, origin = checked_origin(names, _first(mapping.scope, ticket), vocabulary)
    chosen = _attempt_of(job, attempts.get(job, []), _first(mapping.cluster, ticket), _number(mapping, ticket), when)
    number = _first(mapping.ticket, ticket)
    masked = partial(_masked, mask)
    return statement(
        cluster=chosen["cluster"], job_id=job, attempt=chosen["attempt"], category=category, origin_scope=scope,
        origin=origin, source=f"{mapping.system}:{masked(number, MAX_NAME)}" if number else mapping.system,
        who=masked(_first(mapping.who, ticket), MAX_NAME), labelled_at=when,
        note=masked(_first(mapping.note, ticket), MAX_NOTE),
    )  # fmt: skip


def _masked(mask: Callable[[str], str], text: str | None, longest: int) -> str | None:
    kept = clean(text, longest)
    return mask(kept) if kept else None


def _need(ways: list[Taken], ticket: Ticket, what: str) -> str:
    text = _first(ways, ticket)
    if text is None:
        fields = ", ".join(dict.fromkeys(way.field for way in ways if way.field))
        raise UnusableTicketError(f"no {what} in {fields or 'it'}")
    return text


def _number(mapping: TicketMapping, ticket: Ticket) -> int | None:
    text = _first(mapping.attempt, ticket)
    if text is None:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) < 6):
        raise UnusableTicketError(f"attempt {clean(text, 20)!r} is no number")
    return int(text)


def _attempts(lake: str, jobs: set[str]) -> dict[str, list[Row]]:
    """Attempts of these jobs."""
    dataset, found = in_lake(lake, ATTEMPTS).dataset(), defaultdict(list)
    if dataset is not None:
        columns = ["cluster", "source_cluster", "job_id", "attempt", "start"]
        wanted = pc.field("job_id").isin(pa.array(sorted(jobs), pa.string()))
        for row in dataset.to_table(columns=columns, filter=wanted).to_pylist():
            found[row["job_id"]].append(row)
    return found


def _attempt_of(job: str, attempts: list[Row], cluster: str | None, number: int | None, when: datetime) -> Row:
    """The attempt that a ticket speaks of: the one it names, else the last that had started when it was written."""
    shown = clean(job, 40)
    known = [a for a in attempts if cluster in {None, a["cluster"], a["source_cluster"]}]
    if not known:
        raise UnusableTicketError(f"job {shown} is not in this lake" + (f" on {clean(cluster, 40)}" if cluster else ""))
    clusters = sorted({a["cluster"] for a in known})
    if len(clusters) > 1:
        raise UnusableTicketError(f"job {shown} is on the clusters {', '.join(clusters)}, and the ticket names none")
    if number is not None:
        named = [a for a in known if a["attempt"] == number]
        if not named:
            raise UnusableTicketError(f"job {shown} has no attempt {number}")
        return named[0]
    # A ticket may be dated to the day.
    begun = [a for a in known if (a["start"] or _EARLIEST) <= when + timedelta(days=1)]
    return max(begun or known, key=lambda a: int(a["attempt"]))
