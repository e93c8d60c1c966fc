"""Mappings of ticket exports: which field of a ticket says what, as data.

A mapping holds names, tables of values and expressions of RE2, which take linear time whatever text they meet; nothing
in it is run.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field, field_validator, model_validator

from firstfault.jobs.label_words import LabelError, clean
from firstfault.rules.engine.vocabulary import Vocabulary
from firstfault.rules.engine.yaml_io import KnowledgeError, Located, Problems, Strict, load_model
from firstfault.transforms.formats import times

FOLDER = Path(__file__).with_name("ticket_mappings")
MAX_TEXT, MAX_REGEX = 20_000, 500
GROUP = "value"


class Pattern(Strict):
    """A word for texts that hold a match."""

    regex: str = Field(max_length=MAX_REGEX)
    gives: str

    @field_validator("regex")
    @classmethod
    def _is_re2(cls, value: str) -> str:
        return checked_regex(value)


class Taken(Strict):
    """One way to take a value from a ticket.

    Attributes:
        field: Name of a column, or dotted path in JSON.
        constant: The value itself, where no field says it.
        regex: RE2 that finds the value in the field's text: its group `value`, else the whole match.
        split: Characters at which the field's text is parted into several values.
        values: What each text of the field means, without regard to case; other texts give nothing.
        patterns: What texts mean that hold a match; the first that fits.
    """

    field: str | None = None
    constant: str | None = None
    regex: str | None = Field(default=None, max_length=MAX_REGEX)
    split: str | None = None
    values: dict[str, str] | None = None
    patterns: list[Pattern] | None = None

    @field_validator("regex")
    @classmethod
    def _is_re2(cls, value: str | None) -> str | None:
        return value if value is None else checked_regex(value)

    @model_validator(mode="after")
    def _one_place(self) -> "Taken":
        if (self.field is None) == (self.constant is None):
            raise ValueError("give either `field` or `constant`")
        if self.values is not None and self.patterns is not None:
            raise ValueError("give either `values` or `patterns`, the other one as a further way to take it")
        return self

    def of(self, ticket: Mapping[str, Any]) -> str | None:
        """The value in a ticket, None where it says nothing."""
        text = self.constant if self.field is None else text_of(ticket, self.field)
        if text is not None and self.regex is not None:
            text = found_by(self.regex, text)
        if text is None:
            return None
        if self.values is not None:
            return {k.casefold(): v for k, v in self.values.items()}.get(text.casefold())
        if self.patterns is not None:
            return next((p.gives for p in self.patterns if found_by(p.regex, text) is not None), None)
        return text

    def all_of(self, ticket: Mapping[str, Any]) -> list[str]:
        """The values in a ticket, where it may name several."""
        text = self.of(ticket)
        parts = [text] if not self.split or text is None else re.split(f"[{re.escape(self.split)}]", text)
        return [p.strip() for p in parts if p and p.strip()]


class When(Strict):
    """How the time of a ticket is written.

    Attributes:
        field: Name of a column, or dotted path in JSON.
        format: Of strptime; without it, ISO 8601 or seconds since 1970.
        zone: IANA zone of times that name none.
    """

    field: str
    format: str | None = Field(default=None, max_length=100)
    zone: str = "UTC"

    @field_validator("zone")
    @classmethod
    def _is_known(cls, value: str) -> str:
        try:
            ZoneInfo(value)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise ValueError(f"no time zone {value!r}, write an IANA name such as Europe/Berlin") from None
        return value

    def of(self, ticket: Mapping[str, Any]) -> datetime | None:
        """The time in a ticket, None where it says none that can be read."""
        text = text_of(ticket, self.field)
        if text is None:
            return None
        if self.format is None:
            return _plain_time(text, self.zone)
        try:
            read = datetime.strptime(text, self.format)  # noqa: DTZ007
        except ValueError:
            return None
        return read if read.tzinfo else read.replace(tzinfo=ZoneInfo(self.zone))


class TicketMapping(Strict):
    """Which field of a ticket says what; each list is tried in order, the first that gives something counts.

    Attributes:
        system: Name of the ticket system, the `source` of its labels.
        rows: Dotted path to the list of tickets in JSON; empty where the document is the list.
        only: Tickets where this gives nothing are no labels: they are counted and passed over.
        scope: What the origin names; taken from the form of the names where nothing says it.
    """

    system: str = Field(pattern=r"^[a-z0-9][a-z0-9_.-]{0,63}$")
    rows: str = ""
    only: list[Taken] = Field(default=[])
    ticket: list[Taken] = Field(default=[])
    cluster: list[Taken] = Field(default=[])
    job: list[Taken] = Field(min_length=1)
    attempt: list[Taken] = Field(default=[])
    category: list[Taken] = Field(min_length=1)
    scope: list[Taken] = Field(default=[])
    origin: list[Taken] = Field(default=[])
    who: list[Taken] = Field(default=[])
    note: list[Taken] = Field(default=[])
    when: When | None = None

    @field_validator("system")
    @classmethod
    def _is_no_other_source(cls, value: str) -> str:
        if value in {"command", "weak"} or value.startswith("weak:"):
            raise ValueError(f"{value} is the source of other labels, name the ticket system")
        return value


def load_mapping(name: str, vocabulary: Vocabulary) -> TicketMapping:
    """A mapping by the path of its file, or by the name of one that is shipped.

    Raises:
        LabelError: With every problem of the file.
    """
    shipped = FOLDER / f"{name}.yaml"
    file = shipped if re.fullmatch(r"[a-z0-9_]+", name) and shipped.is_file() else Path(name)
    if not file.is_file():
        have = ", ".join(sorted(f.stem for f in FOLDER.glob("*.yaml")))
        raise LabelError(f"{name}: no such mapping; give a YAML file, or one of {have}.")
    try:
        mapping, located = load_model(TicketMapping, file)
        _check_words(mapping, located, vocabulary)
    except KnowledgeError as error:
        raise LabelError(str(error)) from None
    return mapping


def _check_words(mapping: TicketMapping, located: Located, vocabulary: Vocabulary) -> None:
    """Refuses a mapping that gives a category or scope that the vocabulary does not know."""
    problems = Problems()
    for name, words in (("category", vocabulary.categories), ("scope", vocabulary.scopes)):
        for number, taken in enumerate(getattr(mapping, name)):
            given = [*(taken.values or {}).values(), *(p.gives for p in taken.patterns or ())]
            given += [taken.constant] if taken.constant and not taken.values and not taken.patterns else []
            for word in given:
                if word not in words:
                    problems.add(located, (name, number), f"{word} is no {name}, take one of {', '.join(words)}")
    problems.raise_any()


def checked_regex(regex: str) -> str:
    """The expression.

    Raises:
        ValueError: RE2 does not take it, or it has groups but the one called `value`.
    """
    try:
        groups = [field.name for field in pc.extract_regex(pa.array([""]), _whole(regex)).type]
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        told = str(error).splitlines()[0][:200]
        raise ValueError(f"no expression of RE2 with the only group (?P<{GROUP}>...): {told}") from None
    if groups != [GROUP]:
        raise ValueError(f"groups {groups}, name the one that holds the value (?P<{GROUP}>...), others (?:...)")
    return regex


def found_by(regex: str, text: str) -> str | None:
    """What the expression finds first in the text."""
    found = pc.extract_regex(pa.array([text[:MAX_TEXT]]), _whole(regex))[0].as_py()
    return None if found is None else found[GROUP].strip() or None


def _whole(regex: str) -> str:
    return regex if f"(?P<{GROUP}>" in regex else f"(?P<{GROUP}>{regex})"


def text_of(ticket: Mapping[str, Any], path: str) -> str | None:
    """The text of a field: a name, else a dotted path; lists are joined by `;`, null is no text."""
    value: Any = ticket
    if path in ticket:
        value = ticket[path]
    else:
        for part in path.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
    if isinstance(value, list):
        value = ";".join(str(v) for v in value if isinstance(v, str | int | float))
    if value is None or isinstance(value, Mapping):
        return None
    return clean(str(value), MAX_TEXT)


def _plain_time(text: str, zone: str) -> datetime | None:
    micros = times.epoch_micros(text) if text.replace(".", "", 1).isdecimal() else None
    if micros is None:
        found = times.parse_time(text, zone)
        micros = found[0] if found else None
    return None if micros is None else datetime.fromtimestamp(0, UTC) + timedelta(microseconds=micros)
