"""The ways a kernel line travels: each gives the same text, and its time as far as it is known."""

import json
from datetime import UTC, datetime

import pyarrow as pa
import pytest

from firstfault.transforms.formats.relative import settle_repeated_hour
from firstfault.transforms.formats.stamps import micros_of
from tests.transforms.formats.reading import landed, read, read_table, reasons, units, utc

TEXT = "NVRM: Xid (PCI:0000:3b:00): 79, pid=7, GPU has fallen off the bus."
ZONE = "America/New_York"


@pytest.mark.parametrize("caller", ["", "[ T1946]", "[    C3]"])
@pytest.mark.parametrize(
    ("head", "tail", "expected", "basis"),
    [
        ("[501230.123456]", " ", None, "boot_relative"),
        ("<3>[501230.123456]", " ", None, "boot_relative"),
        ("kern  :err   : [501230.123456]", " ", None, "boot_relative"),
        ("[Sun Nov 29 13:30:00 2026]", " ", "2026-11-29T18:30:00Z", "boot_wall"),
        ("2026-11-29T13:30:00,123456-05:00", " ", "2026-11-29T18:30:00.123456Z", "boot_wall"),
        ("Nov 29 13:30:00 n1 kernel: [501230.123456]", " ", "2026-11-29T18:30:00Z", "no_year"),
        ("2026-11-29T13:30:00.123456-05:00 n1 kernel: [  30.123456]", " ", "2026-11-29T18:30:00.123456Z", "zoned"),
        ("[Nov29 13:30]", " ", "2026-11-29T18:30:00Z", "no_year"),
    ],
)
def test_every_time_format_of_dmesg_takes_caller_ids(caller, head, tail, expected, basis):
    row = read("dmesg", f"{head}{caller}{tail}{TEXT}\n", zone=ZONE)[0]
    assert (row["text"], row["time_basis"]) == (TEXT, basis)
    assert expected is None or row["event_time"] == utc(expected)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (f"<11>Nov 29 13:30:00 n1 kernel: {TEXT}", "2026-11-29T18:30:00Z"),
        (f"<11>1 2026-11-29T13:30:00.123456-05:00 n1 kernel - - -  {TEXT}", "2026-11-29T18:30:00.123456Z"),
        (f"<11>2026-11-29T13:30:00.123456-05:00 n1 kernel: {TEXT}", "2026-11-29T18:30:00.123456Z"),
        (f"Nov 29 13:30:00.123456 n1 kernel: {TEXT}", "2026-11-29T18:30:00.123456Z"),
        (f"2026-11-29T13:30:00-0500 n1 kernel: {TEXT}", "2026-11-29T18:30:00Z"),
        (f"2026-11-29T13:30:00-05:00 n1 kernel: {TEXT}", "2026-11-29T18:30:00Z"),
        (f"Sun 2026-11-29 13:30:00 EST n1 kernel: {TEXT}", "2026-11-29T18:30:00Z"),
        (f"1795977000.123456 n1 kernel: {TEXT}", "2026-11-29T18:30:00.123456Z"),
    ],
)
def test_syslog_and_journal_text_name_the_node(line, expected):
    row = read("kernel", f"{line}\n", zone=ZONE)[0]
    assert (row["text"], row["node"], row["event_time"]) == (TEXT, "n1", utc(expected))


def test_a_forwarder_s_records_without_newlines_are_records():
    first, second = "<11>2026-11-29T13:30:00Z n1 kernel: one <3 of 4>", "<12>2026-11-29T13:30:01Z n2 kernel: two"
    data = f"{first}{second}\n{first}\n".encode()
    rows = landed("kernel", data, byte_from=100, lines_before=5)
    assert [(row["node"], row["text"], row["units"], row["line_no"]) for row in rows] == [
        ("n1", "one <3 of 4>", 1, 6),
        ("n2", "two", 0, 6),
        ("n1", "one <3 of 4>", 1, 7),
    ]
    assert [row["byte_offset"] - 100 for row in rows] == [0, len(first), len(first) + len(second) + 1]
    assert sum(row["length"] for row in rows) == len(data)


def test_times_since_the_line_before_count_from_the_last_anchor():
    text = "[Nov29 13:30] a\n[  +0.500000] b\n[ +30.000000] c\n[Nov29 13:31] d\n[  +0.000011] e\n"
    rows = read("dmesg", text, zone="UTC")
    assert [row["event_time"] for row in rows] == [
        utc("2026-11-29T13:30:00Z"),
        utc("2026-11-29T13:30:00.5Z"),
        utc("2026-11-29T13:30:30.5Z"),
        utc("2026-11-29T13:31:00Z"),
        utc("2026-11-29T13:31:00.000011Z"),
    ]
    assert {row["time_basis"] for row in rows} == {"no_year"}


def test_times_since_the_line_before_without_anchor_count_back_from_the_file():
    rows = read("dmesg", "[<    0.000000>] a\n[<    2.500000>] b\n[<    0.500000>] c\n")
    ages = [(datetime(2026, 12, 15, tzinfo=UTC) - row["event_time"]).total_seconds() for row in rows]
    assert ages == [3.0, 0.5, 0.0]
    assert {row["time_basis"] for row in rows} == {"boot_relative"}
    assert all(row["fields"] is None for row in rows)  # the seconds since boot stay unknown


def test_a_json_dump_says_seconds_since_boot():
    document = {"dmesg": [{"pri": 3, "time": 501230.0, "msg": TEXT}, {"pri": 6, "time": 501231.5, "msg": "[ T7] x"}]}
    text = json.dumps(document, indent=3)
    rows = landed("dmesg", text, node="n1", file="nodes/n1/dmesg-20261215T000000.json")
    assert [(row["text"], row["fields"]["boot_s"], row["time_basis"]) for row in rows] == [
        (TEXT, "501230.0", "boot_relative"),
        ("x", "501231.5", "boot_relative"),
    ]
    assert rows[1]["event_time"] == datetime(2026, 12, 15, tzinfo=UTC)
    assert rows[0]["event_time"] == utc("2026-12-14T23:59:58.5Z")
    assert rows[0]["fields"]["priority"] == "3"


def test_a_cut_or_odd_json_dump_costs_what_is_damaged():
    text = '{"dmesg":[{"pri":3,"time":1.5,"msg":"a"},{"pri":3,"time":"soon","msg":"b"},{"pri":3,"ti'
    rows = read("dmesg", text, file="dmesg.json")
    assert [(row["disposition"], row["reason"]) for row in rows] == [
        ("landed_log", None),
        ("quarantined", "bad_json"),
        ("quarantined", "bad_json"),
    ]


def test_a_ring_that_wrapped_says_so_with_its_first_line():
    text = f"6,3964,206764307,-;{TEXT}\n SUBSYSTEM=pci\n DEVICE=+pci:0000:3b:00.0\n6,3965,206764310,-,caller=T7;b\n"
    rows = read("dmesg", text)
    assert rows[0]["text"] == f"kernel ring wrapped: 3964 records lost; {TEXT}"
    assert [row["text"] for row in rows[1:]] == [" SUBSYSTEM=pci", " DEVICE=+pci:0000:3b:00.0", "b"]
    assert rows[1]["time_basis"] == "neighbour"
    assert read("dmesg", text, lines_before=9)[0]["text"] == TEXT  # a later range has lost nothing
    assert read("dmesg", "6,0,0,-;Linux version 6.8\n")[0]["text"] == "Linux version 6.8"


def test_octal_control_characters_of_rsyslog_are_what_they_stand_for():
    line = "Nov 29 13:30:00 n1 kernel: NVRM: The NVIDIA GPU 0000:5e:00.0#012NVRM: (PCI ID: 10de:2330)#011x#015"
    row = read("kernel", line)[0]
    assert row["text"] == "NVRM: The NVIDIA GPU 0000:5e:00.0 NVRM: (PCI ID: 10de:2330)\tx"
    assert row["message"] == line
    assert read("app", "issue #012 is open")[0]["text"] == "issue #012 is open"


@pytest.mark.parametrize("source", ["kernel", "dmesg", "slurmctld", "fabricmanager", "kubelet", "switch_log"])
def test_dirty_bytes_land_and_are_counted(source):
    data = b"\x00\x00\x00\nNov 29 13:30:00 n1 kernel: caf\xe9 \x00 x\r\n\r\n[    1.000000] cut at the e"
    table = read_table(source, data)
    assert units(table) == 4
    assert reasons(source, data) == [None] * 4
    assert "".join(table["message"].to_pylist()).count("\x00") == 4


def test_years_roll_over_new_year_within_one_file():
    text = "Dec 31 23:59:59 n1 kernel: a\nJan  1 00:00:01 n1 kernel: b\n"
    rows = read("kernel", text, file_time=datetime(2027, 1, 2, tzinfo=UTC))
    assert [row["event_time"] for row in rows] == [utc("2026-12-31T23:59:59Z"), utc("2027-01-01T00:00:01Z")]


def test_the_hour_that_autumn_repeats_is_told_apart_by_order():
    clocks = ["00:59:00", "01:10:00", "01:59:00", "01:01:00", "01:58:00", "02:01:00"]
    text = "".join(f"Nov  1 {clock} n1 kernel: x\n" for clock in clocks)
    hours = [row["event_time"].isoformat()[11:16] for row in read("kernel", text, zone=ZONE)]
    assert hours == ["04:59", "05:10", "05:59", "06:01", "06:58", "07:01"]


def test_lines_a_little_out_of_order_do_not_repeat_the_hour():
    text = "".join(f"[2026-11-01T01:{m}:00.000] x\n" for m in (30, 29, 31, 30))
    hours = [row["event_time"].isoformat()[11:16] for row in read("slurmctld", text, zone=ZONE)]
    assert hours == ["05:30", "05:29", "05:31", "05:30"]


def test_times_of_other_hours_stay():
    event = micros_of(pa.array([datetime(2026, 11, 3, 1, 50, tzinfo=UTC), datetime(2026, 11, 3, 1, 1, tzinfo=UTC)]))
    assert (settle_repeated_hour(event, event > 0, ZONE) == event).all()
