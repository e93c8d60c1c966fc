"""Switch logs: SONiC's syslog with and without a year, and UFM's event log."""

from tests.transforms.formats.reading import landed, utc

SWITCH = (
    "2026 Nov 29 13:30:00.123456 leaf-r31 NOTICE swss#orchagent: :- updatePortOperStatus: Port Ethernet32 oper state "
    "set from up to down\n"
    "Nov 29 13:30:01.500000 leaf-r31 WARNING swss#orchagent: :- logPfcWatchdog: PFC Watchdog detected PFC storm on "
    "port Ethernet32, queue index 3, queue id 0x15 and port id 0x10.\n"
    "Nov 29 13:30:02 leaf-r32 Ebra: %LINEPROTO-5-UPDOWN: Line protocol, Interface Ethernet1/7, changed state to down\n"
    "2026-11-29 13:30:03.123 [42] [32] WARNING [Hardware] IBPort [Switch: leaf-r33 / 35] [dev_id: 506b]: Symbol error\n"
)


def test_headers_name_switch_and_time():
    rows = landed("switch_log", SWITCH)
    assert [row["node"] for row in rows] == ["leaf-r31", "leaf-r31", "leaf-r32", "leaf-r33"]
    assert [row["event_time"] for row in rows] == [
        utc("2026-11-29T13:30:00.123456Z"),
        utc("2026-11-29T13:30:01.5Z"),
        utc("2026-11-29T13:30:02Z"),
        utc("2026-11-29T13:30:03.123Z"),
    ]
    assert [row["time_basis"] for row in rows] == ["assumed_zone", "no_year", "no_year", "assumed_zone"]
    assert rows[1]["text"].startswith(":- logPfcWatchdog: PFC Watchdog detected")
    assert rows[3]["text"] == "[Hardware] IBPort [Switch: leaf-r33 / 35] [dev_id: 506b]: Symbol error"


def test_ufm_writes_local_time():
    row = landed("switch_log", SWITCH.splitlines()[3], zone="Europe/Berlin")[0]
    assert row["event_time"] == utc("2026-11-29T12:30:03.123Z")
