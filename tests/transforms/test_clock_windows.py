"""Observations by the hour and by the stretch between steps."""

import numpy as np
import pytest

from firstfault.transforms.clock_rows import ALONE
from firstfault.transforms.clock_steps import Steps
from firstfault.transforms.clock_windows import by_hour, segments
from tests.transforms.clock_cases import HOUR_S, NOTHING, joined, series, shuffled

NO_STEPS = Steps(np.zeros(0, np.int64), np.zeros(0), np.zeros(0))
STEP = Steps(np.array([1]), np.array([5000.0]), np.array([5300.0]))
MARKS, ARRIVAL = 0, 1
SPLIT = np.array([MARKS])


def test_stretches_are_counted_by_the_steps_of_the_clock_itself():
    rows = joined(series(0, [0, 0], start=4000.0, every=2000.0), series(1, [0, 0, 0], start=5000.0, every=150.0))
    assert segments(rows, STEP).tolist() == [0, 0, 0, -1, 1]
    assert segments(rows, NO_STEPS).tolist() == [0] * 5


def test_an_hour_is_its_median_and_its_sigma_shrinks_with_the_observations():
    rows = series(0, [0.1, 0.2, 9.0, 0.2, 0.3, 0.2, 0.1, 0.2, 0.2, 0.2, 0.2, 0.2, 5.0], sigma=0.06)
    hourly, stretch = by_hour(rows, segments(rows, NO_STEPS), NO_STEPS, SPLIT)
    assert hourly.value.tolist() == [0.2, 5.0]
    assert hourly.count.tolist() == [12.0, 1.0]
    assert hourly.sigma == pytest.approx([0.06 * 1.2533 / np.sqrt(12), 0.06])
    assert stretch.tolist() == [0, 0]


def test_a_shared_moment_has_a_middle_each_hour_and_anew_when_one_of_its_clocks_steps():
    rows = joined(*(series(n, np.zeros(24), group=7, kind=MARKS) for n in (0, 1)))
    hourly, _ = by_hour(rows, segments(rows, STEP), STEP, SPLIT)
    middles = {(int(n), g) for n, g in zip(hourly.node, hourly.group, strict=True)}
    assert len({g for _, g in middles}) == 3
    assert {g for n, g in middles if n == 0} == {g for n, g in middles if n == 1}


def test_a_collector_has_one_constant_for_the_day():
    rows = joined(*(series(n, np.zeros(24), group=7, kind=ARRIVAL) for n in (0, 1)))
    hourly, _ = by_hour(rows, segments(rows, STEP), STEP, SPLIT)
    assert set(hourly.group) == {0}


def test_what_lies_within_a_step_is_left_out():
    rows = joined(series(0, [0.0]), series(1, [7.0], start=5100.0))
    hourly, _ = by_hour(rows, segments(rows, STEP), STEP, SPLIT)
    assert hourly.node.tolist() == [0]
    assert set(hourly.group) == {ALONE}


def test_nothing_gives_nothing():
    hourly, stretch = by_hour(NOTHING, segments(NOTHING, NO_STEPS), NO_STEPS, SPLIT)
    assert len(hourly) == len(stretch) == 0


def test_the_order_of_rows_does_not_matter():
    rows = joined(*(series(n, np.arange(24) * 0.1 * n, group=n % 2, start=n * HOUR_S) for n in range(4)))
    mixed = shuffled(rows)
    first, again = (by_hour(r, segments(r, STEP), STEP, SPLIT)[0] for r in (rows, mixed))
    for name in ("node", "group", "t", "value", "sigma", "count"):
        assert getattr(first, name).tolist() == getattr(again, name).tolist()
