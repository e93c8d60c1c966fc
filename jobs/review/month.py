"""A month's figures: read from the lake, judged, written back, and what they call to be decided."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from firstfault.jobs.frames import materialised
from firstfault.jobs.gates import Gates
from firstfault.jobs.knowledge import Knowledge
from firstfault.jobs.lake import Lake
from firstfault.jobs.light import in_lake
from firstfault.jobs.review.months import UsageError, back, first_day, last, last_day
from firstfault.rules.engine.review import Review
from firstfault.transforms.attempts import ATTEMPTS
from firstfault.transforms.contract import Table
from firstfault.transforms.diagnoses import DIAGNOSES, LIVE
from firstfault.transforms.judged import EVERY, MONTH_FORM, hours_to_diagnosis, judged
from firstfault.transforms.keys import ATTEMPT_KEY
from firstfault.transforms.label_verdicts import of_attempts, resolve
from firstfault.transforms.labels import LABELS
from firstfault.transforms.review_drift import below_bar, fallen
from firstfault.transforms.review_findings import REVIEW_FINDINGS
from firstfault.transforms.review_fired import fired, never_fired, noisy, overlapping
from firstfault.transforms.rule_calibration import RULE_CALIBRATION, build_rule_calibration
from firstfault.transforms.rule_confusion import RULE_CONFUSION, build_rule_confusion
from firstfault.transforms.rule_stats import RULE_STATS, build_rule_stats
from firstfault.transforms.rules import RULES
from firstfault.transforms.runs import RUNS

Rows = list[dict[str, Any]]
Say = Callable[[str], None]
READ = (DIAGNOSES, LABELS, ATTEMPTS, RULES, RUNS)


@dataclass
class Figures:
    """What a month came to.

    Attributes:
        month: The month.
        ruleset_version: Rule set of its newest live verdicts.
        catalogue_version: Catalogues that they were read with.
        snapshot: Table -> Delta version that was read.
        stats: Rows of rule_stats of the month and of those before it.
        confusion: Rows of rule_confusion of the month.
        calibration: Rows of rule_calibration of the month.
        findings: Rows of review_findings of the month.
        rules: Rows of the rules table by rule set: that of the month, and that of the month before.
        seconds: Seconds a step.
    """

    month: str
    ruleset_version: str
    catalogue_version: str | None
    snapshot: dict[str, int]
    stats: Rows = field(default_factory=list, repr=False)
    confusion: Rows = field(default_factory=list, repr=False)
    calibration: Rows = field(default_factory=list, repr=False)
    findings: Rows = field(default_factory=list, repr=False)
    rules: tuple[Rows, Rows] = field(default=([], []), repr=False)
    seconds: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Source:
    """Frames of the months that a review looks at.

    Attributes:
        diagnoses: Verdicts.
        attempts: Attempts that ended in these months.
        rules: Rules of the month's rule set.
    """

    lake: Lake
    month: str
    diagnoses: DataFrame
    attempts: DataFrame
    rules: DataFrame

    def of_month(self, frame: DataFrame) -> DataFrame:
        """The rows of the month itself."""
        return frame.where(F.col("day").between(F.lit(first_day(self.month)), F.lit(last_day(self.month))))


def opened(spark: SparkSession, root: str, month: str, review: Review) -> tuple[Source, Figures]:
    """What is to be read, and figures that are still empty.

    Raises:
        UsageError: The lake holds no verdict of the month.
    """
    lake = Lake(spark, root)
    if not lake.exists(DIAGNOSES):
        raise UsageError(f"{root} holds no diagnoses; give --lake the folder that firstfault nightly writes to.")
    snapshot = {t.name: version for t in READ if (version := in_lake(root, t).version()) is not None}
    since, until = first_day(back(month, review.months - 1)), last_day(month)
    within = F.col("day").between(F.lit(since), F.lit(until))
    diagnoses = lake.read(DIAGNOSES).where(within)
    newest = _newest_sets(diagnoses)
    if month not in newest:
        known = sorted(r[0] for r in lake.read(DIAGNOSES).select(F.date_format("day", MONTH_FORM)).distinct().collect())
        raise UsageError(f"{root} holds no verdict of {month}; months with verdicts are {', '.join(known) or 'none'}.")
    in_force, catalogues = newest[month]
    rules = materialised(lake.read(RULES).where(F.col("ruleset_version") == in_force))
    source = Source(lake, month, diagnoses, lake.read(ATTEMPTS).where(within), rules)
    before = newest.get(back(month, 1), (in_force, None))[0]
    earlier = lake.read(RULES).where(F.col("ruleset_version") == before)
    figures = Figures(month, in_force, catalogues, snapshot, rules=(rows_of(rules), rows_of(earlier)))
    return source, figures


def compute(source: Source, figures: Figures, review: Review, knowledge: Knowledge, *, gates: bool, say: Say) -> None:
    """Fills the figures, and writes those of the month.

    Raises:
        CriticalExpectationError: They break a promise of ours; nothing is written.
    """
    known = materialised(_judged(source))
    with timed(figures, "figures", say):
        stats = materialised(build_rule_stats(known))
        ours = known.where(F.col("month") == source.month)
        confusion = materialised(build_rule_confusion(ours))
        calibration = materialised(build_rule_calibration(ours, review.bins))
    with timed(figures, "findings", say):
        findings = materialised(_findings(source, stats, review))
    with timed(figures, "write", say):
        of_month = stats.where(F.col("month") == source.month)
        ready = ((RULE_STATS, of_month), (RULE_CONFUSION, confusion), (RULE_CALIBRATION, calibration))
        _write(source, (*ready, (REVIEW_FINDINGS, findings)), Gates.of(knowledge, on=gates))
    figures.stats, figures.confusion = rows_of(stats), rows_of(confusion)
    figures.calibration, figures.findings = rows_of(calibration), rows_of(findings)


def _judged(source: Source) -> DataFrame:
    attempts = source.attempts.select(*ATTEMPT_KEY, "source_cluster", "end")
    own = of_attempts(source.lake.read(LABELS), attempts)
    return judged(source.diagnoses, resolve(own), hours_to_diagnosis(attempts, source.lake.read(RUNS)))


def _newest_sets(diagnoses: DataFrame) -> dict[str, tuple[str, str | None]]:
    """Month -> rule set and catalogues of its newest live verdicts."""
    of_day = F.struct("day", "ruleset_version", "catalogue_version")
    live = diagnoses.where((F.col("track") == LIVE) & F.col("ruleset_version").isNotNull())
    newest = live.groupBy(F.date_format("day", MONTH_FORM).alias("month")).agg(F.max(of_day).alias("n")).collect()
    return {r["month"]: (r["n"]["ruleset_version"], r["n"]["catalogue_version"]) for r in newest}


def _findings(source: Source, stats: DataFrame, review: Review) -> DataFrame:
    """All findings of the live track."""
    month, firing = source.month, review.firing
    live = source.diagnoses.where(F.col("track") == LIVE)
    recent = F.date_format("day", MONTH_FORM).isin(last(month, firing.months))
    stood = materialised(fired(live.where(recent)))
    seen = live.where(recent).select(*ATTEMPT_KEY).distinct().count()
    of_live = stats.where(F.col("track") == LIVE)
    if len(live.select("cluster").distinct().limit(2).collect()) < 2:  # else all is said twice
        of_live = of_live.where(F.col("cluster") == EVERY)
    found = [
        fallen(of_live, month, last(month, review.drift.months + 1)[1:], review.drift),
        below_bar(of_live, source.rules, month, last(month, review.bars.months), review.bars),
        never_fired(stood, source.rules, month, seen, firing),
        overlapping(stood, month, firing),
        noisy(stood, month, firing),
    ]
    return reduce(DataFrame.unionByName, found)


def _write(source: Source, ready: Sequence[tuple[Table, DataFrame]], gates: Gates) -> None:
    """Writes the rows of the month: all are checked before the first is."""
    for table, rows in ready:
        gates.check(table, rows)
    for table, rows in ready:
        source.lake.replace(table, rows, [source.month])


def rows_of(frame: DataFrame) -> Rows:
    """The rows in the driver: figures of some hundred rules, or lines that stand out."""
    return list(frame.toArrow().to_pylist())


@contextmanager
def timed(figures: Figures, name: str, say: Say) -> Iterator[None]:
    """Says that a step begins, and notes its seconds."""
    say(name)
    begun = time.monotonic()
    yield
    figures.seconds[name] = round(time.monotonic() - begun, 2)


def live(
    figures: Figures, level: str, *, month: str | None = None, cluster: str = EVERY, kind: str = "operator"
) -> Rows:
    """Rows of rule_stats of one level of the live track, all rule sets together."""
    wanted = {
        "level": level, "month": month or figures.month, "cluster": cluster, "ruleset_version": EVERY, "track": LIVE,
        "label_kind": kind,
    }  # fmt: skip
    return [row for row in figures.stats if all(row[k] == v for k, v in wanted.items())]
