"""`firstfault rules ...` at the command line: its options; what they do is in rules_show, rules_edit and rules_cli."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

Folder = Annotated[Path | None, typer.Option("--rules", help="Another rules folder: a copy of the installed one.")]
RuleId = Annotated[str, typer.Argument(help="Rule id.")]
Master = Annotated[str | None, typer.Option(help="Spark master URL; local[*] by default.")]


def list_rules(
    *,
    category: Annotated[str | None, typer.Option(help="Only rules of this category.")] = None,
    status: Annotated[str | None, typer.Option(help="Only rules of this status.")] = None,
    domain: Annotated[str | None, typer.Option(help="Only rules of this folder.")] = None,
    rules: Folder = None,
) -> None:
    """List the rules with version, status, category and title."""
    from firstfault.jobs.knowledge import load_unlocked
    from firstfault.jobs.rules_edit import rules_root
    from firstfault.jobs.rules_show import chosen, rules_table

    knowledge = load_unlocked(rules_root(rules))
    Console().print(rules_table(knowledge, chosen(knowledge, category, status, domain)))


def explain_rule(rule: RuleId, *, rules: Folder = None) -> None:
    """Explain one rule: what it looks for, whom it blames, what it says, and which rules it competes with."""
    from firstfault.jobs.knowledge import load_unlocked
    from firstfault.jobs.rules_edit import rules_root
    from firstfault.jobs.rules_show import explain

    explain(load_unlocked(rules_root(rules)), rule, Console())


def new_rule_file(
    rule: RuleId,
    *,
    domain: Annotated[str, typer.Option(help="Folder of its fault domain, such as gpu or network.")],
    event: Annotated[str, typer.Option(help="Event type that it starts from, of rules/vocabulary.yaml.")],
    category: Annotated[str, typer.Option(help="Root-cause category that it concludes.")],
    scope: Annotated[str | None, typer.Option(help="What it blames; what the event speaks of by default.")] = None,
    source: Annotated[str | None, typer.Option("--from", help="Where that name comes from, as anchor.node.")] = None,
    rules: Folder = None,
) -> None:
    """Write the draft of a rule, with two tests that pass."""
    from firstfault.jobs.rules_edit import new_rule, next_steps, rules_root
    from firstfault.rules.engine.draft import Wanted

    file = new_rule(rules_root(rules), domain, Wanted(rule, event, category, scope, source))
    Console().print(next_steps(file, rules), highlight=False, markup=False, soft_wrap=True)


def run_rule_tests(
    rule: Annotated[str | None, typer.Argument(help="Only this rule.")] = None,
    *,
    rules: Folder = None,
    master: Master = None,
) -> None:
    """Run the inline tests of all patterns and rules, each rule through the real join plan."""
    from firstfault.jobs.rules_cli import run_tests
    from firstfault.jobs.rules_edit import rules_root
    from firstfault.jobs.settings import load_settings

    settings = load_settings(None, **({"master": master} if master else {}))
    if not run_tests(settings, rule, Console(), rules_root(rules)):
        raise typer.Exit(1)


def lock_rule_versions(
    *,
    check: Annotated[bool, typer.Option("--check", help="Write nothing; fail where the lock does not fit.")] = False,
    rules: Folder = None,
) -> None:
    """Give changed rules their next version, and check each step of status."""
    from firstfault.jobs.rules_edit import lock_rules, rules_root

    Console().print(lock_rules(rules_root(rules), check=check), highlight=False, markup=False, soft_wrap=True)


COMMANDS: dict[str, Callable[..., Any]] = {
    "list": list_rules,
    "explain": explain_rule,
    "new": new_rule_file,
    "test": run_rule_tests,
    "lock": lock_rule_versions,
}
"""Name of each command of `firstfault rules`."""
