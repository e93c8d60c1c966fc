"""Attempts left unknown: the lines that they share and healthy attempts do not, and drafts of rules for them."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from firstfault.jobs.frames import local_frame, materialised
from firstfault.jobs.knowledge import Knowledge
from firstfault.jobs.review.month import Rows, Source, rows_of
from firstfault.rules.engine.proposal import Proposal, Seen, propose
from firstfault.transforms.diagnoses import LIVE, UNKNOWN
from firstfault.transforms.keys import HOME_NODE
from firstfault.transforms.label_verdicts import of_attempts, resolve
from firstfault.transforms.labels import LABELS
from firstfault.transforms.line_templates import Looking, chosen, clusters, lines_of, over_represented, with_template
from firstfault.transforms.matching import match
from firstfault.transforms.raw_logs import RAW_LOGS
from firstfault.transforms.types import BOOL, DOUBLE, LONG, TEXT, struct_of

_TEMPLATES = struct_of(
    template_id=TEXT, source=TEXT, template=TEXT, example=TEXT, unknown_attempts=LONG, healthy_attempts=LONG,
    log_odds=DOUBLE, is_alarming=BOOL, event_type=TEXT,
)  # fmt: skip


@dataclass(frozen=True)
class Unknowns:
    """What the unknown attempts of a month have in common.

    Attributes:
        unknown: Attempts of the month without a category.
        looked_at: Of these, attempts whose lines were read.
        healthy: Healthy attempts whose lines were read beside them.
        lines: Lines that were read.
        templates: What stands out.
        groups: Templates that lead some attempts, with these.
        proposals: A draft a group.
    """

    unknown: int
    looked_at: int = 0
    healthy: int = 0
    lines: int = 0
    templates: Rows = field(default_factory=list, repr=False)
    groups: Rows = field(default_factory=list, repr=False)
    proposals: tuple[Proposal, ...] = field(default=(), repr=False)


def look_at(source: Source, looking: Looking, knowledge: Knowledge) -> Unknowns:
    """Reads the ends of unknown attempts and of healthy ones, and groups the unknown by what stands out."""
    live = source.of_month(source.diagnoses).where(F.col("track") == LIVE)
    attempts = materialised(chosen(source.of_month(source.attempts), live, looking))
    counted = Counter(r["is_unknown"] for r in rows_of(attempts.select("is_unknown")))
    unknown = live.where(F.col("category") == UNKNOWN).count()
    if not counted[True] or not source.lake.exists(RAW_LOGS):
        return Unknowns(unknown)
    templated = materialised(with_template(lines_of(_raw(source, attempts, looking), attempts, looking), looking))
    known = _with_events(rows_of(over_represented(templated, attempts, looking)), knowledge)
    groups = rows_of(clusters(templated, local_frame(source.lake.spark, known, _TEMPLATES), looking))
    labels = _categories(source, groups)
    drafts = tuple(propose(_seen(group, labels), n, knowledge.vocabulary) for n, group in enumerate(groups, start=1))
    return Unknowns(unknown, counted[True], counted[False], templated.count(), known, groups, drafts)


def _raw(source: Source, attempts: DataFrame, looking: Looking) -> DataFrame:
    """Raw lines of the attempts' jobs, and of all nodes in the hours of their ends: partitions, not a scan."""
    listed = rows_of(attempts.select("job_id", "end"))
    jobs = sorted({r["job_id"] for r in listed})
    since, until = F.col("end").cast("double") - looking.before_end_s, F.col("end").cast("double") + looking.after_end_s
    whole_hours = F.sequence(F.floor(since / 3600), F.floor(until / 3600))
    spread = attempts.select(F.explode(whole_hours).alias("h")).distinct()
    hours = [
        r["h"]
        for r in rows_of(
            spread.select(F.date_format(F.timestamp_seconds(F.col("h") * 3600), "yyyy-MM-dd-HH").alias("h"))
        )
    ]
    beside = (F.col("job_id") == HOME_NODE) & F.col("hour").isin(sorted(hours))
    return source.lake.read(RAW_LOGS).where(F.col("job_id").isin(jobs) | beside)


def _with_events(templates: Rows, knowledge: Knowledge) -> Rows:
    """The templates with the event that a pattern makes of their example; null where none does."""
    for row in templates:
        found = match(pa.array([row["example"]], pa.string()), None, row["source"], knowledge.patterns.compiled)
        hits = found[0].as_py() or []
        row["event_type"] = hits[0]["event_type"] if hits else None
    return templates


def _categories(source: Source, groups: Rows) -> dict[str, str]:
    """Attempt -> category that operators say, for the attempts of the groups."""
    wanted = sorted({a for group in groups for a in group["attempts"]})
    if not wanted:
        return {}
    named = F.format_string("%s/%s#%d", "cluster", "job_id", "attempt")
    said = (
        resolve(of_attempts(source.lake.read(LABELS), source.attempts))
        .where("category is not null")
        .select(named.alias("a"), "category")
    )
    return {r["a"]: r["category"] for r in rows_of(said.where(F.col("a").isin(wanted)))}


def _seen(group: dict[str, Any], labels: dict[str, str]) -> Seen:
    said = {labels[a] for a in group["attempts"] if a in labels}
    category = next(iter(said)) if len(said) == 1 else None
    return Seen(group["template"], group["example"], group["source"], group["event_type"], category)
