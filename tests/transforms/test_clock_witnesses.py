"""What each kind of source says of a clock, in the one shape that is fused."""

import pytest

from firstfault.transforms.attempts import ATTEMPTS
from firstfault.transforms.clock_marks import CLOCK_MARKS
from firstfault.transforms.clock_witnesses import (
    arrival_witnesses,
    mark_witnesses,
    schedule_witnesses,
    telemetry_witnesses,
    told_steps,
)
from firstfault.transforms.raw_telemetry import RAW_TELEMETRY
from tests.frames import collected, frame, pick


def mark(node, key, t, rank=0, kind="step", **given) -> dict:
    """A line of a rank of job 7; every rank has a stream of its own."""
    return {
        "cluster": "c", "kind": kind, "job_id": "7", "key": str(key), "source": "app", "stream_id": f"{node}.{rank}",
        "byte_offset": 0, "node": node, "rank": rank, "t": t, "n": 1,
    } | given  # fmt: skip


def rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


@pytest.fixture(scope="module")
def shared(spark):
    """Moments of job 7 and others: n1 is right, n2 is 2 s fast, n3 0.5 s slow."""
    given = []
    for second in (1, 2, 3):
        given += [mark(n, second, f"03:00:0{second + fast}.25") for n, fast in (("n1", 0), ("n2", 2))]
        given.append(mark("n3", second, f"03:00:0{second - 1}.75"))
    # One of eight ranks of n1 prints three seconds late, always.
    given += [mark("n1", s, f"03:00:0{s + 3}.25", rank=7) for s in (1, 2, 3)]
    given += [mark("n1", s, f"03:00:0{s}.25", rank=6) for s in (1, 2, 3)]
    given += [
        # Nobody else wrote of it; the same number twice in one stream; ranks of one node an hour apart.
        mark("n1", 50, "03:00:30.5"),
        mark("n1", 60, "03:00:31.5"), mark("n2", 60, "03:00:33.5"), mark("n2", 60, "03:10:33.5", byte_offset=9),
        mark("n2", 70, "03:00:31.5"), mark("n3", 70, "03:00:31.5"), mark("n3", 70, "04:00:31.5", rank=9),
        # Another kind, another attempt and another job have moments of their own.
        mark("n1", 1, "03:00:09.25", kind="wave"), mark("n2", 1, "03:00:11.25", kind="wave"),
        mark("n1", 1, "05:00:00.5", attempt_hint=1), mark("n2", 1, "05:00:02.5", attempt_hint=1),
        mark("n1", 1, "06:00:00.5", job_id="8"), mark("n4", 1, "06:00:00.5", job_id="8"),
        # Whole seconds, a kind nobody knows, a line whose node nobody knows.
        mark("n1", 1, "07:00:00", job_id="9"), mark("n2", 1, "07:00:02", job_id="9"),
        mark("n1", 1, "08:00:00.5", kind="gone"), mark("n2", 1, "08:00:00.5", kind="gone"),
        mark(None, 1, "03:00:01.25", rank=40),
        # Each kill of a cluster is a moment of its own.
        *(mark(node, job, t, kind="wave", job_id="_cluster", source=source)
          for job, node, t, source in (
              ("7", "server:slurmctld", "09:00:00.5", "slurmctld"), ("7", "n1", "09:00:01.5", "slurmd"),
              ("8", "server:slurmctld", "09:01:00.5", "slurmctld"), ("8", "n2", "09:01:04.5", "slurmd"))),
    ]  # fmt: skip
    kinds = frame(spark, "kind string, width_s double", [{"kind": k, "width_s": 0.1} for k in ("step", "wave")])
    made = collected(mark_witnesses(frame(spark, CLOCK_MARKS, given), kinds))
    return [r | {"value_s": rounded(r["value_s"]), "sigma_s": rounded(r["sigma_s"])} for r in made]


def test_nodes_are_compared_by_the_moments_they_share_and_a_late_rank_moves_nothing(shared):
    found = pick(shared, "node", "value_s", "n", group_id="7/-/step")
    assert found == [("n1", 0.0, 9), ("n2", 2.0, 3), ("n3", -0.5, 3)]


def test_kinds_attempts_and_jobs_have_groups_of_their_own(shared):
    assert {r["group_id"] for r in shared} == {
        "7/-/step",
        "7/-/wave",
        "7/1/step",
        "8/-/step",
        "9/-/step",
        "_cluster/-/wave/7",
        "_cluster/-/wave/8",
    }
    assert pick(shared, "node", "value_s", group_id="7/1/step") == [("n1", -1.0), ("n2", 1.0)]
    assert pick(shared, "node", "value_s", group_id="_cluster/-/wave/8") == [("n2", 2.0), ("server:slurmctld", -2.0)]


def test_more_moments_are_surer_and_whole_seconds_less_sure(shared):
    sigma = {r["group_id"]: r["sigma_s"] for r in shared if r["node"] == "n2"}
    assert sigma["7/1/step"] == rounded(1.2533 * 0.1)
    assert sigma["7/-/step"] == rounded(1.2533 * 0.1 / 3**0.5)
    assert sigma["9/-/step"] == rounded(1.2533 * (0.1**2 + 0.2887**2) ** 0.5)
    assert pick(shared, "t", node="n1", group_id="9/-/step") == [("07:00:01.5",)]


def sample(node, t, value, metric="clock.offset_s") -> dict:
    return {
        "job_id": "_node", "hour": "2026-11-20-03", "cluster": "c", "node": node, "metric": metric, "source": "chrony",
        "stream_id": node or "x", "byte_offset": 0, "file": "f", "event_time": t, "value": value,
    }  # fmt: skip


def test_telemetry_is_the_median_of_its_span_with_what_is_left_of_its_bound(spark):
    given = [
        sample("n1", "03:00:10", 0.010), sample("n1", "03:01:10", 0.012), sample("n1", "03:02:10", 0.5),
        sample("n1", "03:06:10", -0.25), sample("n1", "03:06:10", 0.27, "clock.max_error_s"),
        sample("n1", "03:11:10", float("nan")), sample(None, "03:00:10", 1.0), sample("n1", None, 1.0),
        sample("n2", "03:00:10", 9.0, "clock.freq_ppm"), sample("n2", "03:00:10", 9.0, "clock.max_error_s"),
    ]  # fmt: skip
    made = collected(telemetry_witnesses(frame(spark, RAW_TELEMETRY, given)))
    rows = [(r["node"], r["t"], r["value_s"], round(r["sigma_s"], 4), r["n"], r["group_id"]) for r in made]
    assert rows == [
        ("n1", "03:01:10", 0.012, 0.245, 3, None),
        ("n1", "03:06:10", -0.25, 0.01, 1, None),
    ]


def test_a_delivery_is_as_telling_as_the_fastest_of_its_span_and_steps_keep_their_size(spark):
    given = [
        mark("n1", "", "03:00:01", kind="arrival", value_s=-0.9, source="journal"),
        mark("n1", "", "03:00:02", kind="arrival", value_s=-0.4, source="journal"),
        mark("n1", "", "03:00:03", kind="arrival", value_s=-7.0, source="shipper"),
        mark("n1", "", "03:07:03", kind="told_step", value_s=-1.2, source="kernel"),
        mark(None, "", "03:07:03", kind="told_step", value_s=-1.2, source="kernel"),
    ]
    marks = frame(spark, CLOCK_MARKS, given)
    arrived = collected(arrival_witnesses(marks))
    assert pick(arrived, "source", "t", "value_s", "n", "group_id") == [
        ("journal", "03:00:02", -0.4, 2, "arrival/journal"),
        ("shipper", "03:00:03", -7.0, 1, "arrival/shipper"),
    ]
    assert pick(collected(told_steps(marks)), "node", "t", "value_s", "kind") == [("n1", "03:07:03", -1.2, "told_step")]


STREAMS = (
    "cluster string, job_id string, attempt_hint int, node string, source string, first_time timestamp,"
    "last_time timestamp"
)


def test_a_nodes_own_lines_lie_between_the_schedulers_start_and_end(spark):
    attempts = [
        {"cluster": "prod", "source_cluster": "c", "job_id": j, "attempt": a, "start": f"0{3 + a}:00:00",
         "end": f"0{3 + a}:50:00", "nodes": nodes, "scope_source": source}
        for j, a, nodes, source in (
            ("7", 0, ["n1", "n2"], "scheduler"), ("one", 0, ["n9"], "scheduler"), ("8", 0, ["n1"], "inferred"),
            ("9", 0, ["n1", "n2"], "scheduler"), ("9", 1, ["n1", "n2"], "scheduler"),
        )
    ]  # fmt: skip
    streams = [
        # An hour fast, on both ends; two streams bound it together.
        {"job_id": "7", "node": "n1", "first_time": "04:00:20", "last_time": "04:49:00"},
        {"job_id": "7", "node": "n1", "first_time": "04:00:40", "last_time": "04:49:50"},
        {"job_id": "7", "node": "n2", "first_time": "03:00:20", "last_time": "03:49:50"},
        {"job_id": "one", "node": None, "first_time": "03:00:20", "last_time": "03:49:50"},
        {"job_id": "8", "node": "n1", "first_time": "03:00:20", "last_time": "03:49:50"},
        # Which of two attempts a stream belongs to is not known; where its folder says so, it is.
        {"job_id": "9", "node": "n1", "first_time": "03:00:20", "last_time": "04:49:50"},
        {"job_id": "9", "node": "n2", "attempt_hint": 1, "first_time": "04:00:20", "last_time": "04:49:50"},
        {"job_id": "7", "node": "n3", "first_time": None, "last_time": None},
    ]
    given = [{"cluster": "c", "source": "app"} | row for row in streams]
    made = collected(schedule_witnesses(frame(spark, STREAMS, given), frame(spark, ATTEMPTS, attempts)))
    assert pick(made, "node", "value_s", "sigma_s", "source", "group_id") == [
        ("n1", 3590.0, 8.5, "app", None),
        ("n2", 0.0, 8.5, "app", None),
        ("n2", 0.0, 8.5, "app", None),
        ("n9", 0.0, 8.5, "app", None),
    ]
