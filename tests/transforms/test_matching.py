"""Lines to hits: one primary event a record, whatever the line holds and however literals are found."""

import string
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firstfault.transforms import literal_scan, matching
from firstfault.transforms.conversions import convert
from firstfault.transforms.matching import HEAD, TAIL, CompiledPattern, match
from firstfault.transforms.staged import HIT_TYPE

XID = CompiledPattern(
    id="t.xid",
    event_type="gpu.xid",
    formats=("kernel",),
    literals=("NVRM: Xid",),
    regex=r"NVRM: Xid \(PCI:(?P<device>[0-9a-fA-F:.]+)\): (?P<code>\d+)(?:, pid=(?P<pid>[^,]+))?",
    conversions=(("code", "int"), ("device", "pci"), ("pid", "pid_or_null")),
    order=10,
)
FOLLOWUP = CompiledPattern(
    id="t.followup",
    event_type="gpu.xid_followup",
    formats=("kernel",),
    literals=("previous Xid",),
    regex=r"caused by previous Xid (?P<by_code>\d+)",
    conversions=(("by_code", "int"),),
    also=True,
)
VAGUE = CompiledPattern(
    id="t.vague",
    event_type="sys.log_gap",
    formats=("kernel",),
    literals=("Xid (", "other word"),
    regex="Xid|other",
    constants=(("kind", "vague"), ("node", "n9")),
    order=500,
)
STALL = CompiledPattern(
    id="t.stall",
    event_type="comm.stall",
    formats=("app",),
    literals=("Missing ranks:",),
    regex=r"Missing ranks:\n(?P<missing>(?:\d+: \w+\n?)+)",
    conversions=(("missing", "rank_list"),),
    join_lines=8,
    join_until="^$",
)
HINTED = CompiledPattern(
    id="t.hinted",
    event_type="comm.abort",
    formats=("app",),
    literals=("Rank says",),
    regex=r"Rank says (?P<rank>\d+)",
    conversions=(("rank", "rank_hint"),),
)
PATTERNS = (VAGUE, FOLLOWUP, XID, STALL, HINTED)
ENGINES = ["re2", pytest.param("hyperscan", marks=pytest.mark.skipif(literal_scan.hyperscan is None, reason="absent"))]


def hits(lines: list[str | None], source: str = "kernel", **how: Any) -> list[list[dict[str, Any]] | None]:
    found = match(pa.array(lines, pa.string()), how.pop("ranks", None), source, PATTERNS, **how)
    found.validate(full=True)
    assert found.type == pa.list_(HIT_TYPE)
    assert len(found) == len(lines)
    return found.to_pylist()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_record_has_one_primary_event_and_derived_ones_that_name_it(engine: str) -> None:
    line = "NVRM: Xid (PCI:0000:3B:00.0): 45, pid=7, Ch 1 caused by previous Xid 149"
    none, found = hits(["quiet", line], engine=engine)
    assert none is None
    assert [(h["ordinal"], h["pattern_id"]) for h in found] == [(0, "t.xid"), (1, "t.followup")]
    assert found[0]["device"] == "0000:3b:00"
    assert found[0]["attrs"] == [("code", "45"), ("pid", "7")]
    assert found[1]["attrs"] == [("by_code", "149"), ("derived_from", "t.xid")]


def test_a_derived_event_without_a_primary_stands_alone() -> None:
    [found] = hits(["caused by previous Xid 149"])
    assert [(h["ordinal"], h["attrs"]) for h in found] == [(0, [("by_code", "149")])]


def test_constants_set_attributes_and_entities() -> None:
    [found] = hits(["an other word"])
    assert (found[0]["node"], found[0]["attrs"]) == ("n9", [("kind", "vague")])


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_keep_their_place_among_nulls_slices_and_chunks(engine: str) -> None:
    texts = pa.array(["x", None, "an other word", "", None, "an other word"])
    for given_texts in (texts, texts.slice(1), pa.chunked_array([texts.slice(0, 3), texts.slice(3)])):
        found = match(given_texts, None, "kernel", PATTERNS, engine=engine).to_pylist()
        assert [bool(f) for f in found] == [bool(t and "other" in t) for t in given_texts.to_pylist()]


@pytest.mark.parametrize("engine", ENGINES)
def test_nothing_is_found_across_two_lines(engine: str) -> None:
    assert hits(["NVRM: X", "id (PCI:0000:3b:00): 45", "NVRM: Xi", "d"], engine=engine) == [None] * 4


@pytest.mark.parametrize("engine", ENGINES)
def test_text_behind_a_null_is_not_read(engine: str) -> None:
    hidden = pa.array(["an other word", "x"])
    masked = pa.Array.from_buffers(pa.string(), 2, [pa.py_buffer(b"\x02"), *hidden.buffers()[1:]])
    assert match(masked, None, "kernel", PATTERNS, engine=engine).to_pylist() == [None, None]


@pytest.mark.parametrize("count", [0, 3])
def test_no_text_gives_no_hits(count: int) -> None:
    assert match(pa.nulls(count, pa.string()), None, "kernel", PATTERNS).to_pylist() == [None] * count


def test_a_library_without_patterns_for_the_source_gives_no_hits() -> None:
    assert hits(["NVRM: Xid (PCI:0000:3b:00): 45"], source="sacct") == [None]


@pytest.mark.parametrize("source", ["kernel", "dmesg", "journal", "otel"])
def test_sources_of_one_family_share_their_patterns(source: str) -> None:
    assert hits(["NVRM: Xid (PCI:0000:3b:00): 45"], source=source)[0] is not None


@pytest.mark.parametrize("engine", ENGINES)
def test_a_line_of_ten_megabytes_is_matched_at_both_ends(engine: str) -> None:
    filler = "é" * 5_000_000
    head, tail, middle = hits(
        ["an other word" + filler, filler + "an other word", "x" * HEAD + "an other word" + "x" * TAIL], engine=engine
    )
    assert head is not None
    assert tail is not None
    assert middle is None


def test_a_cut_line_still_meets_an_anchor_at_its_end() -> None:
    anchored = CompiledPattern(
        "t.end", "app.exception", ("app",), ("Error: ",), "^Error: (?P<msg>.*)$", (("msg", "text"),)
    )
    [found] = match(pa.array(["Error: " + "x" * 10_000_000]), None, "app", [anchored]).to_pylist()
    assert found[0]["attrs"] == [("msg", "x" * 1000)]


def test_a_record_of_several_lines_takes_lines_of_its_rank_up_to_the_last() -> None:
    lines = ["Missing ranks:", "noise", "3: a", "17: b", "", "5: c"]
    ranks = pa.array([0, 1, 0, 0, 0, 0], pa.int32())
    [first, *_] = hits(lines, source="app", ranks=ranks)
    assert first[0]["attrs"] == [("missing", "3,17")]
    assert hits(lines, source="app")[0] is None, "without ranks the noise stands between"


def test_the_joined_lines_may_end_with_the_batch() -> None:
    assert hits(["Missing ranks:", "3: a"], source="app")[0][0]["attrs"] == [("missing", "3")]


def test_a_rank_in_the_text_yields_to_the_rank_of_the_row() -> None:
    ranks = pa.array([None, 11], pa.int32())
    free, known = hits(["Rank says 4", "Rank says 4"], source="app", ranks=ranks)
    assert (free[0]["rank"], known[0]["rank"]) == (4, None)


def test_a_rank_that_is_no_rank_is_null() -> None:
    assert hits(["Rank says 99999999999999999999"], source="app")[0][0]["rank"] is None


def test_without_hyperscan_re2_takes_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(literal_scan, "hyperscan", None)
    matching._plan.cache_clear()
    assert hits(["an other word"])[0] is not None
    with pytest.raises(RuntimeError, match="not installed"):
        hits(["an other word"], engine="hyperscan")
    matching._plan.cache_clear()


PIECES = st.sampled_from(
    [p for pattern in PATTERNS for x in pattern.literals for p in (x, x[:4], x[4:])]
    + ["(PCI:0000:3b:00): ", "45", "\n", "é", "\0", ", pid=", "1: a", " ", "caused by previous Xid 9"]
)
TEXTS = st.lists(
    st.none() | st.lists(PIECES | st.text(string.printable, max_size=3), max_size=8).map("".join), max_size=12
)


@pytest.mark.skipif(literal_scan.hyperscan is None, reason="absent")
@settings(max_examples=300, deadline=None)
@given(TEXTS, st.sampled_from(["kernel", "app", "otel"]), st.integers(0, 3))
def test_both_engines_give_equal_hits(lines: list[str | None], source: str, skip: int) -> None:
    texts = pa.array(lines, pa.string()).slice(skip)
    ranks = pa.array([k % 2 for k in range(len(texts))], pa.int32())
    fast = match(texts, ranks, source, PATTERNS, engine="hyperscan")
    assert fast.equals(match(texts, ranks, source, PATTERNS, engine="re2"))


@pytest.mark.parametrize(
    ("name", "text", "want"),
    [
        ("pci", "0000:3B:00", "0000:3b:00"),
        ("pci", "00000000:3B:00.0", "0000:3b:00"),
        ("pci", "5e:00.0", "0000:5e:00"),
        ("pci", "PCI:0008:01:00", "0008:01:00"),
        ("pci", "00010000:3B:00.0", "00010000:3b:00"),
        ("pci", "0000:3b:00 GPU-I:05 GPU-CI:02", "0000:3b:00/5/2"),
        ("pci", "GPU 3", None),
        ("pci_nic", "0000:29:00.1", "0000:29:00.1"),
        ("pci_nic", "0000:29:00", "0000:29:00.0"),
        ("busid", "2a000", "0000:2a:00"),
        ("busid", "801000", "0008:01:00"),
        ("busid", "xyz", None),
        ("int", "1,000", "1000"),
        ("int", "007", "7"),
        ("int", "1" * 30, None),
        ("int", "1" * 5000, None),
        ("int", "x", None),
        ("hex_int", "0x1f", "31"),
        ("float", "1.50", "1.5"),
        ("float", "nan", None),
        ("pid_or_null", "'<unknown>'", None),
        ("pid_or_null", "42", "42"),
        ("count", "no", "0"),
        ("count", "3", "3"),
        ("signal", "Killed", "9"),
        ("signal", "SIGTERM", "15"),
        ("signal", "11", "11"),
        ("signal", "Surprise", None),
        ("rank_list", "3: a\n17!: b 99\n", "3,17"),
        ("rank_list", "1, 4", "1,4"),
        ("rank_list", "none", None),
        ("host", "GPU-R07-N03.cl", "gpu-r07-n03"),
        ("host", "[10.7.3.25]", "10.7.3.25"),
        ("host", "n[01-02]", None),
        ("host", "n1,n2", None),
        ("lower", " Ethernet32", "ethernet32"),
        ("text", " a \n b ", "a b"),
        ("gib", "512 MiB", "0.5"),
        ("gib", "much", None),
    ],
)
def test_conversions(name: str, text: str, want: str | None) -> None:
    assert convert(pa.array([text, None, "", text]), name).to_pylist() == [want, None, None, want]
