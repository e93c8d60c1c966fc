"""Clocks of two small simulated fleets, held to the bars of the design: accuracy, stragglers, steps, zones, order."""

import numpy as np
import pytest

from tests.benchmarks.clock_fleets import Fleet, Mix, fleet
from tests.benchmarks.clock_judgement import OPEN, RIGHT, WRONG, Corrections, Errors, errors, order, pairs, traps
from tests.benchmarks.clock_solving import corrections

SHARING = ("telemetry", "anchored", "marks", "marks+arrival")
ANCHORED = Mix(24, 8, "anchored", telemetry=0.5, arrival=0.3, schedule=True, slot_lines=2)
MARKS_ONLY = Mix(16, 11, "marks_only", slot_lines=2)


class Case:
    """A fleet, what was found of it, and how wrong that is."""

    def __init__(self, simulated: Fleet, found: Corrections) -> None:
        self.fleet, self.found = simulated, found
        self.all = errors(simulated, found)
        self.sharing = self.all.of(np.isin(simulated.witnessed(), SHARING))

    def of(self, fault: str) -> Errors:
        """Errors of the clocks with a fault, or of stragglers."""
        return self.all.of(self.fleet.clocks.fault == fault)

    def steps(self) -> list[tuple[str, float]]:
        """Node and size of each step found."""
        return [(r["node"], r["step_s"]) for r in self.found.rows.to_pylist() if r["step_s"] is not None]


@pytest.fixture(scope="module")
def cases(spark, tmp_path_factory):
    fleets = [fleet(mix) for mix in (ANCHORED, MARKS_ONLY)]
    found = corrections(spark, fleets, tmp_path_factory.mktemp("fleets"))
    return [Case(*pair) for pair in zip(fleets, found, strict=True)]


@pytest.fixture(scope="module")
def anchored(cases):
    return cases[0]


@pytest.fixture(scope="module")
def marks_only(cases):
    return cases[1]


def test_half_the_nodes_with_telemetry_put_all_within_milliseconds(anchored):
    assert anchored.sharing.median < 0.02
    assert anchored.sharing.p95 < 0.15
    assert np.median(anchored.sharing.raw_s) > 2 * anchored.sharing.median


def test_training_marks_alone_put_all_within_a_tenth_of_a_second(marks_only):
    assert marks_only.sharing.median < 0.1


def test_the_stated_interval_holds_the_truth_and_is_narrow(anchored, marks_only):
    assert anchored.sharing.coverage >= 0.95
    assert marks_only.sharing.coverage >= 0.95
    assert anchored.sharing.width < 0.1
    assert marks_only.sharing.width < 0.5


@pytest.mark.parametrize("straggler", ["late_barrier", "late_rank", "late_node"])
def test_a_straggler_does_not_shift_its_clock(anchored, straggler):
    assert np.max(anchored.of(straggler).away_s) < 0.2


@pytest.mark.parametrize("fault", ["seconds", "hour", "drift", "zone"])
def test_a_wrong_clock_is_put_right(anchored, marks_only, fault):
    assert anchored.of(fault).median < 0.1
    assert marks_only.of(fault).median < 0.2


def test_steps_are_found_where_they_are_and_nowhere_else(anchored):
    fault = anchored.fleet.clocks.fault
    true = {f"gpu-{i:04d}": anchored.fleet.clocks.step_s[i] for i in np.flatnonzero(np.char.startswith(fault, "step_"))}
    found = anchored.steps()
    assert {node for node, _ in found} == set(true)
    assert all(abs(size - true[node]) < 0.2 for node, size in found)


def test_only_the_source_in_another_zone_is_moved_by_it(anchored):
    rows = anchored.found.rows.to_pylist()
    [node] = np.flatnonzero(anchored.fleet.clocks.fault == "zone")
    assert {(r["node"], r["source"]) for r in rows if r["source"] != "*"} == {(f"gpu-{node:04d}", "app")}
    assert all(abs(r["offset_s"]) < 1 for r in rows if r["node"] == f"gpu-{node:04d}" and r["source"] == "*")


def test_few_pairs_are_put_in_the_wrong_order(anchored, marks_only):
    for case in (anchored, marks_only):
        drawn = pairs(case.fleet)
        raw, ours = order(case.fleet, None, drawn), order(case.fleet, case.found, drawn)
        assert ours[WRONG] < 0.02 < raw[WRONG]
        assert ours[OPEN] < 0.5


def test_order_traps_accuse_the_origin(anchored):
    raw, ours = traps(anchored.fleet, None), traps(anchored.fleet, anchored.found)
    assert raw[RIGHT] < 0.6
    assert ours[RIGHT] > 0.9
    assert ours[WRONG] <= 0.05


def test_a_rerun_gives_equal_rows(spark, tmp_path):
    small = [fleet(Mix(8, 3, "small", telemetry=0.5, slot_lines=2))]
    places = [tmp_path / name for name in ("first", "again")]
    for place in places:
        place.mkdir()
    first, again = (corrections(spark, small, place)[0].rows for place in places)
    keys = [("node", "ascending"), ("source", "ascending"), ("t_from", "ascending")]
    assert first.sort_by(keys).equals(again.sort_by(keys))
