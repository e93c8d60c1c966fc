"""The fit of all clocks at once, and steps that only the fit shows."""

import numpy as np
import pytest

from firstfault.transforms.clock_fit import fit
from firstfault.transforms.clock_gaps import hidden_steps
from firstfault.transforms.clock_priors import Bias, Centre
from firstfault.transforms.clock_steps import Steps
from firstfault.transforms.clock_windows import by_hour, segments
from tests.transforms.clock_cases import HOUR_S, SPAN_S, joined, series, shuffled

RNG = np.random.default_rng(11)
TELEMETRY, MARKS, ARRIVAL = range(3)
SPLIT = np.array([MARKS])
NO_STEPS = Steps(np.zeros(0, np.int64), np.zeros(0), np.zeros(0))
DAY = 96
"""Observations of a quarter of an hour."""


def told(node, offset, n=DAY, **given):
    return series(node, offset + RNG.normal(0, 0.0005, n), every=900.0, kind=TELEMETRY, sigma=0.0005, **given)


def marks(group, offsets, n=DAY, sigma=0.03, **given):
    """Moments that clocks share; their offsets may grow."""
    values = np.array([o + RNG.normal(0, sigma, n) for o in offsets])
    away = values - np.median(values, axis=0)
    return [series(node, v, every=900.0, kind=MARKS, group=group, sigma=sigma, **given) for node, v in enumerate(away)]


def solved(rows, coarse, steps=NO_STEPS, centres=(), biases=()):
    hourly, segment = by_hour(rows, segments(rows, steps), steps, SPLIT)
    return fit(hourly, segment, centres, np.asarray(coarse, float), biases)


def middle(found, node):
    """Median offset of a clock, and the standard deviation of it."""
    of_node = np.repeat(found.knots.node, found.knots.count) == node
    return np.median(found.offset_s[of_node]), np.median(found.draws_s[of_node].std(axis=1))


def test_an_anchor_and_shared_moments_put_a_clock_right_to_its_error():
    found = solved(joined(told(0, 0.02), *marks(0, [0.02, 5.0, 0.0])), [0, 5, 0])
    for node, true in enumerate([0.02, 5.0, 0.0]):
        at, error = middle(found, node)
        assert abs(at - true) < max(3 * error, 0.002)
        assert error < 0.02


def test_a_drift_is_followed():
    drift = 5.0 + 200e-6 * np.arange(DAY) * 900.0
    found = solved(joined(told(0, 0.0), *marks(0, [0.0, drift])), [0, 12])
    of_node = np.repeat(found.knots.node, found.knots.count) == 1
    hours = np.flatnonzero(of_node)[1:-1] - np.flatnonzero(of_node)[0]
    assert found.offset_s[of_node][1:-1] == pytest.approx(5.0 + 200e-6 * hours * HOUR_S, abs=0.05)


def test_outliers_move_nothing():
    rows = joined(told(0, 0.0), *marks(0, [0.0, 1.0]))
    rows.value[rng_places(rows, 30)] += 50.0
    assert middle(solved(rows, [0, 1]), 1)[0] == pytest.approx(1.0, abs=0.03)


def rng_places(rows, n):
    return np.random.default_rng(3).permutation(np.flatnonzero(rows.kind == MARKS))[:n]


def test_a_start_that_is_seconds_off_is_led_back():
    assert middle(solved(joined(told(0, 0.0), *marks(0, [0.0, 1.0])), [4, -3]), 1)[0] == pytest.approx(1.0, abs=0.03)


def test_the_majority_is_true_time_where_nothing_anchors_and_its_spread_is_the_error():
    found = solved(joined(*marks(0, [0.01, -0.01, 0.03, -0.02, 6.0])), [0, 0, 0, 0, 6])
    assert middle(found, 4)[0] == pytest.approx(6.0, abs=0.05)
    assert 0.005 < middle(found, 0)[1] < 0.05


def test_two_clocks_that_nothing_anchors_split_the_difference():
    found = solved(joined(*marks(0, [0.0, 4.0])), [-2, 2])
    assert [round(middle(found, n)[0], 1) for n in (0, 1)] == [-2.0, 2.0]


def test_errors_grow_away_from_the_witnesses():
    early = told(0, 0.0, n=8)
    late = told(0, 0.0, n=8, start=20 * HOUR_S)
    found = solved(joined(early, late), [0])
    spread = found.draws_s.std(axis=1)
    assert spread[len(spread) // 2] > 3 * spread[0]


def test_a_node_whose_lines_are_always_late_is_told_by_its_deliveries():
    clocks = range(6)
    arrivals = [
        series(n, -0.4 + RNG.normal(0, 0.02, DAY), every=900.0, kind=ARRIVAL, group=9, sigma=0.2) for n in clocks
    ]
    rows = joined(*arrivals, *marks(0, [3.0, 0, 0, 0, 0, 0]))
    biases = (Bias(ARRIVAL, 0.03), Bias(MARKS, 0.003, is_contested=True))
    found = solved(rows, [0] * 6, centres=(Centre(ARRIVAL, 0.3, 0.5),), biases=biases)
    assert middle(found, 0)[0] == pytest.approx(0.0, abs=0.1)


def test_a_path_that_is_asymmetric_is_part_of_the_error():
    rows = told(0, 0.0)
    assert middle(solved(rows, [0]), 0)[1] < 0.0005
    assert middle(solved(rows, [0], biases=(Bias(TELEMETRY, 0.0015, is_bound=True),)), 0)[1] > 0.001


def test_one_observation_is_enough_for_a_fit():
    found = solved(series(0, [0.7], sigma=0.001), [0.7])
    assert found.offset_s == pytest.approx(0.7, abs=0.01)


def test_the_order_of_rows_does_not_matter():
    rows = joined(told(0, 0.02), *marks(0, [0.02, 5.0, 0.0]))
    first, again = solved(rows, [0, 5, 0]), solved(shuffled(rows), [0, 5, 0])
    assert first.offset_s == pytest.approx(again.offset_s, abs=1e-4)
    assert first.draws_s.std(axis=1) == pytest.approx(again.draws_s.std(axis=1), rel=0.5)


def hidden(gap_h, jump, drift=0.0):
    """Steps found where a clock is seen for five hours, not for some, and for five hours again."""
    t = np.arange(60) * SPAN_S
    before = series(0, drift * t + RNG.normal(0, 0.005, 60), sigma=0.005)
    later = t + (5 + gap_h) * HOUR_S
    after = series(0, jump + drift * later + RNG.normal(0, 0.005, 60), start=later[0], sigma=0.005)
    rows = joined(before, after)
    found = solved(rows, [0])
    steps = hidden_steps(found, rows, found.knots.stretch(rows.node, segments(rows, NO_STEPS)))
    return list(zip(steps.node.tolist(), steps.low.tolist(), steps.high.tolist(), strict=True))


def test_a_clock_that_is_another_after_a_gap_has_stepped_within_it():
    assert hidden(6, 1.2) == [(0, 59 * SPAN_S, 11 * HOUR_S)]


@pytest.mark.parametrize(("jump", "drift"), [(0.0, 0.0), (0.0, 200e-6), (0.08, 0.0), (0.15, 0.0)])
def test_what_drift_accounts_for_is_no_hidden_step(jump, drift):
    assert hidden(6, jump, drift) == []
