"""`nvidia-smi -q`, as XML and as text."""

import pytest

from firstfault.transforms.formats.nvidia_dump import metric_names
from tests.transforms.formats.reading import landed, read, read_table, reasons, samples, units, utc

XML = """<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log>
\t<timestamp>Sun Nov 29 13:30:00 2026</timestamp>
\t<driver_version>550.54.15</driver_version>
\t<gpu id="00000000:3B:00.0">
\t\t<product_name>NVIDIA H100 80GB HBM3</product_name>
\t\t<uuid>GPU-5f2c</uuid>
\t\t<serial>N/A</serial>
\t\t<performance_state>P0</performance_state>
\t\t<clocks_event_reasons>
\t\t\t<clocks_event_reason_hw_thermal_slowdown>Active</clocks_event_reason_hw_thermal_slowdown>
\t\t\t<clocks_event_reason_sw_power_cap>Not Active</clocks_event_reason_sw_power_cap>
\t\t</clocks_event_reasons>
\t\t<fb_memory_usage>
\t\t\t<total>81559 MiB</total>
\t\t\t<used>1032 MiB</used>
\t\t</fb_memory_usage>
\t\t<bar1_memory_usage>
\t\t\t<total>131072 MiB</total>
\t\t</bar1_memory_usage>
\t\t<ecc_errors>
\t\t\t<volatile>
\t\t\t\t<sram_uncorrectable_parity>1</sram_uncorrectable_parity>
\t\t\t\t<sram_uncorrectable_secded>2</sram_uncorrectable_secded>
\t\t\t\t<dram_uncorrectable>4</dram_uncorrectable>
\t\t\t</volatile>
\t\t</ecc_errors>
\t\t<remapped_rows>
\t\t\t<remapped_row_unc>3</remapped_row_unc>
\t\t\t<remapped_row_pending>Yes</remapped_row_pending>
\t\t\t<remapped_row_failure>No</remapped_row_failure>
\t\t</remapped_rows>
\t\t<temperature>
\t\t\t<gpu_temp>69 C</gpu_temp>
\t\t\t<memory_temp>N/A</memory_temp>
\t\t</temperature>
\t\t<gpu_power_readings>
\t\t\t<average_power_draw>629.12 W</average_power_draw>
\t\t</gpu_power_readings>
\t\t<processes>
\t\t\t<process_info><pid>7</pid><used_memory>9 MiB</used_memory></process_info>
\t\t</processes>
\t</gpu>
</nvidia_smi_log>
"""
TEXT = """
==============NVSMI LOG==============

Timestamp                                 : Sun Nov 29 13:30:00 2026
Driver Version                            : 550.54.15

Attached GPUs                             : 1
GPU 00000000:3B:00.0
    Product Name                          : NVIDIA H100 80GB HBM3
    GPU UUID                              : GPU-5f2c
    Serial Number                         : N/A
    Performance State                     : P0
    Clocks Throttle Reasons
        SW Power Cap                      : Not Active
        HW Slowdown                       : Not Active
            HW Thermal Slowdown           : Active
    FB Memory Usage
        Total                             : 81559 MiB
        Used                              : 1032 MiB
    BAR1 Memory Usage
        Total                             : 131072 MiB
    ECC Errors
        Volatile
            SRAM Uncorrectable Parity     : 1
            SRAM Uncorrectable SEC-DED    : 2
            DRAM Uncorrectable            : 4
    Remapped Rows
        Uncorrectable Error               : 3
        Pending                           : Yes
        Remapping Failure Occurred        : No
    Temperature
        GPU Current Temp                  : 69 C
        Memory Current Temp               : N/A
    GPU Power Readings
        Average Power Draw                : 629.12 W
    Processes
        GPU instance ID                   : N/A
        Process ID                        : 7
            Used GPU Memory               : 9 MiB
"""
WANT = {
    "nvidia_smi.clocks_event_reasons.hw_thermal_slowdown": 1.0,
    "nvidia_smi.clocks_event_reasons.sw_power_cap": 0.0,
    "nvidia_smi.memory.total": 81559.0,
    "nvidia_smi.memory.used": 1032.0,
    "nvidia_smi.ecc.errors.uncorrected.volatile.sram.parity": 1.0,
    "nvidia_smi.ecc.errors.uncorrected.volatile.sram.secded": 2.0,
    "nvidia_smi.ecc.errors.uncorrected.volatile.dram": 4.0,
    "nvidia_smi.ecc.errors.uncorrected.volatile.total": 7.0,
    "nvidia_smi.remapped_rows.uncorrectable": 3.0,
    "nvidia_smi.remapped_rows.pending": 1.0,
    "nvidia_smi.remapped_rows.failure": 0.0,
    "nvidia_smi.temperature.gpu": 69.0,
    "nvidia_smi.power.draw.average": 629.12,
    "nvidia_smi.power.draw": 629.12,
}
LAUGHS = """<?xml version="1.0"?>
<!DOCTYPE nvidia_smi_log [
<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">
]>
<nvidia_smi_log><gpu id="00000000:3B:00.0"><fan_speed>&c;</fan_speed></gpu></nvidia_smi_log>
"""
BOTH = [("nvidia_smi_xml", XML), ("nvidia_smi_q", TEXT)]


@pytest.mark.parametrize(("source", "text"), BOTH)
def test_a_dump_says_what_a_query_says(source, text):
    want = dict(WANT)
    if source == "nvidia_smi_q":
        want["nvidia_smi.clocks_event_reasons.hw_slowdown"] = 0.0
    assert samples(source, text) == want
    rows = landed(source, text, node="gpu-r31-n03", zone="Europe/Berlin")
    assert {(row["node"], row["device"]) for row in rows} == {("gpu-r31-n03", "0000:3b:00")}
    assert {(row["event_time"], row["time_basis"]) for row in rows} == {(utc("2026-11-29T12:30:00Z"), "assumed_zone")}
    assert rows[0]["labels"] == {
        "driver_version": "550.54.15",
        "name": "NVIDIA H100 80GB HBM3",
        "uuid": "GPU-5f2c",
        "pstate": "P0",
    }


@pytest.mark.parametrize(("source", "text"), BOTH)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_books_are_in_lines(source, text, newline):
    data = (text * 3).replace("\n", newline).encode()
    table = read_table(source, data, byte_from=9)
    assert units(table) == data.count(b"\n")
    assert len(landed(source, data)) == 3 * len(landed(source, text))


@pytest.mark.parametrize(("source", "text"), BOTH)
def test_each_error_text_is_a_sample_where_it_first_stands(source, text):
    lost = text.replace("69 C", "GPU is lost").replace("629.12 W", "GPU is lost").replace("1032 MiB", "[Unknown Error]")
    rows = [row for row in landed(source, lost) if row["metric"] == "nvidia_smi.error_cell"]
    assert [(row["labels"]["text"], row["labels"]["column"], row["units"]) for row in rows] == [
        ("[Unknown Error]", "memory.used", 0),
        ("GPU is lost", "temperature.gpu", 0),
    ]
    data = lost.encode()
    for row in rows:
        assert row["labels"]["text"] in data[row["byte_offset"] :][: row["length"]].decode()


def test_a_gpu_that_only_errs_is_one_unit_of_its_lines():
    text = '<nvidia_smi_log><gpu id="00000000:3B:00.0">\n<fan_speed>ERR!</fan_speed>\n</gpu></nvidia_smi_log>\n'
    assert [(row["metric"], row["units"]) for row in landed("nvidia_smi_xml", text)] == [("nvidia_smi.error_cell", 3)]


def test_older_dumps_give_totals_and_throttle_reasons():
    text = XML.replace("clocks_event_reason", "clocks_throttle_reason").replace("gpu_power_readings", "power_readings")
    text = text.replace("average_power_draw", "power_draw")
    old = "<double_bit><total>9</total></double_bit><dram_uncorrectable>"
    found = samples("nvidia_smi_xml", text.replace("<dram_uncorrectable>", old))
    assert found["nvidia_smi.clocks_event_reasons.hw_thermal_slowdown"] == 1.0
    assert found["nvidia_smi.ecc.errors.uncorrected.volatile.total"] == 9.0
    assert found["nvidia_smi.power.draw"] == 629.12


def test_laughing_entities_are_harmless():
    rows = read("nvidia_smi_xml", LAUGHS + XML)
    assert rows[0]["reason"] == "hostile_xml"
    assert rows[0]["units"] == LAUGHS.count("\n")
    assert len([row for row in rows if row["disposition"] == "landed_sample"]) == len(WANT)


def test_nothing_is_fetched_for_a_document():
    text = XML.replace("nvsmi_device_v12.dtd", "file:///etc/passwd").replace("N/A", "&lol;")
    assert len(landed("nvidia_smi_xml", text)) == len(WANT)
    entity = '<!DOCTYPE x [<!ENTITY y SYSTEM "file:///etc/passwd">]><nvidia_smi_log>&y;</nvidia_smi_log>'
    assert reasons("nvidia_smi_xml", entity) == ["hostile_xml"]


def test_endless_nesting_is_refused():
    assert reasons("nvidia_smi_xml", "<nvidia_smi_log>" + "<a>" * 100_000) == ["hostile_xml"]


def test_a_cut_document_keeps_its_whole_gpus():
    gpu = XML[XML.index("\t<gpu") : XML.index("</nvidia")]
    text = XML.replace("</nvidia_smi_log>\n", gpu.replace("3B", "AF")[:200])
    rows = read("nvidia_smi_xml", text)
    assert {row["device"] for row in rows if row["device"]} == {"0000:3b:00"}
    assert rows[-1]["reason"] == "bad_xml"
    assert units(read_table("nvidia_smi_xml", text.encode())) == text.count("\n") + 1


def test_what_is_no_dump_is_set_aside():
    assert reasons("nvidia_smi_xml", "No devices were found\n") == ["bad_xml"]
    assert reasons("nvidia_smi_q", "No devices were found\n") == ["not_read"]
    assert read("nvidia_smi_q", "") == read("nvidia_smi_xml", "") == []


def test_a_text_file_may_hold_xml_or_a_query():
    assert samples("nvidia_smi_q", XML) == WANT
    query = "timestamp, pci.bus_id, temperature.gpu\n2026/11/29 13:30:00.123, 00000000:3B:00.0, 69\n"
    assert samples("nvidia_smi_q", query) == {"nvidia_smi.temperature.gpu": 69.0}


def test_the_default_table_shows_lost_gpus():
    text = (
        "|   0  NVIDIA H100                On  |   00000000:3B:00.0 Off |                    0 |\n"
        "| N/A   52C    P0            628W /  700W |   32362MiB / 81559MiB |    100%      Default |\n"
        "|   1  NVIDIA H100                On  |   00000000:AF:00.0 Off |                 ERR! |\n"
        "|ERR!  ERR!  ERR!         ERR! / ERR! |   ERR! |  ERR!      Default |\n"
    )
    assert [(row["metric"], row["device"]) for row in landed("nvidia_smi_q", text)] == [
        ("nvidia_smi.error_cell", "0000:af:00"),
        ("nvidia_smi.error_cell", "0000:af:00"),
    ]
    assert units(read_table("nvidia_smi_q", text.encode())) == 4


def test_names_are_plain():
    assert all(path == path.lower() and " " not in path for path in metric_names())
