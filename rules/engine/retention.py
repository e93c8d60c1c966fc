"""Retention rules: which chatter is not landed and what is kept. Written as YAML, checked, compiled for landing."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field, StringConstraints, model_validator

from firstfault.rules.engine.patterns import FORMATS
from firstfault.rules.engine.vocabulary import Vocabulary
from firstfault.rules.engine.yaml_io import Keys, KnowledgeError, Located, Problems, Strict, build, load_documents
from firstfault.transforms.retention import CHATTER, ChatterRule, Kept, Retention
from firstfault.transforms.staged import HIT_TYPE

RuleId = Annotated[str, StringConstraints(pattern=rf"^{re.escape(CHATTER)}[a-z0-9_]+$")]
_WORD = re.compile(r"\{\{(\w+)\}\}")


class Around(Strict):
    """How many lines of the stream stay before and after an event."""

    before: int = Field(ge=0, le=1000)
    after: int = Field(ge=0, le=1000)

    @property
    def kept(self) -> Kept:
        """As compiled."""
        return self.before, self.after


class Keep(Strict):
    """What protects a line.

    Attributes:
        first_lines: Kept at the start of a segment.
        last_lines: Kept at its end.
        max_line_bytes: A longer line is kept.
        roles: Distance by role of the event's type; every role of the vocabulary.
        events: Distance of types that need another one; globs, the first that fits.
    """

    first_lines: int = Field(ge=0, le=1000)
    last_lines: int = Field(ge=0, le=1000)
    max_line_bytes: int = Field(gt=0)
    roles: dict[str, Around]
    events: dict[str, Around] = Field(default={})

    @model_validator(mode="after")
    def _a_cut_takes_nothing_away(self) -> "Keep":
        around = [*self.roles.values(), *self.events.values()]
        for name, have, side in (("first_lines", self.first_lines, "after"), ("last_lines", self.last_lines, "before")):
            need = max((getattr(a, side) for a in around), default=0)
            if have < need:
                raise ValueError(f"{name} is below the largest `{side}` ({need}), write {need} or more")
        return self


class Variable(Strict):
    """What varies in a template, and what is put in its place."""

    regex: str
    put: str


class Tests(Strict):
    """Lines that the rule drops and lines that it leaves."""

    hit: list[str] = Field(min_length=1)
    miss: list[str] = Field(min_length=1)


class Rule(Strict):
    """One rule as written."""

    id: RuleId
    formats: list[str] = Field(min_length=1)
    regex: str
    reason: str = Field(min_length=20)
    status: Literal["active", "inactive"]
    tests: Tests


class Document(Strict):
    """The file: words that expressions use as `{{NAME}}`, what is kept, what varies, and the rules in order."""

    words: dict[str, str] = Field(default={})
    keep: Keep
    variable: list[Variable] = Field(default=[])
    rules: list[dict[str, object]] = Field(min_length=1)


@dataclass(frozen=True)
class RetentionRules:
    """The rules as written and as compiled, in order of the file, and what is kept."""

    written: tuple[Rule, ...]
    compiled: tuple[ChatterRule, ...]
    keep: Keep
    around: Mapping[str, Kept]
    variable: tuple[tuple[str, str], ...]

    def retention(self, *, on: Collection[str] = (), off: Collection[str] = ()) -> Retention:
        """What landing needs: the active rules, with what the site turned on and off.

        Raises:
            KnowledgeError: A rule of that name does not exist.
        """
        known = [rule.id for rule in self.written]
        unknown = sorted({*on, *off} - set(known))
        if unknown:
            raise KnowledgeError([f"no retention rule {name}, take one of {', '.join(known)}" for name in unknown])
        drops = {rule.id for rule in self.written if rule.status == "active"} - set(off) | set(on)
        return Retention(
            rules=tuple(rule for rule in self.compiled if rule.id in drops),
            around=dict(self.around),
            unknown=(self.keep.last_lines, self.keep.first_lines),
            first_lines=self.keep.first_lines,
            last_lines=self.keep.last_lines,
            max_line_bytes=self.keep.max_line_bytes,
            variable=self.variable,
        )


def load_retention(file: Path, vocabulary: Vocabulary) -> RetentionRules:
    """Reads, checks and compiles the rules.

    Raises:
        KnowledgeError: With every problem of the file.
    """
    problems, written = Problems(), list[Rule]()
    located = next(iter(load_documents(file)), Located(file, {}, {}))
    document = build(Document, located, (), located.data, problems)
    problems.raise_any()
    assert document is not None  # noqa: S101  raise_any has raised otherwise
    for k, item in enumerate(document.rules):
        spelled = _spelled(item, document.words, located, ("rules", k, "regex"), problems)
        rule = build(Rule, located, ("rules", k), spelled, problems)
        if rule is not None:
            _check(rule, located, ("rules", k), problems)
            written.append(rule)
    variable = tuple((v.regex, v.put) for v in document.variable)
    for k, (regex, put) in enumerate(variable):
        _check_regex(regex, located, ("variable", k, "regex"), problems, put)
    around = _around(document.keep, vocabulary, located, problems)
    problems.raise_any()
    return RetentionRules(tuple(written), tuple(_compiled(r) for r in written), document.keep, around, variable)


def _spelled(
    item: dict[str, object], words: Mapping[str, str], located: Located, keys: Keys, problems: Problems
) -> dict[str, object]:
    """The rule with `{{NAME}}` of its regex written out, words inside words too."""
    regex = item.get("regex")
    if not isinstance(regex, str):
        return item
    while (found := _WORD.search(regex)) and found[1] in words:
        regex = regex.replace(found[0], words[found[1]])
    if found:
        problems.add(located, keys, f"no word {found[1]}, take one of {', '.join(words)}")
    return {**item, "regex": regex}


def _check(rule: Rule, located: Located, keys: Keys, problems: Problems) -> None:
    for unknown in sorted(set(rule.formats) - set(FORMATS)):
        problems.add(located, (*keys, "formats"), f"unknown format {unknown}, take one of {', '.join(FORMATS)}")
    _check_regex(rule.regex, located, (*keys, "regex"), problems)


def _check_regex(regex: str, located: Located, keys: Keys, problems: Problems, put: str = "") -> None:
    try:
        pc.replace_substring_regex(pa.array([""]), regex, put)
        if pc.match_substring_regex(pa.array([""]), rf"^(?:{regex})\z")[0].as_py():
            problems.add(located, keys, f"{regex!r} matches the empty text, make it longer")
    except pa.ArrowInvalid as error:
        problems.add(located, keys, f"{error}; stay in RE2")


def _around(keep: Keep, vocabulary: Vocabulary, located: Located, problems: Problems) -> dict[str, Kept]:
    """Distance of every event type."""
    for role in sorted(set(vocabulary.roles) ^ set(keep.roles)):
        what = "is no role, remove it" if role in keep.roles else "is missing, say how many lines stay around it"
        problems.add(located, ("keep", "roles", role), f"{role} {what}")
    around = {name: keep.roles[word.role].kept for name, word in vocabulary.events.items() if word.role in keep.roles}
    for glob, distance in reversed(keep.events.items()):
        types = vocabulary.expand(glob)
        if not types:
            problems.add(located, ("keep", "events", glob), f"{glob} matches no event type, correct it")
        around |= dict.fromkeys(types, distance.kept)
    return around


def _compiled(rule: Rule) -> ChatterRule:
    return ChatterRule(rule.id, frozenset(rule.formats), rule.regex)


def run_retention_tests(rules: RetentionRules) -> list[str]:
    """Runs the inline tests, each against its own rule and without what is kept.

    Returns:
        What failed, one `rule: what` each; empty when all is well.
    """
    failed = []
    for rule, compiled in zip(rules.written, rules.compiled, strict=True):
        alone = Retention((compiled,), {}, (0, 0), 0, 0, 1 << 20, ())
        failed += [f"{rule.id}: {line!r} stays" for line in rule.tests.hit if not _drops(alone, line)]
        failed += [f"{rule.id}: {line!r} must stay" for line in rule.tests.miss if _drops(alone, line)]
    return failed


def _drops(alone: Retention, line: str) -> bool:
    quiet = pa.nulls(1, pa.list_(HIT_TYPE))
    source = min(alone.rules[0].formats)
    return bool(len(alone.dropped(pa.array([line]), quiet, source).rows))
