"""Catalogues: what a code means, by whom it is said and what we chose; joined as tables, never coded."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from firstfault.rules.engine.vocabulary import Vocabulary
from firstfault.rules.engine.yaml_io import Keys, Located, Problems, Strict, build, load_documents

Key = Annotated[str, BeforeValidator(lambda key: str(key) if isinstance(key, int) else key), Field(min_length=1)]
StateWord = Annotated[str, Field(pattern=r"^[A-Z][A-Z_]*$")]


class Opinion(Strict):
    """What one source says of a code."""

    name: str
    opinion: str


class Entry(Strict):
    """One code.

    Attributes:
        key: The code as events carry it.
        also: Other spellings of the same thing.
        meaning: In words.
        class_: Short word that rules test.
        role: Part that an event with this code plays.
        category: What it would mean as an origin.
        action: What its vendor advises.
        sources: Who says what.
        choice: Why role and category were chosen.
    """

    key: Key
    also: list[str] = Field(default_factory=list)
    meaning: str
    class_: str = Field(alias="class", pattern=r"^[a-z][a-z0-9_]*$")
    role: str
    category: str
    action: str = ""
    sources: list[Opinion] = Field(min_length=1)
    choice: str


class State(Strict):
    """One word of a scheduler.

    Attributes:
        state: The word in upper case.
        outcome: Outcome that it claims; None for an attempt that goes on or went well.
        is_terminal: The attempt is over.
        is_failure: It did not succeed.
        source: Whose word it is.
        meaning: In words.
    """

    state: StateWord
    outcome: str | None
    is_terminal: bool
    is_failure: bool
    source: str
    meaning: str


class _Codes(Strict):
    catalogue: str
    entries: list[dict[str, Any]]


class _States(Strict):
    states: list[dict[str, Any]]


@dataclass(frozen=True)
class Catalogues:
    """All catalogues.

    Attributes:
        codes: Catalogue -> its entries in order of the file.
        states: States of schedulers.
    """

    codes: dict[str, list[Entry]]
    states: list[State]

    def code_rows(self) -> list[dict[str, str]]:
        """One row per catalogue and spelling of a code, for a join."""
        return [
            {
                "catalogue": catalogue,
                "code": code,
                "class": entry.class_,
                "role": entry.role,
                "category": entry.category,
                "meaning": entry.meaning,
            }
            for catalogue, entries in sorted(self.codes.items())
            for entry in entries
            for code in (entry.key, *entry.also)
        ]

    def state_rows(self) -> list[dict[str, Any]]:
        """One row per scheduler state."""
        return [
            {"state": s.state, "outcome": s.outcome, "is_ended": s.is_terminal, "is_failure": s.is_failure}
            for s in self.states
        ]


def load_catalogues(folder: Path, vocabulary: Vocabulary) -> Catalogues:
    """Reads and checks all catalogues of a folder.

    Raises:
        KnowledgeError: With every problem of every file.
    """
    problems = Problems()
    codes: dict[str, list[Entry]] = {}
    states: list[State] = []
    for located in load_documents(folder):
        if isinstance(located.data, dict) and "states" in located.data:
            states += _states(located, vocabulary, problems)
        elif (file := build(_Codes, located, (), located.data, problems)) is not None:
            codes.setdefault(file.catalogue, []).extend(_entries(located, file, vocabulary, problems))
    wanted = {event.catalogue for event in vocabulary.events.values() if event.catalogue}
    problems.found += [
        f"{folder}:1: {name}: no such catalogue, add {name}.yaml" for name in sorted(wanted - set(codes))
    ]
    problems.raise_any()
    return Catalogues(codes, states)


def _entries(located: Located, file: _Codes, vocabulary: Vocabulary, problems: Problems) -> list[Entry]:
    seen: set[str] = set()
    entries = []
    for k, item in enumerate(file.entries):
        keys: Keys = ("entries", k)
        entry = build(Entry, located, keys, item, problems)
        if entry is None:
            continue
        problems.add_unlisted(located, (*keys, "role"), entry.role, vocabulary.roles)
        problems.add_unlisted(located, (*keys, "category"), entry.category, vocabulary.categories)
        for code in (entry.key, *entry.also):
            if code in seen:
                problems.add(located, (*keys, "key"), f"{code} is listed twice, keep one")
            seen.add(code)
        entries.append(entry)
    return entries


def _states(located: Located, vocabulary: Vocabulary, problems: Problems) -> list[State]:
    file = build(_States, located, (), located.data, problems)
    seen: set[str] = set()
    states = []
    for k, item in enumerate(file.states if file else []):
        keys: Keys = ("states", k)
        state = build(State, located, keys, item, problems)
        if state is None:
            continue
        problems.add_unlisted(located, (*keys, "outcome"), state.outcome, vocabulary.outcomes)
        if state.state in seen:
            problems.add(located, (*keys, "state"), f"{state.state} is listed twice, keep one")
        seen.add(state.state)
        states.append(state)
    return states
