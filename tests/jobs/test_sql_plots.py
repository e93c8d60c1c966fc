"""Plots of what a query gave: numbers beside bars, missing values, shades of pairs."""

from firstfault.jobs.clock_plot import figure_svg
from firstfault.jobs.sql_plots import MAX_BARS, bars, pairs
from tests.jobs.test_clock_plot import HOSTILE, texts

ROWS = [{"node": "n1", "of": "a", "h": 12.25, "n": 3}, {"node": HOSTILE, "of": "b", "h": float("nan"), "n": 1}]


def test_a_bar_says_its_value_and_what_stands_beside_it():
    figure = bars(ROWS, ["node", "of"], "h", "hours lost", beside="n")
    assert figure is not None
    shown = texts(figure_svg(figure))
    assert {"n1 a", "12.2, n = 3", "hours lost"} <= set(shown)
    assert len(figure.axes[0].patches) == 1  # no bar for a missing value


def test_a_logarithmic_axis_has_plain_numbers_and_an_interval():
    rows = [{"c": "x", "v": 5.0, "low": 2.0, "high": 900.0}, {"c": "none", "v": 0.0, "low": 0.0, "high": 1.0}]
    figure = bars(rows, "c", "v", "hours", ends=("low", "high"), log=True)
    assert figure is not None
    shown = texts(figure_svg(figure))
    assert {"10", "100", "1,000"} <= set(shown)
    assert not any("$" in text for text in shown)


def test_many_rows_are_cut_and_hostile_names_are_text():
    figure = bars([{"c": f"{n} {HOSTILE}", "v": n} for n in range(99)], "c", "v", "n")
    assert figure is not None
    assert len(figure.axes[0].patches) == MAX_BARS
    assert "<script" not in figure_svg(figure)


def test_pairs_show_each_number_once():
    rows = [{"a": "x", "b": "y", "n": 7}, {"a": "x", "b": "z", "n": 100}, {"a": "w", "b": "y", "n": None}]
    figure = pairs(rows, "a", "b", "n", "attempts")
    assert figure is not None
    shown = texts(figure_svg(figure))
    assert [text for text in shown if text in {"7", "100"}] == ["7", "100"]
    assert {"x", "y", "z", "b (number: attempts)"} <= set(shown)
    assert "w" not in shown


def test_without_rows_there_is_no_figure():
    assert bars([], "a", "b", "c") is pairs([], "a", "b", "c", "d") is None
