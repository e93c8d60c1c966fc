import json

import pytest

from firstfault.transforms.formats.sacct import parse_header
from firstfault.transforms.formats.sacct_json import job_fields
from tests.transforms.formats.reading import landed, read, read_table, reasons, units, utc

HEADER = "JobID|JobIDRaw|JobName|State|ExitCode|DerivedExitCode|Submit|Start|End|NodeList|Reason|FailedNode"
NODE_FAIL = (
    "91213|91213|lm-7b|NODE_FAIL|1:0|0:9|2026-11-29T09:00:00|2026-11-29T09:00:04|2026-11-29T13:34:10|"
    "gpu-r31-n[01-04,7]|None|gpu-r31-n03"
)
STEP = "91213.0|91213.0|train|CANCELLED by 5001|0:15||2026-11-29T09:00:00|2026-11-29T09:00:04|2026-11-29T13:34:10|||"
RUNNING = "91213|91213|lm-7b|RUNNING|0:0||2026-11-29T13:34:10|2026-11-29T13:40:00|Unknown||None|"


def table(*rows: str) -> str:
    return "\n".join([HEADER, *rows]) + "\n"


def test_job_rows_have_fields_and_a_canonical_text():
    header, job = read("sacct", table(NODE_FAIL))
    assert (header["disposition"], header["reason"]) == ("dropped", "structure.header")
    assert job["text"] == (
        "sacct JobID=91213 State=NODE_FAIL ExitCode=1:0 DerivedExitCode=0:9 Reason=None "
        "FailedNode=gpu-r31-n03 NodeList=gpu-r31-n[01-04,7]"
    )
    assert job["fields"]["End"] == "2026-11-29T13:34:10"
    assert (job["event_time"], job["time_basis"]) == (utc("2026-11-29T13:34:10Z"), "assumed_zone")
    assert job["message"] == NODE_FAIL


def test_step_rows_have_no_text():
    job = landed("sacct", table(STEP))[0]
    assert job["text"] is None
    assert job["fields"]["State"] == "CANCELLED by 5001"
    assert "DerivedExitCode" not in job["fields"]


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        ("2026-11-29T13:40:00", "Unknown", "2026-11-29T18:40:00Z"),
        ("None", "None", "2026-11-29T18:34:10Z"),
        ("1795977000", "1795977600", "2026-11-29T18:40:00Z"),
        ("2026-11-29T13:40:00", "Ystday 20:13", "2026-11-29T18:40:00Z"),
    ],
)
def test_time_is_the_last_known_one_in_the_stream_s_zone(start, end, expected):
    row = f"1|1|x|RUNNING|0:0||2026-11-29T13:34:10|{start}|{end}|||"
    assert landed("sacct", table(row), zone="America/New_York")[0]["event_time"] == utc(expected)


def test_newlines_inside_a_field_are_joined():
    first, second = NODE_FAIL.replace("lm-7b", "lm\n\n7b"), RUNNING
    rows = landed("sacct", table(first, second))
    assert rows[0]["fields"]["JobName"] == "lm\n\n7b"
    assert (rows[0]["units"], rows[1]["units"]) == (3, 1)
    assert rows[0]["message"] == first
    assert rows[1]["byte_offset"] == len(HEADER) + 1 + len(first) + 1


def test_newline_in_the_last_field_belongs_to_the_row_before():
    rows = landed("sacct", "JobID|State|Comment\n1|FAILED|one\ntwo\n2|FAILED|x\n")
    assert [(row["fields"]["JobID"], row["fields"]["Comment"]) for row in rows] == [("1", "one\ntwo"), ("2", "x")]


@pytest.mark.parametrize("delimiter", ["|", "|#", "\x1f", ",", "^|^"])
@pytest.mark.parametrize("closing", [False, True])
def test_delimiters_and_closing_ones(delimiter, closing):
    text = table(NODE_FAIL, STEP).replace("[01-04,7]", "[01-04]").replace("|", delimiter)
    if closing:
        text = text.replace("\n", f"{delimiter}\n")
    rows = landed("sacct", text)
    assert [row["fields"]["JobID"] for row in rows] == ["91213", "91213.0"]
    assert rows[0]["fields"]["FailedNode"] == "gpu-r31-n03"


def test_damaged_rows_are_set_aside_and_the_rest_lands():
    text = table("7|7|cut", NODE_FAIL, NODE_FAIL.replace("lm-7b", "l|m"), RUNNING)
    assert reasons("sacct", text) == ["structure.header", "truncated_row", None, "field_count", None]
    assert units(read_table("sacct", text.encode())) == 5


def test_a_later_range_takes_the_stream_s_header():
    rows = landed("sacct", NODE_FAIL, header=HEADER.encode(), byte_from=500)
    assert (rows[0]["fields"]["JobID"], rows[0]["byte_offset"]) == ("91213", 500)


def test_without_header_nothing_can_be_used():
    assert reasons("sacct", NODE_FAIL) == ["no_header"]


def test_a_second_header_may_have_other_columns():
    rows = landed("sacct", table(NODE_FAIL) + "JobID|State\n5|FAILED\n")
    assert rows[1]["fields"] == {"JobID": "5", "State": "FAILED"}


def test_arrays_and_heterogeneous_jobs_are_jobs():
    text = "JobID|State\n84310_7|OUT_OF_MEMORY\n100+0|FAILED\n84310_7.batch|OUT_OF_MEMORY\n"
    texts = [row["text"] for row in landed("sacct", text)]
    assert texts == ["sacct JobID=84310_7 State=OUT_OF_MEMORY", "sacct JobID=100+0 State=FAILED", None]


@pytest.mark.parametrize("line", ["", "no header here", "JobID|Jo b|State", "State|ExitCode"])
def test_parse_header_refuses(line):
    assert parse_header(line) is None


def some(number):
    return {"set": True, "infinite": False, "number": number}


UNSET = {"set": False, "infinite": False, "number": 0}
OLD = {
    "job_id": 91213,
    "name": "lm-7b",
    "state": {"current": "NODE_FAIL", "reason": "None"},
    "exit_code": {"status": "ERROR", "return_code": 1},
    "nodes": "gpu-r31-n[01-04]",
    "failed_node": "gpu-r31-n03",
    "association": {"account": "research", "cluster": "site-z", "user": "u1"},
    "time": {"start": 1795960804, "end": 1795977250, "submission": 1795960800, "elapsed": 16446, "limit": some(90)},
    "tres": {"allocated": [{"type": "cpu", "name": "", "count": 96}, {"type": "gres", "name": "gpu", "count": 8}]},
    "restart_cnt": 0,
    "array": {"job_id": 0, "task_id": UNSET},
    "kill_request_user": "",
    "steps": [{"step": {"id": "91213.0"}}],
}
NEW = {
    "job_id": some(84517),
    "name": "sweep",
    "job_state": ["CANCELLED", "COMPLETING"],
    "state_reason": "TimeLimit",
    "exit_code": {"status": ["SIGNALED"], "return_code": UNSET, "signal": {"id": some(15), "name": "TERM"}},
    "derived_exit_code": {"status": ["SUCCESS"], "return_code": some(0), "signal": {"id": UNSET, "name": ""}},
    "array_job_id": some(84310),
    "array_task_id": some(7),
    "submit_time": some(1795960800),
    "start_time": some(1795960804),
    "end_time": some(1795977250),
    "time_limit": {"set": True, "infinite": False, "number": 2885},
    "user_name": "u1",
    "nodes": "gpu-r31-n01",
    "tres_alloc_str": "cpu=96,gres/gpu=8",
    "cluster": "site-z",
    "partition": "train",
    "restart_cnt": 2,
}


def test_accounting_json_has_the_columns_of_the_table():
    fields = job_fields(OLD)
    assert fields["State"] == "NODE_FAIL"
    assert (fields["ExitCode"], fields["Timelimit"], fields["ElapsedRaw"]) == ("1:0", "01:30:00", "16446")
    assert (fields["User"], fields["Account"], fields["Cluster"]) == ("u1", "research", "site-z")
    assert (fields["Submit"], fields["End"], fields["Restarts"]) == ("1795960800", "1795977250", "0")
    assert (fields["JobID"], fields["FailedNode"], fields["AllocTRES"]) == ("91213", "gpu-r31-n03", "cpu=96,gres/gpu=8")


def test_controller_json_of_a_new_release():
    fields = job_fields(NEW)
    assert (fields["JobID"], fields["JobIDRaw"]) == ("84310_7", "84517")
    assert (fields["State"], fields["ExitCode"], fields["Timelimit"]) == ("CANCELLED", "0:15", "2-00:05:00")
    assert (fields["ElapsedRaw"], fields["Reason"], fields["Restarts"]) == ("16446", "TimeLimit", "2")


@pytest.mark.parametrize(("state", "kept"), [("RUNNING", {"Submit", "Start"}), ("PENDING", {"Submit"})])
def test_forecast_times_are_left_out(state, kept):
    fields = job_fields(NEW | {"job_state": [state]})
    assert {"Submit", "Start", "End"} & fields.keys() == kept


def test_who_cancelled_is_told():
    assert (
        job_fields(OLD | {"state": {"current": ["CANCELLED"]}, "kill_request_user": "ops"})["State"]
        == "CANCELLED by ops"
    )
    assert (
        job_fields(OLD | {"time": OLD["time"] | {"limit": {"infinite": True, "set": True}}})["Timelimit"] == "UNLIMITED"
    )


def test_raw_wait_status_of_the_oldest_form():
    assert job_fields(OLD | {"exit_code": 256})["ExitCode"] == "1:0"
    assert job_fields(OLD | {"exit_code": 9})["ExitCode"] == "0:9"


@pytest.mark.parametrize("source", ["sacct", "sacct_json"])
def test_json_document_lands_a_row_a_job(source):
    text = json.dumps({"meta": {}, "jobs": [OLD, NEW, {"name": "no id"}, 5], "errors": []}, indent=1)
    rows = read(source, text)
    assert [row["reason"] for row in rows] == [None, None, "no_job_id", "no_job_id"]
    assert rows[0]["text"].startswith("sacct JobID=91213 State=NODE_FAIL ExitCode=1:0")
    assert (rows[0]["event_time"], rows[0]["time_basis"]) == (utc("2026-11-29T18:34:10Z"), "epoch")
    assert text.encode()[rows[1]["byte_offset"] :][: rows[1]["length"]].decode() == rows[1]["message"]


def test_a_cut_document_lands_what_is_whole():
    text = json.dumps({"jobs": [OLD, NEW]})
    assert reasons("sacct", text[:-40]) == [None, "bad_json"]
    assert reasons("sacct", "{]") == ["bad_json"]
