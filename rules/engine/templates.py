"""Templates: the common body of rules that differ in a few words.

`rules/templates/<name>.yaml` holds `template`, `params` (name: description) and `rule`, the body with `${param}` in
strings; `template_use` tells how a rule file uses it. Templates use no templates.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field

from firstfault.rules.engine.model import Rule
from firstfault.rules.engine.yaml_io import Keys, KnowledgeError, Located, Problems, Strict, build, load_documents

FOLDER = "templates"
USE = "template"
OF_THE_RULE = frozenset({"id", USE})
"""Keys that only a rule itself can hold."""
PLACEHOLDER = re.compile(r"\$\{(\w+)\}")


class _File(Strict):
    template: str
    params: dict[str, str] = Field(default_factory=dict)
    rule: dict[str, Any]


@dataclass(frozen=True)
class Template:
    """The common body of several rules.

    Attributes:
        params: Parameter -> what it means.
        body: The rule with placeholders.
        located: Its file.
    """

    params: Mapping[str, str]
    body: Mapping[str, Any]
    located: Located


Templates = Mapping[str, Template | None]
"""Template by name; None stands for one whose file is wrong, which is told once and not for each rule that uses it."""


def load_templates(root: Path, problems: Problems) -> Templates:
    """Template by name, of all files of `templates/` of the rules folder; None for one that is wrong.

    Args:
        root: The rules folder; one without templates has no such folder.
        problems: Where wrong templates are noted.
    """
    return {file.stem: _load(file, problems) for file in sorted((root / FOLDER).glob("*.yaml"))}


def _load(path: Path, problems: Problems) -> Template | None:
    try:
        located = next(iter(load_documents(path)), Located(path, {}, {}))
    except KnowledgeError as error:
        problems.found += error.problems
        return None
    file = build(_File, located, (), located.data, problems)
    if file is None:
        return None
    findings = list(_findings(file, path.stem))
    for keys, what in findings:
        problems.add(located, keys, what)
    return None if findings else Template(file.params, file.rule, located)


def _findings(file: _File, stem: str) -> Iterator[tuple[Keys, str]]:
    """Where a template is wrong before any rule uses it, and what to do."""
    if file.template != stem:
        yield ("template",), f"{file.template} is not the file's name, write {stem} or rename the file"
    for key in file.rule:
        if key in OF_THE_RULE:
            yield ("rule", key), "belongs to the rules that use the template, remove it"
        elif key not in _rule_keys():
            yield ("rule", key), "unknown key, remove it or correct its spelling"
    used: set[str] = set()
    for keys, text in _strings(("rule",), file.rule):
        for name in PLACEHOLDER.findall(text):
            used.add(name)
            if name not in file.params:
                yield keys, f"${{{name}}} is no parameter, add it to params"
    for name in sorted(file.params.keys() - used):
        yield ("params", name), "is used nowhere in the rule, remove it"


def _rule_keys() -> set[str]:
    return {field.alias or name for name, field in Rule.model_fields.items()}


def _strings(keys: Keys, value: object) -> Iterator[tuple[Keys, str]]:
    if isinstance(value, str):
        yield keys, value
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield from _strings((*keys, str(name)), item)
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _strings((*keys, number), item)
