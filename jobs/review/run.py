"""A review from its first read to its MLflow run."""

import logging
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from firstfault.jobs.gates import Gates
from firstfault.jobs.knowledge import Knowledge, load_unlocked
from firstfault.jobs.lake import Lake
from firstfault.jobs.lock import LakeBusyError, holding
from firstfault.jobs.readers import reading
from firstfault.jobs.review.folder import REPORT, fill, put
from firstfault.jobs.review.month import Figures, Say, compute, opened, timed
from firstfault.jobs.review.months import checked
from firstfault.jobs.review.tracking import log_run, tracking_uri
from firstfault.jobs.review.unknown import Unknowns, look_at
from firstfault.jobs.settings import Settings
from firstfault.jobs.weak import write_weak_labels
from firstfault.rules.engine.review import load_review
from firstfault.transforms.attempts import ATTEMPTS
from firstfault.transforms.diagnoses import DIAGNOSES


@dataclass(frozen=True)
class Reviewed:
    """A review that is done.

    Attributes:
        figures: The month.
        unknowns: What the unknown attempts share.
        report: Place of the report.
        uri: Where MLflow tracks it.
        run_id: Its run there.
    """

    figures: Figures
    unknowns: Unknowns
    report: str
    uri: str
    run_id: str


def review_month(spark: SparkSession, settings: Settings, month: str, *, say: Say) -> Reviewed:
    """Reviews a month: writes its figures, its report and its MLflow run.

    Args:
        spark: Session.
        settings: Names the lake, and perhaps the tracking server.
        month: The month, as 2026-11.
        say: Takes the name of each step.

    Raises:
        UsageError: There is nothing to review, or nowhere to track it.
        KnowledgeError: The rules folder cannot be read.
        CriticalExpectationError: The figures break a promise of ours.
    """
    lake, month = str(settings.lake), checked(month)
    uri = tracking_uri(lake, settings.tracking_uri)
    knowledge = load_unlocked()
    review = load_review(knowledge.root)
    made = Path(tempfile.mkdtemp(prefix="firstfault-review-"))
    try:
        say("weak labels")
        _derive_weak(spark, settings, month, knowledge)
        with reading(lake, "review", heartbeat_s=settings.heartbeat_s):
            source, figures = opened(spark, lake, month, review)
            compute(source, figures, review, knowledge, gates=settings.gates, say=say)
            with timed(figures, "unknown", say):
                unknowns = look_at(source, review.looking, knowledge)
        with timed(figures, "report", say):
            fill(made, figures, unknowns)
            place = put(made, lake, month)
        with timed(figures, "mlflow", say):
            extra = {"looked_at": float(unknowns.looked_at), "proposals": float(len(unknowns.proposals))}
            run_id = log_run(figures, made, lake=lake, uri=uri, extra=extra)
    finally:
        shutil.rmtree(made)
    return Reviewed(figures, unknowns, f"{place}/{REPORT}", uri, run_id)


def _derive_weak(spark: SparkSession, settings: Settings, month: str, knowledge: Knowledge) -> None:
    """Derives the weak labels of the month anew; beside a night they stay as they are: both write labels."""
    lake = Lake(spark, str(settings.lake))
    if not lake.exists(ATTEMPTS) or not lake.exists(DIAGNOSES):
        return
    try:
        with holding(lake.root, stale_s=settings.lock_stale_s, heartbeat_s=settings.heartbeat_s):
            write_weak_labels(lake, month, Gates.of(knowledge, on=settings.gates), knowledge.root)
    except LakeBusyError as busy:
        logging.getLogger(__name__).warning("weak labels of %s stay as they were: %s", month, busy)
