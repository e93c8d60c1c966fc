"""Rule files of all fault domains, checked against the vocabulary; problems are told with file and line."""

import hashlib
from pathlib import Path

from firstfault.rules.engine.checks import findings
from firstfault.rules.engine.model import Rule
from firstfault.rules.engine.template_use import expand
from firstfault.rules.engine.templates import Templates, load_templates
from firstfault.rules.engine.vocabulary import Vocabulary
from firstfault.rules.engine.yaml_io import KnowledgeError, Problems, build, load_documents

OTHER_FOLDERS = frozenset({"engine", "patterns", "signals", "catalogues", "templates"})
LOCK_FILE, WEAK_FILE = "rules.lock.yaml", "weak_labels.yaml"
REVIEW_FILE, PROMOTION_FILE = "review.yaml", "promotion.yaml"
NOT_OF_A_VERDICT = (LOCK_FILE, WEAK_FILE, REVIEW_FILE, PROMOTION_FILE)
VERSION_DIGITS = 12


def rule_files(folder: Path) -> list[Path]:
    """Rule files below the rules folder: `<domain>/<id>.yaml`."""
    domains = (d for d in sorted(folder.iterdir()) if d.is_dir() and d.name not in OTHER_FOLDERS)
    return [file for domain in domains for file in sorted(domain.glob("*.yaml"))]


def load_rules(folder: Path, vocabulary: Vocabulary) -> list[Rule]:
    """All rules, in order of id.

    Args:
        folder: The rules folder with one subfolder a fault domain.
        vocabulary: The only words that rules may use.

    Raises:
        KnowledgeError: With every problem of every file.
    """
    problems = Problems()
    templates = load_templates(folder, problems)
    rules: dict[str, Rule] = {}
    for file in rule_files(folder):
        rule = _load(file, vocabulary, templates, problems)
        if rule is not None and rule.id in rules:
            problems.found.append(f"{file}:1: id: {rule.id} is used by another file, take another id")
        elif rule is not None:
            rules[rule.id] = rule
    problems.raise_any()
    return [rules[name] for name in sorted(rules)]


def _load(file: Path, vocabulary: Vocabulary, templates: Templates, problems: Problems) -> Rule | None:
    try:
        documents = load_documents(file)
    except KnowledgeError as error:
        problems.found += error.problems
        return None
    if not documents:
        problems.found.append(f"{file}:1: document: empty, write a rule or remove the file")
        return None
    located = expand(documents[0], templates, problems)
    if located is None:
        return None
    rule = build(Rule, located, (), located.data, problems)
    if rule is not None:
        for keys, what in findings(rule, file.stem, vocabulary):
            problems.add(located, keys, what)
    return rule


def ruleset_version(root: Path) -> str:
    """Hash of everything a verdict depends on: rules, vocabulary, catalogues, patterns, signals, windows and scoring.

    The lock is none of it: it tells which rules were agreed upon, not what they say. Nor are the weights of weak
    labels and the bars of the review, by which verdicts are judged afterwards.

    Args:
        root: The rules folder.
    """
    total = hashlib.sha256()
    left_out = {root / name for name in NOT_OF_A_VERDICT}
    files = (file for file in root.rglob("*.yaml") if file not in left_out)
    for file in sorted(files, key=lambda f: f.relative_to(root).as_posix()):
        content = hashlib.sha256(file.read_bytes()).hexdigest()
        total.update(f"{file.relative_to(root).as_posix()}\x1f{content}\n".encode())
    return total.hexdigest()[:VERSION_DIGITS]
