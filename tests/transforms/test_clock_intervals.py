"""Intervals of a clock's own time: what they say between, at and around steps, and what errors clocks share."""

import numpy as np
import pytest

from firstfault.transforms.clock_fusion import fused
from firstfault.transforms.clock_intervals import COLUMNS, intervals
from firstfault.transforms.clock_reference import Seen
from firstfault.transforms.clock_rows import NO_KINDS
from firstfault.transforms.clock_steps import Steps
from tests.transforms.clock_cases import HOUR_S, NOTHING, joined, series

RNG = np.random.default_rng(2)
KINDS = ["arrival", "schedule", "step", "telemetry", "told_step"]
ARRIVAL, SCHEDULE, STEP, TELEMETRY, TOLD = range(5)
SPAN = (0.0, 24 * HOUR_S)
T = np.arange(288) * 300.0


def told(node, offset):
    """Telemetry every five minutes, dated by the clock itself."""
    offset = np.broadcast_to(offset, T.shape)
    rows = series(node, offset + RNG.normal(0, 0.0002, len(T)), kind=TELEMETRY, sigma=0.0005)
    return rows.at(T + offset)


def marks(group, offsets, nodes):
    values = np.array([o + RNG.normal(0, 0.01, len(T)) for o in offsets])
    away = values - np.median(values, axis=0)
    centre = np.median(values, axis=0) + T
    return [series(n, v, kind=STEP, group=group, sigma=0.03).at(centre) for n, v in zip(nodes, away, strict=True)]


def of(made, node, source=-1):
    """Rows of one clock, in order of its time."""
    chosen = np.flatnonzero((made["node"] == node) & (made["source"] == source))
    chosen = chosen[np.argsort(made["t_from"][chosen])]
    return {name: made[name][chosen] for name in COLUMNS}


def read(rows, written):
    """Offset and error at times that the clock showed."""
    at = np.searchsorted(rows["t_from"], written, "right") - 1
    assert (written < rows["t_to"][at]).all()
    return rows["offset_s"][at] + rows["drift_ppm"][at] * 1e-6 * (written - rows["t_from"][at]), rows["error_s"][at]


def test_the_day_is_covered_without_gaps_or_overlaps():
    rows = of(fused(told(0, 0.5), KINDS, SPAN), 0)
    assert rows["t_from"][0] == pytest.approx(0.5, abs=0.01)
    assert rows["t_from"][1:] == pytest.approx(rows["t_to"][:-1], abs=1e-6)
    assert len(rows["t_from"]) == 24
    assert set(rows["method"]) == {"telemetry"}


def test_a_drifting_clock_is_right_between_the_hours():
    rows = of(fused(told(0, 2.0 + 200e-6 * T), KINDS, SPAN), 0)
    t = np.linspace(1000, 80_000, 50)
    true = 2.0 + 200e-6 * t
    offset, error = read(rows, t + true)
    assert np.abs(offset - true).max() < error.max() < 0.01
    assert rows["drift_ppm"][3:-3] == pytest.approx(200, abs=2)


@pytest.mark.parametrize("size", [30.0, -30.0, 1.2])
def test_times_around_a_step_are_unsure_by_half_of_it(size):
    at = 36_100.0
    rows = of(fused(told(0, np.where(at <= T, size, 0.0)), KINDS, SPAN), 0)
    [jump] = np.flatnonzero(np.isfinite(rows["step_s"]))
    assert rows["step_s"][jump] == pytest.approx(size, abs=0.01)
    assert rows["offset_s"][jump] == pytest.approx(size / 2, abs=0.01)
    assert rows["error_s"][jump] == pytest.approx(abs(size) / 2, abs=0.02)
    assert rows["t_to"][jump] - rows["t_from"][jump] < 300 + 2 * abs(size) + 1
    for t, offset in ((at - 1000, 0.0), (at + 1000, size)):
        assert read(rows, np.array([t + offset]))[0] == pytest.approx(offset, abs=0.01)


def test_a_step_back_leaves_no_written_time_with_two_offsets():
    rows = of(fused(told(0, np.where(T >= 36_100.0, -400.0, 0.0)), KINDS, SPAN), 0)
    assert (rows["t_from"][1:] >= rows["t_to"][:-1] - 1e-6).all()


def test_what_a_daemon_tells_dates_a_step_to_seconds():
    said = series(0, [-2.5], start=36_100.0 - 2.5, kind=TOLD)
    rows = of(fused(joined(told(0, np.where(T >= 36_100.0, -2.5, 0.0)), said), KINDS, SPAN), 0)
    [jump] = np.flatnonzero(np.isfinite(rows["step_s"]))
    assert rows["t_to"][jump] - rows["t_from"][jump] < 10


def test_clocks_of_one_component_share_what_they_do_not_know():
    made = fused(joined(*marks(0, [0.0, 0.02, -0.01, 4.0], range(4))), KINDS, SPAN)
    rows = of(made, 3)
    assert set(made["reference"]) == {"median of 4 clocks with 0"}
    assert (rows["shared_error_s"] > 0.02).all()
    assert (rows["error_s"] - rows["shared_error_s"] < 0.02).all()
    assert np.median(np.abs(read(rows, T[20:-20] + 4.0)[0] - 4.0)) < 0.05


def test_two_clocks_that_nothing_anchors_say_that_either_may_be_right():
    made = fused(joined(*marks(0, [0.0, 4.0], range(2))), KINDS, SPAN)
    assert np.median(of(made, 0)["offset_s"]) == pytest.approx(-2.0, abs=0.1)
    assert (made["error_s"] >= 2.0).all()
    assert (made["error_s"] - made["shared_error_s"] < 0.1).all()


def test_components_with_witnesses_of_one_kind_have_references_of_their_own():
    rows = joined(*marks(0, [0.0, 0.1], (0, 1)), *marks(1, [0.0, 0.1], (2, 3)), told(0, 0.0), told(2, 0.0))
    made = fused(rows, KINDS, SPAN, ["a", "b", "c", "d"])
    said = {str(made["node"][i]): made["reference"][i] for i in range(len(made["node"]))}
    assert said["0"] == said["1"] == "NTP/PTP sources of 2 clocks with a"
    assert said["2"] == said["3"] == "NTP/PTP sources of 2 clocks with c"


def test_what_only_the_scheduler_speaks_of_is_no_surer_than_an_unwitnessed_clock():
    made = fused(series(0, [60.0], start=40_000.0, kind=SCHEDULE, sigma=50.0), KINDS, SPAN)
    assert (made["error_s"] >= 1.0).all()


def test_a_source_in_another_zone_has_rows_of_its_own():
    zone = series(0, [-28_800.0 + 30.0], start=40_000.0 - 28_800.0, kind=SCHEDULE, source=1, sigma=30.0)
    made = fused(joined(told(0, 0.2), zone), KINDS, SPAN)
    own, other = of(made, 0), of(made, 0, source=1)
    assert np.abs(own["offset_s"] - 0.2).max() < 0.01
    assert np.abs(other["offset_s"] - 0.2 + 28_800.0).max() < 0.01
    assert other["t_from"] == pytest.approx(own["t_from"] - 28_800.0)


def test_nothing_fitted_gives_no_rows():
    made = intervals(None, Steps(NO_KINDS, np.zeros(0), np.zeros(0)), Seen(NOTHING, np.zeros(0), KINDS), SPAN)
    assert list(made) == list(COLUMNS)
    assert all(len(values) == 0 for values in made.values())


def test_one_observation_gives_the_hour_it_lies_in():
    made = fused(series(0, [0.7], start=40_000.0, kind=TELEMETRY, sigma=0.001), KINDS, SPAN)
    assert len(made["node"]) == 1
    assert made["offset_s"] == pytest.approx([0.7], abs=0.01)
