"""Steps of clocks: what is one, what is not, and when it was."""

import numpy as np
import pytest

from firstfault.transforms.clock_steps import Steps, find_steps, merged, without_echoes
from tests.transforms.clock_cases import NOTHING, SPAN_S, joined, series, shuffled

RNG = np.random.default_rng(5)
NOISE = RNG.normal(0, 0.01, 48)
JUMP = np.where(np.arange(48) >= 24, 1.2, 0.0)
DELIVERY = np.array([3])


def found(rows, told=NOTHING, delayed=()):
    steps = find_steps(rows, told, np.asarray(delayed, np.int64))
    return list(zip(steps.node.tolist(), steps.low.tolist(), steps.high.tolist(), strict=True))


@pytest.mark.parametrize("size", [1.2, -2.5, 0.2])
def test_a_jump_is_a_step_between_the_observations_around_it(size):
    rows = series(4, NOISE + JUMP / 1.2 * size)
    assert found(rows) == [(4, 23 * SPAN_S, 24 * SPAN_S)]


def test_noise_and_outliers_are_no_step():
    values = NOISE.copy()
    values[[5, 20, 33]] = [30.0, -8.0, 3600.0]
    assert found(series(0, values)) == []


def test_drift_is_no_step():
    assert found(series(0, NOISE + 200e-6 * np.arange(48) * SPAN_S)) == []


def test_a_step_shows_in_a_drifting_clock():
    assert found(series(0, NOISE + JUMP + 200e-6 * np.arange(48) * SPAN_S)) == [(0, 23 * SPAN_S, 24 * SPAN_S)]


def test_whole_seconds_fall_to_either_side_without_a_step():
    values = np.floor(1.6 + NOISE * 5 + 30e-6 * np.arange(48) * SPAN_S + 0.4)
    assert found(series(0, values, sigma=0.2)) == []


def test_one_observation_at_the_end_is_no_step():
    assert found(series(0, np.append(NOISE[:20], 5.0))) == []
    assert found(series(0, np.append(5.0, NOISE[:20]))) == []


def test_a_clock_seen_again_after_hours_is_left_to_the_fit():
    before, after = series(0, NOISE[:12]), series(0, NOISE[:12] + 2.0, start=30_000.0)
    assert found(joined(before, after)) == []


def test_delays_of_a_collector_are_no_step_but_a_step_shows_through_them():
    late = NOISE.copy()
    late[10:14] -= 30.0
    assert found(series(0, late, kind=3), delayed=DELIVERY) == []
    assert found(series(0, late + JUMP, kind=3), delayed=DELIVERY) == [(0, 23 * SPAN_S, 24 * SPAN_S)]
    assert found(series(0, late, kind=1), delayed=DELIVERY) != []


def test_several_witnesses_of_one_step_make_one_and_the_sharpest_dates_it():
    rows = joined(series(0, NOISE + JUMP), series(0, (NOISE + JUMP)[::2], every=2 * SPAN_S, kind=1))
    told = series(0, [1.2], start=23.5 * SPAN_S)
    assert found(rows) == [(0, 23 * SPAN_S, 24 * SPAN_S)]
    assert found(rows, told) == [(0, 23.5 * SPAN_S - 2.2, 23.5 * SPAN_S + 2.2)]


def test_what_a_daemon_tells_is_a_step_without_any_other_witness():
    assert found(NOTHING, series(2, [-30.0], start=1000.0)) == [(2, 969.0, 1031.0)]


@pytest.mark.parametrize("n", [0, 1, 2])
def test_few_observations_show_nothing(n):
    assert found(series(0, [0.0, 9.0][:n])) == []


def test_steps_of_other_clocks_or_times_stay_apart():
    steps = Steps(np.array([1, 0, 0, 1]), np.array([0.0, 5000.0, 0.0, 400.0]), np.array([300.0, 5300.0, 300.0, 500.0]))
    one = merged(steps)
    assert list(zip(one.node.tolist(), one.low.tolist(), strict=True)) == [(0, 0.0), (0, 5000.0), (1, 400.0)]


def test_the_smaller_jump_of_two_clocks_that_share_a_moment_is_an_echo():
    rows = joined(series(0, NOISE + JUMP / 2, group=0), series(1, NOISE - JUMP / 2, group=0), series(2, NOISE, group=1))
    steps = find_steps(rows, NOTHING)
    assert steps.node.tolist() == [0, 1]
    assert without_echoes(steps, np.array([1.1, -0.1]), rows).node.tolist() == [0]
    assert without_echoes(steps, np.array([0.6, -0.6]), rows).node.tolist() == [0, 1]
    apart = joined(series(0, NOISE + JUMP, group=0), series(1, NOISE + JUMP, group=1))
    assert without_echoes(find_steps(apart, NOTHING), np.array([1.1, -0.1]), apart).node.tolist() == [0, 1]


def test_the_order_of_rows_does_not_matter():
    rows = joined(series(0, NOISE + JUMP), series(1, NOISE - JUMP, kind=2, group=1))
    assert found(rows) == found(shuffled(rows))
