"""The topology file as rows."""

import pytest

from firstfault.transforms.staged import STAGED
from firstfault.transforms.topology import build_topology
from tests.frames import collected, frame, pick


def hca(offset, file_time="05:00:00", cluster="main", **fields) -> dict:
    return {
        "source": "topology", "cluster": cluster, "file_time": file_time, "byte_offset": offset, "fields": fields,
    }  # fmt: skip


@pytest.fixture(scope="module")
def found(spark):
    given = [
        hca(0, node="N1.example.com", hca="mlx5_0", rack="r1", power_domain="p1", pod="a", switch="sw1",
            switch_port="1"),
        hca(60, node="n1", hca="mlx5_1", switch="sw2", switch_port="9", rack=""),
        hca(0, node="n2", hca="mlx5_0", switch="sw1", switch_port="2"),
        hca(70, node="n2", hca="mlx5_0", switch="sw1", switch_port="3"),
        hca(9, "04:00:00", node="n3", hca="mlx5_0", switch="old", switch_port="3"),
        hca(0, "05:00:00", node="n3", hca="mlx5_0", switch="new", switch_port="3"),
        hca(0, cluster="other", node="n1", hca="mlx5_0", switch="sw8", switch_port="8"),
        hca(80, node="n4", hca="mlx5_0", rack="r1"),
        hca(90, node="n5", rack="r9"),
        hca(99, node="", hca="mlx5_0"),
        {"source": "topology", "cluster": "main", "byte_offset": 5},
        hca(0, node="n6", hca="mlx5_0") | {"source": "labels"},
    ]  # fmt: skip
    return collected(build_topology(frame(spark, STAGED, given)))


def test_a_row_names_both_ends_of_the_link(found):
    columns = ("node", "hca", "rack", "power_domain", "pod", "hca_port", "leaf_port")
    assert pick(found, *columns, cluster="main", node="n1") == [
        ("n1", "mlx5_0", "r1", "p1", "a", "n1/mlx5_0/1", "sw1:1"),
        ("n1", "mlx5_1", None, None, None, "n1/mlx5_1/1", "sw2:9"),
    ]


def test_a_later_row_and_a_later_file_win(found):
    assert pick(found, "node", "leaf_port", node={"n2", "n3"}) == [("n2", "sw1:3"), ("n3", "new:3")]


def test_clusters_are_apart_and_rows_without_node_are_left_out(found):
    assert pick(found, "leaf_port", cluster="other") == [("sw8:8",)]
    assert {r["node"] for r in found} == {"n1", "n2", "n3", "n4", "n5"}


def test_an_end_that_the_file_does_not_name_is_null(found):
    assert pick(found, "node", "rack", "hca", "hca_port", "leaf_port", node={"n4", "n5"}) == [
        ("n4", "r1", "mlx5_0", "n4/mlx5_0/1", None),
        ("n5", "r9", None, None, None),
    ]
