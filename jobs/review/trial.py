"""trial: a candidate rule set beside the live one over the attempts of some days, and what the labels say of it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from firstfault.jobs.champion import RuleSets
from firstfault.jobs.days import day_list
from firstfault.jobs.frames import materialised
from firstfault.jobs.knowledge import Knowledge, load_knowledge
from firstfault.jobs.lake import Lake
from firstfault.jobs.review.gate import Score, objections, raised_too_early
from firstfault.jobs.review.replay import Court, court_of, replay, untried
from firstfault.jobs.settings import Settings
from firstfault.rules.engine.load import PROMOTION_FILE
from firstfault.rules.engine.promotion import load_bar
from firstfault.transforms.attempts import ATTEMPTS
from firstfault.transforms.contract import Table
from firstfault.transforms.diagnoses import DIAGNOSES, LIVE
from firstfault.transforms.label_verdicts import of_attempts, resolve
from firstfault.transforms.labels import LABELS
from firstfault.transforms.proportions import wilson
from firstfault.transforms.verdict_changes import VERDICT_CHANGES, changes, compare, tally

Say = Callable[[str], None]


class UsageError(ValueError):
    """The candidate cannot be tried; the message says why and what to do."""


@dataclass(frozen=True)
class Trial:
    """What a candidate did.

    Attributes:
        candidate: Its folder.
        live_version: Hash of the live rule set.
        candidate_version: Hash of the candidate.
        days: First and last day of the attempts.
        lake_versions: Table name -> version that was read.
        score: Both sides in figures.
        objections: Why it may not be promoted; none when it may.
        untried: What of it differs and a replay cannot try.
        changes: Rows of `verdict_changes`, at most `SHOWN`, losses first.
    """

    candidate: Path
    live_version: str
    candidate_version: str
    days: tuple[date, date]
    lake_versions: dict[str, int]
    score: Score
    objections: list[str]
    untried: list[str]
    changes: list[dict[str, Any]] = field(repr=False, default_factory=list)


SHOWN = 200


def run_trial(
    spark: SparkSession,
    settings: Settings,
    candidate: Path,
    days: list[date],
    *,
    as_of: datetime | None = None,
    say: Say = lambda _: None,
) -> Trial:
    """Judges the attempts of the days by the candidate, and writes its verdicts in the shadow of the live ones.

    Args:
        spark: Session with Delta.
        settings: With `lake`.
        candidate: A rules folder, locked.
        days: Days of the attempts, in order.
        as_of: Takes the lake as it was then; None for now.
        say: Called with what is being done.

    Raises:
        UsageError: The candidate is the live rule set.
        KnowledgeError: The candidate's rules are wrong, or differ from their lock.
    """
    live = load_knowledge(RuleSets(str(settings.lake)).champion_root())
    tried = load_knowledge(candidate)
    if tried.version == live.version:
        raise UsageError(f"{candidate} is the live rule set {live.version}; change a rule, and lock it.")
    court = court_of(spark, settings, tried, as_of)
    say("replaying the candidate")
    shadow = materialised(replay(court, days))
    verdicts = _live(court, live, days, say)
    attempts = court.lake.read(ATTEMPTS).where(day_list(days))
    labels = resolve(of_attempts(court.lake.read(LABELS), attempts))
    compared = materialised(compare(verdicts, shadow, labels))
    lake = Lake(spark, str(settings.lake))
    _aside(lake, DIAGNOSES, shadow, days, (F.col("track") != LIVE) & (F.col("ruleset_version") == tried.version))
    changed = materialised(changes(compared, live.version, tried.version))
    _aside(lake, VERDICT_CHANGES, changed, days, _same_pair(live, tried))
    score = Score(**tally(compared).first().asDict())  # type: ignore[union-attr]
    return Trial(
        candidate=candidate,
        live_version=live.version,
        candidate_version=tried.version,
        days=(days[0], days[-1]),
        lake_versions=dict(court.lake.versions),
        score=score,
        objections=_objections(live, tried, compared, score),
        untried=untried(live.root, tried.root),
        changes=[row.asDict(recursive=True) for row in _worst_first(changed).limit(SHOWN).collect()],
    )


def _live(court: Court, live: Knowledge, days: list[date], say: Say) -> DataFrame:
    """The live verdicts: those of the nights, where all are of the live rule set; else replayed as the candidate's."""
    written = court.lake.read(DIAGNOSES).where(day_list(days)).where(F.col("track") == LIVE)
    if not written.where(F.col("ruleset_version") != live.version).limit(1).count():
        return written
    say("replaying the live rule set: nights of those days judged by others")
    return materialised(replay(court.with_rules(live), days))


def _objections(live: Knowledge, tried: Knowledge, compared: DataFrame, score: Score) -> list[str]:
    bar = load_bar(live.root / PROMOTION_FILE)
    low, _ = wilson(F.col("right"), F.col("n"))
    of_rules = (
        compared.where("label_category is not null and candidate_rule_id is not null")
        .groupBy(F.col("candidate_rule_id").alias("rule_id"))
        .agg(F.count("*").alias("n"), F.count_if("candidate_right").alias("right"))
        .select("rule_id", "n", low.alias("low"))
    )
    precision = {row["rule_id"]: row.asDict() for row in of_rules.collect()}
    return [*objections(score, bar), *raised_too_early(live.rules, tried.rules, precision, bar)]


def _same_pair(live: Knowledge, tried: Knowledge) -> Any:  # noqa: ANN401
    return (F.col("live_version") == live.version) & (F.col("candidate_version") == tried.version)


def _worst_first(changed: DataFrame) -> DataFrame:
    order = F.when(F.col("surely_wrong_now"), 0).when(F.col("effect") == "loss", 1).when(F.col("effect") == "gain", 2)
    return changed.orderBy(order.otherwise(3), "day", "cluster", "job_id", "attempt")


def _aside(lake: Lake, table: Table, rows: DataFrame, days: list[date], replaced: Any) -> None:  # noqa: ANN401
    """Writes the rows of an earlier trial of the same kind anew, and leaves all others of the days."""
    new = table.conform(rows)
    if lake.exists(table):
        others = lake.read(table).where(day_list(days)).where(~F.coalesce(replaced, F.lit(False)))
        new = materialised(others.select(*table.columns).unionByName(new))
    lake.replace(table, new, days)
