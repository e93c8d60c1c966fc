"""Work on the rule library: a draft to begin with, and the lock of what was agreed upon."""

from pathlib import Path

from firstfault.jobs.knowledge import RULES_ROOT
from firstfault.jobs.rules_show import UsageError
from firstfault.rules.engine.draft import DraftError, Wanted, draft_rule
from firstfault.rules.engine.load import LOCK_FILE, OTHER_FOLDERS, load_rules
from firstfault.rules.engine.lock import REMOVED, Lock, Locked, check_lock, files_of, load_lock, lock_text, next_lock
from firstfault.rules.engine.vocabulary import Vocabulary

WORDS = "vocabulary.yaml"


def rules_root(folder: Path | None) -> Path:
    """The rules folder to work on: the given one, else the installed one.

    Raises:
        UsageError: The folder holds no rules.
    """
    root = folder or RULES_ROOT
    if not (root / WORDS).is_file():
        raise UsageError(f"--rules: {root} is no rules folder, it has no {WORDS}; copy one: cp -r {RULES_ROOT} {root}")
    return root


def new_rule(root: Path, domain: str, wanted: Wanted) -> Path:
    """The file of a new rule, written as a draft.

    Args:
        root: The rules folder.
        domain: Subfolder of a fault domain.
        wanted: What the rule is about.

    Raises:
        UsageError: The words do not make a rule, or the id is taken.
    """
    domains = sorted(
        d.name for d in root.iterdir() if d.is_dir() and d.name not in OTHER_FOLDERS and d.name[0] not in "._"
    )
    if domain not in domains:
        raise UsageError(f"--domain: no domain {domain}, take one of {', '.join(domains)}, or make the folder.")
    taken = files_of(root).get(wanted.id)
    if taken is not None:
        raise UsageError(f"{taken} exists; take another id, or edit that file.")
    lock = load_lock(root)
    if lock and wanted.id in lock.lines:
        raise UsageError(f"rule {wanted.id} is {lock.lines[wanted.id].status} in {LOCK_FILE}; take another id.")
    try:
        text = draft_rule(wanted, Vocabulary.load(root / WORDS))
    except DraftError as error:
        raise UsageError(str(error)) from error
    file = root / domain / f"{wanted.id}.yaml"
    _write(file, text)
    return file


def next_steps(file: Path, folder: Path | None) -> str:
    """What to do after a draft was written."""
    here = f" --rules {folder}" if folder else ""
    return (
        f"{file} written. Next:\n"
        "  1. edit anchor, support and unless, and write the texts in your own words;\n"
        f"  2. firstfault rules test {file.stem}{here}\n"
        f"  3. firstfault rules lock{here}\n"
        "  4. python -m firstfault.jobs.docs   (RULES.md)"
    )


def lock_rules(root: Path, *, check: bool) -> str:
    """One sentence on what locking changed, or would have to.

    Args:
        root: The rules folder.
        check: Write nothing; refuse a lock that does not fit.

    Raises:
        UsageError: There is no lock to check.
        KnowledgeError: Rules are wrong, took a step that is not allowed, or differ from the lock that is checked.
    """
    rules = load_rules(root, Vocabulary.load(root / WORDS))
    before = load_lock(root)
    lines = next_lock(rules, root)
    if check:
        if before is None:
            raise UsageError(f"{root} has no {LOCK_FILE}; run firstfault rules lock.")
        check_lock(rules, root)
        return f"{LOCK_FILE} fits {len(rules)} rules."
    if before is not None and before.lines == lines:
        return f"{LOCK_FILE} fits {len(rules)} rules, nothing to do."
    _write(root / LOCK_FILE, lock_text(lines))
    return f"{LOCK_FILE} written: {len(rules)} rules, {_changes(before, lines)}."


def _changes(before: Lock | None, lines: dict[str, Locked]) -> str:
    """How many rules are new, changed, elsewhere on the ladder, and gone."""
    old = before.lines if before else {}
    kept = [(old[name], line) for name, line in lines.items() if name in old]
    counts = {
        "new": len(lines.keys() - old.keys()),
        "changed": sum(a.version != b.version for a, b in kept),
        "of another status": sum(b.status not in {a.status, REMOVED} for a, b in kept),
        "removed": sum(a.status != b.status and b.status == REMOVED for a, b in kept),
    }
    return ", ".join(f"{n} {what}" for what, n in counts.items())


def _write(file: Path, text: str) -> None:
    """Writes a file whole or not at all.

    Raises:
        UsageError: The folder cannot be written.
    """
    part = file.with_name(f".{file.name}.part")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(file)
    except OSError as error:
        raise UsageError(
            f"{file} cannot be written ({error.strerror}); give --rules and a copy of the folder."
        ) from error
