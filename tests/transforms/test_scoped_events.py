"""Which events reach which attempt, and how."""

import pytest

from firstfault.transforms.attempts import ATTEMPTS
from firstfault.transforms.events import EVENTS
from firstfault.transforms.scoped_events import Padding, build_scoped_events
from firstfault.transforms.topology import TOPOLOGY
from tests.frames import collected, frame, pick


def attempt(job, number, start, end, *nodes, cluster="c", aliases=()) -> dict:
    return {
        "cluster": f"slurm-{cluster}", "source_cluster": cluster, "job_id": job, "attempt": number, "start": start,
        "end": end, "nodes": list(nodes), "aliases": list(aliases), "scope_source": "scheduler", "day": "2026-11-20",
    }  # fmt: skip


def event(name, job, t, *, low=None, high=None, node=None, basis="zoned", cluster="c", **given) -> dict:
    return {
        "event_id": name, "cluster": cluster, "job_id": job, "t": t, "t_low": low or t, "t_high": high or t,
        "node": node, "time_basis": basis, "event_type": "comm.timeout", "day": "2026-11-20", "attrs": {},
    } | given  # fmt: skip


ATTEMPT_ROWS = [
    attempt("1", 0, "03:00:00", "03:30:00", "n1", "n2"),
    attempt("1", 1, "05:00:00", "06:00:00", "n1", "n2"),
    attempt("2_7", 0, "12:00:00", "13:00:00", "n5", aliases=["900"]),
    attempt("3", 0, "03:00:00", None, "n7"),
    attempt("4", 0, "12:00:00", "13:00:00", "n5"),
    attempt("1", 0, "03:00:00", "06:00:00", "n1", "n2", cluster="d"),
]
EVENT_ROWS = [
    # Own lines: by the attempt's folder, else by the nearest window, however far.
    event("own, by folder", "1", "03:10:00", attempt_hint=1, node="n1"),
    event("own, by window", "1", "05:10:00"),
    event("own, nearer to the first", "1", "04:00:00"),
    event("own, nearer to the second", "1", "04:40:00"),
    event("own, days later", "1", "1d 05:00:00"),
    event("own, no such attempt", "1", "05:10:00", attempt_hint=7),
    event("own of another job on this node", "4", "12:10:00", node="n5"),
    # The node's events: from 15 min before to 10 min after.
    event("node, just in", "_node", "02:45:00", node="n2"),
    event("node, too early", "_node", "02:44:59", node="n2"),
    event("node, just in at the end", "_node", "03:40:00", node="n1"),
    event("node, too late", "_node", "03:40:01", node="n1"),
    event("node, may be in", "_node", "03:41:00", low="03:39:00", high="03:43:00", node="n1"),
    event("node of nobody", "_node", "03:10:00", node="n9"),
    event("node, snapshot", "_node", "1d 02:00:00", node="n1", basis="file_time"),
    event("node, snapshot too late", "_node", "1d 06:00:01", node="n1", basis="file_time"),
    event("node, still running", "_node", "20:00:00", node="n7"),
    # Ports of this cluster's topology.
    event("leaf port", "_net", "03:10:00", port="sw1:1"),
    event("HCA port", "_net", "03:10:00", port="n2/mlx5_0/1"),
    event("port of nobody", "_net", "03:10:00", port="sw1:9"),
    event("port, too late", "_net", "04:10:00", port="sw1:1"),
    event("port of the other cluster's topology", "_net", "03:10:00", port="sw9:1"),
    # The controller names a job, an alias, a node, or nothing.
    event("controller, job", "_cluster", "03:10:00", attrs={"job": "1"}),
    event("controller, second attempt", "_cluster", "05:30:00", attrs={"job": "1"}),
    event("controller, alias", "_cluster", "12:10:00", attrs={"job": "900"}),
    event("controller, too late", "_cluster", "20:10:00", attrs={"job": "2_7"}),
    event("controller, node", "_cluster", "12:10:00", node="n5"),
    event("controller, nothing", "_cluster", "03:10:00"),
    event("controller, job and node", "_cluster", "05:30:00", node="n1", attrs={"job": "1"}),
    event("kernel names the job and is on its node", "_node", "12:10:00", node="n5", attrs={"job": "2_7"}),
    # The other cluster has a job, nodes and ports of the same names.
    event("other cluster, own", "1", "03:10:00", cluster="d"),
    event("other cluster, node", "_node", "03:10:00", node="n1", cluster="d"),
    event("other cluster, port", "_net", "03:10:00", port="sw9:1", cluster="d"),
    event("other cluster, job", "_cluster", "03:10:00", attrs={"job": "1"}, cluster="d"),
]
LINKS = [
    {"cluster": "c", "node": "n1", "hca": "mlx5_0", "hca_port": "n1/mlx5_0/1", "leaf_port": "sw1:1"},
    {"cluster": "c", "node": "n2", "hca": "mlx5_0", "hca_port": "n2/mlx5_0/1", "leaf_port": "sw1:2"},
    {"cluster": "c", "node": "n5", "hca": "mlx5_0", "hca_port": "n5/mlx5_0/1", "leaf_port": None},
    {"cluster": "d", "node": "n1", "hca": "mlx5_0", "hca_port": "n1/mlx5_0/1", "leaf_port": "sw9:1"},
]


@pytest.fixture(scope="module")
def found(spark):
    made = build_scoped_events(
        frame(spark, EVENTS, EVENT_ROWS),
        frame(spark, ATTEMPTS, ATTEMPT_ROWS),
        frame(spark, TOPOLOGY, LINKS),
        Padding(before_s=900, after_s=600, snapshot_after_s=86_400),
    )
    return collected(made)


def of(found, job, number=0, cluster="c", **equal):
    return pick(found, "event_id", "relation", cluster=f"slurm-{cluster}", job_id=job, attempt=number, **equal)


def test_own_events_go_by_folder_else_to_the_nearest_window(found):
    assert of(found, "1", 0, relation="own") == [("own, nearer to the first", "own")]
    assert of(found, "1", 1, relation="own") == [
        ("own, by folder", "own"),
        ("own, by window", "own"),
        ("own, days later", "own"),
        ("own, nearer to the second", "own"),
    ]


def test_events_of_a_node_count_within_the_padded_window_and_snapshots_a_day_longer(found):
    assert of(found, "1", 0, relation="node") == [
        ("node, just in", "node"),
        ("node, just in at the end", "node"),
        ("node, may be in", "node"),
        ("node, snapshot", "node"),
    ]
    assert of(found, "1", 1, relation="node") == [("node, snapshot", "node")]
    assert of(found, "3") == [("node, still running", "node")]


def test_events_of_a_port_come_through_the_topology_of_the_cluster(found):
    assert of(found, "1", 0, relation="port") == [("HCA port", "port"), ("leaf port", "port")]


def test_events_of_the_controller_count_when_they_name_job_alias_or_node(found):
    assert of(found, "1", 0, relation="cluster") == [("controller, job", "cluster")]
    assert of(found, "1", 1, relation="cluster") == [
        ("controller, job and node", "cluster"),
        ("controller, second attempt", "cluster"),
    ]
    assert of(found, "2_7") == [
        ("controller, alias", "cluster"),
        ("controller, node", "cluster"),
        ("kernel names the job and is on its node", "cluster"),
    ]


def test_another_jobs_own_lines_on_the_same_node_are_not_taken(found):
    assert of(found, "4", 0, relation="own") == [("own of another job on this node", "own")]
    assert "own of another job on this node" not in [e for e, _ in of(found, "2_7")]


def test_an_event_reaches_an_attempt_once(found):
    keys = [(r["cluster"], r["job_id"], r["attempt"], r["event_id"]) for r in found]
    assert len(set(keys)) == len(keys)


def test_clusters_with_equal_names_do_not_mix(found):
    assert of(found, "1", 0, cluster="d") == [
        ("other cluster, job", "cluster"),
        ("other cluster, node", "node"),
        ("other cluster, own", "own"),
        ("other cluster, port", "port"),
    ]
