"""How much slower the steps became."""

import pytest

from firstfault.transforms.step_times import mark_slow
from tests.frames import collected, scoped


def reports(*steps, job="j", stream="s", every_s=60.0):
    """Step reports of one stream: (minute, step)."""
    return [
        {
            "job_id": job, "stream_id": stream, "event_id": f"{stream}{n}", "event_type": "train.step",
            "t": f"03:{minute:02d}:00", "attrs": {"step": str(step)},
        }
        for n, (minute, step) in enumerate(steps)
    ]  # fmt: skip


GIVEN = [
    *reports((0, 0), (5, 100), (10, 200), (15, 250), (20, 275), job="slows down"),
    *reports((0, 0), (5, 100), (10, 200), (15, 300), job="steady"),
    *reports((0, 0), (5, 20), (10, 120), (15, 220), job="warms up"),
    *reports((0, 0), (5, 100), (10, 0), (15, 100), (20, 200), job="starts again"),
    *reports((0, 0), (5, 100), (10, 102), (15, 202), job="one long pause"),
    *reports((0, 0), (5, 100), (10, 150), job="two streams", stream="a"),
    *reports((0, 0), (5, 50), (10, 100), job="two streams", stream="b"),
    {"job_id": "others", "event_id": "x", "event_type": "gpu.xid", "t": "03:00:00", "attrs": {"code": "79"}},
    {"job_id": "others", "event_id": "y", "event_type": "train.step", "t": "03:00:00", "attrs": None},
]


@pytest.fixture(scope="module")
def found(spark):
    made = collected(mark_slow(scoped(spark, GIVEN)))
    assert len(made) == len(GIVEN)
    return made


def slowdowns(found, job, stream="s"):
    mine = sorted((r for r in found if r["job_id"] == job and r["stream_id"] == stream), key=lambda r: r["t"])
    return [r["attrs"].get("slowdown") for r in mine]


def test_a_stretch_is_compared_with_the_fastest_before_it(found):
    assert slowdowns(found, "slows down") == [None, "1.00", "2.00", "4.00", None]
    assert slowdowns(found, "steady") == [None, "1.00", "1.00", None]


def test_a_slow_start_makes_nothing_slow(found):
    assert slowdowns(found, "warms up") == [None, "0.20", "1.00", None]


def test_steps_that_go_back_are_no_stretch(found):
    assert slowdowns(found, "starts again") == [None, None, "1.00", "1.00", None]


def test_a_stretch_of_few_steps_says_nothing(found):
    assert slowdowns(found, "one long pause") == [None, None, "1.00", None]


def test_streams_are_compared_with_themselves(found):
    assert slowdowns(found, "two streams", "a") == [None, "2.00", None]
    assert slowdowns(found, "two streams", "b") == [None, "1.00", None]


def test_other_events_stay_as_they_are(found):
    assert {r["event_id"]: r["attrs"] for r in found if r["job_id"] == "others"} == {"x": {"code": "79"}, "y": None}
