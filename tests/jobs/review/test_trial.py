"""A broken rule set is beaten by a better one, which is promoted; a worse one is refused; a roll-back restores."""

import shutil
from datetime import UTC, datetime

import pytest

from firstfault.jobs.champion import RuleSets
from firstfault.jobs.knowledge import RULES_ROOT
from firstfault.jobs.lake import Lake, PinnedLake
from firstfault.jobs.nightly import run_night
from firstfault.jobs.review.promote import promote, roll_back
from firstfault.jobs.review.registry import Registry, UsageError
from firstfault.jobs.review.replay import UsageError as NothingToReplayError
from firstfault.jobs.review.replay import pinned
from firstfault.jobs.review.trial import UsageError as SameRulesError
from firstfault.jobs.review.trial import run_trial
from firstfault.jobs.settings import load_settings
from firstfault.transforms.diagnoses import DIAGNOSES
from firstfault.transforms.labels import LABELS
from tests.frames import DAY, frame
from tests.jobs.zones import Zone, rows, textbook

BAR = {"min_labelled: 30": "min_labelled: 1", "clean_gains: 3": "clean_gains: 1"}
"""One labelled attempt is all that this lake has."""
SAID = ("category", "origin", "confidence", "rule_id", "ruleset_version", "track")


def rule_set(place, *, without=(), bar=BAR, **changed):
    """A copy of the shipped rules: some files left out, some texts changed."""
    shutil.copytree(RULES_ROOT, place, ignore=shutil.ignore_patterns("engine", "__pycache__", "rules.lock.yaml"))
    for pattern in without:
        for file in place.glob(pattern):
            file.unlink()
    for name, texts in {"promotion": bar, **changed}.items():
        file = place / f"{name}.yaml"
        text = file.read_text("utf-8")
        for old, new in texts.items():
            assert old in text
            text = text.replace(old, new)
        file.write_text(text, encoding="utf-8")
    return place


@pytest.fixture(scope="module")
def past(spark, tmp_path_factory):
    """A lake whose nights judge by a broken rule set, an operator's label, and all that is tried on it."""
    root = tmp_path_factory.mktemp("trial")
    zone = Zone(root / "landing")
    textbook(zone)
    zone.close()
    settings = load_settings(None, landing=str(root / "landing"), lake=str(root / "lake"), gates=False)
    sets = RuleSets(settings.lake)
    broken = rule_set(root / "broken", without=["gpu/*off_bus*.yaml"])
    sets.crown(sets.keep(broken), by="ann", why="to be broken")
    run_night(spark, settings)
    said = {
        # The cluster of the files: the label names none itself.
        "cluster": "main", "job_id": "84213", "attempt": 0, "category": "gpu_hardware", "origin_scope": "gpu",
        "origin": ["node-0421/0000:3b:00"], "kind": "operator", "source": "test", "who": "ann", "weight": 1.0,
        "labelled_at": "2026-11-21 10:00:00", "refutes": False, "withdrawn": False,
    }  # fmt: skip
    Lake(spark, settings.lake).append(LABELS, frame(spark, LABELS, [said]))
    registry = Registry(f"sqlite:///{root}/mlflow.db", str(root / "artifacts"))
    return settings, registry, root, broken


def verdicts(settings):
    """Rows of the live verdicts, without what a label adds that was given meanwhile."""
    return [{k: v for k, v in r.items() if not k.startswith("label_")} for r in rows(settings.lake, "results")]


@pytest.fixture(scope="module")
def story(spark, past):
    """What was said at each step, in order."""
    settings, registry, root, _ = past
    told = {"broken": verdicts(settings)}
    before = datetime.now(UTC)
    better = rule_set(root / "better", scoring={"independent_bar: 3.0": "independent_bar: 3.1"})
    told["trial"] = run_trial(spark, settings, better, [DAY])
    told["challenger"] = registry.submit(told["trial"])
    RuleSets(settings.lake).keep(better)
    promote(settings, registry, by="bob", why="finds it")
    run_night(spark, settings)
    told["better"] = verdicts(settings)
    told["aside"] = [r for r in rows(settings.lake, "diagnoses") if r["track"] != "live"]
    worse = rule_set(
        root / "worse", without=["gpu/*off_bus*.yaml"], scoring={"unknown_below: 0.5": "unknown_below: 0.52"}
    )
    told["worse"] = run_trial(spark, settings, worse, [DAY])
    told["as of"] = pinned(spark, settings.lake, before).versions, pinned(spark, settings.lake).versions
    registry.submit(told["worse"])
    with pytest.raises(UsageError) as refused:
        promote(settings, registry, by="bob", why="hope")
    told["refused"] = str(refused.value)
    roll_back(settings, registry, by="ann", why="to see")
    run_night(spark, settings)
    told["rolled back"] = verdicts(settings)
    return told


def test_the_better_one_gains_what_the_broken_one_missed(story):
    trial = story["trial"]
    assert (trial.score.labelled, trial.score.gains, trial.score.losses) == (1, 1, 0)
    assert (trial.objections, trial.untried) == ([], [])
    [change] = trial.changes
    assert (change["effect"], change["candidate_category"], change["candidate_origin"]) == (
        "gain", "gpu_hardware", ["node-0421/0000:3b:00"],
    )  # fmt: skip


def test_the_night_after_the_promotion_judges_by_it(story):
    [broken], [better] = story["broken"], story["better"]
    assert broken["origin"] != better["origin"] == ["node-0421/0000:3b:00"]
    assert better["ruleset_version"] == story["trial"].candidate_version


def test_the_shadow_says_before_what_the_night_says_after(story):
    [shadow], [live] = story["aside"], story["better"]
    assert shadow["track"] == "shadow"
    same = set(live) & set(shadow) - {"track"}
    assert {k: shadow[k] for k in same} == {k: live[k] for k in same}


def test_a_worse_one_is_refused_with_the_reason(story):
    assert (story["worse"].score.gains, story["worse"].score.losses) == (0, 1)
    assert story["worse"].objections[0].startswith("it loses 1")
    assert "is refused: it loses 1" in story["refused"]


def test_a_roll_back_restores_the_former_verdicts(story):
    assert story["rolled back"] == story["broken"]


def test_history_is_read_as_it_was(spark, past, story):
    then, now = story["as of"]
    assert then["diagnoses"] < now["diagnoses"]
    assert then["labels"] == now["labels"]
    settings, *_ = past
    [verdict] = PinnedLake(spark, settings.lake, then).read(DIAGNOSES).collect()
    assert verdict["rule_id"] == story["broken"][0]["rule_id"]


def test_history_that_is_gone_is_told(spark, past, story):
    settings, *_ = past
    with pytest.raises(NothingToReplayError, match="history of attempts does not reach it"):
        pinned(spark, settings.lake, datetime(2000, 1, 1, tzinfo=UTC))


def test_the_registry_follows_the_lake(past, story):
    settings, registry, _, _ = past
    assert story["challenger"].passed
    assert registry.champion() is None, "the broken rule set was never registered"
    assert registry.challenger().ruleset_version == story["worse"].candidate_version
    [*_, champion] = RuleSets(settings.lake).succession().reigns
    assert champion.why == "to see"


def test_the_live_rule_set_is_no_candidate(spark, past, story):
    settings, _, _, broken = past
    with pytest.raises(SameRulesError, match="is the live rule set"):
        run_trial(spark, settings, broken, [DAY])


def test_days_without_attempts_are_told(spark, past, story):
    settings, _, root, _ = past
    with pytest.raises(NothingToReplayError, match="no attempt from"):
        run_trial(spark, settings, root / "better", [DAY.replace(day=1)])
