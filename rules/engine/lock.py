"""The lock of the rules: which version of each rule was agreed upon, and how its status may go on from there.

`rules.lock.yaml` has one line a rule: its version, a hash of its content and its status. A rule that differs from its
line is refused, so that no verdict is given by a rule that changed unnoticed. The hash is of the rule as it reads with
its template filled in, without its status: a promotion is no new version. Keys at their default count as left out, so
that the language may grow without a new version of every rule.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import Field, TypeAdapter, ValidationError

from firstfault.rules.engine.load import LOCK_FILE, rule_files
from firstfault.rules.engine.model import Rule, Status
from firstfault.rules.engine.yaml_io import KnowledgeError, Located, Problems, Strict, load_documents

RUN = "run firstfault rules lock"
REMOVED = "removed"
LADDER = ("experimental", "test", "stable", "deprecated")
_HEAD = "# Written by `firstfault rules lock`; a rule that differs from its line is refused.\n"


class Locked(Strict):
    """One line of the lock.

    Attributes:
        version: Counts the changes of the rule's content, from 1.
        sha256: Of the content.
        status: When it was locked; `removed` once its file is gone, so that the id is not used again.
    """

    version: int = Field(ge=1)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    status: Literal[Status, "removed"]


@dataclass(frozen=True)
class Lock:
    """The lock file as it was read.

    Attributes:
        lines: Rule id -> its line.
        located: The file.
    """

    lines: Mapping[str, Locked]
    located: Located


def rule_sha256(rule: Rule) -> str:
    """Hash of all that a rule says, its status left out."""
    content = rule.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude={"status"})
    return hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def files_of(root: Path) -> dict[str, Path]:
    """Rule id -> its file."""
    return {file.stem: file for file in rule_files(root)}


def load_lock(root: Path) -> Lock | None:
    """The lock of a rules folder; None where there is none.

    Raises:
        KnowledgeError: The file is no lock.
    """
    file = root / LOCK_FILE
    if not file.exists():
        return None
    located = next(iter(load_documents(file)), Located(file, {}, {}))
    problems = Problems()
    try:
        return Lock(TypeAdapter(dict[str, Locked]).validate_python(located.data), located)
    except ValidationError as error:
        problems.add_invalid(located, (), error)
        raise KnowledgeError(problems.found) from error


def check_lock(rules: Sequence[Rule], root: Path) -> dict[str, int]:
    """Version of each rule; 0 for all where the folder has no lock.

    Args:
        rules: All rules.
        root: The rules folder.

    Raises:
        KnowledgeError: Rules differ from the lock, or are not in it.
    """
    lock = load_lock(root)
    if lock is None:
        return dict.fromkeys((rule.id for rule in rules), 0)
    differ = list(_differences(rules, lock, files_of(root)))
    if differ:
        raise KnowledgeError(differ)
    return {rule.id: lock.lines[rule.id].version for rule in rules}


def _differences(rules: Sequence[Rule], lock: Lock, files: Mapping[str, Path]) -> Iterator[str]:
    for rule in rules:
        line, place = lock.lines.get(rule.id), f"{files[rule.id]}:1"
        if line is None:
            yield f"{place}: rule {rule.id} is not in {LOCK_FILE}; {RUN}"
        elif line.status == REMOVED:
            yield f"{place}: rule {rule.id} was removed before, take another id"
        elif line.sha256 != rule_sha256(rule):
            yield f"{place}: rule {rule.id} changed since version {line.version} was locked; {RUN}"
        elif line.status != rule.status:
            yield f"{place}: rule {rule.id} was locked as {line.status} and is {rule.status}; {RUN}"
    present = {rule.id for rule in rules}
    for name, line in lock.lines.items():
        if name not in present and line.status != REMOVED:
            yield f"{lock.located.where((name,))}: rule {name} has no file any more; {RUN}"


def next_lock(rules: Sequence[Rule], root: Path) -> dict[str, Locked]:
    """The lock that fits the rules as they are, by rule id; a changed rule has the next version.

    Args:
        rules: All rules.
        root: The rules folder; without a lock all rules are new.

    Raises:
        KnowledgeError: Rules took a step that the ladder of statuses does not allow.
    """
    before, files = load_lock(root), files_of(root)
    lines = before.lines if before else {}
    refused = [r for rule in rules for r in _refused(rule, lines.get(rule.id), files[rule.id])]
    present = {rule.id for rule in rules}
    for name, line in lines.items():
        if name not in present and line.status not in {"deprecated", REMOVED}:
            place = before.located.where((name,)) if before else ""
            refused.append(f"{place}: rule {name} was {line.status} when its file went, restore it and deprecate it")
    if refused:
        raise KnowledgeError(refused)
    gone = {n: line.model_copy(update={"status": REMOVED}) for n, line in lines.items() if n not in present}
    return dict(sorted((gone | {rule.id: _line(rule, lines.get(rule.id)) for rule in rules}).items()))


def _line(rule: Rule, before: Locked | None) -> Locked:
    sha256 = rule_sha256(rule)
    version = 1 if before is None else before.version + (before.sha256 != sha256)
    return Locked(version=version, sha256=sha256, status=rule.status)


def _refused(rule: Rule, before: Locked | None, file: Path) -> Iterator[str]:
    """Why the rule's step from its line to what it is now is not allowed."""
    told = _step(rule.status, before, is_changed=before is not None and before.sha256 != rule_sha256(rule))
    if told:
        place = next(iter(load_documents(file)), Located(file, {}, {})).where(("status",))
        yield f"{place}: rule {rule.id} {told}"


def _step(now: Status, before: Locked | None, *, is_changed: bool) -> str | None:
    """What is wrong with a change of status, or None."""
    if before is None:
        return None if now == LADDER[0] else f"is new and {now}, a new rule starts as {LADDER[0]}"
    if before.status == REMOVED:
        return "was removed before, take another id"
    if now in {before.status, "deprecated"}:
        return None
    was, is_now = LADDER.index(before.status), LADDER.index(now)
    wrong = {
        f"is deprecated and cannot be {now} again, write a new rule": before.status == "deprecated",
        f"went from {before.status} to {now}, go through {LADDER[is_now - 1]} first": is_now > was + 1,
        f"went from {before.status} down to {now} unchanged; correct it, or deprecate it": is_now < was
        and not is_changed,
    }
    return next((what for what, is_so in wrong.items() if is_so), None)


def lock_text(lines: Mapping[str, Locked]) -> str:
    """The lock file, one line a rule in order of id."""
    # Quoted, since a hash of digits only would be read as a number.
    rows = (f"{n}: {{version: {x.version}, sha256: '{x.sha256}', status: {x.status}}}\n" for n, x in lines.items())
    return _HEAD + "".join(rows)
