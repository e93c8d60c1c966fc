"""Bytes of planned ranges as rows in flight."""

import gzip
from datetime import UTC, datetime

import pytest
import zstandard

from firstfault.jobs import land
from firstfault.jobs.knowledge import load_knowledge
from firstfault.jobs.land import ranges_frame, stage
from firstfault.jobs.landing import Inflated, Landing
from firstfault.jobs.plan import Range
from firstfault.transforms.matching import CompiledPattern
from tests.frames import collected, pick

XID = CompiledPattern(
    id="t.xid",
    event_type="gpu.xid",
    formats=("kernel",),
    literals=("NVRM: Xid",),
    regex=r"NVRM: Xid \(PCI:(?P<device>[0-9a-fA-F:.]+)\): (?P<code>\d+)",
    conversions=(("code", "int"), ("device", "pci")),
)
MASKER = load_knowledge().masking.masker(b"a key of the tests", "t")
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
def staged(spark, tmp_path_factory):
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
        planned("sacct.txt", second, "sacct", from_byte=len(SACCT), lines_before=2, node=None, job_id="_cluster"),
        *(planned(name, files[name], "prometheus", node=None) for name in files if name.startswith("cut ")),
    ]
    return collected(stage(ranges_frame(spark, ranges), Landing(str(root)), [XID], 2, MASKER))


def units(staged, stream) -> dict[str, int]:
    """Units by disposition."""
    found: dict[str, int] = {}
    for disposition, n in pick(staged, "disposition", "units", stream_id=stream):
        found[disposition] = found.get(disposition, 0) + n
    return found


def test_every_line_is_a_row_with_its_place_and_a_counted_row_says_how_many_there_were(staged):
    columns = ("byte_offset", "line_no", "length", "event_time")
    offsets = [0, len(KERNEL[0]), len(KERNEL[0]) + len(KERNEL[1])]
    times = ["03:00:00", "03:00:01", "03:00:02.5"]
    assert pick(staged, *columns, stream_id="kern.log", disposition="landed_log") == [
        (offsets[n], n + 1, len(KERNEL[n]), times[n]) for n in range(3)
    ]
    assert units(staged, "kern.log") == {"landed_log": 3, "counted": 3}
    assert units(staged, "tail.log") == {"landed_log": 3, "counted": 3}


def test_rows_carry_the_constants_of_their_stream(staged):
    columns = ("batch_id", "cluster", "job_id", "source", "zone", "file", "file_time", "node", "range_from")
    assert set(pick(staged, *columns, stream_id="second half")) == {
        ("b", "c", "_node", "kernel", "UTC", "kern.log", "05:00:00", "n1", len(KERNEL[0])),
        ("b", "c", "_node", "kernel", "UTC", "kern.log", "05:00:00", None, len(KERNEL[0])),
    }


def test_a_later_range_goes_on_with_offsets_and_line_numbers(staged):
    for stream in ("second half", "packed.log.zst"):
        assert pick(staged, "byte_offset", "line_no", stream_id=stream, disposition="landed_log") == [
            (len(KERNEL[0]), 2),
            (len(KERNEL[0]) + len(KERNEL[1]), 3),
        ]
        assert units(staged, stream) == {"landed_log": 2, "counted": 2}
    assert units(staged, "first line") == {"landed_log": 1, "counted": 1}


def test_a_compressed_stream_gives_the_same_rows(staged):
    columns = ("byte_offset", "line_no", "message", "event_time")
    packed = pick(staged, *columns, stream_id="packed.log.gz", disposition="landed_log")
    assert packed == pick(staged, *columns, stream_id="kern.log", disposition="landed_log")
    assert "café" not in packed[2][2]
    assert packed[2][2].startswith("2026-11-20T03:00:02.500000+00:00 n1 kernel: caf")


def test_patterns_find_events_in_flight(staged):
    found = [h for (h,) in pick(staged, "hits", stream_id="kern.log", disposition="landed_log") if h]
    assert [(h[2], h[4], h[7]) for (h,) in found] == [("gpu.xid", "0000:3b:00", {"code": "79"})]


def test_binary_files_are_refused_whole_and_counted(staged):
    columns = ("reason", "units", "byte_offset")
    assert pick(staged, *columns, stream_id="binary.log", disposition="quarantined") == [("binary", 8, 0)]
    assert pick(staged, *columns, stream_id="one-line.bin", disposition="quarantined") == [("binary", 1, 0)]
    assert units(staged, "binary.log") == {"quarantined": 8, "counted": 8}


def test_an_archive_that_was_cut_lands_what_it_holds_and_says_so(staged):
    found = units(staged, "cut.log.gz")
    assert pick(staged, "reason", stream_id="cut.log.gz", disposition="quarantined")[-1] == ("truncated_archive",)
    assert 100 < found["landed_log"] < 4000
    assert found["counted"] == sum(n for disposition, n in found.items() if disposition != "counted")


def test_a_file_that_is_gone_is_refused_and_the_night_goes_on(staged):
    assert pick(staged, "disposition", "reason", "units", stream_id="gone.log") == [
        ("counted", None, 1),
        ("quarantined", "unreadable: FileNotFoundError", 1),
    ]


def test_a_table_goes_on_under_the_header_of_its_first_range(staged):
    (fields,) = pick(staged, "fields", stream_id="sacct.txt", disposition="landed_log")[0]
    assert (fields["JobID"], fields["State"]) == ("2", "COMPLETED")
    assert units(staged, "sacct.txt") == {"landed_log": 1, "counted": 1}


def test_the_books_of_every_stream_balance(staged):
    for stream in {r["stream_id"] for r in staged}:
        found = units(staged, stream)
        assert found.pop("counted") == sum(found.values()), stream


@pytest.mark.parametrize("place", ["in an item", "before the first", "after an item"])
def test_a_document_that_was_cut_says_so_wherever_it_was_cut(staged, place):
    assert pick(staged, "reason", "units", stream_id=f"cut {place}.json", disposition="quarantined") == [
        ("bad_json", 1)
    ]


def test_segments_of_a_large_stream_are_whole_lines_that_join_to_the_range(monkeypatch):
    monkeypatch.setattr(land, "SEGMENT_BYTES", 50)
    monkeypatch.setattr("firstfault.jobs.landing.BLOCK_BYTES", 16)
    data = b"".join(b"line number %d\n" % n for n in range(20)) + b"no end"
    start = len(b"line number 0\nline number 1\n")
    inflated = Inflated(gzip.compress(data), "gzip")
    row = {"from_byte": start, "to_byte": len(data), "lines_before": 2, "format": "kernel", "file": "f"}
    segments = list(land._segments(inflated, row))
    assert b"".join(s.data for s in segments) == data[start:]
    assert len(segments) > 3
    for segment in segments:
        assert data[segment.byte_from :].startswith(segment.data)
        assert data[: segment.byte_from].count(b"\n") == segment.lines_before
        assert segment is segments[-1] or segment.data.endswith(b"\n")
    assert inflated.whole
