"""Flight Recorder dumps, and pickles that want to be more than data."""

import json
import pickle
import time
from pathlib import PurePath

import pytest

from firstfault.transforms.formats.flight_recorder import shown
from firstfault.transforms.formats.plainpickle import HostilePickle, PickleError, load
from tests.transforms.formats.reading import landed, read, utc


def entry(**more):
    return {
        "record_id": 7,
        "pg_id": 0,
        "process_group": ("0", "default_pg"),
        "collective_seq_id": 1580,
        "p2p_seq_id": 0,
        "op_id": 1580,
        "profiling_name": "nccl:all_reduce",
        "time_created_ns": 1_795_977_000_000_000_001,
        "input_sizes": [[4661]],
        "input_dtypes": ["Float"],
        "output_sizes": [[4661]],
        "output_dtypes": ["Float"],
        "state": "started",
        "time_discovered_started_ns": 1_795_977_000_250_000_000,
        "time_discovered_completed_ns": None,
        "retired": False,
        "timeout_ms": 600_000,
        "is_p2p": False,
        "frames": [{"name": "step", "filename": "train.py", "line": 3}],
    } | more


STATUS = {"0": {"last_enqueued_collective": 1582, "last_started_collective": 1580, "last_completed_collective": 1579}}
DUMP = {
    "version": "2.10",
    "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1]"}},
    "pg_status": STATUS,
    "entries": [entry(), entry(collective_seq_id=1581, state="scheduled", time_discovered_started_ns=None)],
}
TEXT = "fr pg=0 seq=1580 op=all_reduce state=started rank=3 sizes=[[4661]]"
FILE = "jobs/84213/flight-recorder/nccl_trace_rank_3"


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5])
def test_a_pickle_gives_a_row_an_entry_and_a_group(protocol):
    rows = landed("flight_recorder", pickle.dumps(DUMP, protocol=protocol), file=FILE)
    assert [row["text"] for row in rows] == [
        "fr status pg=0 last_enqueued=1582 last_started=1580 last_completed=1579 rank=3",
        TEXT,
        "fr pg=0 seq=1581 op=all_reduce state=scheduled rank=3 sizes=[[4661]]",
    ]
    assert {row["rank"] for row in rows} == {3}
    assert [row["event_time"] for row in rows[1:]] == [utc("2026-11-29T18:30:00.25Z"), utc("2026-11-29T18:30:00Z")]
    assert [row["time_basis"] for row in rows] == ["file_time", "epoch", "epoch"]
    assert len({row["byte_offset"] for row in rows}) == 3
    assert json.loads(rows[1]["message"])["frames"][0]["line"] == 3


@pytest.mark.parametrize("indent", [None, 1])
def test_json_says_the_same(indent):
    text = json.dumps(DUMP, indent=indent).replace("null", "0").replace("1582", '"1582"')
    rows = landed("flight_recorder", text, file=FILE + ".json")
    assert [row["text"] for row in rows] == [
        TEXT,
        "fr pg=0 seq=1581 op=all_reduce state=scheduled rank=3 sizes=[[4661]]",
        "fr status pg=0 last_enqueued=1582 last_started=1580 last_completed=1579 rank=3",
    ]
    assert rows[0]["event_time"] == utc("2026-11-29T18:30:00.25Z")
    for row in rows[:2]:
        assert text.encode()[row["byte_offset"] :][: row["length"]].decode() == row["message"]


def test_point_to_point_counts_its_own_sequence():
    text = json.dumps(DUMP | {"entries": [entry(is_p2p=True, p2p_seq_id=9, profiling_name="nccl:send 0->1")]})
    row = landed("flight_recorder", text, file="_dump_12")[0]
    assert row["text"] == "fr pg=0 seq=9 op=send state=started rank=12 peers=0->1 sizes=[[4661]]"


@pytest.mark.parametrize(
    ("file", "rank", "found"),
    [
        (FILE, None, 3),
        ("a/_dump_14", None, 14),
        ("a/fr_trace_12.json", None, 12),
        ("a/rank7_20261129T133000.pkl", None, 7),
        ("a/dump.pickle", None, None),
        ("a/_dump_14", 2, 2),
    ],
)
def test_the_rank_is_in_the_name(file, rank, found):
    row = landed("flight_recorder", json.dumps(DUMP), file=file, rank=rank)[0]
    assert row["rank"] == found
    assert ("rank=" in row["text"]) == (found is not None)


def test_a_dump_without_entries_still_says_how_far_its_groups_got():
    for data in (pickle.dumps(DUMP | {"entries": []}, protocol=2), json.dumps(DUMP | {"entries": []}).encode()):
        assert [row["text"][:9] for row in landed("flight_recorder", data)] == ["fr status"]


class Touch:
    """Makes a file when it is unpickled."""

    def __init__(self, path: PurePath) -> None:
        self.path = path

    def __reduce__(self):
        return (open, (str(self.path), "w"))


@pytest.mark.parametrize("protocol", [0, 1, 2, 4, 5])
def test_nothing_in_a_pickle_runs(tmp_path, protocol):
    target = tmp_path / "touched"
    row = read("flight_recorder", pickle.dumps(DUMP | {"version": Touch(target)}, protocol=protocol))[0]
    assert (row["disposition"], row["reason"]) == ("quarantined", "hostile_pickle")
    assert not target.exists()


@pytest.mark.parametrize(
    "data",
    [
        b"cos\nsystem\n(S'true'\ntR.",
        b"(S'true'\nios\nsystem\n.",
        b"(cos\nsystem\nS'true'\no.",
        b"\x80\x02\x82\x01.",
        b"Pid\n.",
        b"\x80\x04Nb.",
        b"0x00",
    ],
)
def test_classes_calls_and_references_are_refused(data):
    reasons = {row["reason"] for row in read("flight_recorder", data)}
    assert reasons <= {"hostile_pickle", "bad_pickle"}


def test_a_pickle_that_is_cut_or_none_at_all_is_set_aside():
    whole = pickle.dumps(DUMP, protocol=2)
    for data in (whole[:-1], whole[:100], b"plain text\n", b"\x80", b"\x80\x02}.extra"[:3], b"."):
        assert [row["reason"] for row in read("flight_recorder", data)] == ["bad_pickle"]
    assert [row["reason"] for row in read("flight_recorder", pickle.dumps([1]))] == ["no_entry"]


def test_depth_memo_and_references_cost_no_more_than_their_bytes():
    deep = b"\x80\x02" + b"]" * 200_000 + b"a" * 199_999 + b"."
    tuples = b"\x80\x02N" + b"\x85" * 200_000 + b"."
    key = b"\x80\x02}N" + b"\x85" * 200_000 + b"Ns."
    memo = b"\x80\x02]r\xff\xff\xff\x7f."
    huge = b"\x80\x04\x8e" + b"\xff" * 8 + b"abc."
    itself = b"\x80\x02]q\x00h\x00a."
    begun = time.monotonic()
    for data in (deep, tuples, key, memo, huge, itself):
        rows = read("flight_recorder", data)
        assert [row["disposition"] for row in rows] == ["quarantined"]
    assert time.monotonic() - begun < 20


def test_one_map_a_million_times_is_refused():
    one = pickle.dumps(entry(), protocol=2)[2:-1]
    data = b"\x80\x02}X\x07\x00\x00\x00entries](" + one + b"r\x40\x00\x00\x00" + b"j\x40\x00\x00\x00" * 100_000 + b"es."
    rows = read("flight_recorder", data)
    assert rows[-1]["reason"] == "hostile_pickle"
    assert sum(row["units"] for row in rows) == 100_001
    assert sum(len(row["message"]) for row in rows) < 100 * len(data)


def test_laughing_lists_are_shown_cut():
    value: list[object] = ["ha"]
    for _ in range(60):
        value = [value] * 10
    assert len(shown(value)) < 1000
    value.append(value)
    assert len(shown(value, 50)) < 200


def test_load():
    value, places = load(pickle.dumps({"a": (1, [b"x", None, True, 2.5])}, protocol=3))
    assert value == {"a": [1, [b"x", None, True, 2.5]]}
    assert places == {id(value): 2}
    with pytest.raises(HostilePickle):
        load(pickle.dumps(PurePath("x")))
    with pytest.raises(PickleError):
        load(b"")


def test_damage_in_json():
    text = json.dumps(DUMP)
    reasons = [row["reason"] for row in read("flight_recorder", text[: text.index('"entries"') + 60])]
    assert reasons == ["bad_json", None]
    assert [row["reason"] for row in read("flight_recorder", '{"entries": [5, {"a": 1}]}')] == ["no_entry"] * 2
    assert read("flight_recorder", b"") == []


NAMED = {
    "pg_config": {
        "0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2, 3]"},
        "35": {"name": "35", "desc": "TENSOR", "ranks": "[2, 3]"},
        "108": {"name": "108", "desc": "LAST", "ranks": "[0, 1, 2, 3]"},
    },
    "pg_status": {number: {"last_enqueued_collective": int(number)} for number in ("17", "5", "0")},
    "entries": [entry(pg_id=5, process_group=("35", "TENSOR"))],
}


def told(document, dumps=pickle.dumps):
    data = dumps(document)
    rows = landed("flight_recorder", data if isinstance(data, bytes) else data.encode(), file=FILE)
    return [json.loads(row["message"]) for row in rows if row["text"].startswith("fr status")]


@pytest.mark.parametrize("dumps", [pickle.dumps, json.dumps])
def test_a_groups_number_is_joined_to_its_name_and_members(dumps):
    groups = {told["fr_group"]: told for told in told(NAMED, dumps)}
    assert {name: group["last_enqueued_collective"] for name, group in groups.items()} == {"0": 0, "35": 5, "108": 17}
    assert groups["35"] == {
        "fr_group": "35", "pg_id": "5", "desc": "TENSOR", "ranks": [2, 3], "last_enqueued_collective": 5,
    }  # fmt: skip


def test_where_order_and_entries_disagree_only_the_entries_name_a_group():
    groups = told(NAMED | {"entries": [entry(pg_id=5, process_group=("108", "LAST"))]})
    assert {(group.get("fr_group"), group.get("pg_id")) for group in groups} == {
        (None, "17"), ("108", "5"), (None, "0"), ("0", None), ("35", None),
    }  # fmt: skip


def test_groups_of_names_that_have_no_order_stay_unnamed():
    config = {"6fa1": {"name": "6fa1", "desc": "x", "ranks": "[0, 1]"}}
    status = {"3": {"last_enqueued_collective": 9}}
    groups = told({"pg_config": config, "pg_status": status, "entries": []})
    assert [(group.get("fr_group"), group.get("pg_id"), group.get("ranks")) for group in groups] == [
        (None, "3", None), ("6fa1", None, [0, 1]),
    ]  # fmt: skip
