"""Correction of clocks, judged on simulated fleets with known clocks, and what it costs.

The peer is no correction: written times as they are. A fleet has a twelfth of its clocks off by 1 to 10 s, one by an
hour, one drifting 200 ppm, two stepping, one application in another zone, and stragglers; the others lie within 50 ms.
"""

import time
from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import SparkSession

from firstfault.transforms.clock_fusion import fuse
from tests.benchmarks.clock_fleets import DAY, FAULTS, Flags, Fleet, Mix, fleet
from tests.benchmarks.clock_judgement import OPEN, RIGHT, WRONG, Corrections, Errors, errors, order, pairs, traps
from tests.benchmarks.clock_solving import corrections, tables, witnesses
from tests.benchmarks.conftest import CORES, Bench

pytestmark = [pytest.mark.bench, pytest.mark.timeout(3600)]

PEER = "written times as they are"
SIZES = (8, 32, 128, 512)
SHARING = ("telemetry", "anchored", "marks", "marks+arrival")
CLASSES = (*SHARING, "arrival", "schedule")
COST_NODES = 2000

Judged = list[tuple[Fleet, Corrections]]


def seeds(nodes: int) -> range:
    """More small fleets than large ones, so that each size has clocks enough."""
    return range(max(1, 64 // nodes))


def judged(spark: SparkSession, folder: Path, name: str, **made: float) -> dict[int, Judged]:
    """Fleets of all sizes and what was found of them, by size."""
    fleets = [
        fleet(Mix(n, 100 * n + seed, f"{name}_{n}_{seed}", slot_lines=2, **made)) for n in SIZES for seed in seeds(n)
    ]
    found = corrections(spark, fleets, folder)
    by_size: dict[int, Judged] = {n: [] for n in SIZES}
    for pair in zip(fleets, found, strict=True):
        by_size[pair[0].mix.nodes].append(pair)
    return by_size


def pooled(cases: Judged, *, witness: tuple[str, ...] = (), fault: str = "") -> Errors | None:
    """Errors of clocks of all fleets with these witnesses, or this fault; None when there are no such clocks."""
    parts = []
    for simulated, found in cases:
        chosen: Flags = np.ones(simulated.mix.nodes, bool)
        if witness:
            chosen &= np.isin(simulated.witnessed(), witness)
        if fault:
            chosen &= simulated.clocks.fault == fault
        parts.append(errors(simulated, found).of(chosen))
    names = Errors.__dataclass_fields__
    every = Errors(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))
    return every if len(every.node) else None


def note(bench: Bench, what: str, size: str, found: Errors) -> None:
    """Adds the figures of some clocks."""
    about = {"n": len(found.node), "size": size}
    raw = float(np.median(found.raw_s)), float(np.percentile(found.raw_s, 95))
    bench.add(f"clock: {what}, median error", found.median, "s", peer=PEER, peer_value=raw[0], **about)
    bench.add(f"clock: {what}, 95th percentile", found.p95, "s", peer=PEER, peer_value=raw[1], **about)
    bench.add(f"clock: {what}, intervals that hold the truth", 100 * found.coverage, "%", **about)
    bench.add(f"clock: {what}, median width of the interval", found.width, "s", **about)


def classes(bench: Bench, name: str, cases: Judged) -> None:
    """Adds the figures of clocks by witness and by fault."""
    for witness in CLASSES:
        if found := pooled(cases, witness=(witness,)):
            note(bench, f"by {witness}", name, found)
    for fault in ("good", *FAULTS):
        if found := pooled(cases, witness=SHARING, fault=fault):
            note(bench, f"{fault} clocks", name, found)


def order_of(bench: Bench, size: str, cases: Judged) -> tuple[float, float]:
    """Adds how pairs of events and order traps end; shares of wrong pairs and of wrong accusations."""
    drawn = [(f, c, pairs(f)) for f, c in cases]
    wrong = {}
    for what, n, raw, ours in (
        ("pairs of events", 20_000, [order(f, None, p) for f, _, p in drawn], [order(f, c, p) for f, c, p in drawn]),
        ("order traps", 40, [traps(f, None) for f, _ in cases], [traps(f, c) for f, c in cases]),
    ):
        wrong[what] = float(np.mean([share[WRONG] for share in ours]))
        for outcome in (RIGHT, WRONG, OPEN):
            mine, theirs = (100 * float(np.mean([share[outcome] for share in side])) for side in (ours, raw))
            unit = "%/all" if outcome == RIGHT else "%"
            peer = PEER if theirs and (mine or outcome == RIGHT) else None
            about = {"n": n * len(cases), "size": size}
            bench.add(f"clock: {what}, {outcome}", mine, unit, peer=peer, peer_value=theirs, **about)
    return wrong["pairs of events"], wrong["order traps"]


def test_telemetry_on_half_the_nodes(spark: SparkSession, tmp_path: Path, bench: Bench) -> None:
    by_size = judged(spark, tmp_path, "telemetry", telemetry=0.5, schedule=True)
    for nodes, cases in by_size.items():
        found = pooled(cases, witness=SHARING)
        assert found is not None
        note(bench, "telemetry on half", f"{len(cases)} fleets of {nodes} nodes", found)
        assert found.median < 0.02
        assert found.p95 < 0.15
        assert found.coverage >= 0.95
    every = [case for cases in by_size.values() for case in cases]
    classes(bench, "telemetry on half, all sizes", every)
    wrong_pairs, wrong_accusations = order_of(bench, "telemetry on half, all sizes", every)
    assert wrong_pairs < 0.02
    assert wrong_accusations < 0.02
    for straggler in ("late_barrier", "late_rank", "late_node"):
        late = pooled(every, fault=straggler)
        assert late is not None
        assert late.p95 < 0.15


def test_training_marks_only(spark: SparkSession, tmp_path: Path, bench: Bench) -> None:
    by_size = judged(spark, tmp_path, "marks")
    for nodes, cases in by_size.items():
        found = pooled(cases, witness=SHARING)
        assert found is not None
        note(bench, "training marks only", f"{len(cases)} fleets of {nodes} nodes", found)
        assert found.median < 0.1
        assert found.coverage >= 0.95
    every = [case for cases in by_size.values() for case in cases]
    classes(bench, "training marks only, all sizes", every)
    order_of(bench, "training marks only, all sizes", every)


def test_arrival_and_the_scheduler(spark: SparkSession, tmp_path: Path, bench: Bench) -> None:
    mixes = (
        Mix(64, 6, "marks_arrival", arrival=0.5, schedule=True, slot_lines=2),
        Mix(64, 7, "arrival", arrival=0.7, marks=False, schedule=True),
    )
    fleets = [fleet(mix) for mix in mixes]
    for simulated, found in zip(fleets, corrections(spark, fleets, tmp_path), strict=True):
        case = [(simulated, found)]
        name = f"{'marks, ' if simulated.mix.marks else ''}arrival and schedules, 64 nodes"
        classes(bench, name, case)
        order_of(bench, name, case)
        by_arrival = pooled(case, witness=(*SHARING, "arrival"))
        assert by_arrival is not None
        assert by_arrival.coverage >= 0.95


def test_cost(spark: SparkSession, tmp_path: Path, bench: Bench) -> None:
    simulated = fleet(Mix(COST_NODES, 1, "cost", telemetry=0.5, schedule=True, slot_lines=2))
    frames = tables(spark, [simulated], tmp_path)
    lines = frames["marks"].count()
    begun = time.perf_counter()
    kept = witnesses(spark, frames).persist()
    reduced = kept.count()
    paired = time.perf_counter()
    rows = fuse(kept, [DAY]).toArrow().num_rows
    done = time.perf_counter()
    about = {"n": lines, "size": f"{COST_NODES} nodes, 36 h, {CORES} cores"}
    bench.add("clock", done - begun, "s", **about)
    bench.add(f"clock: marks to {reduced:,} witnesses", paired - begun, "s", **about)
    bench.add(f"clock: witnesses to {rows:,} intervals", done - paired, "s", **about)
    kept.unpersist()
    assert done - begun < 900
