"""Whether a stated confidence is kept: winners of rehearsed fleets by margin, beside what rules/scoring.yaml says.

A winner counts whether or not it was sure enough to be published, and before any cap. The list proposed is fitted on
the same winners; how it does on a fleet that it has not seen is told beside. Nothing is written: rules/scoring.yaml
changes by hand, and with more than rehearsed fleets in view.
"""

from collections.abc import Callable, Sequence

import pytest
from pyspark.sql import SparkSession
from rich.console import Console
from rich.table import Table

from tests.benchmarks.calibration_fit import (
    BELOW,
    Bin,
    Calibration,
    Winner,
    binned,
    brier,
    calibration_error,
    finest,
    proposal,
    stated,
    wilson,
    winners,
)
from tests.benchmarks.conftest import WIDTH, Bench
from tests.benchmarks.leave_out_worlds import verdicts
from tests.benchmarks.rehearsed_lake import PROFILE, found, rehearsed

pytestmark = [pytest.mark.bench, pytest.mark.timeout(3600)]

SEEDS = (7, 11)
PRESENT = "present list"


def test_calibration(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    every: list[Winner] = []
    silent, present = 0, ()
    for seed in SEEDS:
        past = rehearsed(spark, seed, tmp_path_factory.getbasetemp())
        [said] = verdicts(past, found(past), [frozenset()])
        of_fleet, without_category = winners(seed, past.facts, said)
        every, silent, present = every + of_fleet, silent + without_category, past.night.knowledge.scoring.calibration
    proposed = proposal(every)
    assert [least for least, _ in proposed] == sorted({least for least, _ in proposed})
    assert [share for _, share in proposed] == sorted({share for _, share in proposed})
    with capsys.disabled():
        console = Console(width=WIDTH)
        console.print("", reliability(every, present, proposed), f"winners of no category: {silent}", highlight=False)
        console.print("proposed calibration:", *(f"  - [{least}, {share:.2f}]" for least, share in proposed), sep="\n")
    note(bench, every, present, proposed)


def reliability(every: Sequence[Winner], present: Calibration, proposed: Calibration) -> Table:
    """One line a bin of margins: what is stated, and what is true."""
    table = Table(title="Winners by margin", title_justify="left", show_edge=False)
    for name in ("margin from", "n", "right", "95 %", "and origin", "95 %", "stated", "proposed"):
        table.add_column(name, justify="right")
    for one in binned(every, [-float("inf"), *finest()]):
        at = max(one.least, BELOW)
        figures = (stated(present, at), stated(proposed, at))
        name = "below 0" if at == BELOW else f"{at:g}"
        table.add_row(
            name, str(one.n), *_share(one, one.right), *_share(one, one.placed), *(f"{f:.2f}" for f in figures)
        )
    return table


def _share(one: Bin, count: int) -> tuple[str, str]:
    low, high = wilson(count, one.n)
    return f"{count / one.n:.2f}", f"{low:.2f} to {high:.2f}"


def note(bench: Bench, every: Sequence[Winner], present: Calibration, proposed: Calibration) -> None:
    """Adds Brier scores and calibration errors, the present list being the peer."""
    about = {"n": len(every), "size": f"profile {PROFILE}, seeds {', '.join(map(str, SEEDS))}: winners"}
    unseen = {seed: proposal([w for w in every if w.seed != seed]) for seed in SEEDS}
    bench.add("calibration: winners right by category", 100 * _mean(every, lambda w: w.right), "%", **about)
    bench.add("calibration: winners right by category and origin", 100 * _mean(every, lambda w: w.placed), "%", **about)
    bench.add("calibration: stated before caps", 100 * _mean(every, lambda w: stated(present, w.margin)), "%", **about)
    ways: dict[str, Callable[[Winner], float]] = {
        PRESENT: lambda w: stated(present, w.margin),
        "as published, after caps": lambda w: w.confidence,
        "list fitted on these": lambda w: stated(proposed, w.margin),
        "list fitted on the other fleets": lambda w: stated(unseen[w.seed], w.margin),
    }
    measures = {"Brier score": brier, "expected error": calibration_error}
    for what, measure in measures.items():
        of_present = measure(every, ways[PRESENT])
        for name, way in ways.items():
            peer = {} if name == PRESENT else {"peer": PRESENT, "peer_value": of_present}
            bench.add(f"calibration: {what}, {name}", measure(every, way), "", **peer, **about)


def _mean(every: Sequence[Winner], of: Callable[[Winner], float]) -> float:
    return sum(of(w) for w in every) / len(every)
