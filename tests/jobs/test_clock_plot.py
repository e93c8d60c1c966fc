"""The plot of a day's clocks: what each row shows, hostile names, many clocks, and equal bytes."""

import time
import xml.etree.ElementTree as ET
from datetime import UTC, date, datetime, timedelta

import pyarrow as pa
import pytest

from firstfault.jobs.clock_plot import MAX_DRAWN, figure_svg, offsets_figure
from firstfault.jobs.clock_spans import Span, spans_of

DAY = date(2026, 11, 20)
MIDNIGHT = datetime(2026, 11, 20, tzinfo=UTC)
HOSTILE = "<script>alert(1)</script> $\\frac{$ -->\u202e\x00 中"


def offset(node="n1", hour=0, **given) -> dict:
    """A row of `clock_offsets`: an hour of a clock 2 ms ahead, known to 1 ms."""
    return {
        "cluster": "alpha", "node": node, "source": "*", "t_from": MIDNIGHT + timedelta(hours=hour),
        "t_to": MIDNIGHT + timedelta(hours=hour + 1), "day": DAY, "offset_s": 0.002, "drift_ppm": 0.0, "error_s": 0.001,
        "shared_error_s": 0.0005, "step_s": None, "method": "telemetry", "n": 100, "reference": "NTP/PTP sources",
    } | given  # fmt: skip


def table(*rows: dict) -> pa.Table:
    return pa.Table.from_pylist(list(rows))


def texts(svg: str) -> list[str]:
    """All texts of the drawing."""
    root = ET.fromstring(svg)  # noqa: S314 (our own)
    return ["".join(e.itertext()).strip() for e in root.iter("{http://www.w3.org/2000/svg}text")]


def test_a_span_reaches_over_drift_and_intervals():
    (span,) = spans_of(table(offset(), offset(hour=1, offset_s=-0.001, drift_ppm=-10.0, error_s=0.004)))
    assert (span.low, span.high) == (pytest.approx(-0.037), 0.002)
    assert span.worst == span.low
    assert span.error == 0.004


def test_a_step_shows_both_its_sides_and_not_its_own_unsure_minute_as_what_is_left():
    rows = [offset(), offset(hour=1, offset_s=20.002, step_s=40.0, error_s=20.5), offset(hour=2, offset_s=40.002)]
    (span,) = spans_of(table(*rows))
    assert span.steps == ((pytest.approx(0.002), pytest.approx(40.002)),)
    assert span.error == 0.001
    (only,) = spans_of(table(rows[1]))
    assert only.error == 20.5
    assert "before, after a step" in texts(figure_svg(offsets_figure(table(*rows))))


def test_the_worst_clock_comes_first_and_sources_are_clocks_of_their_own():
    found = spans_of(
        table(
            offset("n1"), offset("n2", offset_s=-3600.0), offset("n1", source="kernel_log", offset_s=7.0),
            offset("n1", cluster="beta", offset_s=0.5),
        )
    )  # fmt: skip
    assert [(s.cluster, s.node, s.source) for s in found] == [
        ("alpha", "n2", "*"), ("alpha", "n1", "kernel_log"), ("beta", "n1", "*"), ("alpha", "n1", "*"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "given", [{"offset_s": None}, {"offset_s": float("nan")}, {"error_s": float("inf")}, {"offset_s": 1e300}]
)
def test_a_row_without_a_figure_says_nothing(given):
    assert spans_of(table(offset(**given), offset("n2"))) == spans_of(table(offset("n2")))
    assert "n2" in texts(figure_svg(offsets_figure(table(offset(**given), offset("n2")))))


def test_a_lake_of_before_steps_were_known_is_read():
    old = table(offset()).drop_columns(["step_s", "shared_error_s"])
    assert spans_of(old) == [
        Span("alpha", "n1", "*", 0.002, 0.002, 0.001, (), "telemetry", "NTP/PTP sources"),
    ]


def test_the_witnesses_of_most_lines_colour_a_clock_and_groups_without_an_anchor_are_alike():
    rows = table(
        offset(n=1, method="marks", reference="median of 2 clocks"), offset(hour=1, n=9),
        offset("n2", method="marks", reference="median of 2 clocks"),
        offset("n3", method="marks", reference="median of 9 clocks"),
    )  # fmt: skip
    assert {s.node: s.witnesses for s in spans_of(rows)} == {
        "n1": "telemetry, by NTP/PTP sources", "n2": "marks, by median of the clocks",
        "n3": "marks, by median of the clocks",
    }  # fmt: skip


def test_an_hour_and_milliseconds_both_show():
    said = texts(figure_svg(offsets_figure(table(offset("late", offset_s=3600.4), offset("good")))))
    assert {"late", "good", "0", "1 h", "−1 h"} <= set(said)  # noqa: RUF001
    assert any(word.endswith("ms") and not word.startswith("−") for word in said)  # noqa: RUF001
    assert any("linear within 1 ms" in word for word in said)


@pytest.mark.parametrize("rows", [(), (offset(),), (offset(offset_s=0.0, error_s=0.0),)])
def test_none_and_a_single_clock_are_drawn(rows):
    said = texts(figure_svg(offsets_figure(table(*rows) if rows else table(offset()).slice(0, 0))))
    assert ("n1" in said) == bool(rows)


def test_hostile_names_are_text():
    svg = figure_svg(offsets_figure(table(offset(HOSTILE, method=HOSTILE, reference=HOSTILE))))
    assert "<script" not in svg
    assert "\x00" not in svg
    assert "\u202e" not in svg
    assert svg.startswith("<svg")
    assert any(word.startswith("<script>alert(1)</script> $") for word in texts(svg))


def test_equal_rows_in_any_order_give_equal_bytes():
    rows = [offset(f"n{n}", hour, offset_s=n / 100) for n in range(9) for hour in range(3)]
    svg = figure_svg(offsets_figure(table(*rows)))
    assert figure_svg(offsets_figure(table(*reversed(rows)))) == svg
    assert figure_svg(offsets_figure(table(*rows[:-1], offset("n8", 2, offset_s=9.0)))) != svg


def test_two_thousand_clocks_take_a_moment_and_stay_readable():
    rows = [offset(f"gpu-{n:04d}", hour, offset_s=n / 1e5 + hour / 1e6) for n in range(2000) for hour in range(24)]
    many = table(*rows)
    begun = time.monotonic()
    svg = figure_svg(offsets_figure(many))
    assert time.monotonic() - begun < 5
    said = texts(svg)
    assert [word for word in said if word.startswith("gpu-")] == [f"gpu-{1999 - n:04d}" for n in range(MAX_DRAWN)]
    assert "1,940 more clocks" in said
    assert len(svg) < 300_000
