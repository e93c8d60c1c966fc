"""Flight Recorder dumps compared: whom a finding names, and when there is none."""

import pickle
from datetime import timedelta

import pytest

from firstfault.transforms.events import FOUND_COLUMNS
from firstfault.transforms.flight_events import flight_events
from firstfault.transforms.raw_logs import RAW_LOGS
from tests.frames import collected, frame, moment, pick
from tests.transforms.formats.reading import landed
from tests.transforms.test_events import CODES, VOCABULARY

BEHIND, MISSING, UNFINISHED = "comm.flight_behind", "comm.flight_missing", "comm.flight_unfinished"
MISMATCH = "comm.collective_mismatch"
WORDS = [
    {"event_type": name, "role": "context", "category": "unknown", "gap_s": 60, "key": "group"}
    for name in (BEHIND, MISSING, UNFINISHED, MISMATCH)
]
MADE = int(moment("03:00:00").timestamp()) * 10**9
DUMPED = moment("03:20:00")


def call(seq, op="all_reduce", state="scheduled", group="0", size=64, dtype="Float", **more) -> dict:
    """A recorded call, entered a second after the one before it."""
    return {
        "record_id": seq, "pg_id": int(group), "process_group": (group, "desc"), "collective_seq_id": seq,
        "p2p_seq_id": 0, "profiling_name": f"nccl:{op}", "state": state, "input_sizes": [[size]], "is_p2p": False,
        "input_dtypes": [dtype], "time_created_ns": MADE + seq * 10**9, "time_discovered_completed_ns": None,
    } | more  # fmt: skip


def dump(job, rank, *calls, last=None, done=None, group="0", ranks=range(4), at=DUMPED, folder="") -> list[dict]:
    """Rows of one rank's dump, as the reader lands them."""
    document = {
        "version": "2.10",
        "pg_config": {group: {"name": group, "desc": "desc", "ranks": str(list(ranks))}},
        "pg_status": {},
        "entries": list(calls),
    }
    if last is not None:
        document["pg_status"] = {group: {"last_enqueued_collective": last, "last_completed_collective": done}}
    file = f"jobs/{job}/{folder}flight-recorder/rank{rank}_{at:%H%M}"
    rows = landed("flight_recorder", pickle.dumps(document, 2), file=file, file_time=at)
    told = {"job_id": job, "hour": "2026-11-20-03", "cluster": "c", "source": "flight_recorder", "stream_id": file}
    return [{c: row.get(c) for c in RAW_LOGS.columns} | told | {"file": file} for row in rows]


def everybody(job, *calls, ranks=range(4), members=range(4), **given) -> list[dict]:
    return [row for rank in ranks for row in dump(job, rank, *calls, ranks=members, **given)]


WAIT = call(7)
EARLIER = call(2, time_created_ns=MADE - 7200 * 10**9)
DUMPS = [
    *everybody("equal", WAIT, last=7, done=6),
    *everybody("finished", call(7, state="completed"), ranks=range(3), last=7, done=7),
    *dump("finished", 3, call(6, state="completed"), last=6, done=6),
    *everybody("late", WAIT, call(8), ranks=(0, 1, 3), last=8, done=6, folder="attempt-2/"),
    *dump("late", 2, last=6, done=6, folder="attempt-2/"),
    *everybody("entries only", call(6), WAIT, ranks=(0, 1, 3)),
    *dump("entries only", 2, call(6)),
    *everybody("no dump", WAIT, ranks=range(3), last=7, done=6),
    *everybody("old dump", WAIT, ranks=range(3), last=7, done=6),
    *dump("old dump", 3, EARLIER, last=2, done=1, at=DUMPED - timedelta(hours=2)),
    *everybody("dumped twice", WAIT, last=7, done=6),
    *dump("dumped twice", 3, EARLIER, last=2, done=1, at=DUMPED - timedelta(minutes=5)),
    *everybody("most are behind", last=6, done=6, ranks=range(3)),
    *dump("most are behind", 3, WAIT, last=7, done=6),
    *[row for rank in range(4) for row in dump("pairs", rank, call(0, "send 0->1", is_p2p=True, p2p_seq_id=rank),
      last=10 + rank, done=9)],
    *[row for rank in range(4) for row in dump("two groups", rank, call(7 + 5 * (rank // 2), group=str(rank // 2)),
      last=7 + 5 * (rank // 2), done=6, group=str(rank // 2), ranks=[0, 1] if rank < 2 else [2, 3])],
    *[row for rank in range(4) for row in dump("same name", rank, call(7 + 5 * (rank // 2)),
      last=7 + 5 * (rank // 2), done=6, ranks=[0, 1] if rank < 2 else [2, 3])],
    *everybody("stuck", call(6, state="completed"), WAIT, ranks=(0, 1, 2), last=7, done=6),
    *dump("stuck", 3, call(6, state="started"), WAIT, last=7, done=5),
    *everybody("root left", call(6, "broadcast", state="completed"), WAIT, ranks=(0,), members=(0, 1), last=7, done=6),
    *everybody("root left", call(6, "broadcast", state="started"), WAIT, ranks=(1,), members=(0, 1), last=7, done=5),
    *everybody("other op", WAIT, ranks=range(3), last=7, done=6),
    *dump("other op", 3, call(7, "broadcast"), last=7, done=6),
    *everybody("other size", WAIT, call(8, size=2), ranks=range(3), last=8, done=6),
    *dump("other size", 3, call(7, size=65), call(8, size=3), last=8, done=6),
    *everybody("uneven", call(7, "all_to_all"), ranks=range(3), last=7, done=6),
    *dump("uneven", 3, call(7, "all_to_all", size=65), last=7, done=6),
    *everybody("half and half", WAIT, ranks=range(2), last=7, done=6),
    *everybody("half and half", call(7, dtype="Half"), ranks=(2, 3), last=7, done=6),
]  # fmt: skip


@pytest.fixture(scope="module")
def found(spark):
    events = flight_events(frame(spark, RAW_LOGS, DUMPS), frame(spark, VOCABULARY, WORDS), frame(spark, CODES, []))
    assert set(events.columns) == set(FOUND_COLUMNS)
    return collected(events)


def told(found, job, *columns):
    return pick(found, "event_type", "rank", *columns, job_id=job)


@pytest.mark.parametrize("job", ["equal", "finished", "pairs", "two groups", "same name", "dumped twice", "root left"])
def test_ranks_that_agree_finished_or_cannot_be_compared_give_no_event(found, job):
    assert told(found, job) == []


def test_point_to_point_numbers_and_uneven_sizes_are_no_difference(found):
    assert told(found, "pairs") == told(found, "uneven") == []


def test_a_rank_that_did_not_enter_is_named_at_the_time_the_others_entered(found):
    columns = ("t_raw", "time_basis", "attempt_hint", "code", "attrs", "pattern_id")
    attrs = {"group": "0", "seq": "6", "lead": "8", "op": "all_reduce", "state": "scheduled"}
    assert told(found, "late", *columns) == [(BEHIND, 2, "03:00:07", "epoch", 2, "0", attrs, "flight.behind")]


def test_the_entries_tell_as_much_as_the_last_numbers_and_where_the_rank_waits(found):
    ((kind, rank, attrs),) = told(found, "entries only", "attrs")
    assert (kind, rank, attrs["seq"], attrs["waits_in"]) == (BEHIND, 2, "6", "0:6")


def test_a_rank_without_a_dump_is_named_as_missing_at_another_ranks_row(found):
    ((kind, rank, attrs, node, file),) = told(found, "no dump", "attrs", "node", "file")
    assert (kind, rank, attrs["dump"], node) == (MISSING, 3, "none", None)
    assert "seq" not in attrs
    assert "rank3" not in file


def test_a_dump_of_another_incident_says_nothing(found):
    assert told(found, "old dump") == []


def test_where_most_are_behind_nobody_is_named(found):
    assert told(found, "most are behind") == []


def test_a_rank_that_did_not_leave_what_the_others_left(found):
    ((kind, rank, t, attrs),) = told(found, "stuck", "t_raw", "attrs")
    assert (kind, rank, t) == (UNFINISHED, 3, "03:00:06")
    assert (attrs["seq"], attrs["state"]) == ("6", "started")


def test_another_call_of_the_same_number(found):
    ((kind, rank, attrs),) = told(found, "other op", "attrs")
    assert (kind, rank, attrs["op"]) == (MISMATCH, 3, "broadcast")
    assert attrs["body"] == "broadcast [[64]] Float on 3; all_reduce [[64]] Float on 0,1,2"


def test_only_the_first_number_that_differs_is_told(found):
    assert [(kind, rank, attrs["seq"]) for kind, rank, attrs in told(found, "other size", "attrs")] == [
        (MISMATCH, 3, "7")
    ]


def test_an_even_split_names_no_rank(found):
    ((kind, rank, attrs),) = told(found, "half and half", "attrs")
    assert (kind, rank) == (MISMATCH, None)
    assert attrs["body"] == "all_reduce [[64]] Float on 0,1; all_reduce [[64]] Half on 2,3"


def test_ids_are_unique_and_point_at_landed_rows(found):
    assert len({row["event_id"] for row in found}) == len(found)
    rows = {(row["stream_id"], row["byte_offset"]) for row in DUMPS}
    assert {(row["stream_id"], row["byte_offset"]) for row in found} <= rows
