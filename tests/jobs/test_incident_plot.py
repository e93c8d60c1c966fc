"""Plots of an incident: lanes and their order, the closer panel, hostile names, and nothing to draw."""

from datetime import timedelta

from firstfault.jobs.answer import Answer
from firstfault.jobs.clock_plot import figure_svg
from firstfault.jobs.incident_beside import neighbours_figure, rivals_figure
from firstfault.jobs.incident_plot import NOWHERE, lanes_of, timeline_figure
from tests.frames import moment
from tests.jobs.test_answer import attempt, step, verdict
from tests.jobs.test_clock_plot import HOSTILE, texts

T0 = moment("03:59:00.25")


def at(position: int, seconds: float, part: str, node: str | None, event: str, **given) -> dict:
    t = T0 + timedelta(seconds=seconds)
    near = {"t": t, "t_low": t - timedelta(seconds=0.1), "t_high": t + timedelta(seconds=0.1), "t_raw": t}
    return step("84213", position, part=part, node=node, event_type=event, offset_s=seconds, **(near | given))


def answer(*steps: dict, **given) -> Answer:
    window = {k: v for k, v in attempt("84213").items() if k in {"start", "end", "nodes"}}
    return Answer.model_validate(verdict("84213") | window | {"evidence": list(steps)} | given)


CHAIN = (
    at(0, -900.0, "earlier", "n2", "pcie.aer"),
    at(1, 0.0, "origin", "n1", "gpu.xid"),
    at(2, 30.0, "cascade", "n2", "comm.timeout", t_raw=T0 - timedelta(hours=1)),
    at(3, 30.5, "cascade", "n3", "comm.timeout", count=4),
    at(4, 34.0, "end", None, "sched.end"),
)


def test_the_origins_node_is_on_top_and_the_others_follow_in_time():
    found = [(lane.node, lane.words) for lane in lanes_of(answer(*CHAIN))]
    assert found == [
        ("n1", "gpu.xid"), ("n2", "pcie.aer"), ("n2", "comm.timeout"), ("n3", "comm.timeout"), (NOWHERE, "sched.end"),
    ]  # fmt: skip


def test_the_timeline_names_parts_nodes_and_records():
    figure = timeline_figure(answer(*CHAIN))
    assert figure is not None
    shown = set(texts(figure_svg(figure)))
    assert {"n1", "n2", "n3", NOWHERE, "gpu.xid", "comm.timeout (4)", "as written", "end"} <= shown
    assert {"origin: where the fault began", "teardown and end", "T0 03:59:00 UTC"} <= shown
    assert "supports it" not in shown


def test_a_late_and_dense_cascade_gets_a_panel_of_its_own():
    late, early = (
        timeline_figure(answer(*CHAIN)),
        timeline_figure(answer(CHAIN[1], at(2, 0.5, "cascade", "n2", "e"), CHAIN[4])),
    )
    assert late is not None
    assert early is not None
    assert [len(figure.axes) for figure in (late, early)] == [2, 1]
    low, high = late.axes[1].get_xlim()
    assert 29 < low < 30
    assert 34 < high < 35


def test_rows_beyond_the_limit_are_counted():
    figure = timeline_figure(answer(*CHAIN), max_rows=2)
    assert figure is not None
    assert "3 more rows are not drawn" in texts(figure_svg(figure))


def test_rivals_stand_beside_the_verdict_with_their_reason():
    lost = {"rule_id": HOSTILE, "category": "storage", "origin_scope": None, "origin": [], "confidence": 0.4}
    figure = rivals_figure(answer(*CHAIN, alternatives=[lost | {"why_lost": "explained_by"}]))
    assert figure is not None
    shown = texts(figure_svg(figure))
    assert any("explained by: storage, not located" in text for text in shown)
    assert any("the verdict: gpu_hardware, n1/0000:3b:00" in text for text in shown)


def test_neighbours_are_a_row_per_node():
    run = {"node": "n1", "attempt": 0, "start": T0, "end": T0 + timedelta(hours=1)}
    after = run | {"start": T0 + timedelta(hours=5), "end": T0 + timedelta(hours=9)}
    rows = [
        run | {"job_id": "84213", "category": "gpu_hardware"},
        after | {"job_id": HOSTILE, "category": None, "node": "n2"},
    ]
    figure = neighbours_figure([*rows, run | {"job_id": "x", "category": None, "end": None}], answer(*CHAIN))
    assert figure is not None
    assert {"n1", "n2", "84213 gpu_hardware", "this attempt"} <= set(texts(figure_svg(figure)))


def test_names_of_logs_are_text_and_equal_rows_give_equal_bytes():
    steps = [at(0, 0.0, "origin", HOSTILE, HOSTILE), at(1, 2.0, "strange", "n2", "e")]
    first, second = (figure_svg(timeline_figure(answer(*steps))) for _ in range(2))
    assert first == second
    assert "<script" not in first


def test_without_anything_to_draw_there_is_no_figure():
    bare = answer(at(0, 0.0, "origin", "n1", "gpu.xid", t=None))
    assert timeline_figure(bare) is rivals_figure(bare) is neighbours_figure([], bare) is None
