"""The answer in a terminal: what stands there, and that no text of a log does anything."""

import io
import re

import pytest
from rich.console import Console

from firstfault.jobs.answer import Answer
from firstfault.jobs.show import MAX_LISTED, render, safe
from tests.frames import moment
from tests.jobs.test_answer import attempt, source, step, verdict

HOSTILE = "[red]x[/red] [link=http://e]y \x1b[31mz\x1b]8;;http://e\x07 \u202eevil\u2066 a\r\n\tb\x9b2J\x00"
DANGEROUS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def shown(width=200, **given) -> str:
    """The answer as printed on a console without colour, which itself prints no control character but newlines."""
    parts = {k: given.pop(k) for k in ("evidence", "coverage") if k in given}
    window = {k: attempt("84213")[k] for k in ("start", "end", "nodes")}
    answer = Answer.model_validate(verdict("84213") | window | parts | given)
    console = Console(record=True, file=io.StringIO(), width=width, color_system=None, force_terminal=False)
    render(answer, console)
    return console.export_text(styles=False)


def test_the_verdict_comes_first_then_chain_cascade_alternatives_and_coverage():
    text = shown(
        evidence=[step("84213", 0, part="origin", node="n1", device="0000:3b:00", count=3), step("84213", 2, rank=7)],
        coverage=[
            source("84213", "kernel_log", "n1"),
            source("84213", "kernel_log", "n2", delivered_throughout=False, lines=7),
        ],
        alternatives=[
            {"rule_id": "job", "category": "user_code", "origin_scope": "job", "origin": [], "confidence": 0.3,
             "why_lost": "covers_less"},
        ],
        also=[{"category": "storage", "origin_scope": "filesystem", "origin": ["/scratch"], "confidence": 0.61,
               "t0": None}],
    )  # fmt: skip
    places = [
        "job 84213 attempt 0 on alpha", "gpu_hardware  gpu n1/0000:3b:00", "A GPU fell off the bus.",
        "Do: Drain n1.", "Also: storage at /scratch (0.61)", "confidence", "FAILED (agrees)",
        "2026-11-20 03:59:00 UTC", "8.0", "Timeline", "Only suffered: n2", "Alternatives", "Coverage",
    ]  # fmt: skip
    found = [text.find(p) for p in places]
    assert -1 not in found, [p for p, at in zip(places, found, strict=True) if at < 0]
    assert found == sorted(found)
    lines = [re.sub(r"[\s│]+", " ", line).strip() for line in text.splitlines()]
    assert "T0 origin n1/0000:3b:00 comm.timeout x3 alpha 84213" in lines
    assert "T0+2.0s cascade n2 rank 7 comm.timeout alpha 84213" in lines
    assert "user_code - 0.30 covers_less job" in lines
    assert "kernel_log 2 12 - 2026-11-20 03:00:00 UTC 2026-11-20 04:00:00 UTC 1 of 2 -" in lines


def of_kernel_logs(*given: dict) -> str:
    """The row of the coverage table of kernel logs, a source a node."""
    text = shown(coverage=[source("84213", "kernel_log", f"n{n}", **part) for n, part in enumerate(given, 1)])
    [found] = [line for line in text.splitlines() if line.lstrip().startswith("kernel_log")]
    return re.sub(r"[\s│]+", " ", found).strip()


@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        ([{"gaps": 2, "lost_lines": 12}, {"gaps": 1, "lost_lines": None}, {"gaps": 0}], "12 in 3 gaps"),
        ([{"gaps": 3, "lost_lines": None}], "3 gaps"),
    ],
)
def test_what_sources_lost_is_said(sources, expected):
    assert f"kernel_log {len(sources)} {5 * len(sources)} {expected} 2026" in of_kernel_logs(*sources)


def test_the_worst_clock_and_every_fault_are_said():
    off = {"clock_offset_s": -3599.98, "clock_error_s": 0.02, "clock_faults": ["whole_hour"]}
    near = {"clock_offset_s": 0.004, "clock_error_s": 0.5, "clock_faults": ["step", "whole_hour"]}
    assert of_kernel_logs(near, off).endswith("worst -3599.980±0.020 s, step, whole_hour x2")
    assert of_kernel_logs({"clock_offset_s": 0.004, "clock_error_s": 0.5}).endswith("1 of 1 +0.004±0.500 s")
    assert of_kernel_logs({"clock_faults": ["unsynchronised"]}).endswith("1 of 1 unsynchronised")


def test_doubt_is_said():
    text = shown(
        order_certain=False, confidence=0.4, category="unknown", origin=[], origin_scope=None, t0=None,
        agrees_with_scheduler=None, scheduler_state=None, missing=["app_log", "telemetry"], label_category="storage",
        gpu_hours_lost=None, affected_nodes=[], evidence=[step("84213", 1, order_certain=False, offset_s=-3.25)],
    )  # fmt: skip
    for part in (
        "unknown  (not located)", "0.40, order undecidable", "no record (no word on it)", "app_log, telemetry",
        "storage", "~T0-3.2s",
    ):  # fmt: skip
        assert part in text
    assert "GPU hours lost" not in text
    assert "Only suffered" not in text


def said(who, category="storage", **given) -> dict:
    plain = {"origin_scope": None, "origin": [], "source": who, "labelled_at": moment("05:00:00")}
    return plain | {"category": category, "who": who} | given


def test_operators_who_agree_are_one_word_and_those_who_differ_are_all_told():
    agreed = shown(label_category="storage", label_origin=["/scratch"], label_conflict=False, labels=[said("ann")])
    assert re.search(r"operator +storage at /scratch", agreed)
    assert "ann" not in agreed
    both = [said("ann"), said(None, "gpu_hardware", origin=["n1/0000:3b:00"], source="rma.csv")]
    text = shown(width=300, label_conflict=True, labels=both)
    assert re.search(r"operators +differ", text)
    assert "ann: storage (2026-11-20 05:00:00 UTC)" in text
    assert "rma.csv: gpu_hardware at n1/0000:3b:00" in text


def test_long_lists_are_cut_and_counted():
    nodes = [f"n{i:03d}" for i in range(MAX_LISTED + 8)]
    text = shown(width=400, origin=nodes, origin_scope="node", affected_nodes=nodes)
    assert f"{nodes[MAX_LISTED - 1]} and 8 more" in text
    assert nodes[MAX_LISTED] not in text


def other(text, **given) -> dict:
    """Another explanation with a hostile origin."""
    return {"category": "storage", "origin_scope": "filesystem", "origin": [text], "confidence": 0.6} | given


PARTS = {
    "conclusion": lambda text: {"conclusion": text},
    "action": lambda text: {"action": text},
    "job": lambda text: {"job_id": text},
    "cluster": lambda text: {"cluster": text},
    "scheduler state": lambda text: {"scheduler_state": text},
    "origin": lambda text: {"origin": [text]},
    "affected nodes": lambda text: {"affected_nodes": [text]},
    "missing": lambda text: {"missing": [text]},
    "label": lambda text: {"label_category": text, "label_origin": [text]},
    "labels": lambda text: {"label_conflict": True, "labels": [said(text)]},
    "also": lambda text: {"also": [other(text, t0=None)]},
    "alternatives": lambda text: {"alternatives": [other(text, rule_id="r", why_lost="low_points")]},
    "line": lambda text: {"evidence": [step("84213", 0, text=text)]},
    "node of a step": lambda text: {"evidence": [step("84213", 0, node=text)]},
    "device of a step": lambda text: {"evidence": [step("84213", 0, device=text)]},
}


@pytest.mark.parametrize("part", PARTS)
def test_text_of_a_log_is_printed_inert(part):
    text = shown(width=600, **PARTS[part](HOSTILE))
    assert DANGEROUS.findall(text) == []
    assert "[red]x" in text
    # Nor does it make a line of its own.
    assert len(text.splitlines()) == len(shown(width=600, **PARTS[part]("x" * len(HOSTILE))).splitlines())


def test_a_line_of_the_chain_stays_one_line():
    one = shown(evidence=[step("84213", 0, text="plain")])
    hostile = shown(evidence=[step("84213", 0, text=HOSTILE * 20)])
    assert len(hostile.splitlines()) == len(one.splitlines())
    assert "[red]x[/red]" in hostile


def test_safe_keeps_letters_of_any_script_and_replaces_controls():
    assert safe("é中文 \u05d0 [b]").plain == "é中文 \u05d0 [b]"
    assert safe("a\x1b[31mb\r\nc\u202ed").plain == "a [31mb c d"
    assert safe(None).plain == "None"
    assert safe(moment("03:00:00")).plain == "2026-11-20 03:00:00+00:00"
