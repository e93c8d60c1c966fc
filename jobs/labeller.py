"""What `firstfault label` does: statements are checked, added under the lake's lock, and shown at once."""

import getpass
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.table import Table

from firstfault.jobs.answer import choose_attempt, lake_rows
from firstfault.jobs.knowledge import RULES_ROOT
from firstfault.jobs.label_words import (
    MAX_NAME,
    MAX_NOTE,
    LabelError,
    Row,
    checked_category,
    checked_origin,
    clean,
    come_to,
    held_of,
    statement,
)
from firstfault.jobs.labelling import add_statements, show_in_results, statements_on
from firstfault.jobs.lock import holding
from firstfault.jobs.masking import make_masker
from firstfault.jobs.readers import reading
from firstfault.jobs.repair_list import add_repairs, read_repairs
from firstfault.jobs.settings import Settings
from firstfault.jobs.show import safe
from firstfault.jobs.ticket_mapping import load_mapping
from firstfault.jobs.tickets import TicketReport, import_tickets
from firstfault.rules.engine.masking import load_masking
from firstfault.rules.engine.vocabulary import Vocabulary
from firstfault.transforms.keys import ATTEMPT_KEY
from firstfault.transforms.labels import WEAK
from firstfault.transforms.results import RESULTS

COMMAND = "command"
MAX_TOLD = 20


class Labeller:
    """One call of `firstfault label` on one lake."""

    def __init__(self, settings: Settings, console: Console, *, steal: bool = False) -> None:
        """Nothing is read yet."""
        self.settings, self.console, self.steal = settings, console, steal
        self.lake = str(settings.lake)
        self.vocabulary = Vocabulary.load(RULES_ROOT / "vocabulary.yaml")

    def say(
        self, job: str, attempt: int | None, cluster: str | None, *, category: str, origin: list[str],
        scope: str | None, who: str | None, note: str | None,
    ) -> None:  # fmt: skip
        """Adds one statement.

        Raises:
            LabelError: Category or origin is none that the vocabulary knows.
            NoAnswerError: The lake does not know the job.
            LakeBusyError: Another run holds the lake.
        """
        checked_category(category, self.vocabulary)
        named, origins = checked_origin(origin, scope, self.vocabulary)
        chosen = choose_attempt(self.lake, job, attempt, cluster)
        key = {k: chosen[k] for k in ATTEMPT_KEY}
        row = statement(
            **key, category=category, origin_scope=named, origin=origins, source=COMMAND, who=self._who(who),
            labelled_at=datetime.now(UTC), note=self._note(note),
        )  # fmt: skip
        added = self._add([row])
        self._print(
            f"{_name(chosen)}: {category}{_at(row)}, says {row['who']}" + ("" if added else ", who said so already")
        )
        for place in _not_of(chosen, row):
            self._print(f"note: {place} is not a node of this attempt")
        self._compare(chosen, category)
        self._conflict(chosen)

    def withdraw(self, job: str, attempt: int | None, cluster: str | None, who: str | None, note: str | None) -> None:
        """Takes back all that somebody says of an attempt.

        Raises:
            LabelError: There is nothing to take back.
        """
        chosen, name = choose_attempt(self.lake, job, attempt, cluster), self._who(who)
        held = held_of(statements_on(self.lake, chosen))
        own = [s for s in held if s["who"] == name]
        if not own:
            others = ", ".join(sorted({str(s["who"] or s["source"]) for s in held})) or "nobody"
            raise LabelError(f"{_name(chosen)} has no label of {name} to withdraw; labelled by {others}: give --who.")
        now = datetime.now(UTC)
        self._add([s | {"withdrawn": True, "labelled_at": now, "note": self._note(note)} for s in own])
        told = ", ".join(sorted({s["category"] for s in own}))
        self._print(f"{_name(chosen)}: {name} takes back {told}")
        self._conflict(chosen)

    def show(self, job: str, attempt: int | None, cluster: str | None) -> None:
        """Prints all that was said of an attempt, oldest first, and whether operators differ."""
        with reading(self.lake, "label"):
            chosen = choose_attempt(self.lake, job, attempt, cluster)
            said = statements_on(self.lake, chosen, kind=None)
        if not said:
            self._print(f"{_name(chosen)} has no label")
            return
        table = Table(title=safe(_name(chosen)), title_justify="left", show_edge=False)
        for column in ("when", "who", "source", "category", "origin", "", "note"):
            table.add_column(column)
        for row in sorted(said, key=lambda s: (s["kind"] == WEAK, str(s["labelled_at"]), s["source"])):
            table.add_row(*(safe(cell) for cell in _cells(row)))
        self.console.print(table)
        self._conflict(chosen)

    def take_tickets(self, file: Path, mapping: str) -> None:
        """Adds what a ticket export says, and tells of every row that cannot be taken."""
        rules = load_mapping(mapping, self.vocabulary)
        with self._held():
            report = import_tickets(self.lake, file, rules, self._masked)
            if report.added:
                show_in_results(self.lake, {row["job_id"] for row in report.added})
        self._report(report)

    def take_repairs(self, file: Path) -> None:
        """Adds the repairs of an RMA list, and tells of every row that cannot be taken."""
        rows, report = read_repairs(file, self.settings.cluster)
        with self._held():
            report.added = add_repairs(self.lake, rows)
        report.repeated = len(rows) - len(report.added)
        self._report(report)

    def _add(self, rows: list[Row]) -> list[Row]:
        with self._held():
            added = add_statements(self.lake, rows)
            show_in_results(self.lake, {row["job_id"] for row in rows})
        return added

    @contextmanager
    def _held(self) -> Iterator[None]:
        if not Path(self.lake).is_dir() and "://" not in self.lake:
            raise LabelError(f"{self.lake}: no such lake; give --lake the folder that `firstfault nightly` wrote.")
        stale_s, beat_s = self.settings.lock_stale_s, self.settings.heartbeat_s
        with holding(self.lake, stale_s=stale_s, heartbeat_s=beat_s, steal=self.steal):
            yield

    def _who(self, given: str | None) -> str:
        """Who says it: as given, else the user of this process."""
        try:
            who = clean(given or getpass.getuser(), MAX_NAME)
        except (OSError, KeyError):
            who = None
        if not who:
            raise LabelError(f"it is not known who says so (user {os.getuid()} has no name): give --who.")
        return self._masked(who)

    def _note(self, text: str | None) -> str | None:
        kept = clean(text, MAX_NOTE)
        return self._masked(kept) if kept else None

    def _masked(self, text: str) -> str:
        return make_masker(self.settings, load_masking(RULES_ROOT / "masking.yaml")).text(text)

    def _compare(self, chosen: Row, category: str) -> None:
        """Says which verdict the label agrees or disagrees with."""
        found = lake_rows(self.lake, RESULTS, **{k: chosen[k] for k in ATTEMPT_KEY})
        if not found:
            self._print("firstfault has no verdict on it")
            return
        verdict = found[0]
        word = "agrees with" if verdict["category"] == category else "disagrees with"
        self._print(f"{word} the verdict {verdict['category']}{_at(verdict)} ({verdict['confidence']:.2f})")

    def _conflict(self, chosen: Row) -> None:
        verdict = come_to(statements_on(self.lake, chosen))
        if not verdict.is_conflict:
            return
        said = "; ".join(f"{s['who'] or s['source']} says {s['category']}{_at(s)}" for s in verdict.statements)
        self._print(f"conflict: {said}")

    def _report(self, report: TicketReport) -> None:
        for place, why in report.refused[:MAX_TOLD]:
            self._print(f"{place}: {why}")
        if len(report.refused) > MAX_TOLD:
            self._print(f"... and {len(report.refused) - MAX_TOLD} more")
        self._print(report.sentence)

    def _print(self, text: str) -> None:
        self.console.print(safe(text), highlight=False, soft_wrap=True)


def _name(attempt: Row) -> str:
    return f"job {attempt['job_id']} attempt {attempt['attempt']} on {attempt['cluster']}"


def _at(row: Row) -> str:
    scope, names = row.get("origin_scope"), row.get("origin") or []
    return f" at {scope} {', '.join(names)}" if names else f" ({scope})" if scope else ""


def _not_of(attempt: Row, row: Row) -> list[str]:
    """Nodes of the origin that the attempt did not run on."""
    if row["origin_scope"] not in {"gpu", "node"}:
        return []
    return sorted({name.split("/")[0] for name in row["origin"]} - set(attempt.get("nodes") or []))


def _cells(row: Row) -> tuple[str, ...]:
    words = {
        "withdrawn": row["withdrawn"],
        f"weak {row['weight'] or 1:.2f}": row["kind"] == WEAK,
        "refutes": row["refutes"],
    }
    how = [word for word, holds in words.items() if holds]
    when = row["labelled_at"].strftime("%Y-%m-%d %H:%M") if row["labelled_at"] else "-"
    origin = ", ".join(row["origin"] or []) or row["origin_scope"] or "-"
    return when, row["who"] or "-", row["source"], row["category"], origin, ", ".join(how), row["note"] or ""
