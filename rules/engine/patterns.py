"""Patterns: which line is which event. Written as YAML, checked against the vocabulary, compiled for matching."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field, StringConstraints, field_validator

from firstfault.rules.engine.vocabulary import Vocabulary
from firstfault.rules.engine.yaml_io import Keys, Located, Problems, Strict, build, load_items
from firstfault.transforms.conversions import CONVERSIONS
from firstfault.transforms.matching import CompiledPattern, match

FORMATS = (
    "kernel", "app", "slurmctld", "slurmd", "fabricmanager", "kubelet", "sacct", "kube", "readiness", "sel",
    "switch", "clock", "dcgmi", "nccl_ras", "pyspy", "locust",
)  # fmt: skip
"""Formats that a pattern can name."""

MIN_LITERAL_BYTES = 5
MAX_JOIN = 64
_DEFAULTS = {"node": "host", "device": "pci", "port": "lower", "int": "int", "float": "float", "str": "text"}

Scalar = str | int | float
PatternId = Annotated[str, StringConstraints(pattern=r"^[a-z0-9_]+(\.[a-z0-9_]+)+$")]


class Join(Strict):
    """A record of several lines: the matched one and those of the same rank behind it.

    Attributes:
        lines: How many lines at most.
        until: RE2 of the last line.
    """

    lines: int = Field(default=32, gt=0, le=MAX_JOIN)
    until: str | None = None


class Hit(Strict):
    """A line, or several behind newlines, that gives the event with these values; null: not set."""

    line: str
    gives: dict[str, Scalar | None]


class Tests(Strict):
    """Inline tests; each hit must be the primary event of its line among all patterns of the format."""

    hit: list[Hit] = Field(min_length=1)
    miss: list[str] = Field(min_length=1)


class Pattern(Strict):
    """One pattern as written (design section 8)."""

    id: PatternId
    event: str
    formats: list[str] = Field(min_length=1)
    literal: list[str] = Field(min_length=1)
    regex: str
    conversions: dict[str, str] = Field(default={}, alias="as")
    order: int = Field(default=100, ge=0)
    constants: dict[str, Scalar] = Field(default={}, alias="set")
    join: Join | None = None
    also: bool = False
    tests: Tests

    @field_validator("literal", mode="before")
    @classmethod
    def _one_or_more(cls, value: object) -> object:
        return [value] if isinstance(value, str) else value

    @field_validator("literal")
    @classmethod
    def _long_enough(cls, value: list[str]) -> list[str]:
        short = [x for x in value if len(x.encode()) < MIN_LITERAL_BYTES]
        if short:
            raise ValueError(f"{short[0]!r} has fewer than {MIN_LITERAL_BYTES} bytes, take a longer part of the line")
        return value


@dataclass(frozen=True)
class PatternLibrary:
    """All patterns, as written and as compiled, in order of id."""

    patterns: tuple[Pattern, ...]
    compiled: tuple[CompiledPattern, ...]

    def __iter__(self) -> Iterator[Pattern]:
        return iter(self.patterns)

    def __len__(self) -> int:
        return len(self.patterns)


def load_patterns(folder: Path, vocabulary: Vocabulary) -> PatternLibrary:
    """Reads, checks and compiles all patterns of a folder.

    Raises:
        KnowledgeError: With every problem of every file.
    """
    problems = Problems()
    seen: dict[str, str] = {}
    read: list[tuple[Pattern, CompiledPattern]] = []
    for located, k, item in load_items(folder, "pattern", problems):
        pattern = build(Pattern, located, (k,), item, problems)
        compiled = pattern and _check(pattern, located, (k,), vocabulary, problems)
        if pattern and pattern.id in seen:
            problems.add(located, (k, "id"), f"{pattern.id} exists at {seen[pattern.id]}, take another id")
        if pattern and compiled:
            seen[pattern.id] = located.where((k,))
            read.append((pattern, compiled))
    problems.raise_any()
    read.sort(key=lambda both: both[0].id)
    return PatternLibrary(tuple(p for p, _ in read), tuple(c for _, c in read))


def _check(
    pattern: Pattern, located: Located, keys: Keys, vocabulary: Vocabulary, problems: Problems
) -> CompiledPattern | None:
    """The compiled pattern, or None with what is wrong noted."""
    before = len(problems.found)
    for unknown in sorted(set(pattern.formats) - set(FORMATS)):
        problems.add(located, (*keys, "formats"), f"unknown format {unknown}, take one of {', '.join(FORMATS)}")
    groups = _groups(pattern, located, keys, problems)
    if pattern.event not in vocabulary.events:
        problems.add(located, (*keys, "event"), f"{pattern.event} is not in the vocabulary, correct it or add it")
        return None
    types = vocabulary.may_set(pattern.event)
    for key, names in (("regex", groups), ("set", pattern.constants), ("as", pattern.conversions)):
        for name in sorted(set(names) - set(types)):
            what = f"{name} is no attribute of {pattern.event}, take one of {', '.join(sorted(types))}"
            problems.add(located, (*keys, key), what)
    for name, how in pattern.conversions.items():
        if how not in CONVERSIONS:
            what = f"unknown conversion {how}, take one of {', '.join(sorted(CONVERSIONS))}"
            problems.add(located, (*keys, "as", name), what)
        if name not in groups:
            problems.add(located, (*keys, "as", name), "no group of this name in the regex, remove it or name one")
    return _compiled(pattern, groups, types) if len(problems.found) == before else None


def _groups(pattern: Pattern, located: Located, keys: Keys, problems: Problems) -> list[str]:
    """Names of the groups; notes what RE2 refuses."""
    dummy = pa.array([""])
    groups: list[str] = []
    try:
        groups = [field.name for field in pc.extract_regex(dummy, pattern.regex).type]
    except pa.ArrowInvalid as error:
        problems.add(located, (*keys, "regex"), f"{error}; stay in RE2 and write (?:...) for groups without a name")
    if pattern.join and pattern.join.until:
        try:
            pc.match_substring_regex(dummy, pattern.join.until)
        except pa.ArrowInvalid as error:
            problems.add(located, (*keys, "join", "until"), f"{error}; stay in RE2")
    return groups


def _compiled(pattern: Pattern, groups: list[str], types: dict[str, str]) -> CompiledPattern:
    conversions = {
        name: pattern.conversions.get(name) or _DEFAULTS.get(name, _DEFAULTS[types[name]]) for name in groups
    }
    return CompiledPattern(
        id=pattern.id,
        event_type=pattern.event,
        formats=tuple(sorted(pattern.formats)),
        literals=tuple(sorted(pattern.literal)),
        regex=pattern.regex,
        conversions=tuple(sorted(conversions.items())),
        order=pattern.order,
        constants=tuple(sorted((name, str(value)) for name, value in pattern.constants.items())),
        join_lines=pattern.join.lines if pattern.join else 0,
        join_until=pattern.join.until if pattern.join else None,
        also=pattern.also,
    )


def run_pattern_tests(library: PatternLibrary, only: str | None = None) -> list[str]:
    """Runs the inline tests against the whole library.

    Args:
        library: The patterns.
        only: Id of the one pattern whose tests are run.

    Returns:
        What failed, one `pattern: format: what` each; empty when all is well.
    """
    failed = []
    for pattern in library:
        if only in (None, pattern.id):
            for form in pattern.formats:
                failed += [f"{pattern.id}: {form}: {what}" for what in _failures(pattern, form, library)]
    return failed


def _failures(pattern: Pattern, form: str, library: PatternLibrary) -> Iterator[str]:
    for hit in pattern.tests.hit:
        found = _match_record(hit.line, form, library)
        mine = [h for h in found if h["pattern_id"] == pattern.id]
        if not mine or (not pattern.also and mine[0]["ordinal"] != 0):
            yield f"{hit.line!r} gives {[h['pattern_id'] for h in found] or 'nothing'}"
            continue
        given = {**dict(mine[0]["attrs"]), **{k: mine[0][k] for k in ("node", "device", "port", "rank")}}
        for name, want in hit.gives.items():
            have = given.get(name)
            if (None if have is None else str(have)) != (None if want is None else str(want)):
                yield f"{hit.line!r} gives {name}={have!r}, not {want!r}"
    for line in pattern.tests.miss:
        if any(h["pattern_id"] == pattern.id for h in _match_record(line, form, library)):
            yield f"{line!r} must not match"


def _match_record(record: str, form: str, library: PatternLibrary) -> list[dict[str, Any]]:
    lines = pa.array(record.split("\n"), pa.string())
    return match(lines, None, form, library.compiled)[0].as_py() or []
