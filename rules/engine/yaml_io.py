"""Knowledge files: YAML whose every error can be told as `file:line: key: what, what to do`."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

try:
    from yaml import CSafeLoader as SafeLoader
except ImportError:  # PyYAML without libyaml
    from yaml import SafeLoader  # type: ignore[assignment]

Keys = tuple[str | int, ...]
Model = TypeVar("Model", bound=BaseModel)


class Strict(BaseModel):
    """Part of a knowledge file: no key that it does not know, never changed once read."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class KnowledgeError(ValueError):
    """What is wrong with the knowledge files; all of it, not only the first.

    Attributes:
        problems: One `file:line: key: what, what to do` each.
    """

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = list(problems)
        super().__init__("\n".join(self.problems))


@dataclass(frozen=True)
class Located:
    """One YAML document and the lines its values stand on.

    Attributes:
        path: The file.
        data: The document as plain Python values.
        lines: 1-based line of every value, by the keys that lead to it.
    """

    path: Path
    data: Any
    lines: Mapping[Keys, int] = field(repr=False)

    def where(self, keys: Keys = ()) -> str:
        """`file:line` of a value, or of the nearest thing above it that the file holds."""
        while keys and keys not in self.lines:
            keys = keys[:-1]
        return f"{self.path}:{self.lines.get(keys, 1)}"


@dataclass
class Problems:
    """Collects what is wrong, to be raised at once."""

    found: list[str] = field(default_factory=list)

    def add(self, located: Located, keys: Keys, what: str) -> None:
        """Notes one problem.

        Args:
            located: The document.
            keys: Keys that lead to the bad value.
            what: What is wrong and what to do.
        """
        name = ".".join(str(k) for k in keys) or "document"
        self.found.append(f"{located.where(keys)}: {name}: {what}")

    def add_invalid(self, located: Located, keys: Keys, error: ValidationError) -> None:
        """Notes every finding of a model about the value at `keys`."""
        for finding in error.errors(include_url=False):
            inside = tuple(k for k in finding["loc"] if k != "[key]")
            self.add(located, keys + inside, _advice(finding["type"], finding["msg"]))

    def add_unlisted(self, located: Located, keys: Keys, word: str | None, words: Collection[str]) -> None:
        """Notes a word that is none of those that its key may hold; None is no word."""
        if word is not None and word not in words:
            self.add(located, keys, f"{word} is no {keys[-1]}, take one of {', '.join(words)}")

    def raise_any(self) -> None:
        """Raises what was found, if anything.

        Raises:
            KnowledgeError: With all problems, in order of file and line.
        """
        if self.found:
            raise KnowledgeError(dict.fromkeys(self.found))


def _advice(kind: str, message: str) -> str:
    if kind == "extra_forbidden":
        return "unknown key, remove it or correct its spelling"
    if kind == "missing":
        return "missing, add it"
    return message.removeprefix("Value error, ")


def build(model: type[Model], located: Located, keys: Keys, value: object, problems: Problems) -> Model | None:
    """The value as a model, or None with the findings noted."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        problems.add_invalid(located, keys, error)
        return None


def load_documents(source: Path) -> list[Located]:
    """Reads one YAML file, or all `*.yaml` below a folder in order of name; an empty file counts as none.

    Raises:
        KnowledgeError: A file is missing, cannot be read or is no YAML, or a mapping holds a key twice.
    """
    problems = Problems()
    files = sorted(source.rglob("*.yaml")) if source.is_dir() else [source]
    read = [_load(file, problems) for file in files]
    problems.raise_any()
    return [located for located in read if located is not None]


def load_model(model: type[Model], file: Path) -> tuple[Model, Located]:
    """Reads the one document of a YAML file; an empty file counts as an empty mapping.

    Raises:
        KnowledgeError: With every problem of the file.
    """
    problems, located = Problems(), next(iter(load_documents(file)), Located(file, {}, {}))
    built = build(model, located, (), located.data, problems)
    problems.raise_any()
    assert built is not None  # noqa: S101  raise_any has raised otherwise
    return built, located


def load_items(folder: Path, what: str, problems: Problems) -> Iterator[tuple[Located, int, object]]:
    """The items of all lists below a folder, each with its document and its place there.

    Args:
        folder: Holds YAML files; each is to be one list.
        what: Word for an item.
        problems: Where a document that is no list is noted.

    Raises:
        KnowledgeError: As of `load_documents`.
    """
    for located in load_documents(folder):
        if isinstance(located.data, list):
            yield from ((located, k, item) for k, item in enumerate(located.data))
        else:
            problems.add(located, (), f"is no list, write `- id: ...` for each {what}")


def _load(file: Path, problems: Problems) -> Located | None:
    lines: dict[Keys, int] = {}
    located = Located(file, None, lines)
    try:
        loader = SafeLoader(file.read_bytes())
        try:
            node = loader.get_single_node()
            if node is None:
                return None
            before = len(problems.found)
            _walk(node, located, lines, problems)
            if len(problems.found) > before:
                return None
            return Located(file, loader.construct_document(node), lines)
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        lines[()] = mark.line + 1 if mark else 1
        problems.add(located, (), f"{error.problem}, correct the YAML")
    except (OSError, yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        problems.add(located, (), f"cannot be read ({str(error) or type(error).__name__}), correct the file")
    return None


def _walk(node: yaml.Node, located: Located, lines: dict[Keys, int], problems: Problems) -> None:
    """Records the line of every value; notes keys given twice and values that stand elsewhere."""
    visited: set[int] = set()
    waiting: list[tuple[Keys, yaml.Node]] = [((), node)]
    while waiting:
        keys, value = waiting.pop()
        lines.setdefault(keys, value.start_mark.line + 1)
        if id(value) in visited:
            problems.add(located, keys, "is an alias of another value, write it out")
        elif isinstance(value, yaml.SequenceNode):
            waiting += [((*keys, k), item) for k, item in enumerate(value.value)]
        elif isinstance(value, yaml.MappingNode):
            for key, item in value.value:
                name = (*keys, str(key.value))
                if name in lines:
                    lines[name] = key.start_mark.line + 1
                    problems.add(located, name, "given twice, remove one")
                lines[name] = key.start_mark.line + 1
                waiting.append((name, item))
        visited.add(id(value))
