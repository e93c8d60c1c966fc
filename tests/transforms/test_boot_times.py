"""Lines that name seconds since boot, or wall time made of them, on their node's clock."""

import pyarrow as pa
import pytest
from pyspark.sql.types import StructType

from firstfault.transforms.boot_times import with_boot_times
from firstfault.transforms.clock_offsets import CLOCK_OFFSETS, reaching
from firstfault.transforms.event_times import place_in_time
from firstfault.transforms.events import EVENTS, FOUND_COLUMNS
from firstfault.transforms.in_flight import report, report_row, rows_to_go_on, staged_rows
from firstfault.transforms.staged import FOLDED_TYPE, HIT_STRUCT, MARK_TYPE, STAGED
from tests.frames import collected, frame, moment, pick, rows
from tests.transforms.formats.reading import read_table

TIMES = ("event_time", "t_prev", "t_next")


def line(case: str, text: str, at: str | None, basis: str, source: str, **given) -> dict:
    """A line in flight; each case is a node with one stream a source."""
    boot = {"boot_s": str(given.pop("boot_s"))} if "boot_s" in given else {}
    hit = {"event_type": given.pop("event"), "count": given.pop("count", 1), "t_last": at} if "event" in given else None
    return {
        "cluster": "c", "node": case, "disposition": "landed_log", "source": source, "stream_id": f"{case}/{source}",
        "event_time": at, "time_basis": basis, "message": text, "fields": boot | {"body": text},
        "hits": [hit] if hit else None, "file_time": "10:00:00",
    } | given  # fmt: skip


def dumped(case: str, text: str, at: str, **given) -> dict:
    return line(case, text, at, "boot_wall", "dmesg", **given)


def logged(case: str, text: str, at: str, **given) -> dict:
    return line(case, text, at, given.pop("basis", "zoned"), given.pop("source", "kernel"), **given)


def begun(case: str, first: str) -> dict:
    return {
        "cluster": "c", "disposition": "report", "source": "dmesg", "stream_id": f"{case}/dmesg",
        "report": {"first_time": first}, "file_time": "10:00:00",
    }  # fmt: skip


LINES = [
    # Seconds since boot alone.
    line("relative", "x", "09:59:00", "boot_relative", "dmesg", boot_s=60, event="gpu.xid"),
    logged("relative", "y", "03:00:30", boot_s=30, event="gpu.xid"),
    line("alone", "x", "09:59:00", "boot_relative", "dmesg", boot_s=60, event="gpu.xid"),
    # An hour of sleep between 05:00 and 06:00 of the dump; the last message has no twin near.
    dumped("slept", "a", "04:00:00"), logged("slept", "a", "04:00:00.5"),
    dumped("slept", "b", "05:00:00"), logged("slept", "b", "05:00:00.5"),
    dumped("slept", "c", "06:00:00"), logged("slept", "c", "07:00:00.5"),
    dumped("slept", "d", "07:00:00"), logged("slept", "d", "08:00:00.5"),
    dumped("slept", "early", "04:10:00"),
    dumped("slept", "late", "06:59:00", event="gpu.xid"),
    dumped("slept", "between", "05:40:00"),
    dumped("slept", "after", "09:46:40"),
    # Drift and the whole seconds of both: the journal and the log hold the message, which repeats nothing.
    dumped("copied", "a", "04:00:20"), logged("copied", "a", "04:00:00"),
    logged("copied", "a", "04:00:00.9", basis="epoch", source="journal"), dumped("copied", "x", "04:00:21"),
    # What is repeated in the dump or in the log, or folded, is no anchor.
    dumped("repeated", "a", "04:00:20"), dumped("repeated", "a", "05:00:20"), logged("repeated", "a", "04:00:00"),
    dumped("repeated", "b", "04:10:20"), logged("repeated", "b", "04:10:00"), logged("repeated", "b", "04:20:00"),
    dumped("repeated", "f", "04:30:20"), logged("repeated", "f", "04:30:00", event="gpu.xid", count=3),
    dumped("repeated", "x", "04:00:21"), begun("repeated", "04:00:20"),
    # The log ends with the boot before; the next one is known of.
    dumped("rebooted", "a", "04:00:20"), logged("rebooted", "a", "01:00:00"),
    logged("rebooted", "Linux version", "04:00:00", event="sys.boot"), dumped("rebooted", "x", "04:00:21"),
    # Of the same boot although the log knows of an earlier one.
    dumped("booted", "a", "04:00:20"), logged("booted", "a", "04:00:00"),
    logged("booted", "Linux version", "03:59:30", event="sys.boot"), dumped("booted", "x", "04:00:21"),
    # One twin that disagrees with those around it is a mistake.
    *(dumped("stray", text, f"04:0{n}:20") for n, text in enumerate("abcde")),
    *(logged("stray", text, f"04:0{n}:00" if text != "c" else "02:00:00") for n, text in enumerate("abcde")),
    dumped("stray", "x", "04:02:21"),
    # Another node's log, a dump of another time, a message too far off: no anchors.
    dumped("elsewhere", "a", "04:00:20"), logged("other", "a", "04:00:00"),
    dumped("elsewhere", "b", "04:00:20"), logged("elsewhere", "b", "-2d 04:00:00"),
    dumped("elsewhere", "g", "04:00:20"), logged("elsewhere", "g", "04:00:00", basis="boot_wall", source="app"),
    dumped("elsewhere", "x", "04:00:21"),
    # A dump that begins with its boot: 2,000 s after it the kernel's clock is off by 1.2 s at most.
    dumped("whole", "Linux version", "03:00:00", event="sys.boot"), dumped("whole", "x", "03:33:20"),
]  # fmt: skip


@pytest.fixture(scope="module")
def placed(spark):
    return collected(with_boot_times(frame(spark, STAGED, LINES)))


def times(placed, node, text="x", source="dmesg"):
    return pick(placed, *TIMES, node=node, message=text, source=source)


def last_repeat(placed, node, text="x"):
    [(hits,)] = pick(placed, "hits", node=node, message=text)
    return dict(zip(HIT_STRUCT.fieldNames(), hits[0], strict=True))["t_last"]


def test_a_line_with_both_times_dates_the_boot_and_with_it_the_last_repeat(placed):
    assert times(placed, "relative") == [("03:01:00", None, None)]
    assert last_repeat(placed, "relative") == "03:01:00"


def test_without_one_it_lies_before_the_dump(placed):
    assert times(placed, "alone") == [(None, "03:59:00", "09:59:00")]
    assert last_repeat(placed, "alone") is None


def test_a_line_is_moved_by_the_shift_of_the_nearest_twin_on_its_side_of_a_sleep(placed):
    assert times(placed, "slept", "early") == [("04:10:00.5", "04:09:59.5", "04:10:02.5")]
    assert times(placed, "slept", "late") == [("07:59:00.5", "07:58:59.5", "07:59:02.5")]
    assert last_repeat(placed, "slept", "late") == "07:59:00.5"


def test_between_twins_that_differ_both_shifts_are_left_open(placed):
    assert times(placed, "slept", "between") == [("06:40:00.5", "05:39:59.5", "06:40:02.5")]


def test_beyond_the_last_twin_the_kernel_s_clock_may_drift(placed):
    # 10,000 s further, at 100 ppm.
    assert times(placed, "slept", "after") == [("10:46:40.5", "10:46:38.5", "10:46:43.5")]


def test_copies_of_one_message_in_several_logs_are_one_twin(placed):
    assert times(placed, "copied") == [("04:00:01", "03:59:59.9999", "04:00:03.0001")]


def test_a_message_of_the_same_boot_dates_the_dump(placed):
    assert times(placed, "booted") == [("04:00:01", "03:59:59.9999", "04:00:03.0001")]


def test_a_twin_that_stands_alone_among_others_decides_nothing(placed):
    assert times(placed, "stray") == [("04:02:01", "04:02:00", "04:02:03")]


@pytest.mark.parametrize("node", ["repeated", "rebooted", "elsewhere"])
def test_without_a_twin_the_time_stays_and_a_month_of_drift_is_left_open(placed, node):
    [(at, low, high)] = times(placed, node)
    # 100 ppm of 30 days and of the second since the dump's first line, and the second of the tool.
    assert (at, low, high) == ("04:00:21", "03:56:00.7999", "04:04:42.2001")


def test_a_dump_that_shows_its_boot_says_how_long_the_clock_ran(placed):
    assert times(placed, "whole") == [("03:33:20", "03:33:18.8", "03:33:22.2")]


def test_written_times_of_clocks_stay(placed):
    assert times(placed, "slept", "a", "kernel") == [("04:00:00.5", None, None)]


DUMP = """[Fri Nov 20 03:59:40 2026] mlx5_core 0000:5e:00.0: port module event 3
[Fri Nov 20 04:10:00 2026] NVRM: Xid (PCI:0000:3b:00): 79, pid=7, GPU has fallen off the bus.
[Fri Nov 20 04:20:20 2026] nvme nvme0: I/O 7 QID 3 timeout, aborting
"""
LOG = """2026-11-20T03:59:20.250000+00:00 n1 kernel: [501230.123456] mlx5_core 0000:5e:00.0: port module event 3
2026-11-20T04:20:00.250000+00:00 n1 kernel: [502470.123456] nvme nvme0: I/O 7 QID 3 timeout, aborting
"""


def in_flight(source: str, text: str) -> pa.Table:
    """What goes on to Spark of a file of a node, as landing does it."""
    stream = {"cluster": "c", "format": source, "stream_id": source, "file_time": moment("10:00:00"), "zone": "UTC"}
    lines = read_table(source, text.encode(), node="n1", file_time=stream["file_time"])
    hits = pa.nulls(lines.num_rows, pa.list_(FOLDED_TYPE))
    marks = pa.nulls(lines.num_rows, pa.list_(MARK_TYPE))
    needed = pa.array(rows_to_go_on(lines, hits, marks, source))
    told = report_row(report(lines, lines.num_rows, stream["file_time"]), stream, 0)
    kept = staged_rows(lines.filter(needed), hits.filter(needed), marks.filter(needed), stream)
    return pa.concat_tables([kept, told])


def test_the_same_messages_in_a_dump_and_a_log_find_each_other_from_the_files_on(spark):
    files = pa.concat_tables([in_flight("dmesg", DUMP), in_flight("kernel", LOG)])
    placed = with_boot_times(spark.createDataFrame(files, STAGED)).where("source = 'dmesg' and message like '%NVRM%'")
    assert rows(placed, *TIMES) == [("04:09:40.25", "04:09:39.25", "04:09:42.25")]


def test_an_event_of_such_a_line_lies_within_what_is_left_and_its_clock_s_error(spark):
    found = {
        "event_id": "e", "cluster": "c", "job_id": "_node", "event_type": "gpu.xid", "t_raw": "04:09:40.25",
        "t_prev": "04:09:39", "t_next": "04:09:43", "t_raw_last": "04:09:40.25", "time_basis": "boot_wall",
        "clock": "n1", "node": "n1", "source": "dmesg",
    }  # fmt: skip
    schema = StructType([f for f in EVENTS.fields if f.name in FOUND_COLUMNS])
    windows = "cluster string, job_id string, nodes array<string>, start timestamp, end timestamp"
    ranks = "cluster string, job_id string, attempt_hint int, rank int, node string"
    offset = {"cluster": "c", "node": "n1", "source": "*", "t_from": "03:00:00", "t_to": "05:00:00", "offset_s": 10.0,
              "error_s": 0.5, "shared_error_s": 0.0}  # fmt: skip
    offsets = reaching(frame(spark, CLOCK_OFFSETS, [offset]))
    placed = place_in_time(frame(spark, schema, [found]), offsets, frame(spark, windows), frame(spark, ranks), 1.0)
    assert rows(placed, "t_low", "t", "t_high", "t_raw") == [("04:09:28.5", "04:09:31", "04:09:33.5", "04:09:40.25")]
