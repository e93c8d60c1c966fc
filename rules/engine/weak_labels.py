"""How much later evidence counts, from `weak_labels.yaml`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field, field_validator

from firstfault.rules.engine.vocabulary import Vocabulary
from firstfault.rules.engine.yaml_io import Keys, Problems, Strict, load_model
from firstfault.transforms.weak_rules import Again, Elsewhere, FailedCheck, Readiness, Repaired, WeakRules

Weight = Annotated[float, Field(gt=0, le=1)]
Days = Annotated[int, Field(ge=1, le=90)]


class _Function(Strict):
    window_days: Days
    supports: Weight
    why: str = Field(min_length=40)


class _Again(_Function):
    refutes: Weight
    least_clean: int = Field(ge=1)


class _Part(Strict):
    holds: str = Field(pattern="^[a-z0-9]+$")
    category: str


class _Repaired(_Function):
    unlocated_days: Days
    unlocated: Weight
    parts: list[_Part] = Field(min_length=1)


class _Elsewhere(_Function):
    refutes: Weight
    supports_code: Weight


class _Failed(Strict):
    event: str
    status: list[str] = Field(default=[])
    sources: list[str] = Field(default=[])


class _Readiness(_Function):
    refutes: Weight
    failed: list[_Failed] = Field(min_length=1)
    passed_events: list[str]
    passed_formats: list[str]
    passed_files: str

    @field_validator("passed_files")
    @classmethod
    def _is_re2(cls, value: str) -> str:
        try:
            pc.match_substring_regex(pa.array([""]), value)
        except pa.ArrowInvalid as error:
            raise ValueError(f"no expression of RE2: {error}") from None
        return value


class _File(Strict):
    version: int
    hardware: list[str] = Field(min_length=1)
    code: list[str] = Field(min_length=1)
    same_node_failed_again: _Again
    repaired: _Repaired
    succeeded_elsewhere: _Elsewhere
    readiness_failed_after: _Readiness


def load_weak_labels(path: Path, vocabulary: Vocabulary) -> WeakRules:
    """The weights and windows of all functions.

    Raises:
        KnowledgeError: With every problem of the file.
    """
    file, located = load_model(_File, path)
    problems = Problems()
    for keys, category in _categories(file):
        if category not in vocabulary.categories:
            problems.add(located, keys, f"{category} is no category, take one of {', '.join(vocabulary.categories)}")
    for keys, event in _events(file.readiness_failed_after):
        if event not in vocabulary.events:
            problems.add(located, keys, f"{event} is no event of the vocabulary, correct it")
    problems.raise_any()
    again, repaired = file.same_node_failed_again, file.repaired
    elsewhere, ready = file.succeeded_elsewhere, file.readiness_failed_after
    return WeakRules(
        hardware=tuple(file.hardware),
        code=tuple(file.code),
        again=Again(again.window_days, again.supports, again.refutes, again.least_clean),
        repaired=Repaired(
            repaired.window_days, repaired.supports, repaired.unlocated_days, repaired.unlocated,
            tuple((part.holds, part.category) for part in repaired.parts),
        ),
        elsewhere=Elsewhere(elsewhere.window_days, elsewhere.supports, elsewhere.refutes, elsewhere.supports_code),
        readiness=Readiness(
            ready.window_days, ready.supports, ready.refutes,
            tuple(FailedCheck(f.event, tuple(f.status), tuple(f.sources)) for f in ready.failed),
            tuple(ready.passed_events), tuple(ready.passed_formats), ready.passed_files,
        ),
    )  # fmt: skip


def _categories(file: _File) -> Iterator[tuple[Keys, str]]:
    for name in ("hardware", "code"):
        yield from (((name, n), word) for n, word in enumerate(getattr(file, name)))
    yield from ((("repaired", "parts", n, "category"), part.category) for n, part in enumerate(file.repaired.parts))


def _events(ready: _Readiness) -> Iterator[tuple[Keys, str]]:
    at: Keys = ("readiness_failed_after",)
    yield from (((*at, "failed", n, "event"), f.event) for n, f in enumerate(ready.failed))
    yield from (((*at, "passed_events", n), event) for n, event in enumerate(ready.passed_events))
