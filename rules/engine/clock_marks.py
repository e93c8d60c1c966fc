"""Kinds of moments that several nodes write of, from `clock_marks.yaml`, checked against the vocabulary."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, model_validator

from firstfault.rules.engine.vocabulary import Vocabulary
from firstfault.rules.engine.yaml_io import Located, Problems, Strict, build, load_items
from firstfault.transforms.marks_in_flight import MarkKind

Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]

Events = Annotated[list[str], BeforeValidator(lambda value: [value] if isinstance(value, str) else value)]


class MarkFile(Strict):
    """One kind as written.

    Attributes:
        id: Its name.
        event: Event type, or types, of its lines, with
        formats: sources whose lines count, all when empty; or
        source: format of its records, with
        time_field: the field that holds epoch nanoseconds.
        where: Values that fields must have.
        key: Attributes or fields that name the moment.
        first: Of a stream's lines of one key only the first tells of the moment.
        within: What the key names the moment within; of a port, the two ends of its link are the witnesses.
        width_s: One standard deviation of a line around the moment, seconds.
        per_slot: About how many of a stream's moments in five minutes are kept.
        thin_by: The part of the key that decides which.
        provenance: Why the lines are written at one moment, and how that is known.
    """

    id: Name
    event: Events = Field(default_factory=list)
    formats: list[str] = Field(default_factory=list)
    source: str | None = None
    time_field: str | None = None
    where: dict[str, list[str]] = Field(default_factory=dict)
    key: list[str]
    first: bool = False
    within: Literal["attempt", "cluster", "port"] = "attempt"
    width_s: float = Field(gt=0, le=5)
    per_slot: int | None = Field(default=None, gt=0)
    thin_by: str | None = None
    provenance: str = Field(min_length=20)

    @model_validator(mode="after")
    def _one_origin(self) -> "MarkFile":
        of_records = self.source is not None and self.time_field is not None
        if (not self.event) != of_records or (self.event and (self.source or self.time_field)):
            raise ValueError("a kind has either an event, or a source and its time_field, give one of them")
        if (self.per_slot is None) != (self.thin_by is None) or (self.thin_by and self.thin_by not in self.key):
            raise ValueError("per_slot and thin_by stand together, and thin_by is a part of the key, correct them")
        return self

    def compiled(self) -> MarkKind:
        """As the tasks use it."""
        return MarkKind(
            id=self.id,
            width_s=self.width_s,
            events=tuple(self.event),
            sources=tuple(self.formats),
            source=self.source,
            time_field=self.time_field,
            where={name: tuple(values) for name, values in self.where.items()},
            key=tuple(self.key),
            first=self.first,
            within=self.within,
            per_slot=self.per_slot,
            thin_by=self.thin_by,
        )


def load_clock_marks(path: Path, vocabulary: Vocabulary) -> tuple[MarkKind, ...]:
    """Reads and checks `clock_marks.yaml`.

    Raises:
        KnowledgeError: With every problem of the file.
    """
    problems, kinds = Problems(), dict[str, MarkKind]()
    for located, k, item in load_items(path, "kind", problems):
        kind = build(MarkFile, located, (k,), item, problems)
        if kind is None:
            continue
        if kind.id in kinds:
            problems.add(located, (k, "id"), f"{kind.id} exists already, take another id")
        _check(kind, located, k, vocabulary, problems)
        kinds[kind.id] = kind.compiled()
    problems.raise_any()
    return tuple(kinds[name] for name in sorted(kinds))


def _check(kind: MarkFile, located: Located, k: int, vocabulary: Vocabulary, problems: Problems) -> None:
    for word in kind.event:
        event = vocabulary.events.get(word)
        if event is None:
            problems.add(located, (k, "event"), f"{word} is not in the vocabulary, correct it or add it")
            continue
        for name in {*kind.key, *kind.where} - event.attrs.keys():
            options = ", ".join(sorted(event.attrs)) or "none, remove it"
            problems.add(located, (k, "key"), f"{name} is no attribute of {word}, take one of {options}")
