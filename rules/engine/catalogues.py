"""Catalogues: what a code means, by whom it is said and what we chose; joined as tables, never coded."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from firstfault.rules.engine.catalogue_model import FAMILIES, STANCES, Entry, State
from firstfault.rules.engine.load import ruleset_version
from firstfault.rules.engine.vocabulary import Vocabulary
from firstfault.rules.engine.yaml_io import Keys, Located, Problems, Strict, build, load_documents


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

    def catalogue_rows(self) -> list[dict[str, Any]]:
        """One row per catalogue, spelling of a code and opinion of a source, for analysts."""
        return [
            {
                "catalogue": catalogue,
                "code": code,
                "key": entry.key,
                "meaning": entry.meaning,
                "class": entry.class_,
                "role": entry.role,
                "category": entry.category,
                "action": entry.action,
                "choice": entry.choice,
                "is_disputed": entry.disputed,
                "source": source.name,
                "says": source.says,
                "stance": STANCES[source.says],
                "opinion": source.opinion,
                "families": list(entry.families),
                "since": source.since or entry.since,
                "until": source.until or entry.until,
            }
            for catalogue, entries in sorted(self.codes.items())
            for entry in entries
            for code in (entry.key, *entry.also)
            for source in entry.sources
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


def catalogue_version(root: Path) -> str:
    """Hash of the catalogues alone, made as that of the rule set.

    Args:
        root: The rules folder.
    """
    return ruleset_version(root / "catalogues")


def _entries(located: Located, file: _Codes, vocabulary: Vocabulary, problems: Problems) -> list[Entry]:
    seen: set[str] = set()
    entries = []
    if file.catalogue != located.path.stem:
        problems.add(located, ("catalogue",), f"{file.catalogue} is not the file's name, write {located.path.stem}")
    for k, item in enumerate(file.entries):
        keys: Keys = ("entries", k)
        entry = build(Entry, located, keys, item, problems)
        if entry is None:
            continue
        for inside, what in _findings(entry, vocabulary):
            problems.add(located, (*keys, *inside), what)
        for code in (entry.key, *entry.also):
            if code in seen:
                problems.add(located, (*keys, "key"), f"{code} is listed twice, keep one")
            seen.add(code)
        entries.append(entry)
    return entries


def _findings(entry: Entry, vocabulary: Vocabulary) -> Iterator[tuple[Keys, str]]:
    """Where an entry is wrong, and what to do."""
    words: list[tuple[Keys, str, str, Collection[str]]] = [
        (("role",), entry.role, "role", vocabulary.roles),
        (("category",), entry.category, "category", vocabulary.categories),
        *((("families", k), family, "family", FAMILIES) for k, family in enumerate(entry.families)),
        *((("sources", k, "says"), source.says, "opinion", STANCES) for k, source in enumerate(entry.sources)),
    ]
    for keys, word, what, known in words:
        if word not in known:
            yield keys, f"{word} is no {what}, take one of {', '.join(known)}"
    heard: set[tuple[str, str | None, str | None]] = set()
    for k, source in enumerate(entry.sources):
        speaks = (source.name, source.since, source.until)
        if speaks in heard:
            yield ("sources", k, "name"), f"{source.name} speaks twice of {entry.key}, merge its opinions"
        heard.add(speaks)
    if entry.disputed and not any(source.name in entry.choice for source in entry.sources):
        said = ", ".join(f"{source.name} says {source.says}" for source in entry.sources)
        yield ("choice",), f"sources disagree ({said}), say why and name the one that is followed or not"


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
