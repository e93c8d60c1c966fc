"""Catalogues: sound, complete for what the vocabulary looks up, and loud when they are not."""

from pathlib import Path

import pytest

import firstfault.rules
from firstfault.rules.engine.catalogues import load_catalogues
from firstfault.rules.engine.vocabulary import Vocabulary
from firstfault.rules.engine.yaml_io import KnowledgeError

RULES = Path(next(iter(firstfault.rules.__path__)))
VOCABULARY = Vocabulary.load(RULES / "vocabulary.yaml")
CATALOGUES = load_catalogues(RULES / "catalogues", VOCABULARY)
ROWS = {(r["catalogue"], r["code"]): r for r in CATALOGUES.code_rows()}

ENTRY = """\
catalogue: exit
entries:
  - {key: 1, meaning: m, class: c, role: confirmation, category: unknown, sources: [{name: n, opinion: o}], choice: x}
"""


@pytest.mark.parametrize(
    ("catalogue", "code", "role", "category"),
    [
        ("xid", "79", "initiating", "gpu_hardware"),
        ("xid", "13", "initiating", "user_code"),
        ("xid", "45", "teardown", "unknown"),
        ("xid", "43", "cascade", "user_code"),
        ("xid", "149", "initiating", "nvlink_fabric"),
        ("xid", "154", "confirmation", "gpu_hardware"),
        ("ib_wc", "5", "teardown", "unknown"),
        ("ib_wc", "12", "cascade", "network_link"),
        ("exit", "137", "confirmation", "unknown"),
        ("signal", "15", "teardown", "unknown"),
        ("cuda", "uncorrectable ECC error encountered", "cascade", "gpu_hardware"),
        ("cuda", "CUDA_ERROR_ILLEGAL_ADDRESS", "initiating", "user_code"),
        ("exception", "DistBackendError", "cascade", "unknown"),
        ("exception", "KeyError", "initiating", "user_code"),
        ("exception", "MemoryError", "initiating", "host_memory"),
    ],
)
def test_what_the_rules_lean_on(catalogue: str, code: str, role: str, category: str) -> None:
    row = ROWS[(catalogue, code)]
    assert (row["role"], row["category"]) == (role, category)


def test_every_code_is_listed_once() -> None:
    assert len(ROWS) == len(CATALOGUES.code_rows())


def test_every_entry_has_its_provenance_and_reason() -> None:
    for entries in CATALOGUES.codes.values():
        assert all(e.sources and e.choice for e in entries)


def test_states_claim_an_outcome_or_none() -> None:
    states = {s["state"]: s for s in CATALOGUES.state_rows()}
    assert states["OUT_OF_MEMORY"] == {
        "state": "OUT_OF_MEMORY",
        "outcome": "out_of_memory",
        "is_ended": True,
        "is_failure": True,
    }
    assert not states["RUNNING"]["is_ended"]
    assert not states["COMPLETED"]["is_failure"]


@pytest.mark.parametrize(
    ("codes", "role"),
    [
        ([13, 31, 32, 48, 64, 68, 69, 74, 79, 94, 95, 109, 119, 120, 136, 140, *range(144, 151), 173], "initiating"),
        ([61, 62, 122, 123, 124, 125], "initiating"),
        ([43, 137, 143], "cascade"),
        ([45], "teardown"),
        ([63, 154, 171, 172], "confirmation"),
        ([92], "context"),
    ],
)
def test_every_xid_that_drivers_are_known_to_print_has_a_role(codes: list[int], role: str) -> None:
    rows = {row["code"]: row["role"] for row in CATALOGUES.code_rows() if row["catalogue"] == "xid"}
    assert {str(code): rows.get(str(code)) for code in codes} == {str(code): role for code in codes}


@pytest.mark.parametrize(
    ("old", "new", "want"),
    [
        ("confirmation", "bystander", "exit.yaml:3: entries.0.role: bystander is no role"),
        ("unknown", "weather", "exit.yaml:3: entries.0.category: weather is no category"),
        (", choice: x", "", "exit.yaml:3: entries.0.choice: missing, add it"),
        ("[{name: n, opinion: o}]", "[]", "exit.yaml:3: entries.0.sources: List should have at least 1 item"),
        ("key: 1,", "key: 1, also: ['1'],", "exit.yaml:3: entries.0.key: 1 is listed twice, keep one"),
        ("class: c", "class: A word", "exit.yaml:3: entries.0.class: String should match pattern"),
    ],
)
def test_errors_name_file_line_and_key(tmp_path: Path, old: str, new: str, want: str) -> None:
    (tmp_path / "exit.yaml").write_text(ENTRY.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(KnowledgeError) as caught:
        load_catalogues(tmp_path, VOCABULARY)
    assert [p for p in caught.value.problems if p.startswith(f"{tmp_path}/{want}")], caught.value.problems


def test_a_catalogue_that_the_vocabulary_names_must_exist(tmp_path: Path) -> None:
    (tmp_path / "exit.yaml").write_text(ENTRY, encoding="utf-8")
    with pytest.raises(KnowledgeError, match=r"xid: no such catalogue, add xid\.yaml"):
        load_catalogues(tmp_path, VOCABULARY)


@pytest.mark.parametrize(
    ("states", "want"),
    [
        (
            "{state: X, outcome: sunny, is_terminal: true, is_failure: true, source: s, meaning: m}",
            "sunny is no outcome",
        ),
        (
            "{state: x, outcome: null, is_terminal: true, is_failure: true, source: s, meaning: m}",
            "should match pattern",
        ),
    ],
)
def test_bad_states_are_told(tmp_path: Path, states: str, want: str) -> None:
    (tmp_path / "states.yaml").write_text(f"states:\n  - {states}\n", encoding="utf-8")
    with pytest.raises(KnowledgeError, match=want):
        load_catalogues(tmp_path, VOCABULARY)
