"""Lines that tell of their writer's clock: which ones, and whose clock it is."""

import pytest

from firstfault.transforms.clock_marks import build_clock_marks
from firstfault.transforms.placement import PLACEMENT, rank_nodes
from firstfault.transforms.staged import STAGED
from firstfault.transforms.topology import TOPOLOGY
from tests.frames import collected, frame, pick

RANKS = "cluster string, job_id string, attempt_hint int, rank int, node string"


def line(offset, source="app", **given) -> dict:
    return {
        "stream_id": "s", "byte_offset": offset, "cluster": "c", "job_id": "7", "source": source,
        "event_time": "03:00:00", "disposition": "landed_log",
    } | given  # fmt: skip


def hit(event, **attrs) -> dict:
    return {"ordinal": 0, "pattern_id": "p", "event_type": event, "attrs": attrs}


@pytest.fixture(scope="module")
def marks(spark):
    step = [{"kind": "step", "key": "5", "t": "03:00:01"}]
    given = [
        line(0, node="n1", marks=step),
        line(1, rank=3, marks=step),
        line(2, rank=4, marks=step),
        line(3, "journal", node="n1", job_id="_node", collected_at="03:00:02.5"),
        line(4, "kube", node="n1", job_id="_cluster", collected_at="03:00:02.5"),
        line(5, "kernel", node="n2", job_id="_node", hits=[hit("clock.step", step_s="-1.2"), hit("gpu.xid")]),
        line(6, "kernel", node="n2", job_id="_node", hits=[hit("clock.step")]),
        line(7, node="n1", collected_at="03:00:02.5", event_time=None),
        line(8, node="n1"),
    ]
    kill = [{"kind": "kill", "key": "7", "t": "03:00:01"}]
    given += [
        line(10, "slurmctld", job_id="_cluster", marks=kill),
        line(11, "slurmd", job_id="_node", node="n1", marks=kill),
        line(12, rank=3, attempt_hint=1, marks=kill),
    ]
    # Both ends of a link: twice at sw1:4; a flap that one end did not see at sw1:5; an end that nobody knows.
    for n, (source, node, port, t) in enumerate(
        [
            ("kernel", "n1", "n1/mlx5_0/1", "03:00:00"), ("switch_log", "sw1", "sw1:4", "03:00:05"),
            ("kernel", "n1", "n1/mlx5_0/1", "03:10:00"), ("switch_log", "sw1", "sw1:4", "03:10:05"),
            ("kernel", "n2", "n2/mlx5_0/1", "03:00:00"), ("switch_log", "sw1", "sw1:5", "03:00:05"),
            ("switch_log", "sw1", "sw1:5", "03:00:25"), ("switch_log", "sw1", "sw1:9", "03:00:05"),
        ]
    ):  # fmt: skip
        event = "net.link_down" if source == "kernel" else "switch.port_down"
        given.append(line(20 + n, source, job_id="_node", node=node, event_time=t, hits=[hit(event) | {"port": port}]))
    ranks = [{"cluster": "c", "job_id": "7", "rank": 3, "node": "n3"}]
    ranks += [{"cluster": "c", "job_id": "7", "rank": 3, "attempt_hint": 1, "node": "n4"}]
    topology = [
        {"cluster": "c", "node": f"n{n}", "hca": "mlx5_0", "hca_port": f"n{n}/mlx5_0/1", "leaf_port": f"sw1:{n + 3}"}
        for n in (1, 2)
    ]
    kinds = [
        {"kind": "step", "within": "attempt"}, {"kind": "kill", "within": "cluster"},
        {"kind": "link", "within": "port", "events": ["net.link_down", "switch.port_down"]},
    ]  # fmt: skip
    return collected(
        build_clock_marks(
            frame(spark, STAGED, given), frame(spark, RANKS, ranks), frame(spark, TOPOLOGY, topology),
            frame(spark, "kind string, within string, events array<string>", kinds),
        )
    )  # fmt: skip


def test_a_shared_moment_is_of_the_node_that_wrote_it_as_far_as_that_is_known(marks):
    assert pick(marks, "byte_offset", "node", "key", "t", "day", kind="step") == [
        (0, "n1", "5", "03:00:01", "2026-11-20"),
        (1, "n3", "5", "03:00:01", "2026-11-20"),
        (2, None, "5", "03:00:01", "2026-11-20"),
    ]


def test_deliveries_and_told_steps_carry_their_figure_and_servers_clocks_tell_nothing_of_nodes(marks):
    assert pick(marks, "byte_offset", "node", "value_s", kind="arrival") == [(3, "n1", -2.5)]
    assert pick(marks, "byte_offset", "node", "value_s", kind="told_step") == [(5, "n2", -1.2)]
    assert len(marks) == 12


def test_a_kill_is_dated_by_who_sends_it_and_by_every_node_that_gets_it(marks):
    assert pick(marks, "node", "key", "job_id", "attempt_hint", kind="kill") == [
        ("n1", "7", "_cluster", None),
        ("n4", "7", "_cluster", None),
        ("server:slurmctld", "7", "_cluster", None),
    ]


def test_both_ends_of_a_link_date_its_losses_where_they_saw_equally_many(marks):
    assert pick(marks, "node", "key", "t", kind="link") == [
        ("n1", "sw1:4#1", "03:00:00"),
        ("n1", "sw1:4#2", "03:10:00"),
        ("switch:sw1", "sw1:4#1", "03:00:05"),
        ("switch:sw1", "sw1:4#2", "03:10:05"),
    ]


def test_the_node_of_a_rank_is_what_most_lines_say_and_new_lines_before_old_placements(spark):
    staged = [
        line(0, rank=1, node="n1"), line(1, rank=1, node="n1"), line(2, rank=1, node="n2"),
        line(3, rank=2, node="n2", attempt_hint=1), line(4, rank=3), line(5, node="n9"),
        line(6, "kernel", rank=8, node="n9", job_id="_node"),
    ]  # fmt: skip
    old = [
        {"cluster": "c", "job_id": "7", "attempt": 1, "rank": r, "node": n}
        for r, n in ((1, "n8"), (2, "n8"), (3, "n8"), (4, None))
    ]
    made = collected(rank_nodes(frame(spark, STAGED, staged), frame(spark, PLACEMENT, old)))
    assert pick(made, "attempt_hint", "rank", "node") == [
        (1, 1, "n8"),
        (1, 2, "n2"),
        (1, 3, "n8"),
        (None, 1, "n1"),
        (None, 2, "n8"),
        (None, 3, "n8"),
    ]
