from datetime import UTC, datetime

import pytest

from tests.transforms.formats.reading import landed, read, read_table, units, utc

NCCL = "gpu-r31-n02:5122:5350 [1] transport/net_ib.cc:97 NCCL WARN NET/IB : Got async event : port error"


def test_every_line_lands_blank_ones_without_text():
    rows = read("app", "first\n\n   \nlast")
    assert [row["message"] for row in rows] == ["first", "", "   ", "last"]
    assert [row["text"] for row in rows] == ["first", None, "   ", "last"]
    assert [(row["byte_offset"], row["length"], row["line_no"]) for row in rows] == [
        (0, 6, 1),
        (6, 1, 2),
        (7, 4, 3),
        (11, 4, 4),
    ]


def test_offsets_and_line_numbers_continue_the_stream():
    rows = read("app", "a\nb\n", byte_from=1000, lines_before=50)
    assert [(row["byte_offset"], row["line_no"]) for row in rows] == [(1000, 51), (1002, 52)]


def test_untimed_lines_have_the_written_times_around_them():
    rows = read("app", f"2026-11-29 16:10:22 step 1\n{NCCL}\nTraceback\n2026-11-29 16:10:30 step 2\nend\n")
    assert [row["time_basis"] for row in rows] == [
        "assumed_zone",
        "neighbour",
        "neighbour",
        "assumed_zone",
        "neighbour",
    ]
    assert rows[1]["t_prev"] == utc("2026-11-29T16:10:22Z")
    assert rows[1]["t_next"] == utc("2026-11-29T16:10:30Z")
    assert rows[0]["t_prev"] is None
    assert rows[4]["t_next"] is None


def test_neighbours_are_of_the_same_rank_first():
    text = "1: 2026-11-29 16:00:00 a\n2: 2026-11-29 16:30:00 b\n1: untimed\n3: other\n1: 2026-11-29 17:00:00 c\n"
    rows = read("app", text)
    assert rows[2]["t_prev"] == utc("2026-11-29T16:00:00Z")
    assert rows[2]["t_next"] == utc("2026-11-29T17:00:00Z")
    assert rows[3]["t_prev"] == utc("2026-11-29T16:30:00Z")  # rank 3 says no time: any line's
    assert [rows[k]["time_basis"] for k in (2, 3)] == ["neighbour", "other_neighbour"]


def test_a_rank_between_its_own_line_and_that_of_another_says_so():
    text = "1: 2026-11-29 16:00:00 a\n2: 2026-11-29 16:30:00 b\n1: untimed\n2: 2026-11-29 17:00:00 c\n2: untimed\n"
    rows = read("app", text)
    assert (rows[2]["t_prev"], rows[2]["t_next"]) == (utc("2026-11-29T16:00:00Z"), utc("2026-11-29T17:00:00Z"))
    assert [rows[k]["time_basis"] for k in (2, 4)] == ["other_neighbour", "neighbour"]


def test_no_time_at_all_is_basis_none():
    assert [row["time_basis"] for row in read("app", "a\nb\n")] == ["none", "none"]


def test_time_without_date_keeps_its_seconds_of_the_day():
    row = read("app", "21:14:07 batch 31\n")[0]
    assert (row["event_time"], row["time_basis"], row["fields"]) == (None, "no_date", {"tod_s": "76447"})


def test_dmesg_counts_back_from_the_file_time():
    rows = read("dmesg", "[    1.000000] Linux\n[   91.500000] NVRM: x\n continued\n", node="gpu-r31-n01")
    assert rows[1]["event_time"] == datetime(2026, 12, 15, tzinfo=UTC)
    assert rows[0]["event_time"] == utc("2026-12-14T23:58:29.5Z")
    assert rows[1]["fields"] == {"boot_s": "91.5"}
    assert rows[0]["time_basis"] == "boot_relative"
    assert rows[2]["time_basis"] == "neighbour"


def test_wall_clock_wins_over_a_second_boot_stamp():
    row = read("kernel", "Nov 29 13:30:00 n1 kernel: [501230.123456] NVRM: x\n")[0]
    assert (row["event_time"], row["time_basis"]) == (utc("2026-11-29T13:30:00Z"), "no_year")
    assert row["fields"] == {"boot_s": "501230.123456"}
    assert row["text"] == "NVRM: x"


def test_readiness_is_read_at_the_file_time():
    rows = read("readiness", "Filesystem  Size\ntmpfs 189G\n", node="gpu-r31-n01")
    assert {row["time_basis"] for row in rows} == {"file_time"}
    assert {row["event_time"] for row in rows} == {datetime(2026, 12, 15, tzinfo=UTC)}


@pytest.mark.parametrize(("given", "expected"), [(None, "gpu-r31-n02"), ("gpu-r31-n09", "gpu-r31-n09")])
def test_the_path_s_node_wins(given, expected):
    assert read("app", NCCL, node=given)[0]["node"] == expected


def test_the_line_s_rank_wins_over_the_path_s():
    rows = read("app", "[rank3]: boom\nplain\n", rank=7)
    assert [row["rank"] for row in rows] == [3, 7]


def test_times_without_year_follow_the_dated_lines():
    text = "2024-08-03 21:00:00 start\n[E803 21:26:03.388957655 a.cpp:1] boom\n"
    rows = read("app", text)  # copied two years later, so the file time misleads
    assert rows[1]["event_time"] == utc("2024-08-03T21:26:03Z")
    assert rows[1]["time_basis"] == "no_year"


def test_times_without_year_cross_the_year_backwards():
    text = "[E1231 23:59:58.000000000 a.cpp:1] x\n[E101 00:00:02.000000000 a.cpp:1] y\n"
    rows = read("app", text, file_time=datetime(2027, 1, 1, 1, tzinfo=UTC))
    assert [row["event_time"] for row in rows] == [utc("2026-12-31T23:59:58Z"), utc("2027-01-01T00:00:02Z")]


def test_collector_stamp_is_kept_apart():
    row = read("app", "2026-11-29T16:10:22.5Z stderr F E1129 16:10:21.000000 42 a.py:1] x\n")[0]
    assert row["collected_at"] == utc("2026-11-29T16:10:22.5Z")
    assert row["event_time"] == utc("2026-11-29T16:10:21Z")
    assert row["text"] == "a.py:1] x"


def test_invalid_utf8_lands_replaced():
    row = read("app", b"2026-11-29 16:10:22 caf\xe9 \xff\n")[0]
    assert row["text"] == "caf\ufffd \ufffd"
    assert row["length"] == 27


def test_colours_leave_the_text_not_the_message():
    row = read("app", "loss: \x1b[32m7.0\x1b[39m done\n")[0]
    assert row["text"] == "loss: 7.0 done"
    assert "\x1b[32m" in row["message"]


def test_slices_give_what_the_whole_gives(monkeypatch):
    text = "".join(f"{i % 4}: 2026-11-29 16:10:{i % 60:02d} step {i}\nuntimed\r\n\n" for i in range(200))
    whole = read("app", text, byte_from=9)
    monkeypatch.setattr("firstfault.transforms.formats.loglines._SLICE_BYTES", 64)
    assert read("app", text, byte_from=9) == whole


def test_a_long_line_and_an_empty_range():
    assert units(read_table("app", b"x" * (10 << 20) + b"\n")) == 1
    assert read("app", "") == []


def test_node_names_are_short_and_lower_case():
    rows = landed("kernel", "Nov 29 13:30:00 GPU-R31-N03.site.org kernel: x\nNov 29 13:30:00 10.7.3.21 kernel: y\n")
    assert [row["node"] for row in rows] == ["gpu-r31-n03", "10.7.3.21"]
