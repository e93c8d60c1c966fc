"""One clock that is 0.25 s fast and gains 9.2 ppm, in every form that chrony prints."""

import pytest

from tests.transforms.formats.reading import landed, reasons, samples, utc

FAST_LOG = (
    "2026-11-29 13:30:00 10.0.0.1        3      9.207      0.031  2.500e-01 N  1  4.410e-05 -2.500e-01  2.000e-03  "
    "1.000e-03  2.520e-01\n"
)
FAST_TOLD = """Reference ID    : 0A000001 (ntp1.site)
Stratum         : 3
Ref time (UTC)  : Sun Nov 29 13:29:58 2026
System time     : 0.250000000 seconds fast of NTP time
Last offset     : +0.250000000 seconds
RMS offset      : 0.000041870 seconds
Frequency       : 9.207 ppm fast
Residual freq   : +0.001 ppm
Skew            : 0.031 ppm
Root delay      : 0.002000000 seconds
Root dispersion : 0.001000000 seconds
Update interval : 64.2 seconds
Leap status     : Normal
"""
FAST_LISTED = (
    "0A000001,ntp1.site,3,1795958998.1,-0.250000000,0.250000000,0.000041870,9.207,0.001,0.031,0.002000000,0.001000000,"
    "64.2,Normal\n"
)


@pytest.mark.parametrize("text", [FAST_LOG, FAST_TOLD, FAST_LISTED], ids=["log", "told", "listed"])
def test_a_fast_clock_is_positive_in_every_form(text):
    found = samples("chrony", text, node="gpu-r31-n01")
    assert found["clock.offset_s"] == pytest.approx(0.25)
    assert found["clock.freq_ppm"] == pytest.approx(9.207)
    assert found["clock.max_error_s"] == pytest.approx(0.252)


@pytest.mark.parametrize(
    "text",
    [
        FAST_LOG.replace("9.207", "-9.207").replace(" 2.500e-01 N", "-2.500e-01 N"),
        FAST_TOLD.replace("fast", "slow"),
        FAST_LISTED.replace("-0.250000000", "0.250000000").replace("9.207", "-9.207"),
    ],
    ids=["log", "told", "listed"],
)
def test_a_slow_clock_is_negative_in_every_form(text):
    found = samples("chrony", text)
    assert found["clock.offset_s"] == pytest.approx(-0.25)
    assert found["clock.freq_ppm"] == pytest.approx(-9.207)
    assert found["clock.max_error_s"] == pytest.approx(0.252)


def test_log_times_are_utc_whatever_the_zone():
    rows = landed("chrony", FAST_LOG, zone="Asia/Tokyo", node="n1")
    assert rows[0]["event_time"] == utc("2026-11-29T13:30:00Z")
    assert {(row["time_basis"], row["node"]) for row in rows} == {("zoned", "n1")}
    assert [row["units"] for row in rows] == [1, 0, 0]


def test_banner_old_columns_and_damage():
    banner = "=" * 40 + "\n   Date (UTC) Time     IP Address   St   Freq ppm\n" + "=" * 40 + "\n"
    old = " ".join(FAST_LOG.split()[:10]) + "\n"
    text = f"{banner}{old}\n2026-11-29 13:30:00 10.0.0.1 3\n2026-11-29 13:30:00 10.0.0.1 3 x 1 y N\nnonsense\n"
    assert reasons("chrony", text) == [
        "structure.banner",
        "structure.banner",
        "structure.banner",
        None,
        None,
        "structure.blank",
        "field_count",
        "bad_value",
        "bad_value",
    ]
    assert set(samples("chrony", text)) == {"clock.offset_s", "clock.freq_ppm"}


def test_other_fields_of_the_report_are_structure():
    assert reasons("chrony", FAST_TOLD).count("structure.field") == 10


STATISTICS = (
    "2026-11-29 13:30:00 10.0.0.1  6.261e-03  2.500e-01  2.220e-03  1.874e-06  1.080e-06 7.8e-02  16   0   8  0.00\n"
)
MEASUREMENTS = (
    "2026-11-29 13:30:00 10.0.0.1        N  2 111 111 1111   6  6 0.91  -2.500e-01  2.000e-03  1.000e-03  4.000e-03  "
    "2.000e-03 C0A80001 4B K\n"
)
SOURCES = """MS Name/IP address         Stratum Poll Reach LastRx Last sample
===============================================================================
^* ntp1                          2   6   377     9   +250ms[ +251ms] +/- 2150us
^+ ntp2                          2   6   377     9   +249ms[ +251ms] +/-   30ms
^? ntp3                          0   6     0     -     +0ns[   +0ns] +/-    0ns
^x ntp4                          2   6   377     9    -10s[  -10s] +/- 2150us
"""


def test_statistics_are_positive_and_measurements_negative_for_a_fast_clock():
    assert samples("chrony", STATISTICS) == {"clock.offset_s": 0.25}
    found = samples("chrony", MEASUREMENTS)
    assert found["clock.offset_s"] == 0.25
    assert found["clock.max_error_s"] == pytest.approx(0.25 + 0.003 + 0.001 + 0.002)
    assert landed("chrony", MEASUREMENTS)[0]["labels"] == {"source": "10.0.0.1"}


def test_a_measurement_that_failed_its_tests_is_no_witness():
    assert reasons("chrony", MEASUREMENTS.replace("111 111", "111 101")) == ["telemetry.refused"]


def test_only_the_selected_source_speaks_for_the_clock():
    rows = landed("chrony", SOURCES)
    assert [(row["metric"], row["labels"]["source"]) for row in rows] == [
        ("clock.offset_s", "ntp1"),
        ("clock.max_error_s", "ntp1"),
        ("clock.peer_offset_s", "ntp2"),
    ]
    assert rows[0]["value"] == pytest.approx(0.25)
    assert rows[1]["value"] == pytest.approx(0.25215)
    assert reasons("chrony", SOURCES)[-2:] == ["telemetry.blank", "telemetry.blank"]
