"""Log lines in the envelopes of shippers."""

import json

import pytest

from tests.transforms.formats.reading import landed, read, read_table, reasons, units, utc

XID = "NVRM: Xid (PCI:0000:3b:00): 79, pid=7, GPU has fallen off the bus."
KERNEL = f"Nov 29 18:29:58 gpu-r31-n03 kernel: {XID}"


def attribute(name, value):
    return {"key": name, "value": {"stringValue": value}}


def otlp(*records, host="GPU-r31-n03.site"):
    resource = {"attributes": [attribute("host.name", host), attribute("k8s.pod.name", "run7-0")]}
    return {"resourceLogs": [{"resource": resource, "scopeLogs": [{"scope": {}, "logRecords": list(records)}]}]}


def record(body, time="1795977000000000001", observed="1795977002500000000", **more):
    return {"timeUnixNano": time, "observedTimeUnixNano": observed, "body": {"stringValue": body}} | more


OTLP = json.dumps(otlp(record("boom"), record(KERNEL, attributes=[attribute("rank", "11")])))
FLUENT_BIT = json.dumps(
    {"date": 1795977000.25, "log": "boom\n", "kubernetes": {"host": "gpu-r31-n04", "pod_name": "p"}}
)
FLUENT_PAIR = json.dumps([1795977000.25, {"log": "boom", "hostname": "n1"}])
VECTOR = json.dumps(
    {"timestamp": "2026-11-29T18:30:00.5Z", "message": KERNEL, "host": "gpu-r31-n03", "file": "/var/log/kern.log"}
)
LOKI = json.dumps(
    {
        "streams": [
            {
                "stream": {"node_name": "n7", "job": "x"},
                "values": [["1795977000123456789", "one"], ["1795977001000000000", "two", {"rank": "4"}]],
            }
        ]
    }
)
LOKI_QUERY = json.dumps(
    {
        "status": "success",
        "data": {
            "resultType": "streams",
            "result": [{"stream": {"host": "n8"}, "values": [["1795977000000000000", "one"]]}],
        },
    }
)


def test_opentelemetry_records_carry_both_stamps():
    rows = landed("shipper", OTLP)
    assert [row["text"] for row in rows] == ["boom", XID]
    assert [row["units"] for row in rows] == [1, 0]
    assert rows[0]["event_time"] == utc("2026-11-29T18:30:00Z")
    assert rows[0]["collected_at"] == utc("2026-11-29T18:30:02.5Z")
    assert rows[0]["node"] == "gpu-r31-n03"
    assert rows[0]["fields"] == {"host.name": "GPU-r31-n03.site", "k8s.pod.name": "run7-0"}


def test_the_inner_line_s_own_time_comes_before_the_envelope_s():
    row = landed("shipper", OTLP)[1]
    assert (row["event_time"], row["time_basis"], row["rank"]) == (utc("2026-11-29T18:29:58Z"), "no_year", 11)
    assert row["collected_at"] == utc("2026-11-29T18:30:02.5Z")


def test_records_of_one_envelope_have_places_of_their_own():
    data = f"{OTLP}\n{LOKI}\n".encode()
    rows = landed("shipper", data, byte_from=100)
    assert len({row["byte_offset"] for row in rows}) == len(rows) == 4
    for row in rows:
        start = row["byte_offset"] - 100
        assert data[start : start + row["length"]].decode() == row["message"]
        json.loads(row["message"])
    assert json.loads(rows[3]["message"])[1] == "two"


def test_an_observed_time_stands_in_for_a_missing_one():
    row = landed("shipper", json.dumps(otlp(record("boom", time="0"))))[0]
    assert (row["event_time"], row["collected_at"]) == (utc("2026-11-29T18:30:02.5Z"), None)


def test_a_body_may_be_a_map():
    body = {"kvlistValue": {"values": [attribute("MESSAGE", XID), attribute("_PID", "1")]}}
    row = landed("shipper", json.dumps(otlp(record("") | {"body": body, "severityText": "Error"})))[0]
    assert (row["text"], row["fields"]["_PID"], row["fields"]["severity"]) == (XID, "1", "Error")


@pytest.mark.parametrize(
    ("line", "text", "node", "time", "collected"),
    [
        (FLUENT_BIT, "boom", "gpu-r31-n04", "2026-11-29T18:30:00.25Z", None),
        (FLUENT_PAIR, "boom", "n1", "2026-11-29T18:30:00.25Z", None),
        (json.dumps([[1795977000.25, {"m": 1}], {"log": "boom"}]), "boom", None, "2026-11-29T18:30:00.25Z", None),
        (json.dumps([{"date": 1795977000.25, "log": "boom"}]), "boom", None, "2026-11-29T18:30:00.25Z", None),
        (VECTOR, XID, "gpu-r31-n03", "2026-11-29T18:29:58Z", "2026-11-29T18:30:00.5Z"),
        (LOKI_QUERY, "one", "n8", "2026-11-29T18:30:00Z", None),
        (
            '{"labels":{"node":"n9"},"line":"one","timestamp":"2026-11-29T18:30:00.123456789Z"}',
            "one",
            None,
            "2026-11-29T18:30:00.123456Z",
            None,
        ),
        ('{"ts":1795977000123.4,"msg":"x"}', "x", None, "2026-11-29T18:30:00.123400Z", None),
        (
            '{"@timestamp":"2026-11-29T18:30:00Z","message":"x","host":{"name":"N4.site"}}',
            "x",
            "n4",
            "2026-11-29T18:30:00Z",
            None,
        ),
    ],
)
def test_other_shippers(line, text, node, time, collected):
    row = landed("shipper", line)[0]
    assert (row["text"], row["node"], row["event_time"]) == (text, node, utc(time))
    assert row["collected_at"] == (utc(collected) if collected else None)
    assert row["message"] in line


def test_loki_labels_and_structured_metadata():
    rows = landed("shipper", LOKI)
    assert [(row["text"], row["node"], row["rank"], row["units"]) for row in rows] == [
        ("one", "n7", None, 1),
        ("two", "n7", 4, 0),
    ]
    assert rows[0]["event_time"] == utc("2026-11-29T18:30:00.123456Z")


def test_a_rank_of_the_line_comes_before_one_of_the_envelope():
    line = json.dumps({"date": 1795977000.0, "log": "[rank3]: KeyError: 1", "rank": "9", "local_rank": "1"})
    assert landed("shipper", line)[0]["rank"] == 3
    line = json.dumps({"date": 1795977000.0, "log": "KeyError: 1", "local_rank": "1"})
    assert landed("shipper", line, rank=6)[0]["rank"] == 6


def test_an_object_without_a_message_is_its_own_text():
    assert landed("shipper", '{"level":"error","date":5}')[0]["text"] == '{"level":"error","date":5}'


def test_structure_and_damage():
    text = '\n{"resourceLogs": []}\n[]\n7\n{"log": "cut\nplain text\n{"streams": [5, {"values": 3}]}\n'
    assert reasons("shipper", text) == [
        "structure.blank",
        "no_records",
        "no_records",
        "no_records",
        "bad_json",
        "bad_json",
        "no_records",
    ]
    assert units(read_table("shipper", text.encode())) == 7


def test_a_key_that_stands_twice_loses_no_record():
    line = '{"streams":[{"values":[["1","a"]]}],"streams":[{"values":[["1","b"],["2","c"],["3","d"]]}]}'
    rows = landed("shipper", line)
    assert [row["text"] for row in rows] == ["b", "c", "d"]
    assert len({row["byte_offset"] for row in rows}) == 3


def test_deep_nesting_is_damage():
    for depth in (500, 900, 990, 2000, 100_000):
        rows = read("shipper", '{"a":' * depth + "1" + "}" * depth)
        assert len(rows) == 1


def test_a_journal_record_in_an_envelope_may_hold_bytes():
    line = json.dumps({"__REALTIME_TIMESTAMP": "1795977000000000", "_HOSTNAME": "n1", "MESSAGE": [*XID.encode(), 255]})
    row = landed("shipper", line)[0]
    assert (row["text"], row["node"], row["event_time"]) == (f"{XID}\ufffd", "n1", utc("2026-11-29T18:30:00Z"))
