import gzip
import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from firstfault.jobs.landing import Inflated, Landing, LandingError
from firstfault.jobs.plan import HEAD_BYTES, Known, Reached, make_plan
from firstfault.jobs.sources import load_sources

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)


def write(zone: Path, path: str, data: bytes, age: timedelta = timedelta(hours=1)) -> None:
    file = zone / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    stamp = (NOW - age).timestamp()
    os.utime(file, (stamp, stamp))


def plan(zone: Path, known: Known | None = None, split_bytes: int = 1 << 20):
    return make_plan(Landing(str(zone)), load_sources(), known or Known({}), split_bytes, NOW)


def landed(done) -> Known:
    """What `inputs` knows after these ranges have landed."""
    by_stream: dict[str, Reached] = {}
    for r in sorted(done, key=lambda r: r.to_byte):
        by_stream[r.stream_id] = Reached(r.identity, r.head_bytes, r.to_byte, r.lines_before)
    return Known(by_stream)


def test_only_whole_lines_are_taken_and_the_tail_waits(tmp_path):
    write(tmp_path, "nodes/n1/kern.log", b"one\ntwo\nthr")
    found = plan(tmp_path)
    assert [(r.from_byte, r.to_byte) for r in found.ranges] == [(0, 8)]
    assert found.waiting_tails == ["nodes/n1/kern.log"]


def test_a_tail_is_taken_when_its_file_has_rested_for_a_day(tmp_path):
    write(tmp_path, "nodes/n1/kern.log", b"one\ntwo\nthr", age=timedelta(days=2))
    assert [(r.from_byte, r.to_byte) for r in plan(tmp_path).ranges] == [(0, 11)]


def test_a_file_that_grew_is_read_from_where_it_was(tmp_path):
    write(tmp_path, "nodes/n1/kern.log", b"one\n")
    first = plan(tmp_path)
    write(tmp_path, "nodes/n1/kern.log", b"one\n" + b"more\n" * 1000)
    second = plan(tmp_path, landed(first.ranges))
    assert [(r.stream_id, r.from_byte, r.to_byte) for r in second.ranges] == [(first.ranges[0].stream_id, 4, 5004)]
    assert plan(tmp_path, landed([*first.ranges, *second.ranges])).ranges == []


def test_a_rotated_file_keeps_its_stream_and_the_new_one_is_another(tmp_path):
    old = b"Nov 29 01:00:00 n1 kernel: boot\n" * 10
    write(tmp_path, "nodes/n1/kern.log", old)
    first = plan(tmp_path)
    write(tmp_path, "nodes/n1/kern.log.1", old + b"last\n")
    write(tmp_path, "nodes/n1/kern.log", b"Nov 30 00:00:00 n1 kernel: new\n")
    second = plan(tmp_path, landed(first.ranges))
    by_file = {r.file: r for r in second.ranges}
    assert by_file["nodes/n1/kern.log.1"].stream_id == first.ranges[0].stream_id
    assert by_file["nodes/n1/kern.log.1"].from_byte == len(old)
    assert by_file["nodes/n1/kern.log"].from_byte == 0
    assert by_file["nodes/n1/kern.log"].stream_id != first.ranges[0].stream_id


@pytest.mark.parametrize("order", [("syslog", "syslog.1"), ("syslog.1", "syslog")])
def test_a_file_delivered_twice_under_a_rotated_name_is_read_once(tmp_path, order):
    head = b"Nov 29 10:00:00 n1 systemd[1]: Started.\n" * 60
    whole, cut = order
    write(tmp_path, f"nodes/n1/{whole}", head + b"later\n")
    write(tmp_path, f"nodes/n1/{cut}", head)
    assert [(r.file, r.from_byte, r.to_byte) for r in plan(tmp_path).ranges] == [
        (f"nodes/n1/{whole}", 0, len(head) + 6)
    ]


def test_equal_files_of_several_ranks_all_count(tmp_path):
    for rank in range(3):
        write(tmp_path, f"jobs/7/n1/rank-{rank}.log", b"same\n")
    found = plan(tmp_path)
    assert len({r.stream_id for r in found.ranges}) == 3


def test_a_snapshot_is_read_again_only_when_its_content_changed(tmp_path):
    write(tmp_path, "scheduler/kube-pods.json", b'{"items": []}')
    first = plan(tmp_path)
    assert plan(tmp_path, landed(first.ranges)).ranges == []
    write(tmp_path, "scheduler/kube-pods.json", b'{"items": [1]}')
    assert [r.from_byte for r in plan(tmp_path, landed(first.ranges)).ranges] == [0]


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(lines=st.lists(st.binary(max_size=300).map(lambda b: b.replace(b"\n", b" ")), max_size=60))
def test_split_ranges_are_whole_lines_and_tile_the_stream(tmp_path, lines):
    data = b"".join(line + b"\n" for line in lines)
    write(tmp_path, "nodes/n1/kern.log", data)
    ranges = plan(tmp_path, split_bytes=256).ranges
    position = 0
    for r in ranges:
        assert r.from_byte == position
        assert data[r.to_byte - 1 : r.to_byte] == b"\n"
        assert r.lines_before == data[: r.from_byte].count(b"\n")
        position = r.to_byte
    assert position == len(data)


def test_files_that_nothing_matches_are_noted(tmp_path):
    write(tmp_path, "README", b"x\n")
    found = plan(tmp_path)
    assert [u.file for u in found.unmatched] == ["README"]
    assert found.ranges == []


def test_the_time_in_a_name_is_the_files_time(tmp_path):
    write(tmp_path, "nodes/n1/readiness/df-20261013T050500.txt", b"x\n")
    assert plan(tmp_path).ranges[0].file_time == datetime(2026, 10, 13, 5, 5, tzinfo=UTC)


def test_the_batch_id_says_what_is_read(tmp_path):
    write(tmp_path, "nodes/n1/kern.log", b"one\n")
    first = plan(tmp_path)
    assert plan(tmp_path).batch_id == first.batch_id
    write(tmp_path, "nodes/n1/kern.log", b"one\ntwo\n")
    assert plan(tmp_path).batch_id != first.batch_id
    assert {r.batch_id for r in first.ranges} == {first.batch_id}
    assert replace(first.ranges[0], batch_id="") != first.ranges[0]


TEXT = b"".join(b"line %d of a log that compresses well\n" % i for i in range(20_000))


@pytest.mark.parametrize("kind", ["gzip", "zstd"])
def test_a_compressed_file_is_planned_by_its_uncompressed_length(tmp_path, kind):
    packed = gzip.compress(TEXT) if kind == "gzip" else zstandard.compress(TEXT)
    write(tmp_path, f"nodes/n1/kern.log.{'gz' if kind == 'gzip' else 'zst'}", packed)
    r = plan(tmp_path).ranges[0]
    assert (r.compression, r.from_byte, r.to_byte) == (kind, 0, len(TEXT))
    assert r.head_bytes <= HEAD_BYTES


@pytest.mark.parametrize("kind", ["gzip", "zstd"])
def test_a_cut_archive_gives_what_it_holds_and_says_that_it_is_cut(kind):
    packed = gzip.compress(TEXT) if kind == "gzip" else zstandard.compress(TEXT)
    whole = Inflated(packed, kind)
    assert b"".join(whole) == TEXT
    assert whole.whole
    cut = Inflated(packed[: len(packed) * 2 // 3], kind)
    got = b"".join(cut)
    assert TEXT.startswith(got)
    assert not cut.whole


def test_a_concatenated_gzip_is_read_to_its_end():
    both = Inflated(gzip.compress(b"a\n") + gzip.compress(b"b\n"), "gzip")
    assert b"".join(both) == b"a\nb\n"
    assert both.whole


def test_a_landing_zone_that_is_not_there_says_what_to_give(tmp_path):
    with pytest.raises(LandingError, match="no such folder"):
        Landing(str(tmp_path / "none")).check()
