"""scope -> attribute -> publish: the changed attempts are scoped, explained and written; the others keep their rows."""

from collections.abc import Mapping
from datetime import date
from types import MappingProxyType

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from firstfault.jobs.days import day_list, days_of
from firstfault.jobs.extract import padding
from firstfault.jobs.frames import materialised
from firstfault.jobs.lake import Lake
from firstfault.jobs.neighbours import occupancy, standing_of
from firstfault.jobs.night import Night
from firstfault.jobs.placing import union_keys
from firstfault.jobs.rules_table import publish_rules
from firstfault.jobs.windows import windows_of
from firstfault.transforms.attempt_clocks import clocks_of
from firstfault.transforms.attempts import ATTEMPTS
from firstfault.transforms.attribution import Evidence, find_candidates, with_uid
from firstfault.transforms.candidates import CANDIDATES
from firstfault.transforms.clock_faults import CLOCK_FAULTS, faulty_clocks
from firstfault.transforms.clock_offsets import CLOCK_OFFSETS
from firstfault.transforms.competition import compete, with_coverage
from firstfault.transforms.contract import Table
from firstfault.transforms.coverage import COVERAGE, build_coverage
from firstfault.transforms.data_quality import DATA_QUALITY, poor_inputs, poor_sources
from firstfault.transforms.diagnoses import DIAGNOSES, build_diagnoses
from firstfault.transforms.event_windows import EVENT_WINDOWS, mark_everywhere
from firstfault.transforms.events import EVENTS
from firstfault.transforms.evidence import EVIDENCE, build_evidence
from firstfault.transforms.inputs import INPUTS, LANDED
from firstfault.transforms.keys import ATTEMPT_KEY, entity
from firstfault.transforms.labels import LABELS
from firstfault.transforms.log_gaps import LOG_GAP
from firstfault.transforms.placement import PLACEMENT, build_placement, fill_nodes
from firstfault.transforms.results import RESULTS, build_results
from firstfault.transforms.scoped_events import SCOPED_EVENTS, build_scoped_events
from firstfault.transforms.step_times import mark_slow
from firstfault.transforms.symptoms import diagnosable, first_symptoms
from firstfault.transforms.topology import TOPOLOGY

_RAW_INPUT = ("raw_logs", "raw_telemetry", "inputs", "quarantine")


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
    return night.lake.read(DIAGNOSES).where(current).limit(1).count() > 0


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
    window = _padded(night, attempts)
    filled = mark_slow(fill_nodes(named, placement, attempts))
    windows = windows_of(night, window, filled)
    if windows is not None:
        filled = mark_everywhere(filled, _write(night, EVENT_WINDOWS, windows, attempts, days))
    scoped = _write(night, SCOPED_EVENTS, filled, attempts, days, {"events": events})
    lost = scoped.where(F.col("event_type") == LOG_GAP)
    clocks = _clocks(night, attempts, days)
    covering = build_coverage(landed, attempts, night.settings.snapshot_pad_after_s, lost, clocks)
    coverage = _write(night, COVERAGE, covering, attempts, days)
    covered = coverage.where("delivered_throughout")
    evidence = Evidence(
        attempts=window,
        scoped=scoped,
        beyond=_beyond(lake, days, night.settings.lookback_days),
        placement=placement,
        topology=topology,
        covered=covered.groupBy("uid").agg(F.collect_set("kind").alias("kinds")),
        occupancy=occupancy(lake, days, night.settings.lookback_days),
    )
    return evidence, coverage


def _padded(night: Night, attempts: DataFrame) -> DataFrame:
    """The attempts with their home and the window around them within which events count."""
    return attempts.withColumns(
        {
            "home": F.concat_ws("/", "source_cluster", "job_id"),
            "window_from": F.timestamp_seconds(F.col("start").cast("double") - night.settings.pad_before_s),
            "window_to": F.timestamp_seconds(F.col("end").cast("double") + night.settings.pad_after_s),
        }
    )


def _clocks(night: Night, attempts: DataFrame, days: list[date]) -> DataFrame:
    """What is known of the clocks of the attempts' nodes."""
    offsets, faults = (night.lake.read(table).where(_around(night, days)) for table in (CLOCK_OFFSETS, CLOCK_FAULTS))
    return clocks_of(attempts, offsets, faults)


def _around(night: Night, days: list[date]) -> Column:
    """The days, their look-back and the day after."""
    return F.col("day").between(
        F.date_sub(F.lit(days[0]), night.settings.lookback_days), F.date_add(F.lit(days[-1]), 1)
    )


def _beyond(lake: Lake, days: list[date], lookback_days: int) -> DataFrame:
    """Events of the look-back days, with the workload and user of their job."""
    since = F.date_sub(F.lit(days[0]), lookback_days)
    events = lake.read(EVENTS).where((F.col("day") >= since) & (F.col("day") <= F.date_add(F.lit(days[-1]), 1)))
    jobs = (
        lake.read(ATTEMPTS)
        .groupBy(F.col("source_cluster").alias("cluster"), "job_id")
        .agg(F.max("workload_key").alias("workload_key"), F.max("user").alias("user"))
    )
    home = F.when(~F.col("job_id").startswith("_"), F.concat_ws("/", "cluster", "job_id"))
    return events.join(F.broadcast(jobs), ["cluster", "job_id"], "left").withColumns(
        {"home": home, "relation": F.lit("beyond"), "source_cluster": F.col("cluster")}
    )


def _publish(night: Night, attempts: DataFrame, evidence: Evidence, coverage: DataFrame, days: list[date]) -> int:
    """Writes candidates, diagnoses, evidence and results of the attempts; how many verdicts there are."""
    lake, settings, version = night.lake, night.settings, night.knowledge.version
    as_of = F.lit(lake.read(INPUTS).where(F.col("state") == LANDED).agg(F.max("file_time")).first()[0])  # type: ignore[index]
    need = diagnosable(attempts, evidence.scoped, as_of, settings.hung_after_s)
    # Each step is materialised: the plan of all would be analysed again for every table that is written.
    explains = night.frames.rules["explains"]
    symptoms = materialised(first_symptoms(evidence.scoped))
    candidates = materialised(find_candidates(evidence, night.frames.rules, cut=materialised))
    standing = standing_of(night, candidates, attempts, need, days)
    ranked = compete(with_coverage(standing, symptoms, explains), explains, night.knowledge.scoring, materialised)
    ranked = materialised(ranked.withColumn("ruleset_version", F.lit(version)))
    _write(night, CANDIDATES, ranked.select(*CANDIDATES.columns), attempts, days)
    scoped = evidence.scoped.join(F.broadcast(night.frames.vocabulary.select("event_type", "outcome")), "event_type")
    cases = materialised(_cases(night, attempts.join(need, list(ATTEMPT_KEY)), scoped))
    winners = ranked.where("is_winner").join(cases.select("uid", "source_cluster"), "uid")
    diagnoses = build_diagnoses(
        cases, ranked, night.frames.rules["rules"], symptoms, coverage,
        poor_inputs(winners, scoped, _poor(night, days)), night.frames.reasons,
        night.knowledge.scoring, as_of, settings.final_after_s,
    )  # fmt: skip
    written = _write(night, DIAGNOSES, diagnoses, attempts, days)
    chain = build_evidence(evidence.scoped, winners, symptoms)
    _write(night, EVIDENCE, chain, attempts, days, {"scoped_events": evidence.scoped, "diagnoses": written})
    results = build_results(written.drop("uid"), _labels(lake, attempts))
    _write(night, RESULTS, results, attempts, days, {"diagnoses": written})
    return written.count()


def _labels(lake: Lake, attempts: DataFrame) -> DataFrame:
    """The labels of these attempts; one that names no cluster carries that of its file and gets the attempt's."""
    names = attempts.select(
        F.explode(F.array_distinct(F.array("cluster", "source_cluster"))).alias("_named"),
        *(F.col(k).alias(k) for k in ATTEMPT_KEY),
    )
    labels = lake.read(LABELS).withColumnRenamed("cluster", "_named")
    return labels.join(names, ["_named", "job_id", "attempt"]).select(*LABELS.columns)


def _cases(night: Night, attempts: DataFrame, scoped: DataFrame) -> DataFrame:
    """Attempts that need a verdict, with what the answer says of them beside the winner."""
    serial = F.struct(entity(F.col("node"), F.col("device")).alias("device"), F.col("attrs")["serial"].alias("serial"))
    marks = scoped.groupBy("uid").agg(
        F.max(F.when(F.col("event_type") == "train.ckpt_end", F.col("t_last"))).alias("last_checkpoint"),
        F.array_sort(F.collect_set(F.when(F.col("event_type") == "gpu.identity", serial))).alias("serials"),
        F.max_by("outcome", F.when(F.col("outcome").isNotNull(), F.struct("t_high", "event_id"))).alias("said_outcome"),
    )
    known = attempts.join(marks, "uid", "left")
    return known.withColumns(
        {
            "ruleset_version": F.lit(night.knowledge.version),
            "catalogue_version": F.lit(night.knowledge.catalogue_version),
            "scheduler_state": F.col("state"),
        }
    ).drop("state")


def _poor(night: Night, days: list[date]) -> DataFrame:
    """What the gates of this and earlier nights found poor in raw data, and the clocks that are at fault."""
    scoring = night.knowledge.scoring
    quality = night.lake.read(DATA_QUALITY).where(F.col("table_name").isin(*_RAW_INPUT))
    faults = night.lake.read(CLOCK_FAULTS).where(_around(night, days))
    return poor_sources(quality, scoring.poor_input_factor).unionByName(
        faulty_clocks(faults, scoring.clock_fault_factor)
    )


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
        others = lake.read(table).where(where).join(attempts.select(*ATTEMPT_KEY), list(ATTEMPT_KEY), "left_anti")
        every = new.unionByName(others.select(*table.columns))
    lake.replace(table, every, days)
    return with_uid(new)
