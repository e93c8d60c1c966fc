"""Whatever the bytes: no reader raises, and its rows account for every unit."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstfault.transforms.formats.registry import BINARY_FORMATS, HEADED_FORMATS, READERS, SNAPSHOT_FORMATS
from firstfault.transforms.formats.shapes import all_shapes
from firstfault.transforms.staged import DROPPED, LANDED_LOG, LANDED_SAMPLE, QUARANTINED
from tests.transforms.formats.reading import read_table, units
from tests.transforms.formats.test_chrony import FAST_LISTED, FAST_LOG, FAST_TOLD, MEASUREMENTS, SOURCES, STATISTICS
from tests.transforms.formats.test_counters import ETHTOOL, LONG, PERFQUERY
from tests.transforms.formats.test_dcgmi import DMON, V4, V31, V33
from tests.transforms.formats.test_fabric_dumps import ERRORS, PORTS
from tests.transforms.formats.test_fabric_dumps import TOPOLOGY as FABRIC
from tests.transforms.formats.test_flight_recorder import DUMP
from tests.transforms.formats.test_journald import RECORD
from tests.transforms.formats.test_kube import EVENT, JOB, NODE, POD
from tests.transforms.formats.test_locust import FAILURES, HISTORY
from tests.transforms.formats.test_metrics import EXPOSITION, GPU, matrix
from tests.transforms.formats.test_nccl_ras import DOCUMENT as RAS_DOCUMENT
from tests.transforms.formats.test_nccl_ras import TEXT as RAS
from tests.transforms.formats.test_nvidia_dump import LAUGHS, TEXT, XML
from tests.transforms.formats.test_nvidia_monitor import DMON as SMI_DMON
from tests.transforms.formats.test_nvidia_monitor import LINKS, PMON
from tests.transforms.formats.test_nvidia_smi import FINE, LOST
from tests.transforms.formats.test_nvidia_smi import HEADER as SMI_HEADER
from tests.transforms.formats.test_ptp import NTPQ, PHC2SYS, PTP4L
from tests.transforms.formats.test_pyspy import TEXT as STACKS
from tests.transforms.formats.test_pyspy import THREADS
from tests.transforms.formats.test_sacct import HEADER as SACCT_HEADER
from tests.transforms.formats.test_sacct import NEW, NODE_FAIL, OLD, RUNNING, STEP
from tests.transforms.formats.test_scontrol import JOB as SLURM_JOB
from tests.transforms.formats.test_scontrol import NODE as SLURM_NODE
from tests.transforms.formats.test_scontrol import ONE_LINE, SINFO
from tests.transforms.formats.test_sel import SEL
from tests.transforms.formats.test_shipper import FLUENT_BIT, FLUENT_PAIR, LOKI, OTLP, VECTOR
from tests.transforms.formats.test_switch_counters import EVENT as GNMI_EVENT
from tests.transforms.formats.test_switch_counters import FEC, SONIC, STREAM
from tests.transforms.formats.test_switch_log import SWITCH
from tests.transforms.formats.test_sysfs import TEXT as SYSFS
from tests.transforms.formats.test_tables import CHANGES, TOPOLOGY

DOCUMENTS = {"sacct_json", "kube", "prometheus", "flight_recorder"}
TEXTS = sorted(READERS.keys() - DOCUMENTS - BINARY_FORMATS)
LINES = [hit["line"] for shape in all_shapes() for hit in shape.tests["hit"]]
LINES += [SACCT_HEADER, NODE_FAIL, STEP, RUNNING, SMI_HEADER, FINE, LOST, json.dumps(RECORD), FAST_LOG, FAST_LISTED]
CAPTURES = [ETHTOOL, LONG, PERFQUERY, EXPOSITION, FAST_TOLD, CHANGES, TOPOLOGY, SEL, TEXT, STATISTICS, MEASUREMENTS]
CAPTURES += [
    SOURCES,
    NTPQ,
    PHC2SYS,
    PTP4L,
    SLURM_JOB,
    SLURM_NODE,
    ONE_LINE,
    SINFO,
    SWITCH,
    DMON,
    FAILURES,
    HISTORY,
    RAS,
    STACKS,
]
CAPTURES += [ERRORS, PORTS, FABRIC, SONIC, FEC, SYSFS, SMI_DMON, PMON, LINKS]
LINES += [line for text in CAPTURES for line in text.splitlines()]
LINES += [json.dumps(document) for document in (V31, V33, V4, RAS_DOCUMENT, THREADS)]
LINES += [XML, LAUGHS, TEXT, OTLP, FLUENT_BIT, FLUENT_PAIR, VECTOR, LOKI]
LINES += [json.dumps(part) for part in (STREAM, GNMI_EVENT)]
LINES += ["<11>Nov 29 13:30:00 n1 kernel: a<12>Nov 29 13:30:01 n1 kernel: b"]
LINES += ["", "=" * 9, "cluster,job_id,category", "z,9,storage", "link mlx5_0/1 a 1"]
ITEMS = [
    OLD,
    NEW,
    DUMP["entries"][0],
    EVENT,
    JOB,
    NODE,
    POD,
    {"metric": GPU, "values": [[1, "1"], [2, "x"], []]},
    5,
    None,
    [],
    {"a": {"b": []}},
]

RECORDS = {"pri": 3, "time": 1.5, "msg": "x"}
SLURM_JSON = {"name": "n1", "state": ["DOWN"], "reason": "x"}
damage = st.sampled_from([b"", b"\xff", b"\x00", b"\r", b'"', b"|", b",", b"{", b"]", b"\\ud800"])
line = st.one_of(st.sampled_from(LINES).map(str.encode), st.binary(max_size=30), st.text(max_size=20).map(str.encode))
cut = st.tuples(line, st.integers(0, 400), damage).map(
    lambda parts: parts[0][: parts[1]] + parts[2] + parts[0][parts[1] :]
)
end = st.sampled_from([b"\n", b"\r\n", b""])
lines = st.tuples(st.lists(st.one_of(line, cut), max_size=12), end).map(lambda parts: b"\n".join(parts[0]) + parts[1])


def physical(data: bytes) -> int:
    return data.count(b"\n") + (bool(data) and not data.endswith(b"\n"))


@pytest.mark.parametrize("source", TEXTS)
@given(data=lines, zone=st.sampled_from(["UTC", "America/New_York", "Asia/Kathmandu"]))
def test_text_readers_account_for_every_line(source, data, zone):
    if source == "sacct" and data[:64].lstrip()[:1] in (b"{", b"["):
        return
    table = read_table(source, data, zone=zone, byte_from=3, header=SACCT_HEADER.encode())
    assert units(table) == physical(data)
    assert set(table["disposition"].to_pylist()) <= {LANDED_LOG, LANDED_SAMPLE, QUARANTINED, DROPPED}
    for row in table.select(["disposition", "reason", "byte_offset", "length"]).to_pylist():
        assert (row["reason"] is None) == row["disposition"].startswith("landed")
        assert 3 <= row["byte_offset"] <= row["byte_offset"] + row["length"] <= 3 + len(data)


@pytest.mark.parametrize("source", sorted(DOCUMENTS))
@given(
    items=st.lists(st.sampled_from(ITEMS), max_size=5),
    at=st.integers(0, 4000),
    dirt=damage,
    indent=st.sampled_from([None, 1]),
)
def test_document_readers_never_raise(source, items, at, dirt, indent):
    document = {"kind": "List", "jobs": items, "items": items, "entries": items, "data": {"result": items}}
    data = json.dumps(document, indent=indent).encode()
    table = read_table(source, data[:at] + dirt + data[at:])
    assert units(table) >= min(1, len(items))
    assert units(read_table(source, data)) >= len(items)


@pytest.mark.parametrize("source", ["dmesg", "gnmi", "perfquery", "scontrol", "sysfs"])
@given(
    items=st.lists(st.sampled_from([*ITEMS, STREAM, RECORDS, SLURM_JSON]), max_size=5),
    at=st.integers(0, 4000),
    dirt=damage,
    indent=st.sampled_from([None, 1]),
)
def test_documents_by_their_name_never_raise(source, items, at, dirt, indent):
    document = {"dmesg": items, "nodes": items, "/sys/class/net/ib0/speed": "1\n"} if items else items
    data = json.dumps(document, indent=indent).encode()
    for text in (data, data[:at] + dirt + data[at:]):
        table = read_table(source, text, file="x/a.json")
        for row in table.select(["disposition", "reason", "byte_offset", "length"]).to_pylist():
            assert (row["reason"] is None) == row["disposition"].startswith("landed")
            assert 0 <= row["byte_offset"] <= row["byte_offset"] + row["length"] <= len(text)


@pytest.mark.parametrize("source", sorted(DOCUMENTS))
@given(data=st.one_of(lines, st.binary(max_size=60)))
def test_document_readers_take_any_bytes(source, data):
    rows = read_table(source, data)
    assert set(rows["disposition"].to_pylist()) <= {LANDED_LOG, LANDED_SAMPLE, QUARANTINED, DROPPED}


@pytest.mark.parametrize("source", sorted(DOCUMENTS))
def test_deep_nesting_and_huge_numbers_are_damage(source):
    for text in ("[" * 100_000, '{"items": ' * 50_000, f'{{"items": [{"9" * 5000}]}}', '{"jobs": [{"job_id": 1e999}]}'):
        assert units(read_table(source, text.encode())) >= 1, text[:40]


def test_json_lines_of_objects_are_counted_by_line():
    data = "\n".join([json.dumps(EVENT), "", json.dumps(POD), "{", json.dumps(JOB)]).encode()
    assert units(read_table("kube", data)) == physical(data)


def test_a_matrix_is_counted_by_sample():
    text = matrix((GPU, [[1, "1"], [2, "2"]]), (GPU, [[1, "NaN"]]))
    assert units(read_table("prometheus", text.encode())) == 3


def test_formats_named_elsewhere_exist():
    assert READERS.keys() >= SNAPSHOT_FORMATS | HEADED_FORMATS | BINARY_FORMATS


WHOLE = {
    "kube": json.dumps({"kind": "List", "items": [EVENT, POD]}),
    "prometheus": matrix((GPU, [[1, "1"], [2, "2"]])),
    "sacct_json": json.dumps({"jobs": [NEW, OLD]}),
    "flight_recorder": json.dumps(DUMP),
}


@pytest.mark.parametrize("source", sorted(DOCUMENTS))
@given(share=st.floats(0.01, 0.99))
def test_a_document_that_is_cut_shows_it(source, share):
    whole = WHOLE[source].encode()
    rows = read_table(source, whole[: max(1, int(len(whole) * share))])
    assert QUARANTINED in rows["disposition"].to_pylist()
