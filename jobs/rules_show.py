"""The rule library in words: which rules there are, and what one of them looks for."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from firstfault.jobs.knowledge import Knowledge
from firstfault.jobs.rules_words import anchor_words, clause_words
from firstfault.rules.engine.lock import Locked, files_of, load_lock, rule_sha256
from firstfault.rules.engine.model import Rule
from firstfault.rules.engine.templates import USE
from firstfault.rules.engine.yaml_io import load_documents


class UsageError(ValueError):
    """What was asked for is not there; the message says what is."""


def chosen(
    knowledge: Knowledge, category: str | None = None, status: str | None = None, domain: str | None = None
) -> list[Rule]:
    """The rules of a category, status and domain, in order of category and id.

    Raises:
        UsageError: No rule has the word.
    """
    files = files_of(knowledge.root)
    domains = {name: file.parent.name for name, file in files.items()}
    rules = sorted(knowledge.rules, key=lambda r: (r.category, r.id))
    for flag, word, words in (
        ("--category", category, {r.id: r.category for r in rules}),
        ("--status", status, {r.id: r.status for r in rules}),
        ("--domain", domain, domains),
    ):
        if word is None:
            continue
        if word not in words.values():
            raise UsageError(f"{flag}: no rule has {word}, take one of {', '.join(sorted(set(words.values())))}.")
        rules = [r for r in rules if words[r.id] == word]
    return rules


def rules_table(knowledge: Knowledge, rules: Iterable[Rule] | None = None) -> Table:
    """One line per rule.

    Args:
        knowledge: All knowledge.
        rules: The rules to list; all where none are given.
    """
    listed = list(chosen(knowledge) if rules is None else rules)
    lock = load_lock(knowledge.root)
    title = f"{len(listed)} rules, rule set {knowledge.version}"
    table = Table(title=title, title_justify="left", show_edge=False)
    # Ids are copied from here, so they are never cut.
    table.add_column("rule", no_wrap=True, min_width=max((len(rule.id) for rule in listed), default=0))
    for name in ("version", "status", "category", "anchor", "title"):
        table.add_column(name)
    for rule in listed:
        line = lock.lines.get(rule.id) if lock else None
        version = str(line.version) if line else "-"
        table.add_row(rule.id, version, rule.status, rule.category, rule.anchor.event, rule.title)
    return table


def find_rule(knowledge: Knowledge, rule_id: str) -> Rule:
    """The rule of that id.

    Raises:
        UsageError: There is none; names some that are near.
    """
    found = next((r for r in knowledge.rules if r.id == rule_id), None)
    if found is None:
        near = [r.id for r in knowledge.rules if rule_id[:5] in r.id]
        hint = f"; near: {', '.join(near[:5])}" if near else "; see firstfault rules list"
        raise UsageError(f"no rule {rule_id}{hint}.")
    return found


def explain(knowledge: Knowledge, rule_id: str, console: Console) -> None:
    """Prints one rule in words."""
    rule = find_rule(knowledge, rule_id)
    rows = Table.grid(padding=(0, 2))
    for name, text in _words(rule, knowledge):
        rows.add_row(name, Text(text))
    console.print(Text(f"{rule.id}: {rule.title} [{rule.category}, {rule.status}]", style="bold"))
    console.print(rows)


def _words(rule: Rule, knowledge: Knowledge) -> Iterator[tuple[str, str]]:
    """A name and a sentence per part of a rule."""
    file = files_of(knowledge.root)[rule.id]
    lock = load_lock(knowledge.root)
    yield "version", _version(rule, lock.lines.get(rule.id) if lock else None)
    yield "file", f"{file.parent.name}/{file.name}{_template(file)}"
    yield "starts from", anchor_words(rule)
    yield "blames", f"{rule.blame.scope} from {rule.blame.source}"
    yield from clause_words(rule)
    yield "explains", ", ".join(rule.explains) or "nothing else"
    yield "points", f"{rule.base:g} to start with; never more than {rule.cap:.0%} sure"
    yield "says", rule.conclusion.en
    yield "do", rule.action.en
    yield from (("beware", trap) for trap in rule.false_positives)
    if rule.settle:
        yield "settled by", rule.settle
    rivals = ", ".join(r.id for r in competitors(rule, knowledge))
    yield "competes with", rivals or "no rule of the same anchor"


def competitors(rule: Rule, knowledge: Knowledge) -> list[Rule]:
    """The other live rules that start from an event that this one starts from, in order of id."""
    events = knowledge.vocabulary.expand(rule.anchor.event)
    live = (r for r in knowledge.rules if r.status != "deprecated" and r.id != rule.id)
    return [r for r in live if events & knowledge.vocabulary.expand(r.anchor.event)]


def _version(rule: Rule, line: Locked | None) -> str:
    if line is None:
        return f"not locked, {rule.status}"
    changed = "" if line.sha256 == rule_sha256(rule) else ", changed since"
    was = "" if line.status == rule.status else f" (locked as {line.status})"
    return f"{line.version}{changed}, {rule.status}{was}"


def _template(file: Path) -> str:
    data = load_documents(file)[0].data
    return f", from template {data[USE]['name']}" if USE in data else ""
