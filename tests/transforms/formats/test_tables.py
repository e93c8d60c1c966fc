import pytest

from tests.transforms.formats.reading import landed, reasons, utc

TOPOLOGY = """node,rack,power_domain,pod,hca,switch,switch_port
GPU-r31-n01.site,r31,pd4,pod1,mlx5_0,leaf-r31,35
gpu-r31-n02,r31,pd4,pod1,mlx5_0,leaf-r31
"""
CHANGES = """\ufefftime,scope,id,kind,detail
2026-11-29T13:30:00Z,node,gpu-r31-n01.site,driver,"550, then 560"
2026-11-29 08:30:00,gpu,gpu-r31-n02/0000:3b:00,firmware,
# by hand
2026-11-29,cluster,site-z,image,"open quote

"""


def test_topology_rows_have_fields():
    rows = landed("topology", TOPOLOGY)
    assert rows[0]["fields"]["switch_port"] == "35"
    assert (rows[0]["node"], rows[0]["time_basis"], rows[0]["text"]) == ("gpu-r31-n01", "none", None)
    assert rows[0]["message"] == TOPOLOGY.splitlines()[1]
    assert reasons("topology", TOPOLOGY) == ["structure.header", None, "field_count"]


def test_changes_have_times_and_quoted_cells():
    rows = landed("changes", CHANGES, zone="America/New_York")
    assert rows[0]["fields"]["detail"] == "550, then 560"
    assert [row["event_time"] for row in rows] == [utc("2026-11-29T13:30:00Z")] * 2
    assert [row["node"] for row in rows] == ["gpu-r31-n01", "gpu-r31-n02"]
    assert reasons("changes", CHANGES) == [
        "structure.header",
        None,
        None,
        "structure.comment",
        "field_count",
        "structure.blank",
    ]


@pytest.mark.parametrize("order", ["cluster,job_id,attempt,category,origin", "category,job_id"])
def test_labels_are_read_by_header(order):
    values = {"cluster": "z", "job_id": "9", "attempt": "0", "category": "storage", "origin": "a;b"}
    names = order.split(",")
    text = f"{order}\r\n{','.join(values[name] for name in names)}\r\n"
    assert landed("labels", text)[0]["fields"] == {name: values[name] for name in names}


@pytest.mark.parametrize("column", ["labelled_at", "when"])
def test_labels_may_say_when_and_an_unreadable_time_is_set_aside(column):
    text = f"job_id,category,{column}\n1,storage,2026-11-20 09:00:00\n2,storage,\n3,storage,yesterday\n"
    rows = landed("labels", text, zone="Europe/Berlin")
    assert [row["event_time"] for row in rows] == [utc("2026-11-20T08:00:00Z"), None]
    assert reasons("labels", text) == ["structure.header", None, None, "bad_value"]


def test_a_repair_without_part_or_readable_day_is_set_aside():
    text = "node,part,day\nN1.site,gpu,2026-11-20\nn2,,2026-11-20\nn3,cable,soon\n,cable,2026-11-20\n"
    assert [row["node"] for row in landed("repairs", text)] == ["n1"]
    assert reasons("repairs", text) == ["structure.header", None, *["bad_value"] * 3]


def test_without_header_nothing_can_be_used():
    assert reasons("labels", "z,9,0,storage,node,a\n") == ["no_header"]
    assert reasons("labels", "z,9\n", header=b"cluster,job_id,category\n") == ["field_count"]
