"""verdicts: the changed attempts' scoped events in, their verdicts out; nothing is written.

The night publishes what it judges; a review judges the same evidence by another rule set.
"""

from dataclasses import dataclass
from datetime import date

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from firstfault.jobs.frames import materialised
from firstfault.jobs.lake import Lake
from firstfault.jobs.neighbours import occupancy, standing_of
from firstfault.jobs.night import Judging
from firstfault.transforms.attempts import ATTEMPTS
from firstfault.transforms.attribution import Evidence, find_candidates
from firstfault.transforms.clock_faults import CLOCK_FAULTS, faulty_clocks
from firstfault.transforms.competition import compete, with_coverage
from firstfault.transforms.data_quality import DATA_QUALITY, poor_inputs, poor_sources
from firstfault.transforms.diagnoses import build_diagnoses
from firstfault.transforms.events import EVENTS
from firstfault.transforms.inputs import INPUTS, LANDED
from firstfault.transforms.keys import ATTEMPT_KEY, entity
from firstfault.transforms.symptoms import diagnosable, first_symptoms
from firstfault.transforms.topology import TOPOLOGY

_RAW_INPUT = ("raw_logs", "raw_telemetry", "inputs", "quarantine")


@dataclass(frozen=True)
class Judged:
    """What a rule set says of some attempts.

    Attributes:
        ranked: Candidates in order, with uid and ruleset_version.
        winners: The deciding ones of attempts that need a verdict, with source_cluster.
        symptoms: First symptoms by node and type.
        diagnoses: Verdicts.
    """

    ranked: DataFrame
    winners: DataFrame
    symptoms: DataFrame
    diagnoses: DataFrame


def padded(night: Judging, attempts: DataFrame) -> DataFrame:
    """The attempts with their home and the window around them within which events count."""
    return attempts.withColumns(
        {
            "home": F.concat_ws("/", "source_cluster", "job_id"),
            "window_from": F.timestamp_seconds(F.col("start").cast("double") - night.settings.pad_before_s),
            "window_to": F.timestamp_seconds(F.col("end").cast("double") + night.settings.pad_after_s),
        }
    )


def evidence_of(
    night: Judging, window: DataFrame, scoped: DataFrame, placement: DataFrame, coverage: DataFrame, days: list[date]
) -> Evidence:
    """What attribution rests on.

    Args:
        night: For the lake and its look-back.
        window: Attempts of `padded`.
        scoped: Their scoped events.
        placement: Their ranks.
        coverage: Their coverage.
        days: Days of the attempts.
    """
    lake, lookback_days = night.lake, night.settings.lookback_days
    covered = coverage.where("delivered_throughout")
    return Evidence(
        attempts=window,
        scoped=scoped,
        beyond=beyond_of(lake, days, lookback_days),
        placement=placement,
        topology=lake.read(TOPOLOGY),
        covered=covered.groupBy("uid").agg(F.collect_set("kind").alias("kinds")),
        occupancy=occupancy(lake, days, lookback_days),
    )


def judge(night: Judging, attempts: DataFrame, evidence: Evidence, coverage: DataFrame, days: list[date]) -> Judged:
    """The verdicts of the night's rule set on the attempts.

    Args:
        night: For the rule set and what the lake knows of other attempts.
        attempts: Attempts with uid.
        evidence: Of the same attempts.
        coverage: Of the same attempts.
        days: Their days.
    """
    lake, scoring = night.lake, night.knowledge.scoring
    as_of = F.lit(lake.read(INPUTS).where(F.col("state") == LANDED).agg(F.max("file_time")).first()[0])  # type: ignore[index]
    need = diagnosable(attempts, evidence.scoped, as_of, night.settings.hung_after_s)
    # Each step is materialised: the plan of all would be analysed again for every table that is written.
    explains = night.frames.rules["explains"]
    symptoms = materialised(first_symptoms(evidence.scoped))
    candidates = materialised(find_candidates(evidence, night.frames.rules, scoring.doubts, materialised))
    standing = standing_of(night, candidates, attempts, need, days)
    ranked = compete(with_coverage(standing, symptoms, explains), explains, scoring, materialised)
    ranked = materialised(ranked.withColumn("ruleset_version", F.lit(night.knowledge.version)))
    scoped = evidence.scoped.join(F.broadcast(night.frames.vocabulary.select("event_type", "outcome")), "event_type")
    cases = materialised(cases_of(night, attempts.join(need, list(ATTEMPT_KEY)), scoped))
    winners = ranked.where("is_winner").join(cases.select("uid", "source_cluster"), "uid")
    diagnoses = build_diagnoses(
        cases, ranked, night.frames.rules["rules"], symptoms, coverage,
        poor_inputs(winners, scoped, poor_around(night, days)), night.frames.reasons,
        scoring, as_of, night.settings.final_after_s,
    )  # fmt: skip
    return Judged(ranked, winners, symptoms, diagnoses)


def around(night: Judging, days: list[date]) -> Column:
    """The days, their look-back and the day after."""
    return F.col("day").between(
        F.date_sub(F.lit(days[0]), night.settings.lookback_days), F.date_add(F.lit(days[-1]), 1)
    )


def beyond_of(lake: Lake, days: list[date], lookback_days: int) -> DataFrame:
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


def cases_of(night: Judging, attempts: DataFrame, scoped: DataFrame) -> DataFrame:
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


def poor_around(night: Judging, days: list[date]) -> DataFrame:
    """What the gates of this and earlier nights found poor in raw data, and the clocks that are at fault."""
    scoring = night.knowledge.scoring
    quality = night.lake.read(DATA_QUALITY).where(F.col("table_name").isin(*_RAW_INPUT))
    faults = night.lake.read(CLOCK_FAULTS).where(around(night, days))
    return poor_sources(quality, scoring.poor_input_factor).unionByName(
        faulty_clocks(faults, scoring.clock_fault_factor)
    )
