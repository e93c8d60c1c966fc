"""Masking rules: which names and secrets of a line are replaced. Written as YAML, checked, compiled for masking."""

import ipaddress
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from firstfault.rules.engine.yaml_io import Keys, Located, Problems, build, load_documents
from firstfault.transforms.formats.registry import READERS
from firstfault.transforms.mask_rules import MaskRule
from firstfault.transforms.masked_rows import mask_map
from firstfault.transforms.masking import SECRET, Masker, Network

RuleId = Annotated[str, StringConstraints(pattern=r"^[a-z0-9_]+(\.[a-z0-9_]+)+$")]
Kind = Annotated[str, StringConstraints(pattern=r"^[a-z]{2,12}$")]
_WORD = re.compile(r"\{\{(\w+)\}\}")


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Block(_Strict):
    """The rule applies to the lines between two marks only.

    Attributes:
        begin: Text of the line before the first.
        end: Text of the line behind the last.
        lines: How far a block without its other mark reaches.
    """

    begin: str
    end: str
    lines: int = Field(gt=0, le=1000)


class Hit(_Strict):
    """A line in which exactly `secret` is replaced; with `field`, the value of that field."""

    line: str
    secret: str
    field: str | None = None


class Tests(_Strict):
    """Inline tests of one rule."""

    hit: list[Hit] = Field(min_length=1)
    miss: list[str] = Field(min_length=1)


class Rule(_Strict):
    """One rule as written."""

    id: RuleId
    kind: Kind
    prefilter: list[str] = []
    regex: str = ""
    keep: list[str] = []
    address: bool = False
    formats: list[str] = []
    reasons: list[str] = []
    fields: list[str] = []
    block: Block | None = None
    tests: Tests

    @model_validator(mode="after")
    def _looks_somewhere(self) -> "Rule":
        if not self.regex and not self.fields:
            raise ValueError("looks nowhere, write a regex or fields")
        if self.regex and not self.prefilter and not self.reasons and not self.block:
            raise ValueError("would look at every line, write a prefilter")
        return self


class Document(_Strict):
    """The file: words that expressions use as `{{NAME}}`, networks whose addresses stay, rules in order."""

    words: dict[str, str] = {}
    keep_networks: list[str]
    rules: list[dict[str, object]] = Field(min_length=1)


@dataclass(frozen=True)
class MaskingRules:
    """The rules as written and as compiled, in order of the file."""

    written: tuple[Rule, ...]
    compiled: tuple[MaskRule, ...]
    networks: tuple[Network, ...]

    def masker(self, key: bytes, key_id: str, listed: tuple[Network, ...] = ()) -> Masker:
        """The rules with a key; addresses of the listed networks stay as well."""
        return Masker(self.compiled, self.networks + listed, key, key_id)


def load_masking(file: Path) -> MaskingRules:
    """Reads, checks and compiles the rules.

    Raises:
        KnowledgeError: With every problem of the file.
    """
    problems = Problems()
    written: list[Rule] = []
    networks: list[Network] = []
    for located in load_documents(file):
        document = build(Document, located, (), located.data, problems)
        if document is None:
            continue
        networks += _networks(document, located, problems)
        for k, item in enumerate(document.rules):
            rule = build(Rule, located, ("rules", k), _spelled(item, document.words), problems)
            if rule is not None:
                _check(rule, located, ("rules", k), problems)
                written.append(rule)
    problems.raise_any()
    return MaskingRules(tuple(written), tuple(_compiled(rule) for rule in written), tuple(networks))


def _spelled(value: object, words: dict[str, str]) -> object:
    """The value with `{{NAME}}` written out, words inside words too."""
    if isinstance(value, str):
        while (found := _WORD.search(value)) and found[1] in words:
            value = value.replace(found[0], words[found[1]])
        return value
    if isinstance(value, list):
        return [_spelled(part, words) for part in value]
    if isinstance(value, dict):
        return {name: part if name == "tests" else _spelled(part, words) for name, part in value.items()}
    return value


def _networks(document: Document, located: Located, problems: Problems) -> list[Network]:
    networks: list[Network] = []
    for k, text in enumerate(document.keep_networks):
        try:
            networks.append(ipaddress.ip_network(text))
        except ValueError as error:
            problems.add(located, ("keep_networks", k), f"{error}; write a network such as 10.0.0.0/8")
    return networks


def _check(rule: Rule, located: Located, keys: Keys, problems: Problems) -> None:
    for unknown in sorted(set(rule.formats) - set(READERS)):
        problems.add(located, (*keys, "formats"), f"unknown format {unknown}, take one of {', '.join(sorted(READERS))}")
    for name, expressions in (
        ("regex", [rule.regex]), ("prefilter", rule.prefilter), ("keep", rule.keep), ("fields", rule.fields),
    ):  # fmt: skip
        for expression in expressions:
            try:
                matches_nothing = not pc.match_substring_regex(pa.array([""]), f"^(?:{expression})$")[0].as_py()
            except pa.ArrowInvalid as error:
                problems.add(located, (*keys, name), f"{error}; stay in RE2")
                continue
            if expression and not matches_nothing:
                problems.add(located, (*keys, name), f"{expression!r} matches the empty text, make it longer")
    if rule.regex and f"(?P<{SECRET}>" not in rule.regex:
        problems.add(located, (*keys, "regex"), f"names no group {SECRET}, put (?P<{SECRET}>...) around what is masked")


def _compiled(rule: Rule) -> MaskRule:
    marks = [re.escape(m) for m in (rule.block.begin, rule.block.end)] if rule.block else []
    return MaskRule(
        id=rule.id,
        kind=rule.kind,
        regex=rule.regex,
        prefilter=(*rule.prefilter, *marks),
        keep="|".join(rule.keep),
        address=rule.address,
        formats=frozenset(rule.formats),
        reasons=frozenset(rule.reasons),
        fields="|".join(rule.fields),
        begin=rule.block.begin if rule.block else "",
        end=rule.block.end if rule.block else "",
        lines=rule.block.lines if rule.block else 0,
    )


def run_masking_tests(rules: MaskingRules) -> list[str]:
    """Runs the inline tests, each against its own rule.

    Returns:
        What failed, one `rule: what` each; empty when all is well.
    """
    failed = []
    for rule, compiled in zip(rules.written, rules.compiled, strict=True):
        masker = Masker((compiled,), rules.networks, b"test", "t")
        for hit in rule.tests.hit:
            told = masker.pseudonym(rule.kind, hit.secret.strip())
            have, want = _masked(hit.line, hit.field, masker), hit.line.replace(hit.secret, told)
            if have != want:
                failed.append(f"{rule.id}: {hit.line!r} gives {have!r}, not {want!r}")
        kept = [(line, _masked(line, None, masker)) for line in rule.tests.miss]
        failed += [f"{rule.id}: {line!r} must stay, gives {have!r}" for line, have in kept if line != have]
    return failed


def _masked(text: str, field: str | None, masker: Masker) -> str:
    """The text (several lines, or the value of a field) behind one rule."""
    rule = masker.rules[0]
    if field is not None:
        fields = pa.array([[(field, text)]], pa.map_(pa.string(), pa.string()))
        return str(mask_map(fields, "", masker)[0].as_py()[0][1])
    if rule.reasons:
        return str(masker.apply(rule, pa.array([text]))[0].as_py())
    lines = text.split("\n") if rule.begin else [text]
    source = min(rule.formats, default="")
    return "\n".join(masker.texts(pa.array(lines), source).to_pylist())
