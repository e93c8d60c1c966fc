"""Bytes of planned ranges as rows in flight."""

import gzip
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from firstfault.jobs import read_ranges
from firstfault.jobs.knowledge import load_knowledge
from firstfault.jobs.land import Lander, task_of
from firstfault.jobs.landing import Inflated, Landing
from firstfault.jobs.plan import Range
from firstfault.jobs.raw_files import ParquetSink, RawFile
from firstfault.transforms.matching import CompiledPattern
from tests.frames import moment

XID = CompiledPattern(
    id="t.xid",
    event_type="gpu.xid",
    formats=("kernel",),
    literals=("NVRM: Xid",),
    regex=r"NVRM: Xid \(PCI:(?P<device>[0-9a-fA-F:.]+)\): (?P<code>\d+)",
    conversions=(("code", "int"), ("device", "pci")),
)
KNOWLEDGE = load_knowledge()
MASKER = KNOWLEDGE.masking.masker(b"a key of the tests", "t")
RETENTION = KNOWLEDGE.retention.retention()
KERNEL = [
    b"2026-11-20T03:00:00.000000+00:00 n1 kernel: nothing\n",
    b"2026-11-20T03:00:01.000000+00:00 n1 kernel: NVRM: Xid (PCI:0000:3B:00): 79, GPU has fallen off the bus.\n",
    b"2026-11-20T03:00:02.500000+00:00 n1 kernel: caf\xe9 \xff\n",
]
PACKED = gzip.compress(b"".join(b"2026-11-20T03:00:00+00:00 n1 kernel: line %d\n" % n for n in range(4000)))
SERIES = b'{"status": "success", "data": {"resultType": "matrix", "result": ['
SACCT = b"JobID|State|Submit|Start|End\n1|FAILED|2026-11-20T01:00:00|2026-11-20T02:00:00|2026-11-20T03:00:00\n"


def planned(file, data, fmt="kernel", **given) -> Range:
    plain = {
        "batch_id": "b", "stream_id": file, "identity": "i", "head_bytes": 0, "from_byte": 0, "to_byte": len(data),
        "lines_before": 0, "state": "planned", "format": fmt, "zone": "UTC", "owner": "node:n1", "cluster": "c",
        "job_id": "_node", "attempt_hint": None, "node": "n1", "rank": None, "file": file,
        "file_time": datetime(2026, 11, 20, 5, tzinfo=UTC), "compression": "none",
    }  # fmt: skip
    return Range(**(plain | given))


@pytest.fixture(scope="module")
def landed(tmp_path_factory):
    """One pass over one file of each kind."""
    root = tmp_path_factory.mktemp("landing")
    whole = b"".join(KERNEL)
    second = SACCT + b"2|COMPLETED|2026-11-20T01:00:00|2026-11-20T02:00:00|2026-11-20T03:30:00\n"
    files = {
        "kern.log": whole,
        "tail.log": whole.removesuffix(b"\n"),
        "binary.log": bytes(range(256)) * 8,
        "one-line.bin": b"\0" * 5000,
        "packed.log.gz": gzip.compress(whole),
        "packed.log.zst": zstandard.compress(whole),
        "cut.log.gz": PACKED[: len(PACKED) // 2],
        "sacct.txt": second,
        "cut in an item.json": SERIES + b'{"metric": {"__name__": "a"}, "val',
        "cut before the first.json": SERIES,
        "cut after an item.json": SERIES + b'{"metric": {"__name__": "a"}, "values": [[1795140000, "1"]]},',
    }
    for name, data in files.items():
        (root / name).write_bytes(data)
    skipped = len(KERNEL[0])
    ranges = [
        planned("kern.log", whole),
        planned("kern.log", whole, stream_id="second half", from_byte=skipped, lines_before=1),
        planned("kern.log", whole, stream_id="first line", to_byte=skipped),
        planned("tail.log", whole, to_byte=len(whole) - 1),
        planned("binary.log", files["binary.log"]),
        planned("one-line.bin", files["one-line.bin"]),
        planned("packed.log.gz", whole, compression="gzip"),
        planned("packed.log.zst", whole, compression="zstd", from_byte=skipped, lines_before=1),
        planned("cut.log.gz", b"", to_byte=10**9, compression="gzip"),
        planned("gone.log", whole),
        planned("kern.log", whole, stream_id="shrunk", to_byte=len(whole) + 100),
        planned("kern.log", whole, stream_id="emptied", from_byte=len(whole), to_byte=len(whole) + 100),
        planned("sacct.txt", second, "sacct", from_byte=len(SACCT), lines_before=2, node=None, job_id="_cluster"),
        *(planned(name, files[name], "prometheus", node=None) for name in files if name.startswith("cut ")),
    ]
    lake = tmp_path_factory.mktemp("lake")
    lander = Lander(Landing(str(root)), (XID,), {}, MASKER, RETENTION, (), partial(ParquetSink, str(lake)))
    batch = pa.RecordBatch.from_pylist([asdict(r) for r in ranges])
    rows = pa.Table.from_batches(lander.run([batch])).to_pylist()
    files = [RawFile.from_json(text) for row in rows for text in row["files"] or ()]
    return Landed([r for r in rows if r["files"] is None], files, [r for f in files for r in stored(lake, f)])


@dataclass
class Landed:
    """What a task left: rows in flight, files, and the rows in them."""

    staged: list[dict]
    files: list[RawFile]
    raw: list[dict]


def stored(lake, file) -> list[dict]:
    return [row | file.partition for row in pq.read_table(lake / file.table / file.path).to_pylist()]


def of(rows, stream, *columns) -> list[tuple]:
    """The chosen columns of a stream's rows, in order of their place."""
    chosen = sorted((r for r in rows if r["stream_id"] == stream), key=lambda r: r["byte_offset"])
    return [tuple(r[c] for c in columns) for r in chosen]


def books(landed, stream) -> dict[str, int]:
    """Units of a stream's report by what became of them; what is none is left out."""
    total: dict[str, int] = {}
    for row in landed.staged:
        if row["stream_id"] == stream and row["report"]:
            for name in ("read", "landed_log", "landed_sample", "quarantined", "dropped"):
                total[name] = total.get(name, 0) + row["report"][name]
    return {name: units for name, units in total.items() if units}


def refused(landed, stream) -> list[tuple]:
    return [(r["reason"], r["units"]) for r in landed.staged if r["stream_id"] == stream and r["reason"]]


def test_every_line_is_a_row_with_its_place_and_a_report_says_how_many_there_were(landed):
    offsets = [0, len(KERNEL[0]), len(KERNEL[0]) + len(KERNEL[1])]
    times = [moment(t) for t in ("03:00:00", "03:00:01", "03:00:02.5")]
    assert of(landed.raw, "kern.log", "byte_offset", "line_no", "event_time") == [
        (offsets[n], n + 1, times[n]) for n in range(3)
    ]
    for stream in ("kern.log", "tail.log"):
        assert books(landed, stream) == {"read": 3, "landed_log": 3}
    [figures] = [r["report"] for r in landed.staged if r["stream_id"] == "kern.log" and r["report"]]
    assert (figures["first_time"], figures["last_time"], figures["nodes"]) == (times[0], times[2], ["n1"])


def test_rows_carry_the_constants_of_their_stream(landed):
    raw = ("cluster", "job_id", "source", "file", "node", "hour")
    assert set(of(landed.raw, "second half", *raw)) == {("c", "_node", "kernel", "kern.log", "n1", "2026-11-20-03")}
    flight = ("batch_id", "cluster", "job_id", "source", "zone", "file", "file_time", "range_from")
    assert set(of(landed.staged, "second half", *flight)) == {
        ("b", "c", "_node", "kernel", "UTC", "kern.log", moment("05:00:00"), len(KERNEL[0]))
    }


def test_a_later_range_goes_on_with_offsets_and_line_numbers(landed):
    for stream in ("second half", "packed.log.zst"):
        assert of(landed.raw, stream, "byte_offset", "line_no") == [
            (len(KERNEL[0]), 2),
            (len(KERNEL[0]) + len(KERNEL[1]), 3),
        ]
        assert books(landed, stream) == {"read": 2, "landed_log": 2}
    assert books(landed, "first line") == {"read": 1, "landed_log": 1}


def test_a_compressed_stream_gives_the_same_rows(landed):
    columns = ("byte_offset", "line_no", "message", "event_time")
    packed = of(landed.raw, "packed.log.gz", *columns)
    assert packed == of(landed.raw, "kern.log", *columns)
    assert "café" not in packed[2][2]
    assert packed[2][2].startswith("2026-11-20T03:00:02.500000+00:00 n1 kernel: caf")


def test_lines_with_events_go_on_to_later_stages_and_of_the_others_a_few_that_a_dump_may_repeat(landed):
    [(offset, [hit])] = [(at, h) for at, h in of(landed.staged, "kern.log", "byte_offset", "hits") if h]
    assert offset == len(KERNEL[0])
    assert (hit["event_type"], hit["device"], hit["attrs"]) == ("gpu.xid", "0000:3b:00", [("code", "79")])
    gone_on = of(landed.staged, "kern.log", "disposition", "hits", "fields")
    plain = [dict(fields or ()) for disposition, hits, fields in gone_on if disposition == "landed_log" and not hits]
    assert len(plain) == 2
    assert all("body" in fields for fields in plain)


def test_binary_files_are_refused_whole_and_counted(landed):
    assert refused(landed, "binary.log") == [("binary", 8)]
    assert refused(landed, "one-line.bin") == [("binary", 1)]
    assert books(landed, "binary.log") == {"read": 8, "quarantined": 8}


def test_an_archive_that_was_cut_lands_what_it_holds_and_says_so(landed):
    found = books(landed, "cut.log.gz")
    assert refused(landed, "cut.log.gz") == [("truncated_archive", 1)]
    assert 100 < found["landed_log"] < 4000
    assert found["read"] == found["landed_log"] + 1


def test_a_file_that_is_gone_or_shorter_than_planned_is_refused_and_the_night_goes_on(landed):
    assert refused(landed, "gone.log") == [("unreadable: FileNotFoundError", 1)]
    assert books(landed, "gone.log") == {"read": 1, "quarantined": 1}
    assert refused(landed, "shrunk") == [("file_shrank", 1)]
    assert books(landed, "shrunk") == {"read": 4, "landed_log": 3, "quarantined": 1}
    assert books(landed, "emptied") == {"read": 1, "quarantined": 1}


def test_a_table_goes_on_under_the_header_of_its_first_range(landed):
    [fields] = [dict(f) for (f,) in of(landed.staged, "sacct.txt", "fields") if f]
    assert (fields["JobID"], fields["State"]) == ("2", "COMPLETED")
    assert books(landed, "sacct.txt") == {"read": 1, "landed_log": 1}


def test_the_books_of_every_stream_balance(landed):
    for stream in {r["stream_id"] for r in landed.staged}:
        found = books(landed, stream)
        assert found.pop("read") == sum(found.values()), stream


def test_files_say_what_is_in_them(landed, tmp_path):
    assert sum(f.rows for f in landed.files) == len(landed.raw)
    for file in landed.files:
        assert file.stats["numRecords"] == file.rows
        assert file.stats["nullCount"]["stream_id"] == 0
        assert file.stats["minValues"]["stream_id"] <= file.stats["maxValues"]["stream_id"]


@pytest.mark.parametrize("place", ["in an item", "before the first", "after an item"])
def test_a_document_that_was_cut_says_so_wherever_it_was_cut(landed, place):
    assert refused(landed, f"cut {place}.json") == [("bad_json", 1)]


def test_segments_of_a_large_stream_are_whole_lines_that_join_to_the_range(monkeypatch):
    monkeypatch.setattr(read_ranges, "SEGMENT_BYTES", 50)
    monkeypatch.setattr("firstfault.jobs.landing.BLOCK_BYTES", 16)
    data = b"".join(b"line number %d\n" % n for n in range(20)) + b"no end"
    start = len(b"line number 0\nline number 1\n")
    inflated = Inflated(gzip.compress(data), "gzip")
    row = {"from_byte": start, "to_byte": len(data), "lines_before": 2, "format": "kernel", "file": "f"}
    segments = list(read_ranges._segments(inflated, row))
    assert b"".join(s.data for s in segments) == data[start:]
    assert len(segments) > 3
    for segment in segments:
        assert data[segment.byte_from :].startswith(segment.data)
        assert data[: segment.byte_from].count(b"\n") == segment.lines_before
        assert segment is segments[-1] or segment.data.endswith(b"\n")
    assert inflated.whole


def test_neighbours_share_a_task_and_tasks_cost_about_the_same():
    ranges = [planned(f"f{n}", b"x" * size) for n, size in enumerate((10, 10, 10, 1 << 20, 1 << 20, 10, 10))]
    assert task_of(ranges, 2) == [0, 0, 0, 0, 1, 1, 1]
    assert task_of(ranges[:1], 8) == [0]
    assert task_of(ranges[:3], 8) == [0, 1, 2]
    large = [planned("f", b"", to_byte=64 << 20, stream_id=str(n)) for n in range(64)]
    tasks = task_of(large, 2)
    assert tasks == sorted(tasks)
    sizes = [tasks.count(task) for task in sorted(set(tasks))]
    assert len(sizes) % 2 == 0
    assert max(sizes) - min(sizes) <= 1
