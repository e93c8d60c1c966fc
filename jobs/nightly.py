"""nightly: plan -> land -> extract -> attempts, placement -> clock -> scope -> attribute -> publish.

Each stage is a function over a `Night`: it reads what the stages before it left, calls pure transforms and writes
tables. Only attempts that something new speaks of are scoped and diagnosed again.
"""

from dataclasses import replace
from datetime import UTC, date, datetime

from pyspark.sql import SparkSession

from firstfault.jobs.batch import Books
from firstfault.jobs.clock import ranks_of, update_clock, update_clock_faults
from firstfault.jobs.extract import place_events
from firstfault.jobs.gates import Gates
from firstfault.jobs.intents import known_streams, mark_landed, pending_ranges, write_intent
from firstfault.jobs.knowledge import knowledge_frames, load_knowledge
from firstfault.jobs.labelling import show_in_results
from firstfault.jobs.lake import Lake
from firstfault.jobs.landing import Landing
from firstfault.jobs.masking import make_masker
from firstfault.jobs.night import Night, NightReport, Progress
from firstfault.jobs.placing import update_attempts
from firstfault.jobs.plan import Range, make_plan
from firstfault.jobs.publish import attribute_and_publish
from firstfault.jobs.report import write_report
from firstfault.jobs.runs import open_run
from firstfault.jobs.settings import Settings
from firstfault.jobs.sources import Sources, load_sources
from firstfault.jobs.take import land_batch


def check_inputs(settings: Settings) -> None:
    """Fails in a moment, before Spark starts, where the landing zone, sources.yaml or a rule cannot be used."""
    Landing(str(settings.landing)).check()
    load_sources(settings.sources)
    load_knowledge()


def run_night(
    spark: SparkSession,
    settings: Settings,
    *,
    days: tuple[date, date] | None = None,
    steal: bool = False,
    say: Progress = lambda _: None,
) -> NightReport:
    """Lands what is new, diagnoses what it touches, and writes the run's row.

    Args:
        spark: Session with Delta.
        settings: With `landing` and `lake` given.
        days: First and last day of attempts' ends to diagnose; None for all that is due.
        steal: Takes a lake that another run holds.
        say: Called with the name of each stage.

    Raises:
        LandingError: The landing zone is not there.
        SourcesError: sources.yaml is not usable.
        KnowledgeError: The rules are not usable.
        LakeBusyError: Another run holds the lake.
        BooksError: The books of a batch do not balance.
        CriticalExpectationError: A table breaks a promise of our own.
    """
    landing, lake = Landing(str(settings.landing)), Lake(spark, str(settings.lake))
    landing.check()
    sources = load_sources(settings.sources)
    knowledge = load_knowledge()
    with open_run(
        lake, "nightly", day=days[1] if days else None, stale_s=settings.lock_stale_s,
        heartbeat_s=settings.heartbeat_s, steal=steal,
    ) as run:  # fmt: skip
        run.facts["ruleset_version"] = knowledge.version
        run.mask = make_masker(settings, knowledge.masking).text
        gates = Gates.of(knowledge, on=settings.gates)
        run.check = gates.check
        frames = knowledge_frames(spark, knowledge)
        night = Night(spark, lake, landing, settings, knowledge, frames, run, say, gates, days)
        report = _stages(night, sources)
        with night.stage("document"):
            gates.document(lake.root)
        with night.stage("report"):
            page = write_report(
                lake.root, report, today=run.started_at.date(), days=days, lookback_days=settings.lookback_days
            )
        return replace(report, durations_s=dict(run.durations_s), page=page.path, clock_faults=page.faults)


def _stages(night: Night, sources: Sources) -> NightReport:
    books = Books()
    with night.stage("plan"):
        pending = pending_ranges(night.lake)
    if pending:
        books += _take(night, pending)
    with night.stage("plan"):
        known = known_streams(night.lake)
        plan = make_plan(night.landing, sources, known, night.settings.split_bytes, datetime.now(UTC))
        write_intent(night, plan.ranges, plan.unmatched)
    if plan.ranges:
        books += _take(night, plan.ranges)
    with night.stage("attribute"):
        attempts, diagnosed = attribute_and_publish(night)
        if night.labelled or night.run.redo:
            show_in_results(night.lake.root)  # also of attempts that nothing else speaks of
    unmatched = [u.file for u in plan.unmatched]
    night.run.facts |= books.columns() | {
        "batch_id": plan.batch_id or None,
        "files_unmatched": len(unmatched),
        "attempts": attempts,
        "diagnosed": diagnosed,
    }
    night.run.durations_s["of which gates"] = round(night.gates.took_s, 3)
    warnings = [str(failure) for failure in night.gates.warnings]
    return NightReport(books, unmatched, plan.waiting_tails, attempts, diagnosed, dict(night.run.durations_s), warnings)


def _take(night: Night, ranges: list[Range]) -> Books:
    """Lands one batch and brings attempts, clock and events up to it; its ranges then count as read."""
    with night.stage("land"):
        batch = land_batch(night, [replace(r, state="planned") for r in ranges])
    with night.stage("attempts"):
        update_attempts(night, batch)
    with night.stage("clock"):
        ranks = ranks_of(night, batch)
        clock_days = update_clock(night, batch, ranks)
    with night.stage("events"):
        unkept_days = place_events(night, batch, clock_days, ranks)
    with night.stage("clock"):
        update_clock_faults(night, batch, sorted({*clock_days, *unkept_days}))
    with night.stage("events"):
        mark_landed(night, batch)
    batch.staged.unpersist()
    return batch.books
