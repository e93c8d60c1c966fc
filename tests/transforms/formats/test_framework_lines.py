"""Lines of frameworks, from the file to the event: what a header, a glued line or a record of several lines hides."""

import json
from pathlib import Path

import pytest

import firstfault.rules
from firstfault.rules.engine.patterns import load_patterns
from firstfault.rules.engine.vocabulary import Vocabulary
from firstfault.transforms.matching import match
from tests.transforms.formats.reading import read_table, utc
from tests.transforms.formats.test_dcgmi import V33
from tests.transforms.formats.test_nccl_ras import TEXT as RAS
from tests.transforms.formats.test_pyspy import TEXT as STACKS

RULES = Path(next(iter(firstfault.rules.__path__)))
LIBRARY = load_patterns(RULES / "patterns", Vocabulary.load(RULES / "vocabulary.yaml")).compiled
WATCHDOG = (
    "[Rank {said}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1580, OpType=ALLREDUCE, "
    "NumelIn=4661, NumelOut=4661, Timeout(ms)=600000) ran for 600060 milliseconds before timing out."
)
CPP = "[E1129 16:10:22.388957655 ProcessGroupNCCL.cpp:632] "


def events(text, source="app", **values):
    """(event, rank, node, time, attributes) of each primary hit."""
    table = read_table(source, text.encode(), **values)
    hits = match(table["text"], table["rank"], source, LIBRARY).to_pylist()
    rows = table.select(["rank", "node", "event_time"]).to_pylist()
    return [
        (hit["event_type"], first(hit["rank"], row["rank"]), first(hit["node"], row["node"]), row["event_time"],
         dict(hit["attrs"]))
        for found, row in zip(hits, rows, strict=True) for hit in (found or [])[:1]
    ]  # fmt: skip


def first(told, known):
    return known if told is None else told


@pytest.mark.parametrize(
    ("line", "rank"),
    [
        ("[E ProcessGroupNCCL.cpp:475] " + WATCHDOG.format(said=3), 3),
        ("[rank3]:[E ProcessGroupNCCL.cpp:563] " + WATCHDOG.format(said=1), 3),
        ("[rank3]:" + CPP + WATCHDOG.format(said=1), 3),
        ("[default1]:[rank3]:" + CPP + WATCHDOG.format(said=1), 3),
        ("[rank1]:[rank3]:" + CPP + WATCHDOG.format(said=1), 3),
        ("5: [rank3]:" + CPP + WATCHDOG.format(said=1), 3),
        ("E1129 16:10:22.608412 4242 ProcessGroupNCCL.cpp:632] " + WATCHDOG.format(said=3), 3),
        ("step 9, loss=5.46][rank3]:" + CPP + WATCHDOG.format(said=1), 3),
        ("[rank1]:[titan] x " + WATCHDOG.format(said=3), 3),
    ],
)
def test_the_rank_of_the_process_wins_over_the_rank_in_its_message(line, rank):
    ((event, found, _, _, attrs),) = events(line + "\n")
    assert (event, found) == ("comm.collective_timeout", rank)
    assert (attrs["seq"], attrs["ran_ms"], attrs["timeout_ms"]) == ("1580", "600060", "600000")


def test_the_fraction_of_the_cpp_logger_is_no_wall_time():
    late = f"[rank3]:{CPP}{WATCHDOG}\n"
    times = {event[3] for event in events(late + late.replace(".388", ".001"))}
    assert times == {utc("2026-11-29T16:10:22Z")}


TRITON = "E1129 16:10:22.123456 1 model_lifecycle.cc:630] \"failed to load 'm' version 1: Internal: x\"\n"


def test_tritons_clock_is_utc_whatever_the_zone_of_the_site():
    assert events(TRITON, zone="America/New_York")[0][3] == utc("2026-11-29T16:10:22.123456Z")
    torch = (
        "E1129 16:10:22.608412 4242 torch/api.py:1002] failed (exitcode: -9) local_rank: 1 (pid: 4302) of binary: x\n"
    )
    assert events(torch, zone="America/New_York")[0][3] == utc("2026-11-29T21:10:22.608412Z")


HOROVOD = """[2026-11-29 16:10:22.   123: W /horovod/common/stall_inspector.cc:107] One or more tensors were submitted \
to be reduced, gathered or broadcasted by subset of ranks and are waiting for the others for more than 60 seconds.
Missing ranks:
3: [allreduce.bn1.weight, allreduce.fc.bias]
17!: [allreduce.bn1.weight]
step 4
"""


def test_horovods_missing_ranks_are_no_labels_of_writers():
    stall = events(HOROVOD)[0]
    assert (stall[0], stall[1], stall[4]["missing"]) == ("comm.stall", None, "3,17")
    assert stall[3] == utc("2026-11-29T16:10:22.000123Z")


NCCL_ERROR = """[rank1]: ValueError: of another rank
[rank3]: torch.distributed.DistBackendError: NCCL error in: ../Utils.hpp:317, remote process exited, NCCL version 2.21.5
[rank1]: ValueError: of another rank
[rank3]: ncclRemoteError: A call failed possibly due to a network error.
[rank3]: Last error:
[rank3]: socketProgressOpt: Call to recv from 10.7.3.25<33759> failed : Connection reset by peer
"""


def test_a_record_of_several_lines_is_put_together_by_rank():
    found = {(event, rank): attrs for event, rank, _, _, attrs in events(NCCL_ERROR)}
    assert found["comm.async_error", 3]["result"] == "ncclRemoteError"
    assert found["comm.peer_closed", 3] == {"peer": "10.7.3.25", "errno": "Connection reset by peer"}
    joined = next(attrs for event, _, _, _, attrs in events(NCCL_ERROR) if "last_error" in attrs)
    assert joined["last_error"].startswith("socketProgressOpt: Call to recv from 10.7.3.25")


TABLE = """============================================================
train.py FAILED
------------------------------------------------------------
Failures:
[1]:
  time      : 2026-11-29_16:10:22
  host      : gpu-r07-n03.cl
  rank      : 16 (local_rank: 0)
  exitcode  : -15 (pid: 4301)
  error_file: <N/A>
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-11-29_16:10:21
  host      : gpu-r07-n03.cl
  rank      : 17 (local_rank: 1)
  exitcode  : -9 (pid: 4302)  (SIGKILL)
============================================================
"""


def test_torchruns_table_gives_exits_and_only_a_claim_of_the_root_cause():
    assert [(event, rank, node) for event, rank, node, _, _ in events(TABLE)] == [
        ("proc.signal", 16, "gpu-r07-n03"),
        ("proc.root_cause_claim", 17, "gpu-r07-n03"),
        ("proc.signal", 17, "gpu-r07-n03"),
    ]


CHAIN = """[rank2]: OSError: [Errno 28] No space left on device: '/ckpt/x.pt'

[rank2]: During handling of the above exception, another exception occurred:

[rank2]: Traceback (most recent call last):
[rank2]: RuntimeError: [enforce fail at inline_container.cc:424] . unexpected pos 448 vs 342
"""


def test_every_exception_of_a_chain_is_an_event_in_the_order_they_were_raised():
    assert [(event, rank) for event, rank, *_ in events(CHAIN)] == [("storage.no_space", 2), ("storage.write_error", 2)]


RAY = "\x1b[36m(RayTrainWorker pid=4012, ip=10.7.3.21)\x1b[0m"
REDRAWN = " 50%|###   | 50/100 [01:00<01:00,  1.2s/it]\r 51%|###   | 51/100 [01:01<01:00,  1.2s/it]"


@pytest.mark.parametrize(
    ("text", "event"),
    [
        (f"{REDRAWN}\n", "train.step"),
        (f"{REDRAWN}\rKeyError: 'x'\n", "app.exception"),
        (f"{REDRAWN}KeyError: 'x'\n", "app.exception"),
        (f"{REDRAWN}\rtorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 22.00 MiB.\n", "mem.cuda_oom"),
        ("\x1b[31mKeyError: 'x'\x1b[0m\n", "app.exception"),
        (f"{RAY} KeyError: 'x'\x1b[32m [repeated 2x across cluster]\x1b[0m\n", "app.exception"),
        ("2026-11-29T16:10:22.123456789Z stderr F [rank3]: KeyError: 'x'\n", "app.exception"),
        ("Sun Nov 29 16:10:22 2026[1,3]<stderr>:KeyError: 'x'\n", "app.exception"),
        ("\x1b[1;31m2026-11-29 16:10:22.885942735 [E:onnxruntime:, x.cc:677 F] Non-zero code\x1b[m\n", "infer.error"),
        ("(EngineCore pid=1) ERROR 11-29 16:10:22 [core.py:7] EngineCore encountered a fatal error.\n", "infer.error"),
    ],
)  # fmt: skip
def test_an_error_is_seen_through_redraws_colours_and_prefixes(text, event):
    assert [found[0] for found in events(text)] == [event]


def test_rays_json_names_rank_and_exception():
    line = (
        '{"asctime": "2026-11-29 16:10:22,123", "levelname": "ERROR", "message": "ValueError: boom", "world_rank": 9}\n'
    )
    ((event, rank, _, time, attrs),) = events(line)
    assert (event, rank, attrs["type"], time) == ("app.exception", 9, "ValueError", utc("2026-11-29T16:10:22.123Z"))


def test_an_empty_line_before_an_nccl_warning_ends_nothing():
    text = "The following tasks are unhealthy (stopped sending heartbeats):\n1\n\n5\nThe tasks have crashed.\n"
    assert events(text)[0][4]["missing"] == "1,5"


LOCUST = """Method,Name,Error,Occurrences,First Seen,Last Seen
GET,/v1,HTTPError('500'),3,2026-11-29T16:10:22Z,2026-11-29T16:10:29Z
"""
RAS_EVENTS = [("comm.ras_status", None), ("comm.ras_lag", "10.7.3.23"), ("comm.peer_closed", None)]


@pytest.mark.parametrize(
    ("source", "text", "found"),
    [
        ("nccl_ras", RAS, RAS_EVENTS),
        ("pyspy", STACKS, [("diag.stack", None)]),
        ("locust", LOCUST, [("infer.error", None)]),
        ("torch_error", '{"message": {"message": "KeyError: 1", "extraInfo": {"timestamp": "1795977000"}}}',
         [("app.exception", None)]),
    ],
)  # fmt: skip
def test_dumps_give_events_but_no_global_rank(source, text, found):
    told = events(text, source)
    assert [(event, node) for event, _, node, _, _ in told] == found
    assert {rank for _, rank, *_ in told} == {None}


def test_a_failed_diagnosis_is_an_event():
    ((event, _, node, _, attrs),) = events(json.dumps(V33), "dcgmi", node="n1")
    assert (event, node, attrs["status"], attrs["severity"]) == ("diag.gpu_test", "n1", "FAIL", "2")
