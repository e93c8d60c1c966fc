"""The chain of a verdict in true order."""

import pytest

from firstfault.transforms.evidence import MAX_STEPS, build_evidence
from tests.frames import collected, frame, pick, scoped

WINNERS = (
    "uid string, rule_id string, ruleset_version string, t0 timestamp, event_ids array<string>, anchor_type string"
)
EVENTS = [
    # Written last, happened first: the chain follows corrected time.
    {"event_id": "xid", "t": "03:00:00", "t_raw": "03:00:40", "event_type": "gpu.xid", "node": "n1"},
    {"event_id": "xid again", "t": "03:00:01", "event_type": "gpu.xid", "node": "n1"},
    {"event_id": "boot", "t": "02:59:58", "event_type": "sys.boot", "node": "n1", "role": "context"},
    {"event_id": "hours ago", "t": "01:00:00", "t_low": "01:00:00", "t_high": "01:00:00", "event_type": "net.port_crc",
     "node": "n9"},
    {"event_id": "abort", "t": "03:00:10", "event_type": "comm.abort", "node": "n3"},
    {"event_id": "first", "t": "03:00:05", "t_low": "03:00:04", "t_high": "03:00:06", "event_type": "comm.timeout",
     "node": "n2", "clock_error_s": 1.0},
    {"event_id": "same node, next", "t": "03:00:05.5", "t_low": "03:00:04.5", "t_high": "03:00:06.5",
     "event_type": "comm.abort", "node": "n2", "clock_error_s": 1.0},
    {"event_id": "other node", "t": "03:00:06", "t_low": "03:00:05", "t_high": "03:00:07",
     "event_type": "comm.timeout", "node": "n3", "clock_error_s": 1.0},
    {"event_id": "neither", "t": "03:00:07", "event_type": "comm.timeout", "node": "n2"},
    {"event_id": "end", "t": "03:00:30", "event_type": "sched.end", "node": None},
    {"event_id": "end again", "t": "03:00:31", "event_type": "sched.end", "node": None},
]  # fmt: skip


@pytest.fixture(scope="module")
def chain(spark):
    long = [
        {"uid": "long", "event_id": f"{n:03d}", "t": f"03:00:{n // 2:02d}.{5 * (n % 2)}", "event_type": "comm.timeout"}
        for n in range(MAX_STEPS + 10)
    ]
    lost = [{"uid": "no winner", "event_id": "x", "t": "03:00:00", "event_type": "sched.end"}]
    winner = {"ruleset_version": "v1", "t0": "03:00:00", "anchor_type": "gpu.xid"}
    winners = [
        winner | {"uid": "u", "rule_id": "xid", "event_ids": ["abort", "boot", "xid", "xid again"]},
        winner | {"uid": "long", "rule_id": "comm", "event_ids": []},
    ]
    symptoms = [{"uid": "u", "event_id": e} for e in ("hours ago", "xid", "first", "same node, next", "other node")]
    symptoms += [{"uid": "long", "event_id": e["event_id"]} for e in long]
    return collected(
        build_evidence(
            scoped(spark, [*EVENTS, *long, *lost]),
            frame(spark, WINNERS, winners),
            frame(spark, "uid string, event_id string", symptoms),
        )
    )


def test_steps_are_in_true_order_with_their_part_and_distance_from_t0(chain):
    assert pick(chain, "position", "offset_s", "event_id", "part", job_id="u") == [
        (0, -7200.0, "hours ago", "earlier"),
        (1, -2.0, "boot", "support"),
        (2, 0.0, "xid", "origin"),
        (3, 1.0, "xid again", "origin"),
        (4, 5.0, "first", "cascade"),
        (5, 5.5, "same node, next", "cascade"),
        (6, 6.0, "other node", "cascade"),
        # What the rule rests on is a support unless it only suffered.
        (7, 10.0, "abort", "cascade"),
        (8, 30.0, "end", "end"),
    ]


def test_an_order_that_clocks_cannot_decide_is_marked_but_not_on_one_node(chain):
    found = dict(pick(chain, "event_id", "order_certain", job_id="u"))
    assert [event for event, certain in found.items() if not certain] == ["other node"]


def test_a_step_points_at_the_rule_and_the_time_as_written(chain):
    assert pick(chain, "finding", "ruleset_version", "t", "t_raw", event_id="xid") == [
        ("xid", "v1", "03:00:00", "03:00:40")
    ]


def test_a_chain_is_bounded_and_without_a_winner_there_is_none(chain):
    assert pick(chain, "position", job_id="long") == [(n,) for n in range(MAX_STEPS)]
    assert pick(chain, "position", job_id="no winner") == []
