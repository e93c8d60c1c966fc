"""The lock: what is refused, which version a rule gets, and which steps of the ladder are allowed."""

import re

import pytest

from firstfault.rules.engine.load import LOCK_FILE, ruleset_version
from firstfault.rules.engine.lock import check_lock, load_lock, lock_text, next_lock
from firstfault.rules.engine.yaml_io import KnowledgeError
from tests.rules.engine.rule_folder import load, small

RULE = "gpu_lost"


@pytest.fixture
def root(tmp_path):
    """A rules folder without a lock."""
    return small(tmp_path)


def lock(root):
    """Writes the lock that fits the rules."""
    (root / LOCK_FILE).write_text(lock_text(next_lock(load(root), root)))


def edit(root, old, new, file=f"gpu/{RULE}.yaml"):
    """Changes a file of the folder."""
    path = root / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def status(root, word):
    """Gives the rule a status."""
    file = root / "gpu" / f"{RULE}.yaml"
    file.write_text(re.sub(r"(?m)^status: .*", f"status: {word}", file.read_text()))


def climb(root, *words):
    """Gives the rule one status after the other, and locks each."""
    for word in words:
        status(root, word)
        lock(root)


def refused(call, root):
    """What the call refuses."""
    with pytest.raises(KnowledgeError) as error:
        call(load(root), root)
    return error.value.problems


def line(root):
    """Version and status of the rule in the lock."""
    found = load_lock(root).lines[RULE]
    return found.version, found.status


def test_without_a_lock_nothing_is_refused_and_all_versions_are_0(root):
    assert set(check_lock(load(root), root).values()) == {0}


def test_all_rules_start_at_version_1_and_locking_again_changes_nothing(root):
    lock(root)
    text = (root / LOCK_FILE).read_text()
    assert set(check_lock(load(root), root).values()) == {1}
    assert len(text.splitlines()) == len(load(root)) + 1
    lock(root)
    assert (root / LOCK_FILE).read_text() == text


def test_a_changed_rule_is_refused_until_it_is_locked_as_the_next_version(root):
    lock(root)
    edit(root, "base: 5", "base: 4")
    file = root / "gpu" / f"{RULE}.yaml"
    assert refused(check_lock, root) == [
        f"{file}:1: rule {RULE} changed since version 1 was locked; run firstfault rules lock"
    ]
    lock(root)
    assert check_lock(load(root), root)[RULE] == 2
    assert line(root) == (2, "experimental")


@pytest.mark.parametrize(("old", "new"), [("base: 5", "# why 5\nbase: 5.0"), ("base: 5", "outcome: null\nbase: 5")])
def test_comments_and_defaults_are_no_change(root, old, new):
    lock(root)
    edit(root, old, new)
    assert check_lock(load(root), root)[RULE] == 1


def test_a_changed_template_changes_the_rules_that_use_it(root):
    lock(root)
    edit(root, "comm.*", "proc.*", "templates/stall.yaml")
    said = refused(check_lock, root)
    assert [re.search(r"rule (\w+)", s)[1] for s in said] == ["storage_lustre", "storage_nfs"]


def test_a_rule_that_is_not_in_the_lock_is_refused_and_starts_experimental(root):
    lock(root)
    file = root / "gpu" / "gpu_new.yaml"
    file.write_text((root / "gpu" / f"{RULE}.yaml").read_text().replace(f"id: {RULE}", "id: gpu_new"))
    assert refused(check_lock, root) == [f"{file}:1: rule gpu_new is not in {LOCK_FILE}; run firstfault rules lock"]
    edit(root, "status: experimental", "status: stable", "gpu/gpu_new.yaml")
    assert refused(next_lock, root) == [f"{file}:3: rule gpu_new is new and stable, a new rule starts as experimental"]
    edit(root, "status: stable", "status: experimental", "gpu/gpu_new.yaml")
    lock(root)
    assert check_lock(load(root), root)["gpu_new"] == 1


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ((), "test"),
        (("test",), "stable"),
        (("test", "stable"), "deprecated"),
        ((), "deprecated"),
        (("test",), "deprecated"),
    ],
)
def test_steps_up_the_ladder_keep_the_version(root, before, after):
    lock(root)
    climb(root, *before)
    status(root, after)
    was = before[-1] if before else "experimental"
    assert refused(check_lock, root)[0].endswith(f"was locked as {was} and is {after}; run firstfault rules lock")
    lock(root)
    assert line(root) == (1, after)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ((), "stable", "went from experimental to stable, go through test first"),
        (("test", "stable"), "test", "went from stable down to test unchanged; correct it, or deprecate it"),
        (("test",), "experimental", "went from test down to experimental unchanged; correct it, or deprecate it"),
        (("deprecated",), "experimental", "is deprecated and cannot be experimental again, write a new rule"),
        (("deprecated",), "stable", "is deprecated and cannot be stable again, write a new rule"),
    ],
)
def test_other_steps_are_refused_at_the_line_of_the_status(root, before, after, said):
    lock(root)
    climb(root, *before)
    status(root, after)
    assert refused(next_lock, root) == [f"{root}/gpu/{RULE}.yaml:3: rule {RULE} {said}"]


@pytest.mark.parametrize("after", ["test", "experimental"])
def test_a_stable_rule_goes_down_with_a_change(root, after):
    lock(root)
    climb(root, "test", "stable")
    edit(root, "base: 5", "base: 4")
    status(root, after)
    lock(root)
    assert line(root) == (2, after)


def test_a_changed_rule_that_is_deprecated_is_not_revived(root):
    lock(root)
    climb(root, "deprecated")
    edit(root, "base: 5", "base: 4")
    status(root, "test")
    assert "cannot be test again" in refused(next_lock, root)[0]


def test_a_rule_is_deprecated_before_it_is_removed_and_its_id_stays_taken(root):
    lock(root)
    file = root / "gpu" / f"{RULE}.yaml"
    kept = file.read_text()
    file.unlink()
    number = 1 + next(n for n, row in enumerate((root / LOCK_FILE).read_text().splitlines()) if row.startswith(RULE))
    place = f"{root / LOCK_FILE}:{number}"
    assert refused(check_lock, root) == [f"{place}: rule {RULE} has no file any more; run firstfault rules lock"]
    assert refused(next_lock, root) == [
        f"{place}: rule {RULE} was experimental when its file went, restore it and deprecate it"
    ]
    file.write_text(kept)
    climb(root, "deprecated")
    file.unlink()
    lock(root)
    assert line(root) == (1, "removed")
    assert RULE not in check_lock(load(root), root)
    lock(root)
    assert line(root) == (1, "removed")
    file.write_text(kept)
    assert refused(check_lock, root) == [f"{file}:1: rule {RULE} was removed before, take another id"]
    assert refused(next_lock, root) == [f"{file}:3: rule {RULE} was removed before, take another id"]


def test_the_lock_is_no_part_of_the_rule_set_version(root):
    before = ruleset_version(root)
    lock(root)
    assert ruleset_version(root) == before
    edit(root, "base: 5", "base: 4")
    assert ruleset_version(root) != before
