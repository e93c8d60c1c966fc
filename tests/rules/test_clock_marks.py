"""Shared moments: what is shipped is sound, and a wrong kind is told with file and line."""

from pathlib import Path

import pytest

import firstfault.rules
from firstfault.rules.engine.clock_marks import load_clock_marks
from firstfault.rules.engine.vocabulary import Vocabulary
from firstfault.rules.engine.yaml_io import KnowledgeError
from firstfault.transforms.clock_of import NODE_CLOCKED

RULES = Path(next(iter(firstfault.rules.__path__)))
VOCABULARY = Vocabulary.load(RULES / "vocabulary.yaml")
GOOD = """\
- id: t_step
  event: train.step
  key: [step]
  width_s: 0.1
  per_slot: 4
  thin_by: step
  provenance: printed after the reduced loss was read back
"""


def problem(tmp_path: Path, text: str) -> str:
    file = tmp_path / "clock_marks.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(KnowledgeError) as error:
        load_clock_marks(file, VOCABULARY)
    return str(error.value).removeprefix(f"{tmp_path}/")


def test_shipped_kinds_are_of_lines_that_a_node_dates_itself():
    kinds = load_clock_marks(RULES / "clock_marks.yaml", VOCABULARY)
    assert {"step", "collective", "communicator"} <= {kind.id for kind in kinds}
    assert {kind.source for kind in kinds} - {None} <= NODE_CLOCKED


def test_no_kind_is_of_lines_that_a_rank_writes_before_a_barrier():
    events = {event for kind in load_clock_marks(RULES / "clock_marks.yaml", VOCABULARY) for event in kind.events}
    assert not events & {"comm.init_start", "comm.collective_timeout", "comm.ib_wc_error", "sched.start"}


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("train.step", "train.leap", "clock_marks.yaml:2: 0.event: train.leap is not in the vocabulary"),
        ("key: [step]", "key: [leap, step]", "clock_marks.yaml:3: 0.key: leap is no attribute of train.step"),
        ("width_s: 0.1", "width_s: 0", "clock_marks.yaml:4: 0.width_s: Input should be greater than 0"),
        ("thin_by: step", "thin_by: rank", "per_slot and thin_by stand together"),
        ("  per_slot: 4\n", "", "per_slot and thin_by stand together"),
        ("  event: train.step\n", "", "a kind has either an event, or a source and its time_field"),
        ("  event", "  source: app\n  event", "a kind has either an event, or a source and its time_field"),
        ("provenance: printed after the reduced loss was read back", "provenance: yes it is", "0.provenance"),
        ("width_s", "breadth_s", "0.breadth_s: unknown key, remove it"),
        (GOOD, GOOD + GOOD, "clock_marks.yaml:8: 1.id: t_step exists already"),
    ],
)
def test_a_wrong_kind_is_told_with_its_line(tmp_path, old, new, told):
    assert told in problem(tmp_path, GOOD.replace(old, new, 1))
