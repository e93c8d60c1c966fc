"""PTP and NTP tools, each with a clock that is fast."""

import pytest

from tests.transforms.formats.reading import FILE_TIME, landed, read_table, reasons, samples, units, utc

PTP4L = "ptp4l[512.345]: master offset     250000 s2 freq  -4512 path delay       310\n"
PHC2SYS = "phc2sys[512.345]: CLOCK_REALTIME phc offset   250000 s2 freq   +120 delay    480\n"
NTPQ = """     remote           refid      st t when poll reach   delay   offset  jitter
==============================================================================
*ntp1            .GPS.            1 u   23   64  377    0.210   -0.250   0.012
+ntp2            10.0.0.9         2 u    5   64  377    0.310   -0.300   0.020
 ntp3            .INIT.          16 u    -   64    0    0.000    0.000   0.000
xntp4            .GPS.            1 u  12m   64  377    0.210   99.000   0.012
"""


@pytest.mark.parametrize(
    ("text", "program", "clock"), [(PTP4L, "ptp4l", "phc"), (PHC2SYS, "phc2sys", "CLOCK_REALTIME")]
)
def test_a_fast_clock_is_positive(text, program, clock):
    assert samples("ptp", text)["clock.offset_s"] == pytest.approx(250e-6)
    assert samples("ptp", text.replace("  250000", " -250000"))["clock.offset_s"] == pytest.approx(-250e-6)
    assert landed("ptp", text)[0]["labels"] == {"program": program, "clock": clock, "state": "locked"}


def test_a_nic_s_clock_set_by_the_system_is_another_one():
    text = PHC2SYS.replace("CLOCK_REALTIME phc", "eth0 sys")
    assert samples("ptp", text) == {"clock.phc_offset_s": pytest.approx(250e-6)}


def test_the_state_is_a_label():
    for word, state in (("s0", "unlocked"), ("s1", "step"), ("s3", "locked_stable")):
        assert landed("ptp", PTP4L.replace("s2", word))[0]["labels"]["state"] == state


def test_summaries_have_no_sign():
    text = "ptp4l[513.345]: rms    8 max   15 freq  -4512 +/-  12 delay   310 +/-   0\n"
    assert samples("ptp", text) == {"clock.offset_rms_s": pytest.approx(8e-9)}


def test_times_come_from_syslog_else_count_back_from_the_file():
    row = landed("ptp", f"Nov 29 13:30:00 gpu-r31-n03 ptp4l: [512.345] {PTP4L[16:]}")[0]
    assert (row["event_time"], row["time_basis"]) == (utc("2026-11-29T13:30:00Z"), "no_year")
    assert (row["node"], row["metric"]) == ("gpu-r31-n03", "clock.offset_s")
    rows = landed("ptp", PTP4L + PHC2SYS.replace("512.345", "522.345"), node="n1")
    assert [(FILE_TIME - row["event_time"]).total_seconds() for row in rows if row["metric"] == "clock.offset_s"] == [
        10,
        0,
    ]
    assert {row["time_basis"] for row in rows} == {"boot_relative"}


def test_other_lines_land_as_text():
    text = "ptp4l[512.345]: port 1: UNCALIBRATED to SLAVE on MASTER_CLOCK_SELECTED\n\n"
    rows = landed("ptp", text)
    assert [row["text"] for row in rows] == ["port 1: UNCALIBRATED to SLAVE on MASTER_CLOCK_SELECTED"]
    assert units(read_table("ptp", text.encode())) == 2


def test_ntpq_tells_the_server_s_lead_in_milliseconds():
    rows = landed("ntpq", NTPQ, node="n1")
    assert [(row["metric"], row["labels"]["source"]) for row in rows] == [
        ("clock.offset_s", "ntp1"),
        ("clock.peer_offset_s", "ntp2"),
        ("clock.peer_offset_s", "xntp4"[1:]),
    ]
    assert rows[0]["value"] == pytest.approx(250e-6)
    assert reasons("ntpq", NTPQ)[:2] == ["structure.header", "structure.banner"]
    assert reasons("ntpq", "No association ID's returned\n") == ["bad_value"]
    assert units(read_table("ntpq", NTPQ.encode())) == 6


def test_absurd_numbers_and_endless_words_are_text():
    assert samples("ptp", PTP4L.replace("310", "9" * 5000)) == {None: None}
    assert samples("ptp", "{" * 100_000) == {None: None}
