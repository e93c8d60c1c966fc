"""What the diagnosis says of faults that no rule knows: it should be silent, and blame nobody else with confidence.

A night over a rehearsed fleet with all rules; from its tables once more without the rules of one category, for each,
and without the rules that decide the attempts of one mechanism, for each. Nothing is tuned between the runs. A verdict
is right that names the fault's category, one that the truth allows as well, or that of a second fault of the attempt.
"""

import time
from collections.abc import Sequence

import pytest
from pyspark.sql import DataFrame, SparkSession
from rich.console import Console

from firstfault.transforms.diagnoses import DIAGNOSES
from tests.benchmarks.conftest import WIDTH, Bench
from tests.benchmarks.leave_out_judgement import (
    FATES,
    RIGHT,
    SURELY_WRONG,
    Fates,
    judge,
    summed,
    table_of,
    table_of_accused,
    without_category,
    without_mechanism,
)
from tests.benchmarks.leave_out_worlds import Verdicts, verdicts
from tests.benchmarks.rehearsed_lake import PROFILE, Rehearsed, found, rehearsed

pytestmark = [pytest.mark.bench, pytest.mark.timeout(3600)]

SEED = 7
ALL_RULES: frozenset[str] = frozenset()


def test_leave_out(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    past = rehearsed(spark, SEED, tmp_path_factory.getbasetemp())
    begun = time.perf_counter()
    candidates = found(past)
    [full] = verdicts(past, candidates, [ALL_RULES])
    assert_as_published(past, full)
    categories = without_category(past.facts, {r.id: r.category for r in past.night.knowledge.rules})
    mechanisms = without_mechanism(past.facts, full)
    assert_independent(past, candidates, max((c.rules for c in categories), key=len))
    left_out = [*categories, *mechanisms]
    now = verdicts(past, candidates, [one.rules for one in left_out])
    fates = [judge(one, past.facts, full, said) for one, said in zip(left_out, now, strict=True)]
    took = time.perf_counter() - begun
    parts = {"category": fates[: len(categories)], "mechanism": fates[len(categories) :]}
    with capsys.disabled():
        for what, every in parts.items():
            title = f"Without the rules of a {what}"
            console = Console(width=WIDTH)
            console.print("", table_of(title, every), "", table_of_accused(f"{title}: newly accused", every))
    for what, every in parts.items():
        note(bench, what, every)
    bench.add("leave out", took, "s", n=len(left_out), size=f"profile {PROFILE}, seed {SEED}")


def assert_as_published(past: Rehearsed, full: Verdicts) -> None:
    """With all rules, the verdicts are those that the night wrote."""
    written = {
        (row["job_id"], row["attempt"]): (row["category"], sorted(row["origin"]), row["confidence"], row["rule_id"])
        for row in past.night.lake.read(DIAGNOSES).toArrow().to_pylist()
    }
    assert {key: (v.category, list(v.origin), v.confidence, v.rule_id) for key, v in full.items()} == written


def assert_independent(past: Rehearsed, candidates: DataFrame, gone: frozenset[str]) -> None:
    """A rule set compiled without some rules finds what all rules find, less what those found."""
    assert _told(found(past, gone)) == {one for one in _told(candidates) if one[1] not in gone}


def _told(candidates: DataFrame) -> set[tuple[object, ...]]:
    rows = candidates.select("uid", "rule_id", "origin", "points", "specificity", "t0", "event_ids")
    return {tuple(map(str, row.values())) for row in rows.toArrow().to_pylist()}


def note(bench: Bench, what: str, every: Sequence[Fates]) -> None:
    """Adds the figures of all leave-outs of a kind."""
    total, work = summed(every), f"leave out a {what}"
    n = len(total.left_out.attempts)
    size = f"profile {PROFILE}, seed {SEED}: {len(every)} sets of rules left out"
    for name in (RIGHT, SURELY_WRONG):
        bench.add(f"{work}: {name} before", 100 * total.before[name] / n, "%", n=n, size=size)
    for name in FATES:
        said = "right by another rule" if name == RIGHT else name
        bench.add(f"{work}: {said}", 100 * total.after[name] / n, "%", n=n, size=size)
    bench.add(f"{work}: confidently wrong only then", 100 * len(total.accused) / n, "%", n=n, size=size)
    others = {"changed": total.changed, "changed, own rule kept": total.kept_rule, "right no more": total.spoilt}
    for name, count in others.items():
        bench.add(f"{work}: other attempts {name}", 100 * count / total.others, "%", n=total.others, size=size)
