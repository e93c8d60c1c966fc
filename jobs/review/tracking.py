"""The MLflow run of a review: parameters say what it was made from, metrics are comparable from month to month.

MLflow takes seconds to import: this module does it where a run is written.
"""

import logging
import math
import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from firstfault.jobs.review.changes import counted
from firstfault.jobs.review.month import Figures, live
from firstfault.jobs.review.months import UsageError
from firstfault.jobs.review.report import head
from firstfault.transforms.judged import EVERY

if TYPE_CHECKING:
    from mlflow import MlflowClient

EXPERIMENT = "/firstfault/rule-quality"
FOLDER = "_mlflow"
_BATCH = 900
"""Metrics of one call; MLflow takes a thousand."""
_OF_NAME = ("precision", "recall", "f1", "support", "abstained", "origin_precision", "brier", "gpu_hours_lost")


def tracking_uri(lake: str, asked: str | None) -> str:
    """Where runs are tracked: the asked server, else a SQLite file in the lake.

    Raises:
        UsageError: The lake lies in an object store, which can hold no SQLite file.
    """
    if asked:
        return asked
    if "://" in lake:
        raise UsageError(
            f"{lake} cannot hold MLflow's SQLite file; give --tracking-uri, or set FIRSTFAULT_TRACKING_URI."
        )
    return f"sqlite:///{Path(lake).resolve() / FOLDER / 'mlflow.db'}"


def log_run(figures: Figures, folder: Path, *, lake: str, uri: str, extra: dict[str, float]) -> str:
    """Writes the run; its id. An earlier run of the same month and lake is kept, and both say which came after.

    Args:
        figures: The month.
        folder: Files that become artifacts.
        lake: The lake, for its tag.
        uri: Where runs are tracked.
        extra: Further metrics.

    Raises:
        UsageError: The tracking server does not answer.
    """
    os.environ.setdefault("DO_NOT_TRACK", "true")
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    from mlflow import MlflowClient
    from mlflow.exceptions import MlflowException

    logging.getLogger("mlflow.store.db.utils").setLevel(logging.WARNING)  # it tells of each table that it makes
    if uri.startswith("sqlite:///"):
        Path(uri.removeprefix("sqlite:///")).parent.mkdir(parents=True, exist_ok=True)
    try:
        return _log(MlflowClient(tracking_uri=uri, registry_uri=uri), figures, folder, lake, uri, extra)
    except MlflowException as error:
        raise UsageError(
            f"MLflow at {uri} took no run ({str(error).splitlines()[0][:200]}); check --tracking-uri."
        ) from error


def _log(client: "MlflowClient", figures: Figures, folder: Path, lake: str, uri: str, extra: dict[str, float]) -> str:
    from mlflow.entities import Metric, Param

    experiment = _experiment(client, uri)
    same = f"params.month = '{figures.month}' and tags.lake = '{_quotable(lake)}'"
    earlier = [run.info.run_id for run in client.search_runs([experiment], same)]
    tags = {
        "lake": _quotable(lake), "ruleset_version": figures.ruleset_version, "job": "review",
        "mlflow.note.content": described(figures),
    }  # fmt: skip
    if earlier:
        tags["supersedes"] = ", ".join(earlier)
    run_id = str(client.create_run(experiment, run_name=figures.month, tags=tags).info.run_id)
    for old in earlier:
        client.set_tag(old, "superseded_by", run_id)
    now = int(time.time() * 1000)
    client.log_batch(run_id, params=[Param(name, value) for name, value in params(figures).items()])
    rows = [Metric(name, value, now, 0) for name, value in metrics(figures, extra)]
    for at in range(0, len(rows), _BATCH):
        client.log_batch(run_id, metrics=rows[at : at + _BATCH])
    client.log_artifacts(run_id, str(folder))
    client.set_terminated(run_id)
    return run_id


def _experiment(client: "MlflowClient", uri: str) -> str:
    known = client.get_experiment_by_name(EXPERIMENT)
    if known is not None:
        return str(known.experiment_id)
    return str(client.create_experiment(EXPERIMENT, artifact_location=artifacts_of(uri)))


def artifacts_of(uri: str) -> str | None:
    """Where artifacts of a new experiment go; a server knows a place of its own.

    A SQLite file says nothing of artifacts: without a place they would land in the working directory.
    """
    if not uri.startswith("sqlite:///"):
        return None
    return (Path(uri.removeprefix("sqlite:///")).parent / "artifacts").as_uri()


def described(figures: Figures) -> str:
    """The month in a sentence, and what is to be decided, for the run's description."""
    month = head(figures)
    found = Counter(f["kind"] for f in figures.findings if f["cluster"] == EVERY)
    told = ", ".join(f"{kind} {n}" for kind, n in sorted(found.items())) or "nothing"
    return (
        f"{month.verdicts:,} verdicts, {month.labelled:,} labelled, {counted(month.right, month.judged)} right, "
        f"{month.unknown:,} left unknown. To decide: {told}. See report.html among the artifacts."
    )


def params(figures: Figures) -> dict[str, str]:
    """What the run was made from."""
    return {
        "month": figures.month,
        "ruleset_version": figures.ruleset_version,
        "catalogue_version": figures.catalogue_version or "-",
        **{f"delta_version/{name}": str(version) for name, version in sorted(figures.snapshot.items())},
    }


def metrics(figures: Figures, extra: dict[str, float]) -> Iterator[tuple[str, float]]:
    """Names and finite values; a ratio of nothing has no metric, as no number stands for it."""
    month = head(figures)
    plain = {
        "verdicts": month.verdicts, "labelled": month.labelled, "conflicts": month.conflicts,
        "unlabelled": month.unlabelled,
        "unknown": month.unknown, "unknown_ratio": month.unknown / month.verdicts if month.verdicts else None,
        "gpu_hours_lost": month.gpu_hours,
    }  # fmt: skip
    for row in live(figures, "all"):
        plain |= {c: row[c] for c in ("precision", "recall", "brier", "origin_precision", "median_hours_to_diagnosis")}
    for row in live(figures, "mean"):
        plain |= {f"macro_{c}": row[c] for c in ("precision", "recall", "f1")}
    for finding in (f for f in figures.findings if f["cluster"] == EVERY):
        name = f"findings/{finding['kind']}"
        plain[name] = (plain.get(name) or 0) + 1
    yield from _finite(plain.items())
    yield from _finite(extra.items())
    for level in ("category", "rule"):
        for row in live(figures, level):
            yield from _finite((f"{c}/{row['name']}", row[c]) for c in _OF_NAME)


def _finite(pairs: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, float]]:
    return ((name, float(value)) for name, value in pairs if value is not None and math.isfinite(value))


def _quotable(lake: str) -> str:
    """The lake as a tag that a filter of MLflow can quote."""
    return lake.rstrip("/").replace("'", "_")
