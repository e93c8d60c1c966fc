"""Rules that use a template, filled in; each value remembers the file that it was written in.

A rule file says `template: {name: ..., with: {param: value}}` beside its own keys. A string of the template that is
only `${param}` takes the parameter's type, so that numbers stay numbers. An own key stands in the place of the
template's, except that an own list is appended to the template's list; `{replace: [...]}` stands for the whole list.

A problem is told where somebody can correct it: of a template's own value in the template's file, of a parameter or an
own key in the rule's.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import Field

from firstfault.rules.engine.templates import PLACEHOLDER, USE, Template, Templates
from firstfault.rules.engine.yaml_io import Keys, Located, Problems, Strict, build

REPLACE = "replace"
Origin = tuple[Located, Keys]


class Use(Strict):
    """How a rule names its template.

    Attributes:
        name: The template.
        values: Parameter -> value.
    """

    name: str
    values: dict[str, Any] = Field(default_factory=dict, alias="with")


@dataclass(frozen=True)
class Expanded(Located):
    """A rule as it reads with its template filled in.

    Attributes:
        origins: Where values came from, by the keys that lead to them in the expanded rule.
    """

    origins: Mapping[Keys, Origin] = field(default_factory=dict, repr=False)

    def where(self, keys: Keys = ()) -> str:
        """`file:line` of a value in the file that it was written in, or of the nearest thing above it."""
        for cut in range(len(keys), 0, -1):
            if keys[:cut] in self.origins:
                located, source = self.origins[keys[:cut]]
                return located.where((*source, *keys[cut:]))
        return super().where(keys)


def expand(located: Located, templates: Templates, problems: Problems) -> Located | None:
    """The rule that a file stands for, or None with what is wrong with its use of a template noted.

    Args:
        located: Document of a rule file; one that names no template is returned as it is.
        templates: All templates by name.
        problems: Where findings are noted.
    """
    if not isinstance(located.data, dict) or USE not in located.data:
        return located
    use = build(Use, located, (USE,), located.data[USE], problems)
    if use is None:
        return None
    if use.name not in templates:
        known = ", ".join(sorted(templates)) or "those that you add to rules/templates, there is none"
        problems.add(located, (USE, "name"), f"{use.name} is no template, take one of {known}")
    template = templates.get(use.name)
    if template is None:
        return None
    findings = list(_misfits(use, template))
    for keys, what in findings:
        problems.add(located, keys, what)
    return None if findings else _filled(located, template, use.values)


def _misfits(use: Use, template: Template) -> Iterator[tuple[Keys, str]]:
    for name in sorted(use.values.keys() - template.params.keys()):
        options = ", ".join(template.params) or "none"
        yield (USE, "with", name), f"{name} is no parameter of {use.name}, take one of {options}"
    for name, meaning in template.params.items():
        if name not in use.values:
            yield (USE, "with"), f"{name} is missing ({meaning}), add it"


def _filled(located: Located, template: Template, values: Mapping[str, Any]) -> Expanded:
    """The template's body with the values, then the rule's own keys over it."""
    origins: dict[Keys, Origin] = {}
    data: dict[str, Any] = {}
    for key, value in template.body.items():
        origins[key,] = (template.located, ("rule", key))
        data[key] = _substituted((key,), value, values, located, origins)
    for key, value in located.data.items():
        if key != USE:
            data[key] = _own(key, value, data.get(key), located, origins)
    return Expanded(located.path, data, located.lines, origins)


def _substituted(keys: Keys, value: Any, values: Mapping[str, Any], rule: Located, origins: dict[Keys, Origin]) -> Any:  # noqa: ANN401
    """A value of the template with every placeholder filled; filled ones come from the rule's file."""
    if isinstance(value, dict):
        return {k: _substituted((*keys, str(k)), v, values, rule, origins) for k, v in value.items()}
    if isinstance(value, list):
        return [_substituted((*keys, n), v, values, rule, origins) for n, v in enumerate(value)]
    found = PLACEHOLDER.findall(value) if isinstance(value, str) else []
    if not found:
        return value
    origins[keys] = (rule, (USE, "with", found[0]))
    if PLACEHOLDER.fullmatch(value):
        return values[found[0]]
    return PLACEHOLDER.sub(lambda match: str(values[match[1]]), value)


def _own(key: str, value: Any, before: Any, rule: Located, origins: dict[Keys, Origin]) -> Any:  # noqa: ANN401
    """The rule's own value of a key: appended where both are lists, else in the template's place."""
    if isinstance(value, list) and isinstance(before, list):
        origins |= {(key, len(before) + n): (rule, (key, n)) for n in range(len(value))}
        return before + value
    for keys in [k for k in origins if k[0] == key]:
        del origins[keys]
    is_whole_list = isinstance(value, dict) and value.keys() == {REPLACE} and isinstance(value[REPLACE], list)
    origins[key,] = (rule, (key, REPLACE) if is_whole_list else (key,))
    return value[REPLACE] if is_whole_list else value
