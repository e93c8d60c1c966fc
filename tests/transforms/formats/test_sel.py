"""BMC event logs."""

import pytest

from firstfault.transforms.formats.sel import bmc_time
from tests.transforms.formats.reading import landed, read, read_table, reasons, units, utc

SEL = """   1 | 11/29/2026 | 13:30:00 | Power Supply PS2 Status | Power Supply AC lost | Asserted
  1f | 11/29/26 | 01:30:00 PM UTC | Temperature CPU1 Temp | Upper Critical going high | Asserted | Reading 99 > 95
  20 | 11/29/2026 | 13:31:00 | Power Supply PS2 Status | Power Supply AC lost | Deasserted
  21 |  Pre-Init  |0000000123| Power Supply #0xc9 | Power Supply AC lost | Asserted
  22 | 11/29/2026 | 13:32:00 | OEM record c1 | 000000 | 0102030405
"""


def test_records_have_a_time_and_a_text_without_it():
    rows = landed("sel", SEL, node="gpu-r31-n03")
    assert [row["text"] for row in rows] == [
        "Power Supply PS2 Status | Power Supply AC lost | Asserted",
        "Temperature CPU1 Temp | Upper Critical going high | Asserted | Reading 99 > 95",
        "Power Supply PS2 Status | Power Supply AC lost | Deasserted",
        "Power Supply #0xc9 | Power Supply AC lost | Asserted",
        "OEM record c1 | 000000 | 0102030405",
    ]
    assert [row["event_time"] for row in rows[:2]] == [utc("2026-11-29T13:30:00Z")] * 2
    assert [row["time_basis"] for row in rows[:2]] == ["assumed_zone", "zoned"]
    assert rows[0]["node"] == "gpu-r31-n03"
    assert rows[0]["message"] == SEL.splitlines()[0]


def test_record_ids_are_hexadecimal():
    assert [row["fields"]["record"] for row in landed("sel", SEL)] == ["1", "1f", "20", "21", "22"]


def test_before_its_clock_was_set_a_record_has_no_time():
    row = landed("sel", SEL)[3]
    assert (row["event_time"], row["time_basis"], row["fields"]["since_init_s"]) == (None, "none", "123")


def test_csv_gives_the_same_text():
    text = "1f,11/29/2026,13:30:00,Power Supply PS2 Status,Power Supply AC lost,Asserted\n"
    row = landed("sel", text)[0]
    assert (row["text"], row["fields"]["record"]) == ("Power Supply PS2 Status | Power Supply AC lost | Asserted", "1f")


@pytest.mark.parametrize(
    ("date", "clock", "zone", "time", "basis"),
    [
        ("11/29/2026", "13:30:00", "UTC", "2026-11-29T13:30:00Z", "assumed_zone"),
        ("11/29/26", "12:30:00 AM UTC", "Europe/Berlin", "2026-11-29T00:30:00Z", "zoned"),
        ("11/29/26", "12:30:00 PM UTC", "UTC", "2026-11-29T12:30:00Z", "zoned"),
        ("11/29/26", "01:30:00 PM EST", "America/New_York", "2026-11-29T18:30:00Z", "zoned"),
        ("11/29/26", "01:30:00 PM EST", "UTC", "2026-11-29T13:30:00Z", "assumed_zone"),
        ("11/01/26", "01:30:00 AM EDT", "America/New_York", "2026-11-01T05:30:00Z", "zoned"),
        ("11/01/26", "01:30:00 AM EST", "America/New_York", "2026-11-01T06:30:00Z", "zoned"),
        ("29.11.2026", "13:30:00", "UTC", "2026-11-29T13:30:00Z", "assumed_zone"),
        ("2026-11-29", "13:30:00", "UTC", "2026-11-29T13:30:00Z", "assumed_zone"),
    ],
)
def test_dates_and_times_of_locales(date, clock, zone, time, basis):
    micros = int(utc(time).timestamp()) * 1_000_000
    assert bmc_time(date, clock, zone) == (micros, basis)


@pytest.mark.parametrize(("date", "clock"), [("13/29/2026", "13:30:00"), ("", "13:30:00"), ("11/29/2026", "25:00:00")])
def test_impossible_times_are_no_times(date, clock):
    assert bmc_time(date, clock, "UTC") is None


def test_one_day_first_date_speaks_for_the_dump():
    text = SEL.splitlines()[0]
    rows = landed("sel", f"{text.replace('11/29/', '05/11/')}\n{text.replace('11/29/', '29/11/')}\n")
    assert [row["event_time"] for row in rows] == [utc("2026-11-05T13:30:00Z"), utc("2026-11-29T13:30:00Z")]


def test_structure_and_damage():
    text = f"# taken by hand\nSEL has no entries\n\n{SEL.splitlines()[0][:14]}\nError: Unable to establish session\n"
    assert reasons("sel", text) == [
        "structure.comment",
        "structure.banner",
        "structure.blank",
        "field_count",
        "field_count",
    ]
    assert units(read_table("sel", text.encode())) == 5
    assert read("sel", "") == []
