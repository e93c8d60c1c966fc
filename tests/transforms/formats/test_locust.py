"""locust's CSV files."""

from tests.transforms.formats.reading import landed, read_table, reasons, samples, units, utc

HISTORY = """Timestamp,User Count,Type,Name,Requests/s,Failures/s,50%,99.9%,Total Request Count,Total Failure Count
1795977000,10,POST,/v1/chat,4.5,0.5,120,N/A,113,2
1795977001,10,,Aggregated,4.5,0.5,N/A,N/A,113,2
1795977002,10,,Aggr
"""
FAILURES = """Method,Name,Error,Occurrences,First Seen,Last Seen
POST,/v1/chat,"HTTPError('503, overloaded')",2,2026-11-29T18:29:00Z,2026-11-29T18:30:00Z
"""
STATS = "Type,Name,Request Count,Failure Count,Median Response Time\n,Aggregated,113,2,120\n"


def test_history_is_samples():
    rows = landed("locust", HISTORY)
    assert {row["metric"]: row["value"] for row in rows if row["labels"].get("type")} == {
        "locust.user_count": 10.0,
        "locust.requests_per_s": 4.5,
        "locust.failures_per_s": 0.5,
        "locust.p50": 120.0,
        "locust.total_request_count": 113.0,
        "locust.total_failure_count": 2.0,
    }
    assert rows[0]["labels"] == {"type": "POST", "name": "/v1/chat"}
    assert (rows[0]["event_time"], rows[0]["time_basis"]) == (utc("2026-11-29T18:30:00Z"), "epoch")


def test_failures_are_records():
    row = landed("locust", FAILURES)[0]
    assert row["text"] == "locust POST /v1/chat: HTTPError('503, overloaded')"
    assert (row["event_time"], row["fields"]["Occurrences"]) == (utc("2026-11-29T18:30:00Z"), "2")


def test_totals_have_the_file_s_time():
    assert samples("locust", STATS)["locust.median_response_time"] == 120.0
    assert landed("locust", STATS)[0]["time_basis"] == "file_time"


def test_half_a_row_is_set_aside():
    assert reasons("locust", HISTORY)[-1] == "field_count"
    assert reasons("locust", HISTORY.replace("1795977001", "soon"))[-2] == "bad_value"
    assert reasons("locust", "1,2\n") == ["no_header"]
    assert units(read_table("locust", HISTORY.encode())) == 4
