"""The vocabulary is read whole, and its errors say where and what to do."""

import re
from pathlib import Path

import pytest

import firstfault.rules
from firstfault.rules.engine.vocabulary import Vocabulary
from firstfault.rules.engine.yaml_io import KnowledgeError, load_documents

SHIPPED = Path(next(iter(firstfault.rules.__path__))) / "vocabulary.yaml"
HEAD = "version: 1\nroles: [initiating]\ncategories: [storage]\noutcomes: [failed]\nscopes: [gpu]\nevents:\n"
GOOD = "  a.b: {summary: s, scope: node, role: initiating, category: storage, gap_s: 1, attrs: {code: int}"


def load(tmp_path: Path, text: str) -> Vocabulary:
    file = tmp_path / "vocabulary.yaml"
    file.write_text(text, encoding="utf-8")
    return Vocabulary.load(file)


def problems(tmp_path: Path, text: str) -> list[str]:
    with pytest.raises(KnowledgeError) as caught:
        load(tmp_path, text)
    return [p.removeprefix(str(tmp_path)) for p in caught.value.problems]


def test_the_shipped_vocabulary_is_sound() -> None:
    vocabulary = Vocabulary.load(SHIPPED)
    assert vocabulary.events["gpu.xid"].attrs["code"] == "int"
    assert vocabulary.events["gpu.xid"].catalogue == "xid"


def test_a_glob_stands_for_its_types_and_a_name_for_itself() -> None:
    vocabulary = Vocabulary.load(SHIPPED)
    assert vocabulary.expand("gpu.xid") == {"gpu.xid"}
    assert {"comm.abort", "comm.stall"} <= vocabulary.expand("comm.*")
    assert vocabulary.expand("no.such") == set()


def test_a_record_may_set_attributes_and_entities() -> None:
    assert Vocabulary.load(SHIPPED).may_set("comm.stall") == {
        "node": "str",
        "device": "str",
        "port": "str",
        "rank": "int",
        "missing": "str",
    }


@pytest.mark.parametrize(
    ("event", "want"),
    [
        (GOOD.replace("initiating", "bystander") + "}", "/vocabulary.yaml:7: events.a.b.role: bystander is no role"),
        (GOOD.replace("storage", "weather") + "}", "/vocabulary.yaml:7: events.a.b.category: weather is no category"),
        (GOOD + ", key: other, catalogue: c}", "/vocabulary.yaml:7: events.a.b: key other is no attribute"),
        (GOOD + ", catalogue: xid}", "/vocabulary.yaml:7: events.a.b: a catalogue needs the key"),
        (GOOD + ", colour: red}", "/vocabulary.yaml:7: events.a.b.colour: unknown key, remove it"),
        (GOOD.replace("gap_s: 1, ", "") + "}", "/vocabulary.yaml:7: events.a.b.gap_s: missing, add it"),
        (GOOD + "}\n" + GOOD + "}", "/vocabulary.yaml:8: events.a.b: given twice, remove one"),
    ],
)
def test_errors_name_file_line_and_key(tmp_path: Path, event: str, want: str) -> None:
    assert any(p.startswith(want) for p in problems(tmp_path, HEAD + event + "\n"))


def test_all_errors_are_told_at_once(tmp_path: Path) -> None:
    events = GOOD.replace("initiating", "x") + "}\n" + GOOD.replace("a.b", "c.d").replace("storage", "y") + "}\n"
    assert len(problems(tmp_path, HEAD + events)) == 2


@pytest.mark.parametrize(
    "text", ["a: [1", "a: b: c", "\tx", "a: &b [*b]", "a: &b 1\nc: *b", "!!python/object:os.system {}"]
)
def test_what_is_no_plain_yaml_is_refused_with_its_line(tmp_path: Path, text: str) -> None:
    assert re.match(r"/vocabulary\.yaml:\d: [\w.]+: .+", problems(tmp_path, text)[0])


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(KnowledgeError, match="cannot be read"):
        load_documents(tmp_path / "none.yaml")


def test_where_falls_back_to_what_holds_the_key(tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_text("a:\n  - b: 1\n    c: 2\n", encoding="utf-8")
    [located] = load_documents(file)
    assert located.data == {"a": [{"b": 1, "c": 2}]}
    assert located.where(("a", 0, "c")) == f"{file}:3"
    assert located.where(("a", 0, "missing", "deeper")) == f"{file}:2"


def test_a_folder_gives_its_files_in_order_and_skips_empty_ones(tmp_path: Path) -> None:
    for name, text in (("b.yaml", "2"), ("a.yaml", "1"), ("c.yaml", "# nothing\n")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert [d.data for d in load_documents(tmp_path)] == [1, 2]
