"""The words: every event type, its attributes and its default part."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from firstfault.rules.engine.yaml_io import Keys, Located, Problems, Strict, build, load_model
from firstfault.transforms.bursts import Fold
from firstfault.transforms.hits import ENTITIES

EventScope = Literal["device", "node", "port", "rank", "job", "cluster"]
AttributeType = Literal["int", "float", "str"]


class EventType(Strict):
    """One word of the vocabulary.

    Attributes:
        summary: What it says, in words.
        scope: What it speaks of.
        role: Part it plays unless a catalogue knows better.
        category: What it means if it is the origin.
        gap_s: Repeats within this gap fold into one event.
        attrs: Attribute -> type.
        key: Attribute that tells two such events apart; it becomes the event's code, looked up in `catalogue`.
        outcome: How an attempt ended that logs it last and has no scheduler record.
        catalogue: Catalogue whose role, category and class replace the defaults.
        local: Where it is initiating, a fault that lies on other nodes does not cause it.
    """

    summary: str
    scope: EventScope
    role: str
    category: str
    gap_s: int = Field(gt=0)
    attrs: dict[str, AttributeType]
    key: str | None = None
    outcome: str | None = None
    catalogue: str | None = None
    local: bool = False

    @model_validator(mode="after")
    def _key_is_an_attribute(self) -> "EventType":
        if self.catalogue is not None and self.key is None:
            raise ValueError("a catalogue needs the key that is looked up in it, add key")
        if self.key is not None and self.key not in self.attrs:
            raise ValueError(f"key {self.key} is no attribute, add it to attrs")
        return self


class Words(Strict):
    """The words besides event types.

    Attributes:
        version: Raised with the meaning of a word.
        roles: Parts an event can play.
        categories: Root-cause categories.
        outcomes: Ways an attempt can end.
        scopes: What an origin can be.
    """

    version: int
    roles: list[str]
    categories: list[str]
    outcomes: list[str]
    scopes: list[str]


class _File(Words):
    events: dict[str, object]


class Vocabulary(Words):
    """The only list of event types.

    Attributes:
        events: Event type by name.
    """

    events: Mapping[str, EventType]

    @classmethod
    def load(cls, path: Path) -> "Vocabulary":
        """Reads and checks `vocabulary.yaml`.

        Raises:
            KnowledgeError: With every problem of the file.
        """
        file, located = load_model(_File, path)
        problems = Problems()
        events = {
            name: build(EventType, located, ("events", name), value, problems) for name, value in file.events.items()
        }
        known = {name: event for name, event in events.items() if event is not None}
        for name, event in known.items():
            _check_words(located, ("events", name), event, file, problems)
        problems.raise_any()
        return cls(**file.model_dump(exclude={"events"}), events=known)

    def expand(self, glob: str) -> set[str]:
        """Event types that a name, a glob such as `comm.*` or several of them (`a|b.*`) stand for; empty if none."""
        found: set[str] = set()
        for part in (words.strip() for words in glob.split("|")):
            found |= {part} if part in self.events else {name for name in self.events if fnmatchcase(name, part)}
        return found

    @property
    def folding(self) -> dict[str, Fold]:
        """How repeats of each event type fold."""
        return {name: Fold(e.gap_s, e.key, e.role == "progress") for name, e in self.events.items()}

    def may_set(self, event: str) -> dict[str, str]:
        """Names that a record of this event may set, with their types."""
        entities = dict.fromkeys(ENTITIES, "str") | {"rank": "int"}
        return {**entities, **self.events[event].attrs}


def _check_words(located: Located, keys: Keys, event: EventType, known: Words, problems: Problems) -> None:
    problems.add_unlisted(located, (*keys, "role"), event.role, known.roles)
    problems.add_unlisted(located, (*keys, "category"), event.category, known.categories)
    problems.add_unlisted(located, (*keys, "outcome"), event.outcome, known.outcomes)
