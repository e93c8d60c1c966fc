"""Why our outcome differs from the scheduler's, from `crosscheck.yaml`."""

from pathlib import Path
from typing import Any

from pydantic import Field

from firstfault.rules.engine.vocabulary import Vocabulary
from firstfault.rules.engine.yaml_io import Keys, Problems, Strict, load_model
from firstfault.transforms.crosscheck import NONE


class Reason(Strict):
    """One reason.

    Attributes:
        says: Outcome that the scheduler's state means, or `none`.
        outcome: Our outcome; any when absent.
        category: Our categories; any when empty.
        why: The reason, without a full stop.
    """

    says: str
    outcome: str | None = None
    category: list[str] = Field(default_factory=list)
    why: str = Field(min_length=10)


class _File(Strict):
    version: int
    reasons: list[Reason]


def load_crosscheck(path: Path, vocabulary: Vocabulary) -> list[Reason]:
    """The reasons, in the order in which they are tried.

    Raises:
        KnowledgeError: With every problem of the file.
    """
    file, located = load_model(_File, path)
    problems = Problems()
    for number, reason in enumerate(file.reasons):
        keys: Keys = ("reasons", number)
        problems.add_unlisted(located, (*keys, "says"), reason.says, (*vocabulary.outcomes, NONE))
        problems.add_unlisted(located, (*keys, "outcome"), reason.outcome, vocabulary.outcomes)
        for category in reason.category:
            problems.add_unlisted(located, (*keys, "category"), category, vocabulary.categories)
    problems.raise_any()
    return file.reasons


def reason_rows(reasons: list[Reason]) -> list[dict[str, Any]]:
    """One row per reason, numbered in order."""
    return [{"reason_no": n, **reason.model_dump()} for n, reason in enumerate(reasons)]
