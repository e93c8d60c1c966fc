"""First guesses of clocks, and sources in another zone."""

import numpy as np
import pytest

from firstfault.transforms.clock_coarse import coarse_offsets, components, modes, source_shifts, unshifted
from tests.transforms.clock_cases import NOTHING, joined, series, shuffled

TELEMETRY, SCHEDULE, STEP, ARRIVAL = range(4)
TRUSTED, ABOUT = np.array([TELEMETRY]), np.array([ARRIVAL])
ZONE_S = -28_800.0


def told(node, value, **given):
    return series(node, [value] * 3, kind=TELEMETRY, sigma=0.001, **given)


def scheduled(node, value, **given):
    return series(node, [value], kind=SCHEDULE, sigma=60.0, **given)


def marks(group, *values, source=0):
    """Moments that clocks 0, 1, ... share, off by the values against their middle."""
    away = np.asarray(values, float) - np.median(values)
    return [series(node, [v] * 3, kind=STEP, group=group, source=source) for node, v in enumerate(away)]


def test_a_clock_of_its_own_witness_needs_no_others():
    rows = joined(told(0, 5.0), told(1, -0.2))
    assert coarse_offsets(rows, 3) == pytest.approx([5.0, -0.2, 0.0])


def test_an_anchor_puts_the_clocks_that_share_moments_with_it_right():
    rows = joined(told(0, 5.0), *marks(0, 5.0, 0.0, 3600.0))
    assert coarse_offsets(rows, 3) == pytest.approx([5.0, 0.0, 3600.0])


def test_a_chain_of_attempts_reaches_the_last_clock():
    chain = [
        series(node + end, [0.5 if end else -0.5] * 2, kind=STEP, group=node) for node in range(5) for end in (0, 1)
    ]
    assert coarse_offsets(joined(told(0, 0.0), *chain), 6) == pytest.approx([0, 1, 2, 3, 4, 5])


def test_the_majority_is_right_where_nothing_anchors():
    rows = joined(*marks(0, 0.01, -0.01, 0.0, 7.0, 3600.0))
    assert coarse_offsets(rows, 5) == pytest.approx([0.01, -0.01, 0.0, 7.0, 3600.0], abs=0.02)


def test_two_clocks_that_nothing_anchors_split_the_difference():
    assert coarse_offsets(joined(*marks(0, 0.0, 4.0)), 2) == pytest.approx([-2.0, 2.0])


def test_a_majority_that_its_schedules_contradict_is_not_right():
    rows = joined(*marks(0, 3600.0, 3600.1, 0.0), *(scheduled(n, 3600.0) for n in (0, 1)), scheduled(2, 0.0))
    assert coarse_offsets(rows, 3) == pytest.approx([3600.0, 3600.1, 0.0], abs=1.0)


def test_a_schedule_does_not_outvote_a_majority_that_it_agrees_with():
    rows = joined(*marks(0, 0.0, 0.0, 5.0), *(scheduled(n, 70.0) for n in range(3)))
    assert coarse_offsets(rows, 3) == pytest.approx([0.0, 0.0, 5.0])


def test_a_late_printer_stays_where_its_own_witness_puts_it():
    assert coarse_offsets(joined(told(0, 0.0), *marks(0, 3.0, 0.0, 0.0)), 3)[0] == 0.0


def test_without_observations_there_are_no_guesses_and_no_shifts():
    assert coarse_offsets(NOTHING, 0).tolist() == []
    assert source_shifts(NOTHING, TRUSTED).tolist() == []


def test_a_source_in_another_zone_is_told_by_telemetry_or_by_arrivals():
    for right in (told(0, 0.03, source=1), series(0, [-0.4] * 3, kind=ARRIVAL, group=0, source=1)):
        rows = joined(right, scheduled(0, ZONE_S + 40.0, source=2))
        shift = source_shifts(rows, TRUSTED, ABOUT)
        assert shift.tolist() == [0.0, 0.0, 0.0, ZONE_S]
        assert unshifted(rows, shift).value[-1] == pytest.approx(40.0)


def test_a_majority_of_one_source_tells_the_zone_of_another():
    away = [series(n, [v] * 3, kind=STEP, group=0, source=2) for n, v in enumerate([ZONE_S, 0.0, 0.0, 0.0])]
    right = series(0, [-0.4] * 3, kind=ARRIVAL, group=1, source=1)
    assert set(source_shifts(joined(*away, right), TRUSTED, ABOUT)[:3]) == {ZONE_S}


def test_a_clock_that_is_an_hour_off_is_no_zone_of_a_source():
    rows = joined(told(0, 3600.0, source=1), scheduled(0, 3610.0, source=2))
    assert not source_shifts(rows, TRUSTED).any()
    alone = joined(scheduled(0, 3610.0, source=2), *marks(0, 3600.0, 0.0, 0.0, source=2))
    assert not source_shifts(alone, TRUSTED).any()


def test_an_odd_difference_is_no_zone():
    rows = joined(told(0, 0.0, source=1), scheduled(0, 2100.0, source=2))
    assert not source_shifts(rows, TRUSTED).any()


def test_components_and_modes():
    part = components(np.array([0, 1, 2, 3]), np.array([0, 0, 1, 1]), 5)
    assert part.tolist() == [0, 0, 1, 1, 2]
    middle, width = modes(np.array([0, 0, 0, 0, 1, 1, 2]), np.array([0.0, 0.1, 0.2, 9.0, 1.0, 3.0, 7.0]), 3)
    assert middle == pytest.approx([0.1, 2.0, 7.0])
    assert width == pytest.approx([0.2, 2.0, 0.0])


def test_the_order_of_rows_does_not_matter():
    rows = joined(told(0, 5.0), *marks(0, 5.0, 0.0, 3600.0), *marks(1, 5.2, 0.0))
    assert coarse_offsets(rows, 3).tolist() == coarse_offsets(shuffled(rows), 3).tolist()
