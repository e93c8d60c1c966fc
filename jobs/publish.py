"""scope -> attribute -> publish: the changed attempts are scoped, explained and written; the others keep their rows."""

from collections.abc import Mapping
from datetime import date
from types import MappingProxyType

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from firstfault.jobs.days import day_list, days_of
from firstfault.jobs.extract import padding
from firstfault.jobs.frames import materialised
from firstfault.jobs.lake import Lake
from firstfault.jobs.night import Night
from firstfault.jobs.placing import union_keys
from firstfault.jobs.rules_table import publish_rules
from firstfault.jobs.verdicts import around, evidence_of, judge, padded
from firstfault.jobs.windows import windows_of
from firstfault.transforms.attempt_clocks import clocks_of
from firstfault.transforms.attempts import ATTEMPTS
from firstfault.transforms.attribution import Evidence, with_uid
from firstfault.transforms.candidates import CANDIDATES
from firstfault.transforms.clock_faults import CLOCK_FAULTS
from firstfault.transforms.clock_offsets import CLOCK_OFFSETS
from firstfault.transforms.contract import Table
from firstfault.transforms.coverage import COVERAGE, build_coverage
from firstfault.transforms.diagnoses import DIAGNOSES, LIVE
from firstfault.transforms.event_windows import EVENT_WINDOWS, mark_everywhere
from firstfault.transforms.events import EVENTS
from firstfault.transforms.evidence import EVIDENCE, build_evidence
from firstfault.transforms.inputs import INPUTS, LANDED
from firstfault.transforms.keys import ATTEMPT_KEY
from firstfault.transforms.label_verdicts import of_attempts, resolve
from firstfault.transforms.labels import LABELS
from firstfault.transforms.log_gaps import LOG_GAP
from firstfault.transforms.placement import PLACEMENT, build_placement, fill_nodes
from firstfault.transforms.results import RESULTS, build_results
from firstfault.transforms.scoped_events import SCOPED_EVENTS, build_scoped_events
from firstfault.transforms.step_times import mark_slow
from firstfault.transforms.topology import TOPOLOGY


def attribute_and_publish(night: Night) -> tuple[int, int]:
    """Diagnoses the attempts that changed; how many were looked at, and how many verdicts were written."""
    due = _due(night)
    if due is None:
        return 0, 0
    attempts = with_uid(night.lake.read(ATTEMPTS).join(due, list(ATTEMPT_KEY), "left_semi"))
    attempts = materialised(attempts)
    n = attempts.count()
    if n == 0:
        return 0, 0
    days = _affected_days(night.lake, attempts)
    evidence, coverage = _scope(night, attempts, days)
    publish_rules(night)
    diagnosed = _publish(night, attempts, evidence, coverage, days)
    return n, diagnosed


def _due(night: Night) -> DataFrame | None:
    """Keys of the attempts to look at: changed ones, or all of the look-back or of the asked days."""
    if not night.lake.exists(ATTEMPTS):
        return None
    attempts = night.lake.read(ATTEMPTS)
    if night.days:
        first, last = night.days
        return attempts.where(F.col("day").between(F.lit(first), F.lit(last))).select(*ATTEMPT_KEY)
    if night.run.redo or _rules_changed(night):
        newest = F.lit(attempts.agg(F.max("day")).first()[0])  # type: ignore[index]
        recent = F.col("day") >= F.date_sub(newest, night.settings.lookback_days)
        return attempts.where(recent).select(*ATTEMPT_KEY)
    return union_keys(night.changed)


def _rules_changed(night: Night) -> bool:
    if not night.lake.exists(DIAGNOSES):
        return False
    current = F.col("ruleset_version") != night.knowledge.version
    return night.lake.read(DIAGNOSES).where(current & (F.col("track") == LIVE)).limit(1).count() > 0


def _affected_days(lake: Lake, attempts: DataFrame) -> list[date]:
    """Days of the attempts, now and where they were written before."""
    days = set(days_of(attempts, F.col("day")))
    for table in (SCOPED_EVENTS, DIAGNOSES):
        if lake.exists(table):
            before = lake.read(table).join(attempts.select(*ATTEMPT_KEY), list(ATTEMPT_KEY), "left_semi")
            days |= set(days_of(before, F.col("day")))
    return sorted(days)


def _scope(night: Night, attempts: DataFrame, days: list[date]) -> tuple[Evidence, DataFrame]:
    """Writes placement, windows, scoped events and coverage; what attribution rests on, and the coverage."""
    lake = night.lake
    topology = lake.read(TOPOLOGY)
    events = lake.read(EVENTS)
    named = materialised(build_scoped_events(events, attempts, topology, padding(night)))
    landed = lake.read(INPUTS).where(F.col("state") == LANDED)
    seen = landed.where("rank is not null").select("cluster", "job_id", "attempt_hint", "rank", "node").distinct()
    ranks = build_placement(seen, named.where("relation = 'own'"), attempts)
    placement = _write(night, PLACEMENT, ranks, attempts, days)
    window = padded(night, attempts)
    filled = mark_slow(fill_nodes(named, placement, attempts))
    windows = windows_of(night, window, filled)
    if windows is not None:
        filled = mark_everywhere(filled, _write(night, EVENT_WINDOWS, windows, attempts, days))
    scoped = _write(night, SCOPED_EVENTS, filled, attempts, days, {"events": events})
    lost = scoped.where(F.col("event_type") == LOG_GAP)
    clocks = _clocks(night, attempts, days)
    covering = build_coverage(landed, attempts, night.settings.snapshot_pad_after_s, lost, clocks)
    coverage = _write(night, COVERAGE, covering, attempts, days)
    evidence = evidence_of(night, window, scoped, placement, coverage, days)
    return evidence, coverage


def _clocks(night: Night, attempts: DataFrame, days: list[date]) -> DataFrame:
    """What is known of the clocks of the attempts' nodes."""
    offsets, faults = (night.lake.read(table).where(around(night, days)) for table in (CLOCK_OFFSETS, CLOCK_FAULTS))
    return clocks_of(attempts, offsets, faults)


def _publish(night: Night, attempts: DataFrame, evidence: Evidence, coverage: DataFrame, days: list[date]) -> int:
    """Writes candidates, diagnoses, evidence and results of the attempts; how many verdicts there are."""
    judged = judge(night, attempts, evidence, coverage, days)
    _write(night, CANDIDATES, judged.ranked.select(*CANDIDATES.columns), attempts, days)
    written = _write(night, DIAGNOSES, judged.diagnoses, attempts, days)
    chain = build_evidence(evidence.scoped, judged.winners, judged.symptoms)
    _write(night, EVIDENCE, chain, attempts, days, {"scoped_events": evidence.scoped, "diagnoses": written})
    results = build_results(written.drop("uid"), resolve(of_attempts(night.lake.read(LABELS), attempts)))
    _write(night, RESULTS, results, attempts, days, {"diagnoses": written})
    return written.count()


def _write(
    night: Night,
    table: Table,
    rows: DataFrame,
    attempts: DataFrame,
    days: list[date],
    references: Mapping[str, DataFrame] = MappingProxyType({}),
) -> DataFrame:
    """Replaces the rows of these attempts within the days, keeping those of others; the rows, with uid.

    Raises:
        CriticalExpectationError: The rows break a promise of ours; the table stays as it is.
    """
    lake, where = night.lake, day_list(days)
    new = materialised(table.conform(rows))
    night.gates.check(table, new, {"attempts": attempts, **references})
    every = new
    if lake.exists(table):
        before = lake.read(table).where(where).select(*table.columns)
        every = new.unionByName(before.join(attempts.select(*ATTEMPT_KEY), list(ATTEMPT_KEY), "left_anti"))
        if "track" in table.columns:
            # What a candidate rule set says in the shadow stays beside the live verdict.
            aside = before.where(F.col("track") != LIVE)
            every = every.unionByName(aside.join(attempts.select(*ATTEMPT_KEY), list(ATTEMPT_KEY), "left_semi"))
    lake.replace(table, every, days)
    return with_uid(new)
