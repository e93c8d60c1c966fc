"""`firstfault rules` on a copy of the rules: list, explain, new and lock, and what a wrong call says."""

import pytest
from rich.console import Console
from typer.testing import CliRunner

from firstfault.jobs import cli
from firstfault.jobs.knowledge import load_knowledge, load_unlocked
from firstfault.jobs.rules_show import explain
from firstfault.rules.engine.load import LOCK_FILE
from firstfault.rules.engine.lock import RUN
from firstfault.rules.engine.yaml_io import KnowledgeError
from tests.rules.engine.rule_folder import load, small

NEW = ("new", "gpu_odd_thing", "--domain", "gpu", "--event", "gpu.xid", "--category", "gpu_hardware")


@pytest.fixture
def root(tmp_path):
    """A rules folder without a lock."""
    return small(tmp_path, whole=True)


@pytest.fixture
def run(root, monkeypatch):
    """Runs a command of `firstfault rules` on the folder: exit code and words."""
    monkeypatch.setenv("COLUMNS", "500")

    def runs(*args, folder=root):
        result = CliRunner().invoke(cli.app, ["rules", *args, "--rules", str(folder)])
        assert "Traceback" not in result.output
        return result.exit_code, " ".join(result.output.split())

    return runs


def test_list_chooses_by_category_status_and_folder(run):
    code, text = run("list", "--domain", "storage", "--category", "storage", "--status", "experimental")
    assert code == 0
    assert text.startswith("2 rules, rule set ")
    assert "storage_nfs" in text
    assert "gpu_lost" not in text


def test_explain_tells_version_template_and_rivals_in_words(run):
    code, text = run("explain", "storage_nfs")
    assert code == 0
    for part in (
        "storage_nfs: A server stopped answering [storage, experimental]",
        "version not locked, experimental",
        "file storage/storage_nfs.yaml, from template stall",
        "starts from storage.nfs_stall",
        "blames job from job",
        "unless storage.nfs_stall, in the job, from 0 s to 2 min after",
        "unless net.link_down, on the same node, from 5 min before to 5 s after",
        "points 3 to start with; never more than 80% sure",
        "competes with no rule of the same anchor",
    ):
        assert part in text
    text = run("explain", "gpu_lost")[1]
    assert "starts from gpu.xid where class = off_bus" in text
    assert "support comm.peer_closed, in the job, from 5 s before to 2 h after, required, weight 1" in text
    assert "unless sched.end, in the job, from 7 d to 1 min before" in text
    assert text.endswith("competes with gpu_fault")


def test_explain_says_which_version_it_is_and_what_changed_since(run, root):
    run("lock")
    assert "version 1, experimental" in run("explain", "gpu_lost")[1]
    file = root / "gpu" / "gpu_lost.yaml"
    file.write_text(file.read_text().replace("base: 5", "base: 4").replace("experimental", "test"))
    assert "version 1, changed since, test (locked as experimental)" in run("explain", "gpu_lost")[1]


def test_every_shipped_rule_can_be_explained():
    knowledge = load_unlocked()
    console = Console(record=True, width=200)
    for rule in knowledge.rules:
        explain(knowledge, rule.id, console)
    text = console.export_text()
    assert all(f"{rule.id}: " in text for rule in knowledge.rules)
    assert "None" not in text


def test_new_writes_a_rule_that_loads_and_says_what_to_do_next(run, root):
    code, text = run(*NEW)
    file = root / "gpu" / "gpu_odd_thing.yaml"
    assert code == 0
    assert text.startswith(f"{file} written. Next:")
    assert f"firstfault rules test gpu_odd_thing --rules {root}" in text
    rule = next(r for r in load(root) if r.id == "gpu_odd_thing")
    assert (rule.status, rule.blame.scope, rule.blame.source) == ("experimental", "gpu", "anchor.device")
    assert [t.expect for t in rule.tests] == ["match", "none"]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"gpu_odd_thing": "gpu_lost"}, "/gpu/gpu_lost.yaml exists; take another id, or edit that file."),
        ({"gpu_odd_thing": "storage_nfs"}, "/storage/storage_nfs.yaml exists;"),
        ({"gpu_odd_thing": "GPU"}, "ID: String should match pattern"),
        ({"gpu": "templates"}, "--domain: no domain templates, take one of gpu, storage, or make"),
        ({"gpu.xid": "gpu.xidd"}, "--event: gpu.xidd is not in the vocabulary; near: gpu.xid"),
        ({"gpu_hardware": "gremlins"}, "--category: gremlins is no category, take one of gpu_hardware,"),
        (
            {"new": ("new", "--scope", "rack")},
            "--from: --scope rack alone does not tell whom to blame",
        ),
        ({"new": ("new", "--from", "attr:pid")}, "--scope: --from attr:pid alone does not tell whom to blame"),
        (
            {"new": ("new", "--scope", "node", "--from", "anchor.rank")},
            "--scope: anchor.rank names no node",
        ),
        ({"new": ("new", "--scope", "rank", "--from", "silent")}, "for silent copy a rule that blames so."),
        ({"new": ("new", "--scope", "moon", "--from", "job")}, "--scope: Input should be 'gpu', 'node'"),
    ],
)
def test_new_refuses_in_one_line_and_writes_nothing(run, root, change, says):
    before = sorted(root.rglob("*"))
    args = [part for a in NEW for part in ((change.get(a, a),) if isinstance(change.get(a, a), str) else change[a])]
    code, text = run(*args)
    assert code == cli.USAGE
    assert text.startswith("firstfault: ")
    assert says in text
    assert sorted(root.rglob("*")) == before


def test_new_never_overwrites_and_takes_no_id_of_the_lock(run, root):
    run(*NEW)
    assert run(*NEW)[0] == cli.USAGE
    run("lock")
    (root / "gpu" / "gpu_odd_thing.yaml").unlink()
    code, text = run(*NEW)
    assert (code, text) == (
        cli.USAGE,
        f"firstfault: rule gpu_odd_thing is experimental in {LOCK_FILE}; take another id.",
    )


def test_lock_writes_checks_and_tells_what_changed(run, root):
    n = len(load(root))
    assert run("lock", "--check") == (
        cli.USAGE,
        f"firstfault: {root} has no {LOCK_FILE}; run firstfault rules lock.",
    )
    written = f"{LOCK_FILE} written: {n} rules, {n} new, 0 changed, 0 of another status, 0 removed."
    assert run("lock") == (0, written)
    assert run("lock") == (0, f"{LOCK_FILE} fits {n} rules, nothing to do.")
    assert run("lock", "--check") == (0, f"{LOCK_FILE} fits {n} rules.")
    file = root / "gpu" / "gpu_lost.yaml"
    file.write_text(file.read_text().replace("base: 5", "base: 4").replace("experimental", "test"))
    code, text = run("lock", "--check")
    assert code == cli.USAGE
    assert text == f"firstfault: {file}:1: rule gpu_lost changed since version 1 was locked; run firstfault rules lock"
    assert run("lock")[1].endswith(f"{n} rules, 0 new, 1 changed, 1 of another status, 0 removed.")
    assert not list(root.glob(".*.part"))


def test_a_folder_that_differs_from_its_lock_is_not_loaded_for_a_night(run, root):
    assert set(load_knowledge(root).rule_versions.values()) == {0}
    run("lock")
    assert set(load_knowledge(root).rule_versions.values()) == {1}
    run(*NEW)
    with pytest.raises(KnowledgeError, match=f"gpu_odd_thing is not in {LOCK_FILE}; {RUN}"):
        load_knowledge(root)
    assert run("list")[0] == 0


def test_a_folder_without_rules_is_told(run, tmp_path):
    for args in (("list",), ("explain", "gpu_lost"), ("lock",), ("test",), NEW):
        code, text = run(*args, folder=tmp_path / "none")
        assert code == cli.USAGE
        assert f"--rules: {tmp_path}/none is no rules folder, it has no vocabulary.yaml; copy one: cp -r " in text
