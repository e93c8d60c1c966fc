import json

from tests.transforms.formats.reading import landed, read, read_table, reasons, units

PORT = "/sys/class/infiniband/mlx5_0/ports/1"
PCI = "/sys/bus/pci/devices/0000:ba:00.0"
FILES = {
    f"{PORT}/counters/symbol_error": "7\n",
    f"{PORT}/hw_counters/out_of_sequence": "2\n",
    f"{PORT}/counters/VL15_dropped": "N/A (no PMA)\n",
    f"{PORT}/state": "2: INIT\n",
    f"{PORT}/phys_state": "5: LinkUp\n",
    f"{PORT}/rate": "100 Gb/sec (4X EDR)\n",
    f"{PCI}/infiniband/mlx5_8/board_id": "MT_0000000001\n",
    f"{PCI}/infiniband/mlx5_8/ports/1/state": "4: ACTIVE\n",
    f"{PCI}/net/ib4/operstate": "down\n",
    f"{PCI}/net/ib4/carrier_down_count": "3\n",
    f"{PCI}/net/ib5/operstate": "unknown\n",
}
SAMPLES = [
    ("ib.symbol_error", 7.0, "n1/mlx5_0/1"),
    ("ib.out_of_sequence", 2.0, "n1/mlx5_0/1"),
    ("ib.state_id", 2.0, "n1/mlx5_0/1"),
    ("ib.physical_state_id", 5.0, "n1/mlx5_0/1"),
    ("ib.rate_gbps", 100.0, "n1/mlx5_0/1"),
    ("ib.state_id", 4.0, "n1/mlx5_8/1"),
    ("net.operstate_up", 0.0, "n1/ib4/1"),
    ("net.carrier_down_count", 3.0, "n1/ib4/1"),
]
TEXT = "".join(f"{path}:{value}" for path, value in FILES.items())


def told(rows):
    return [(row["metric"], row["value"], row["port"]) for row in rows]


def test_files_with_their_path_are_samples():
    assert told(landed("sysfs", TEXT, node="n1")) == SAMPLES
    assert units(read_table("sysfs", TEXT.encode())) == len(FILES)
    dropped = [reason for reason in reasons("sysfs", TEXT) if reason]
    assert sorted(dropped) == ["structure.context", "telemetry.blank", "telemetry.blank"]


def test_a_map_of_paths_says_the_same_and_a_member_is_a_unit():
    text = json.dumps(FILES, indent=2)
    assert told(landed("sysfs", text, node="n1", file="sysfs-n1.json")) == SAMPLES
    table = read_table("sysfs", text.encode(), file="sysfs-n1.json")
    assert units(table) == len(FILES)
    place = table.slice(0, 1).to_pylist()[0]
    assert text[place["byte_offset"] :][: place["length"]].startswith(f'"{PORT}/counters/symbol_error"')


def test_counter_readers_take_the_same_lines():
    assert told(landed("perfquery", TEXT, node="n1")) == SAMPLES


def test_other_members_land_as_text():
    row = read("sysfs", '{"pci": {"0000:c4:00.0": {"dev": "x"}}}', file="a.json")[0]
    assert (row["disposition"], row["text"]) == ("landed_log", 'pci {"0000:c4:00.0": {"dev": "x"}}')


def test_a_cut_map_costs_what_is_cut():
    text = json.dumps(FILES)[:-40]
    rows = read("sysfs", text, node="n1", file="sysfs.json")
    assert [row["reason"] for row in rows if row["disposition"] == "quarantined"] == ["bad_json"]
    assert reasons("sysfs", "[1]", file="sysfs.json") == ["bad_json"]
    assert reasons("sysfs", "no path here\n# note\n\n") == ["bad_value", "structure.comment", "structure.blank"]
