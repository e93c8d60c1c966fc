"""A night over a rehearsed fleet, and what its attribution rests on, read back from the lake without landing again."""

import json
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from firstfault.jobs.days import days_of
from firstfault.jobs.fleet import generate
from firstfault.jobs.frames import local_frame, materialised
from firstfault.jobs.knowledge import Knowledge, knowledge_frames, load_knowledge
from firstfault.jobs.lake import Lake
from firstfault.jobs.landing import Landing

# Private to publishing, which does all this in one go and writes: here only its reading is wanted.
from firstfault.jobs.neighbours import as_peer, occupancy
from firstfault.jobs.night import Night
from firstfault.jobs.nightly import run_night
from firstfault.jobs.runs import Run
from firstfault.jobs.settings import Settings
from firstfault.jobs.verdicts import beyond_of, cases_of, padded, poor_around
from firstfault.rules.engine.compile import compile_rules
from firstfault.transforms.attempts import ATTEMPTS
from firstfault.transforms.attribution import Evidence, RuleTables, find_candidates, with_uid
from firstfault.transforms.coverage import COVERAGE
from firstfault.transforms.data_quality import poor_inputs
from firstfault.transforms.inputs import INPUTS, LANDED
from firstfault.transforms.keys import ATTEMPT_KEY
from firstfault.transforms.placement import PLACEMENT
from firstfault.transforms.rule_tables import TABLES
from firstfault.transforms.scoped_events import SCOPED_EVENTS
from firstfault.transforms.symptoms import diagnosable, first_symptoms
from firstfault.transforms.topology import TOPOLOGY

PROFILE = "wide"
NOTHING = "unknown"
Key = tuple[str, int]


@dataclass(frozen=True)
class Fact:
    """What is true of an attempt in which something went wrong.

    Attributes:
        right: Categories that a verdict may name: the fault's, those that the evidence allows as well, and those of
            other faults that struck the attempt.
        origin: Names in lower case; none where nothing is located.
    """

    category: str
    mechanism: str
    right: frozenset[str]
    origin: frozenset[str]


@dataclass(frozen=True)
class Rehearsed:
    """A night that is over.

    Attributes:
        facts: Attempts in which something went wrong.
        evidence: What attribution rests on.
        cases: Attempts that need a verdict.
        peers: Attempts that may speak of others.
        poor: Sources and clocks that are poor.
    """

    night: Night
    facts: dict[Key, Fact]
    evidence: Evidence
    cases: DataFrame
    peers: DataFrame
    symptoms: DataFrame
    poor: DataFrame
    as_of: Column


def rehearsed(spark: SparkSession, seed: int, root: Path) -> Rehearsed:
    """The night over a fleet of this seed below a folder; it is run once however often it is asked for."""
    folder = root / f"{PROFILE}_{seed}"
    settings = Settings(landing=str(folder / "landing"), lake=str(folder / "lake"))
    if not folder.exists():
        generate(PROFILE, folder, seed=seed)
        run_night(spark, settings)
    return read_back(spark, settings, load_knowledge(), folder / "truth.json")


def read_back(spark: SparkSession, settings: Settings, knowledge: Knowledge, truth: Path) -> Rehearsed:
    """What the night over a landing zone left in its lake."""
    lake, landing = Lake(spark, str(settings.lake)), Landing(str(settings.landing))
    frames = knowledge_frames(spark, knowledge)
    night = Night(spark, lake, landing, settings, knowledge, frames, Run("bench"), lambda _: None)
    attempts = materialised(with_uid(lake.read(ATTEMPTS)))
    days = sorted(days_of(attempts, F.col("day")))
    evidence = _evidence(night, attempts, days)
    as_of = F.lit(lake.read(INPUTS).where(F.col("state") == LANDED).agg(F.max("file_time")).first()[0])  # type: ignore[index]
    need = materialised(diagnosable(attempts, evidence.scoped, as_of, settings.hung_after_s))
    outcomes = frames.vocabulary.select("event_type", "outcome")
    scoped = evidence.scoped.join(F.broadcast(outcomes), "event_type")
    keys = list(ATTEMPT_KEY)
    return Rehearsed(
        night,
        _facts(json.loads(truth.read_text("utf-8"))),
        evidence,
        materialised(cases_of(night, attempts.join(need, keys), scoped)),
        materialised(as_peer(attempts.join(need.withColumn("_ill", F.lit(True)), keys, "left"))),
        materialised(first_symptoms(evidence.scoped)),
        materialised(poor_around(night, days)),
        as_of,
    )


def _evidence(night: Night, attempts: DataFrame, days: list[date]) -> Evidence:
    lake, lookback_days = night.lake, night.settings.lookback_days
    covered = with_uid(lake.read(COVERAGE)).where("delivered_throughout")
    return Evidence(
        attempts=padded(night, attempts),
        scoped=materialised(with_uid(lake.read(SCOPED_EVENTS))),
        beyond=materialised(beyond_of(lake, days, lookback_days)),
        placement=materialised(with_uid(lake.read(PLACEMENT))),
        topology=materialised(lake.read(TOPOLOGY)),
        covered=materialised(covered.groupBy("uid").agg(F.collect_set("kind").alias("kinds"))),
        occupancy=materialised(occupancy(lake, days, lookback_days)),
    )


def _facts(truth: list[dict[str, Any]]) -> dict[Key, Fact]:
    return {
        (t["job_id"], t["attempt"]): Fact(
            t["category"],
            t["mechanism"],
            frozenset({t["category"], *t.get("acceptable", ()), *(other["category"] for other in t.get("also", ()))}),
            frozenset(name.lower() for name in t["origin"]),
        )
        for t in truth
        if t["category"]
    }


def found(past: Rehearsed, without: frozenset[str] = frozenset()) -> DataFrame:
    """The candidates of all attempts, attributed afresh by a rule set compiled without some of its rules."""
    doubts = past.night.knowledge.scoring.doubts
    return materialised(find_candidates(past.evidence, _compiled(past.night, without), doubts, materialised))


def _compiled(night: Night, without: frozenset[str]) -> RuleTables:
    if not without:
        return night.frames.rules
    known = night.knowledge
    left = [r for r in known.rules if r.status != "deprecated" and r.id not in without]
    rows = compile_rules(left, known.vocabulary, known.rule_versions)
    return {name: local_frame(night.spark, rows[name], TABLES[name]) for name in TABLES}


def poor_of(past: Rehearsed, candidates: DataFrame) -> DataFrame:
    """Per candidate (cid) the poor inputs that it rests on, whoever wins."""
    ours = past.evidence.attempts.select("uid", "source_cluster")
    each = candidates.select("cid", "uid", "event_ids").join(ours, "uid")
    cited = each.select("cid", "uid", F.explode("event_ids").alias("event_id"))
    events = past.evidence.scoped.join(cited, ["uid", "event_id"])
    as_attempts = [df.drop("uid").withColumnRenamed("cid", "uid") for df in (each, events)]
    return materialised(poor_inputs(*as_attempts, past.poor).withColumnRenamed("uid", "cid"))
