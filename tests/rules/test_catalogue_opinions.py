"""Opinions of sources: compact, kept apart, and with a reason of ours wherever they disagree."""

import shutil
from pathlib import Path

import pytest

import firstfault.rules
from firstfault.rules.engine.catalogue_model import Entry
from firstfault.rules.engine.catalogues import FAMILIES, STANCES, Catalogues, catalogue_version, load_catalogues
from firstfault.rules.engine.inline import inline_attempts
from firstfault.rules.engine.model import Rule, RuleTest
from firstfault.rules.engine.vocabulary import Vocabulary
from firstfault.rules.engine.yaml_io import KnowledgeError

RULES = Path(next(iter(firstfault.rules.__path__)))
VOCABULARY = Vocabulary.load(RULES / "vocabulary.yaml")
CATALOGUES = load_catalogues(RULES / "catalogues", VOCABULARY)
XID = {entry.key: entry for entry in CATALOGUES.codes["xid"]}
SXID = {entry.key: entry for entry in CATALOGUES.codes["sxid"]}
NVIDIA = "NVIDIA Xid catalogue"

LOOKED_UP = {event.catalogue for event in VOCABULARY.events.values() if event.catalogue}
REFERENCE = {"dcgm_throttle", "k8s_reasons"}
"""For analysts: no event carries the code as its key."""

ENTRY = """\
catalogue: exit
entries:
  - {key: 1, meaning: m, families: [ampere], since: R535, class: c, role: confirmation, category: unknown,
     sources: [
       {name: one, says: ignore, opinion: nothing, until: R575},
       {name: two, says: describes, opinion: words}],
     choice: "as one says"}
"""


def test_every_catalogue_is_looked_up_or_kept_as_reference() -> None:
    assert set(CATALOGUES.codes) == LOOKED_UP | REFERENCE


def test_catalogues_are_complete() -> None:
    at_least = {
        "xid": 170,
        "sxid": 93,
        "nccl": 9,
        "ib_wc": 24,
        "signal": 32,
        "exit": 60,
        "cuda": 80,
        "slurm_reasons": 40,
        "k8s_reasons": 40,
        "dcgm_throttle": 10,
        "exception": 30,
    }
    assert {name: len(CATALOGUES.codes[name]) >= n for name, n in at_least.items()} == dict.fromkeys(at_least, True)
    assert set(XID) >= {str(code) for code in range(1, 177)}


@pytest.mark.parametrize("code", [32, 38, 44, 60, 63, 68, 69, 78, 94, 121])
def test_codes_that_nvidia_takes_lightly_and_gpud_does_not(code: int) -> None:
    entry = XID[str(code)]
    says = {source.name: source.says for source in entry.sources}
    assert (STANCES[says[NVIDIA]], STANCES[says["gpud"]], entry.disputed) == ("mild", "severe", True)


@pytest.mark.parametrize("code", [109, 136, 151, 155, 156, 158])
def test_codes_that_gpud_takes_lightly_and_nvidia_does_not(code: int) -> None:
    entry = XID[str(code)]
    says = {source.name: source.says for source in entry.sources}
    assert (STANCES[says[NVIDIA]], STANCES[says["gpud"]], entry.disputed) == ("severe", "mild", True)


def test_every_dispute_has_a_reason_that_names_a_source() -> None:
    disputed = [e for entries in CATALOGUES.codes.values() for e in entries if e.disputed]
    assert len(disputed) > 25
    assert [e.key for e in disputed if not any(source.name in e.choice for source in e.sources)] == []


@pytest.mark.parametrize(
    ("code", "families", "since"),
    [
        ("74", ["ampere", "hopper"], None),
        ("126", ["blackwell", "grace_blackwell"], "R560"),
        ("136", ["hopper"], "R525"),
        ("149", ["blackwell", "grace_blackwell"], "R560"),
        ("154", [], "R565"),
    ],
)
def test_codes_that_not_every_gpu_and_driver_has(code: str, families: list[str], since: str | None) -> None:
    assert (XID[code].families, XID[code].since) == (families, since)


def test_sub_codes_of_nvlink_5_are_decoded_by_driver_branch() -> None:
    for code in range(144, 151):
        branches = {(s.since, s.until) for s in XID[str(code)].sources if s.name == NVIDIA}
        assert branches == {("R575", None), (None, "R575")}, code


def test_a_number_that_meant_something_else_before_says_so() -> None:
    before = [(s.opinion, s.since, s.until) for s in XID["144"].sources if s.name == "NVIDIA open kernel modules"]
    assert before == [("key rotation error", "R550", "R555")]


def test_corrected_errors_of_a_switch_are_context() -> None:
    corrected = {code for code, entry in SXID.items() if entry.class_ == "corrected"}
    assert {"11012", "11021", "11022", "11023", "12021", "12023"} <= corrected
    assert {SXID[code].role for code in corrected | {"20001", "22013"}} == {"context"}
    assert (SXID["20034"].role, SXID["12028"].role, SXID["19084"].role) == ("initiating", "cascade", "confirmation")


def test_what_an_observer_sees_is_no_origin() -> None:
    nccl = {entry.key: entry.role for entry in CATALOGUES.codes["nccl"]}
    assert (nccl["6"], nccl["8"], nccl["5"]) == ("cascade", "cascade", "initiating")
    wc = {entry.key: entry.role for entry in CATALOGUES.codes["ib_wc"]}
    assert (wc["5"], wc["12"]) == ("teardown", "cascade")


@pytest.mark.parametrize(
    ("catalogue", "spelling", "key"),
    [
        ("nccl", "ncclRemoteError", "6"),
        ("ib_wc", "IBV_WC_RETRY_EXC_ERR", "12"),
        ("exit", "-9", "137"),
        ("exit", "0:15", "143"),
        ("signal", "SIGKILL", "9"),
        ("slurm_reasons", "AssocGrpGRES", "AssociationJobLimit"),
        ("dcgm_throttle", "0x80", "128"),
        ("dcgm_throttle", "hw_thermal_slowdown", "64"),
        ("cuda", "700", "an illegal memory access was encountered"),
        ("k8s_reasons", "ImagePullBackOff", "ErrImagePull"),
    ],
)
def test_spellings_lead_to_one_code(catalogue: str, spelling: str, key: str) -> None:
    rows = [r for r in CATALOGUES.catalogue_rows() if (r["catalogue"], r["code"]) == (catalogue, spelling)]
    assert {row["key"] for row in rows} == {key}


def test_rows_for_analysts_are_unique_and_typed() -> None:
    rows = CATALOGUES.catalogue_rows()
    keys = [(r["catalogue"], r["code"], r["source"], r["since"], r["until"]) for r in rows]
    assert len(set(keys)) == len(keys)
    assert {r["stance"] for r in rows} == {"mild", "severe", "none"}
    assert {family for r in rows for family in r["families"]} <= set(FAMILIES)


def test_one_row_holds_opinion_and_choice(tmp_path: Path) -> None:
    rows = [r for r in _load(tmp_path, ENTRY).catalogue_rows() if r["catalogue"] == "exit"]
    assert rows[0] == {
        "catalogue": "exit",
        "code": "1",
        "key": "1",
        "meaning": "m",
        "class": "c",
        "role": "confirmation",
        "category": "unknown",
        "action": "",
        "choice": "as one says",
        "is_disputed": False,
        "source": "one",
        "says": "ignore",
        "stance": "mild",
        "opinion": "nothing",
        "families": ["ampere"],
        "since": "R535",
        "until": "R575",
    }
    assert [(r["source"], r["says"], r["since"], r["until"]) for r in rows] == [
        ("one", "ignore", "R535", "R575"),
        ("two", "describes", "R535", None),
    ]


@pytest.mark.parametrize(
    ("old", "new", "want"),
    [
        (
            "says: ignore",
            "says: shrug",
            "exit.yaml:5: entries.0.sources.0.says: shrug is no opinion, take one of ignore",
        ),
        ("name: two", "name: one, until: R575", "exit.yaml:6: entries.0.sources.1.name: one speaks twice of 1"),
        ("families: [ampere]", "families: [pascal]", "exit.yaml:3: entries.0.families.0: pascal is no family"),
        ("since: R535", "since: newest", "exit.yaml:3: entries.0.since: String should match pattern"),
        ("opinion: words", "opinion: ''", "exit.yaml:6: entries.0.sources.1.opinion: String should have at least 1"),
        ('"as one says"', "''", "exit.yaml:7: entries.0.choice: String should have at least 1"),
        ("catalogue: exit", "catalogue: exits", "exit.yaml:1: catalogue: exits is not the file's name, write exit"),
        ("key: 1,", "key: 1, also: ['2', '2'],", "exit.yaml:3: entries.0.key: 2 is listed twice, keep one"),
    ],
)
def test_mistakes_are_told_with_file_and_line(tmp_path: Path, old: str, new: str, want: str) -> None:
    with pytest.raises(KnowledgeError) as caught:
        _load(tmp_path, ENTRY.replace(old, new, 1))
    assert [p for p in caught.value.problems if p.startswith(f"{tmp_path}/{want}")], caught.value.problems


def test_a_dispute_without_a_reason_is_told(tmp_path: Path) -> None:
    disputed = ENTRY.replace("says: describes", "says: fatal")
    with pytest.raises(KnowledgeError, match=r"exit\.yaml:7: entries\.0\.choice: sources disagree \(one says ignore"):
        _load(tmp_path, disputed.replace("as one says", "as we like"))
    assert _load(tmp_path, disputed.replace("as one says", "as two says, one is older")).codes["exit"][0].disputed


def test_unsure_opinions_are_no_dispute() -> None:
    words = {"key": 1, "meaning": "m", "class": "c", "role": "context", "category": "unknown", "choice": "x"}
    opinions = [{"name": says, "says": says, "opinion": "o"} for says in ("ignore", "depends", "support", "unused")]
    assert not Entry.model_validate({**words, "sources": opinions}).disputed


def test_the_version_follows_the_catalogues_alone(tmp_path: Path) -> None:
    shutil.copytree(RULES / "catalogues", tmp_path / "catalogues")
    first = catalogue_version(tmp_path)
    (tmp_path / "vocabulary.yaml").write_text("version: 2\n", encoding="utf-8")
    assert (catalogue_version(tmp_path), len(first)) == (first, 12)
    with (tmp_path / "catalogues" / "xid.yaml").open("a", encoding="utf-8") as file:
        file.write("# changed\n")
    assert catalogue_version(tmp_path) != first


def test_a_code_that_nobody_lists_is_in_no_row() -> None:
    rows = {(row["catalogue"], row["code"]) for row in CATALOGUES.code_rows()}
    assert not {("xid", "999"), ("sxid", "12"), ("nccl", "9"), ("exit", "200"), ("ib_wc", "24")} & rows


@pytest.mark.parametrize(
    ("line", "want"),
    [
        ("0 n1/0000:c5:00 nvswitch.sxid code=12021 fatal=non-fatal", ("corrected", "context", "nvlink_fabric")),
        ("0 n1/0000:c5:00 nvswitch.sxid code=12 fatal=fatal", (None, "initiating", "nvlink_fabric")),
        ("0 n1#3 comm.error_trace retcode=6", ("remote", "cascade", "unknown")),
        ("0 n1#3 comm.error_trace retcode=5", ("usage", "initiating", "user_code")),
        ("0 n1#3 comm.error_trace retcode=9", (None, "cascade", "unknown")),
        ('0 n1 sched.node_drain reason="Kill task failed"', ("kill_failed", "confirmation", "host_hardware")),
        ('0 n1 sched.node_drain reason="fans look dusty"', (None, "confirmation", "unknown")),
    ],
)
def test_events_take_class_role_and_category_of_their_code(line: str, want: tuple[str | None, str, str]) -> None:
    rule = Rule.model_construct(id="r", tests=[RuleTest(name="t", events=[line], expect="none")])
    event = inline_attempts([rule], VOCABULARY, CATALOGUES.code_rows()).events[0]
    assert (event["class"], event["role"], event["category"]) == want


def _load(folder: Path, text: str) -> Catalogues:
    """The shipped catalogues with one of them written anew."""
    shutil.copytree(RULES / "catalogues", folder, dirs_exist_ok=True)
    (folder / "exit.yaml").write_text(text, encoding="utf-8")
    return load_catalogues(folder, VOCABULARY)
