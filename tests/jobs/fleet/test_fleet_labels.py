"""Operators' labels: a share of the failures, right but for the share that is asked to be wrong."""

import json
from collections import Counter
from pathlib import Path

from firstfault.jobs.fleet import FleetReport, generate, load_profile
from firstfault.jobs.fleet.asks import MixProfile
from firstfault.jobs.fleet.days import worlds
from firstfault.jobs.fleet.generate import build_world
from firstfault.jobs.fleet.labels import HEADER, TAKEN_FOR, rows
from firstfault.jobs.fleet.mix import draw
from firstfault.jobs.fleet.truth import Truth
from tests.jobs.fleet.small import WEIGHTS, small

MANY = small(days=14, mix=MixProfile(weights=WEIGHTS, attempts=150, healthy=0.2))


def truths() -> tuple[Truth, ...]:
    *_, last = worlds(draw(MANY))
    return last.truths


def test_labels_are_a_share_of_the_failures_and_right() -> None:
    known = truths()
    failed = {(t.job_id, str(t.attempt)): t for t in known if t.category}
    every = [row.split(",") for row in rows(MANY.model_copy(update={"labels": 1.0}), known)]
    assert {(row[1], row[2]) for row in every} == set(failed)
    for _, job, attempt, category, scope, origin in every:
        truth = failed[job, attempt]
        assert (category, scope, origin) == (truth.category, truth.origin_scope or "", ";".join(truth.origin))
    some = rows(MANY.model_copy(update={"labels": 0.3}), known)
    assert 0.15 < len(some) / len(failed) < 0.45
    assert rows(MANY, known) == []


def test_errors_are_wrong_categories_wrong_places_and_conflicts() -> None:
    known = truths()
    right = set(rows(MANY.model_copy(update={"labels": 1.0}), known))
    told = rows(MANY.model_copy(update={"labels": 1.0, "label_errors": 0.5}), known)
    by_attempt = Counter(tuple(row.split(",")[1:3]) for row in told)
    assert max(by_attempt.values()) == 2
    wrong = [row for row in told if row not in right]
    assert 0.3 < len(wrong) / len(right) < 0.7
    assert len({row.split(",")[4] for row in wrong}) > 1


def test_every_category_has_what_it_is_taken_for() -> None:
    told = {t.category for t in build_world(load_profile("wide")).truths if t.category}
    assert told <= set(TAKEN_FOR)
    assert all(right != wrong for right, wrong in TAKEN_FOR.items())


def test_labels_stay_outside_unless_they_are_delivered(tmp_path: Path) -> None:
    kept = made(tmp_path / "kept", deliver=False)
    assert not (kept.landing / "labels.csv").exists()
    outside = (tmp_path / "kept" / "labels.csv").read_text()
    given = made(tmp_path / "given", deliver=True)
    assert (given.landing / "labels.csv").read_text() == outside
    assert outside.splitlines()[0] == HEADER
    assert kept.labelled == len(outside.splitlines()) - 1
    assert json.loads(kept.truth.read_text()) == json.loads(given.truth.read_text())


def made(out: Path, *, deliver: bool) -> FleetReport:
    return generate(small(days=1, labels=1.0, deliver_labels=deliver), out)
