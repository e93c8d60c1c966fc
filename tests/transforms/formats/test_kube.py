import json

import pytest

from tests.transforms.formats.reading import read, reasons, utc

EVENT = {
    "apiVersion": "v1",
    "kind": "Event",
    "type": "Warning",
    "reason": "NodeNotReady",
    "message": "Node is\nnot ready",
    "metadata": {"name": "e1", "namespace": "ml", "creationTimestamp": "2026-11-29T13:00:00Z"},
    "involvedObject": {"kind": "Node", "name": "gpu-z-1"},
    "source": {"component": "node-controller"},
    "firstTimestamp": "2026-11-29T13:29:00Z",
    "lastTimestamp": "2026-11-29T13:30:00Z",
}
POD = {
    "kind": "Pod",
    "metadata": {
        "name": "train-9-0",
        "namespace": "ml",
        "labels": {"batch.kubernetes.io/job-name": "train-9"},
        "managedFields": [{"manager": "kubelet"}],
    },
    "spec": {"nodeName": "GPU-z-1.site", "containers": [{"name": "main"}]},
    "status": {
        "phase": "Failed",
        "conditions": [
            {"type": "Ready", "status": "False", "reason": "PodFailed", "lastTransitionTime": "2026-11-29T13:31:09Z"},
            {
                "type": "DisruptionTarget",
                "status": "True",
                "reason": "PreemptionByScheduler",
                "message": "made room",
                "lastTransitionTime": "2026-11-29T13:30:40Z",
            },
        ],
        "containerStatuses": [
            {"name": "side", "state": {"terminated": {"exitCode": 0, "finishedAt": "2026-11-29T13:31:00Z"}}},
            {
                "name": "main",
                "restartCount": 1,
                "state": {"terminated": {"exitCode": 137, "reason": "Error", "finishedAt": "2026-11-29T13:31:07Z"}},
                "lastState": {"terminated": {"exitCode": 1, "reason": "OOMKilled"}},
            },
        ],
    },
}
JOB = {
    "kind": "Job",
    "metadata": {"name": "train-9", "namespace": "ml"},
    "status": {
        "failed": 4,
        "conditions": [
            {
                "type": "Failed",
                "status": "True",
                "reason": "BackoffLimitExceeded",
                "lastTransitionTime": "2026-11-29T13:31:20Z",
            }
        ],
    },
}
NODE = {
    "kind": "Node",
    "metadata": {"name": "gpu-z-1"},
    "spec": {"unschedulable": True, "taints": [{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}]},
    "status": {
        "conditions": [
            {
                "type": "MemoryPressure",
                "status": "False",
                "reason": "Fine",
                "lastTransitionTime": "2026-11-01T00:00:00Z",
            },
            {
                "type": "Ready",
                "status": "Unknown",
                "reason": "NodeStatusUnknown",
                "lastTransitionTime": "2026-11-29T13:30:50Z",
            },
        ]
    },
}


def one(item):
    return read("kube", json.dumps(item))[0]


def test_event():
    row = one(EVENT)
    assert row["text"] == "kube Event Warning NodeNotReady Node/gpu-z-1 ns=ml: Node is not ready"
    assert (row["event_time"], row["time_basis"]) == (utc("2026-11-29T13:30:00Z"), "zoned")
    assert row["node"] == "gpu-z-1"
    assert row["fields"]["involvedObject.name"] == "gpu-z-1"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"lastTimestamp": None, "eventTime": "2026-11-29T13:30:01.250000Z"}, "2026-11-29T13:30:01.25Z"),
        ({"lastTimestamp": None, "series": {"lastObservedTime": "2026-11-29T13:33:00Z"}}, "2026-11-29T13:33:00Z"),
        ({"lastTimestamp": None, "deprecatedLastTimestamp": "2026-11-29T13:32:00Z"}, "2026-11-29T13:32:00Z"),
        ({"lastTimestamp": None, "firstTimestamp": None}, "2026-11-29T13:00:00Z"),
    ],
)
def test_event_times_of_all_api_versions(change, expected):
    assert one(EVENT | change)["event_time"] == utc(expected)


def test_new_events_api():
    event = {
        "kind": "Event",
        "apiVersion": "events.k8s.io/v1",
        "type": "Normal",
        "reason": "Preempted",
        "note": "by x",
        "regarding": {"kind": "Pod", "name": "p", "namespace": "ml"},
        "deprecatedSource": {"host": "gpu-z-2"},
    }
    row = one(event)
    assert row["text"] == "kube Event Normal Preempted Pod/p ns=ml: by x"
    assert row["node"] == "gpu-z-2"


def test_pod():
    row = one(POD)
    assert row["text"] == (
        "kube Pod ml/train-9-0 job=train-9 node=GPU-z-1.site phase=Failed exit=137 containerReason=Error "
        "lastExit=1 lastContainerReason=OOMKilled restarts=1 condition=DisruptionTarget:PreemptionByScheduler "
        "message=made room"
    )
    assert row["event_time"] == utc("2026-11-29T13:31:07Z")
    assert row["node"] == "gpu-z-1"
    assert row["fields"]["status.containerStatuses.1.state.terminated.exitCode"] == "137"
    assert not any(key.startswith("metadata.managedFields") for key in row["fields"])


def test_pod_owned_without_label():
    pod = POD | {
        "metadata": {"name": "p", "namespace": "ml", "ownerReferences": [{"kind": "PyTorchJob", "name": "pt"}]}
    }
    assert " job=pt " in one(pod)["text"]


def test_job():
    row = one(JOB)
    assert row["text"] == "kube Job ml/train-9 Failed=BackoffLimitExceeded failed=4"
    assert row["event_time"] == utc("2026-11-29T13:31:20Z")


def test_node():
    row = one(NODE)
    assert row["text"] == (
        "kube Node gpu-z-1 Ready=Unknown:NodeStatusUnknown "
        "taints=node.kubernetes.io/unreachable:NoExecute unschedulable=true"
    )
    assert (row["node"], row["event_time"]) == ("gpu-z-1", utc("2026-11-29T13:30:50Z"))


def test_audit_event():
    audit = {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "verb": "create",
        "stage": "ResponseComplete",
        "objectRef": {"resource": "pods", "subresource": "eviction", "namespace": "ml", "name": "p"},
        "user": {"username": "ops"},
        "stageTimestamp": "2026-11-29T13:30:00.500000Z",
    }
    row = one(audit)
    assert row["text"] == "kube Event audit create pods/eviction ml/p user=ops stage=ResponseComplete"
    assert row["event_time"] == utc("2026-11-29T13:30:00.5Z")


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("items_first", [True, False])
def test_list_items_are_units_with_their_place(indent, items_first):
    typed = {key: value for key, value in POD.items() if key != "kind"}
    document = {"items": [typed, JOB, EVENT], "kind": "List", "apiVersion": "v1"}
    if not items_first:
        document = dict(reversed(document.items()))
    data = json.dumps(document, indent=indent, ensure_ascii=False).encode()
    rows = read("kube", data)
    assert [row["text"].split()[1] for row in rows] == ["Pod", "Job", "Event"]
    for row, item in zip(rows, [typed, JOB, EVENT], strict=True):
        assert json.loads(data[row["byte_offset"] :][: row["length"]]) == item
        assert json.loads(row["message"]) == item


def test_typed_list_names_the_kind():
    event = {key: value for key, value in EVENT.items() if key != "kind"}
    assert read("kube", json.dumps({"kind": "EventList", "items": [event]}))[0]["text"].startswith("kube Event Warning")


def test_json_lines_are_units_blank_ones_too():
    text = f"{json.dumps(EVENT)}\n\n{{cut\n{json.dumps(POD)}\n"
    assert reasons("kube", text) == [None, "structure.blank", "bad_json", None]


def test_pretty_printed_stream_of_objects():
    text = "\n".join(json.dumps(item, indent=2) for item in (EVENT, POD))
    assert [row["text"].split()[1] for row in read("kube", text)] == ["Event", "Pod"]


def test_damage_costs_the_rest_only():
    text = json.dumps({"kind": "List", "items": [JOB, EVENT]}, indent=1)
    assert reasons("kube", text[:-60]) == [None, "bad_json"]
    assert reasons("kube", "Unable to connect to the server\n" + text) == ["bad_json", None, None]
    assert reasons("kube", '{"items": [1, null, {}]}') == ["no_object", "bad_json", None]


def test_wide_characters_do_not_shift_places():
    data = json.dumps({"items": [{"kind": "Job", "metadata": {"name": "é✓"}}, JOB]}, ensure_ascii=False).encode()
    assert json.loads(data[read("kube", data)[1]["byte_offset"] :][: len(json.dumps(JOB))]) == JOB


def test_a_list_cut_before_its_first_item_shows_it():
    assert reasons("kube", '{"kind": "List", "items": [') == ["bad_json"]
