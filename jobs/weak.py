"""Weak labels of a month: derived from what the lake knows by now, in the place of those that were derived before."""

from calendar import monthrange
from datetime import date, timedelta
from functools import reduce
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from firstfault.jobs.frames import materialised
from firstfault.jobs.gates import Gates
from firstfault.jobs.knowledge import RULES_ROOT
from firstfault.jobs.lake import Lake
from firstfault.jobs.light import in_lake
from firstfault.rules.engine.vocabulary import Vocabulary
from firstfault.rules.engine.weak_labels import load_weak_labels
from firstfault.transforms.attempts import ATTEMPTS
from firstfault.transforms.diagnoses import DIAGNOSES, LIVE
from firstfault.transforms.events import EVENTS
from firstfault.transforms.inputs import INPUTS, LANDED
from firstfault.transforms.keys import ATTEMPT_KEY
from firstfault.transforms.labels import LABELS, WEAK
from firstfault.transforms.repairs import REPAIRS
from firstfault.transforms.weak_cases import cases
from firstfault.transforms.weak_labels import (
    readiness_failed_after,
    repaired,
    same_node_failed_again,
    succeeded_elsewhere,
)
from firstfault.transforms.weak_rules import WeakRules


def write_weak_labels(lake: Lake, month: str, gates: Gates | None = None, root: Path = RULES_ROOT) -> int:
    """Derives the weak labels of the attempts that ended in a month, and replaces theirs; how many there are.

    Operators' labels stay as they are.

    Args:
        lake: The lake, which the caller holds.
        month: Such as `2026-11`.
        gates: Run the suite of `labels` over them.
        root: The rules folder, with weak_labels.yaml.

    Raises:
        KnowledgeError: weak_labels.yaml is not usable.
        CriticalExpectationError: They break a promise of ours; nothing is written.
    """
    first, last = month_days(month)
    rules = load_weak_labels(root / "weak_labels.yaml", Vocabulary.load(root / "vocabulary.yaml"))
    found = materialised(derive(lake, first, last, rules))
    if gates is not None:
        gates.check(LABELS, found)
    of_month = lake.read(ATTEMPTS).where(F.col("day").between(F.lit(first), F.lit(last))).select(*ATTEMPT_KEY)
    weak = lake.read(LABELS).select(*LABELS.columns).where(F.col("kind") == WEAK)
    kept = weak.join(of_month, list(ATTEMPT_KEY), "left_anti").select(*LABELS.columns)
    _replace_weak(lake, kept.unionByName(found))
    return found.count()


def derive(lake: Lake, first: date, last: date, rules: WeakRules) -> DataFrame:
    """The weak labels of the attempts that ended from one day to another, as rows of `labels`.

    Args:
        lake: The lake.
        first: First day.
        last: Last day.
        rules: Weights and windows.
    """
    until = last + timedelta(days=rules.longest_days + 1)
    soon = F.col("day").between(F.lit(first), F.lit(until))
    attempts = materialised(lake.read(ATTEMPTS).where(soon))
    diagnoses = lake.read(DIAGNOSES).where(soon & (F.col("track") == LIVE))
    known = materialised(cases(diagnoses, attempts))
    of_month = attempts.where(F.col("day") <= F.lit(last)).select(*ATTEMPT_KEY)
    judged = materialised(known.join(of_month, list(ATTEMPT_KEY), "left_semi"))
    repairs = lake.read(REPAIRS)
    ready = rules.readiness
    types = [*(check.event for check in ready.failed), *ready.passed_events]
    events = lake.read(EVENTS).where(soon & F.col("event_type").isin(types))
    inputs = lake.read(INPUTS).where((F.col("state") == LANDED) & F.col("format").isin(list(ready.passed_formats)))
    parts = (
        same_node_failed_again(judged, known, attempts, repairs, rules),
        repaired(judged, repairs, rules),
        succeeded_elsewhere(judged, known, attempts, repairs, rules),
        readiness_failed_after(judged, events, inputs, rules),
    )
    return reduce(DataFrame.unionByName, map(materialised, parts))


def month_days(month: str) -> tuple[date, date]:
    """First and last day of `2026-11`.

    Raises:
        ValueError: It names no month.
    """
    year, _, number = month.partition("-")
    first = date(int(year), int(number), 1)
    return first, first.replace(day=monthrange(first.year, first.month)[1])


def _replace_weak(lake: Lake, weak: DataFrame) -> None:
    """Writes the weak rows of `labels` anew unless they are equal already."""
    table = in_lake(lake.root, LABELS)
    table.replace_kind(table.of(weak.toArrow().to_pylist()), WEAK)
