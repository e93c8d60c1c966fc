"""A small rules folder to write into: the shipped words and a handful of rules of its own."""

import shutil
from pathlib import Path

import pytest

from firstfault.rules.engine.load import load_rules
from firstfault.rules.engine.vocabulary import Vocabulary
from firstfault.rules.engine.yaml_io import KnowledgeError

ROOT = Path(__file__).parents[3] / "rules"
VOCABULARY = Vocabulary.load(ROOT / "vocabulary.yaml")
SHARED = ("patterns", "signals", "catalogues")
TEMPLATE = """\
template: stall
params:
  event: the complaint
  back_s: seconds until it answers
rule:
  category: storage
  anchor: {event: "${event}"}
  unless: [{event: "${event}", relation: job, window_s: [0, "${back_s}"]}]
  explains: [comm.*]
  settle: "what followed ${event} within ${back_s} s"
"""
LOST = """\
id: gpu_lost
title: A GPU fell off the bus
status: experimental
category: gpu_hardware
anchor: {event: gpu.xid, where: {class: off_bus}, min_nodes: 1}
blame: {scope: gpu, from: anchor.device}
support: [{event: comm.peer_closed, relation: job, window_s: [-5, 7200], weight: 1, required: true}]
unless: [{event: sched.end, relation: job, window_s: [-604800, -60]}]
explains: [comm.*]
base: 5
conclusion: {en: "GPU {origin} fell off the bus."}
action: {en: "Drain the node and look at it."}
tests:
  - {name: lost, events: ["0 n1/0000:3b:00 gpu.xid code=79", "+5 n2#8 comm.peer_closed"], expect: match}
  - {name: another code, events: ["0 n1/0000:3b:00 gpu.xid code=43", "+5 n2#8 comm.peer_closed"], expect: none}
"""
STALL = """\
id: {id}
title: A server stopped answering
status: experimental
template: {{name: stall, with: {{event: {event}, back_s: 120}}}}
blame: {{scope: job, from: job}}
unless: [{{event: net.link_down, relation: same_node, window_s: [-300, 5]}}]
base: 3
cap: 0.8
conclusion: {{en: "A server stopped answering."}}
action: {{en: "Look at the server of that file system."}}
tests:
  - {{name: silent, events: ["0 n1 {event}"], expect: match}}
  - {{name: a step, events: ["0 n1#0 train.step step=1"], expect: none}}
"""
FILES = {
    "templates/stall": TEMPLATE,
    "gpu/gpu_lost": LOST,
    "gpu/gpu_fault": LOST.replace("gpu_lost", "gpu_fault").replace("off_bus", "mmu_fault"),
    "storage/storage_nfs": STALL.format(id="storage_nfs", event="storage.nfs_stall"),
    "storage/storage_lustre": STALL.format(id="storage_lustre", event="storage.lustre_lost"),
}


def small(tmp_path, *, whole=False):
    """A rules folder without a lock.

    Args:
        tmp_path: Where it goes.
        whole: With everything that is no rule, so that all knowledge can be loaded from it.
    """
    root = tmp_path / "rules"
    root.mkdir()
    for file in ROOT.glob("*.yaml") if whole else [ROOT / "vocabulary.yaml"]:
        shutil.copy(file, root)
    for folder in SHARED if whole else ():
        shutil.copytree(ROOT / folder, root / folder)
    for name, text in FILES.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / f"{name}.yaml").write_text(text)
    (root / "rules.lock.yaml").unlink(missing_ok=True)
    return root


def load(root):
    """The rules of a folder."""
    return load_rules(root, VOCABULARY)


def problems_of(root):
    """What is wrong with the rules of a folder."""
    with pytest.raises(KnowledgeError) as error:
        load(root)
    return error.value.problems
