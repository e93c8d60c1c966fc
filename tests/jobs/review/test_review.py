"""A review of a tiny lake, end to end: figures, findings, report, drafts and the MLflow run."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from mlflow import MlflowClient
from rich.console import Console
from typer.testing import CliRunner

from firstfault.jobs.cli import USAGE, app
from firstfault.jobs.lake import Lake
from firstfault.jobs.review.cli import print_review
from firstfault.jobs.review.months import UsageError
from firstfault.jobs.review.run import review_month
from firstfault.jobs.review.tracking import EXPERIMENT, tracking_uri
from firstfault.jobs.settings import Settings
from firstfault.transforms.attempts import ATTEMPTS
from firstfault.transforms.diagnoses import DIAGNOSES
from firstfault.transforms.labels import LABELS
from firstfault.transforms.raw_logs import RAW_LOGS
from firstfault.transforms.review_findings import REVIEW_FINDINGS
from firstfault.transforms.rule_stats import RULE_STATS
from firstfault.transforms.rules import RULES
from firstfault.transforms.runs import RUNS
from tests.frames import frame, rows

GPU, STORAGE = "gpu_hardware", "storage"
MONTH = "2026-11"
HOSTILE = "</code><script>alert(1)</script> widget {n} failed to open: flange jammed"
GOOD, BROKEN = 12, 8


def attempts_of(month: int, n: int, said: str, label: str | None, rule: str | None, first: int = 0) -> list[dict]:
    """Attempts of a month with one verdict and one label."""
    ended = datetime(2026, month, 10, 3, tzinfo=UTC)
    return [
        {
            "job_id": f"{month}-{rule}-{first + k}", "said": said, "label": label, "rule": rule,
            "end": ended + timedelta(hours=k), "day": ended.date(),
        }
        for k in range(n)
    ]  # fmt: skip


def fleet() -> list[dict]:
    """Three months of a rule that is right; in November somebody breaks it. Another one stays as it is."""
    found = [a for month in (8, 9, 10) for a in attempts_of(month, GOOD, GPU, GPU, "gpu_a")]
    found += attempts_of(11, 4, GPU, GPU, "gpu_a") + attempts_of(11, BROKEN, GPU, STORAGE, "gpu_a", first=4)
    found += [a for month in (8, 9, 10, 11) for a in attempts_of(month, GOOD, STORAGE, STORAGE, "sto_b")]
    return found + attempts_of(11, 3, "unknown", None, None)


def fill(spark, root: Path) -> None:
    lake, every = Lake(spark, str(root)), fleet()
    key = [{"cluster": "alpha", "job_id": a["job_id"], "attempt": 0} for a in every]
    ended = [k | {"day": a["day"], "end": a["end"]} for k, a in zip(key, every, strict=True)]
    lake.append(DIAGNOSES, frame(spark, DIAGNOSES, [
        e | {
            "outcome": "failed", "category": a["said"], "origin": [], "confidence": 0.9 if a["rule"] else 0.0,
            "rule_id": a["rule"], "alternatives": [], "gpu_hours_lost": 8.0, "ruleset_version": "0123456789ab",
            "track": "live",
        }
        for e, a in zip([{k: v for k, v in e.items() if k != "end"} for e in ended], every, strict=True)
    ]))  # fmt: skip
    plain = {"source_cluster": "alpha", "scope_source": "scheduler", "is_ended": True, "is_failure": True, "nodes": []}
    healthy = [
        plain | {"cluster": "alpha", "job_id": f"well-{n}", "attempt": 0, "day": "2026-11-10",
                 "end": "2026-11-10 06:00:00", "is_failure": False}
        for n in range(6)
    ]  # fmt: skip
    lake.append(ATTEMPTS, frame(spark, ATTEMPTS, [plain | e for e in ended] + healthy))
    lake.append(LABELS, frame(spark, LABELS, [
        k | {"category": a["label"], "kind": "operator", "source": "labels.csv", "labelled_at": a["end"], "weight": 1.0}
        for k, a in zip(key, every, strict=True) if a["label"]
    ]))  # fmt: skip
    rule = {"ruleset_version": "0123456789ab", "version": 1, "title": "t", "sha256": "ab" * 32}
    status = {"gpu_a": "stable", "sto_b": "test"}
    lake.append(RULES, frame(spark, RULES, [
        rule | {"rule_id": r, "status": s, "category": GPU, "text": f"id: {r}"} for r, s in status.items()
    ]))  # fmt: skip
    lake.append(RUNS, frame(spark, RUNS, [
        {"run_id": "r", "job": "nightly", "status": "done", "started_at": "2026-11-11 02:00:00",
         "ended_at": "2026-11-11 03:00:00"}
    ]))  # fmt: skip
    line = {"cluster": "alpha", "hour": "2026-11-10-04", "source": "app", "file": "f"}
    unknown = [a for a in every if a["said"] == "unknown"]
    lake.append(RAW_LOGS, frame(spark, RAW_LOGS, [
        line | {"job_id": a["job_id"], "stream_id": a["job_id"], "byte_offset": n, "event_time": a["end"],
                "message": HOSTILE.format(n=n)}
        for n, a in enumerate(unknown)
    ] + [
        line | {"job_id": f"well-{n}", "stream_id": f"well-{n}", "byte_offset": 0, "event_time": "2026-11-10 06:00:00",
                "message": f"step {n} went well"}
        for n in range(6)
    ]))  # fmt: skip


@pytest.fixture(scope="module")
def settings(tmp_path_factory):
    return Settings(lake=str(tmp_path_factory.mktemp("review") / "lake"), gates=False)


@pytest.fixture(scope="module")
def done(spark, settings):
    fill(spark, Path(settings.lake))
    return review_month(spark, settings, MONTH, say=lambda _: None)


def folder(done) -> Path:
    return Path(done.report).parent


def test_the_figures_are_in_the_lake(spark, done, settings):
    stats = (
        Lake(spark, settings.lake)
        .read(RULE_STATS)
        .where("cluster = '*' and ruleset_version = '*' and label_kind = 'operator'")
    )
    assert rows(stats, "month", "level", "name", "tp", "fp", "fn") == [
        (MONTH, "all", "all", 16, 8, 8),
        (MONTH, "category", GPU, 4, 8, 0),
        (MONTH, "category", STORAGE, 12, 0, 8),
        (MONTH, "category", "unknown", 0, 0, 0),
        (MONTH, "mean", "categories", None, None, None),
        (MONTH, "rule", "gpu_a", 4, 8, 0),
        (MONTH, "rule", "sto_b", 12, 0, 0),
    ]


def test_a_rule_that_was_broken_is_caught(spark, done, settings):
    found = Lake(spark, settings.lake).read(REVIEW_FINDINGS)
    assert rows(found, "kind", "name", "figure", "n") == [
        ("precision_fell", "gpu_a", 0.333333, 12), ("precision_fell", GPU, 0.333333, 12),
        ("precision_low", "gpu_a", 0.777778, 36),
        ("recall_fell", STORAGE, 0.6, 20),
    ]  # fmt: skip


def test_the_page_says_first_what_to_decide(done):
    page = Path(done.report).read_text(encoding="utf-8")
    assert page.index('id="decide"') < page.index('id="changed"') < page.index('id="categories"')
    assert "precision 4 of 12, in the months before 36 of 36 (33 % after 100 %)" in page
    assert "24 of 27" in page
    assert {"confusion", "reliability", "precision", "gpu_hours"} <= set(re.findall(r'<figure id="(\w+)"', page))


def test_log_text_does_nothing_in_the_page(done):
    page = Path(done.report).read_text(encoding="utf-8")
    assert "<script" not in page
    assert "<image" not in page
    assert "flange jammed" in page
    links = re.findall(r'<[^>]* (?:src|(?<!xlink:)href)="([^"]*)"', page)
    assert {link.partition("/")[0] for link in links if link[0] != "#"} == {"proposals"}


def test_unknown_attempts_become_a_draft(done):
    [group] = done.unknowns.groups
    assert (group["n"], group["event_type"]) == (3, None)
    [draft] = done.unknowns.proposals
    text = (folder(done) / "proposals" / f"{draft.id}.yaml").read_text(encoding="utf-8")
    assert "status: experimental" in text
    assert "#   - the category: no operator has labelled these attempts, or they differ" in text
    assert (folder(done) / "proposals" / f"{draft.id}.pattern.yaml").is_file()


def test_the_run_in_mlflow(done, settings):
    client = MlflowClient(tracking_uri=done.uri)
    run = client.get_run(done.run_id)
    assert client.get_experiment(run.info.experiment_id).name == EXPERIMENT
    assert (run.info.run_name, run.info.status) == (MONTH, "FINISHED")
    assert "16 of 24 (67 %) right" in run.data.tags["mlflow.note.content"]
    assert {"month", "ruleset_version", "catalogue_version", "delta_version/diagnoses"} <= run.data.params.keys()
    wanted = {
        "precision/gpu_a": 4 / 12,
        f"recall/{STORAGE}": 0.6,
        "labelled": 24,
        "unlabelled": 3,
        "findings/precision_fell": 2,
    }
    assert {name: run.data.metrics[name] for name in wanted} == pytest.approx(wanted, abs=1e-6)
    assert "precision/unknown" not in run.data.metrics
    there = {f.path for f in client.list_artifacts(done.run_id)}
    assert there == {"report.html", "plots", "tables", "proposals"}
    assert Path(settings.lake, "_mlflow", "mlflow.db").is_file()


def test_a_second_review_changes_no_table_and_supersedes_the_run(spark, done, settings):
    lake = Lake(spark, settings.lake)
    before = {t.name: lake._light(t).version() for t in (RULE_STATS, REVIEW_FINDINGS)}
    again = review_month(spark, settings, MONTH, say=lambda _: None)
    assert {t.name: lake._light(t).version() for t in (RULE_STATS, REVIEW_FINDINGS)} == before
    client = MlflowClient(tracking_uri=done.uri)
    assert client.get_run(again.run_id).data.tags["supersedes"] == done.run_id
    assert client.get_run(done.run_id).data.tags["superseded_by"] == again.run_id


def test_what_the_terminal_says(done):
    console = Console(width=160, record=True)
    print_review(done, console)
    said = console.export_text()
    assert "2026-11: 27 verdicts, 24 labelled (0 in conflict), right 16 of 24 (67 %), left unknown 3" in said
    assert re.search(r"precision_fell\W+gpu_a\W+precision 4 of 12", said)
    assert "drafts of rules: 1" in said


def test_a_month_without_verdicts_is_refused(spark, done, settings):
    with pytest.raises(UsageError, match="no verdict of 2026-12; months with verdicts are 2026-08, 2026-09"):
        review_month(spark, settings, "2026-12", say=lambda _: None)


def test_a_folder_without_tables_is_refused(spark, tmp_path):
    with pytest.raises(UsageError, match="holds no diagnoses; give --lake"):
        review_month(spark, Settings(lake=str(tmp_path)), MONTH, say=lambda _: None)


def test_an_object_store_needs_a_tracking_server():
    with pytest.raises(UsageError, match="give --tracking-uri"):
        tracking_uri("s3://bucket/lake", None)
    assert tracking_uri("s3://bucket/lake", "http://mlflow:5000") == "http://mlflow:5000"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--month", "November"], "--month: 'November' is no month"),
        (["--month", "2026-11", "--lake", ""], "--lake is missing"),
    ],
)
def test_bad_options_are_one_sentence(options, said):
    lake = [] if "--lake" in options else ["--lake", "/nowhere"]
    result = CliRunner().invoke(app, ["review", *options, *lake])
    assert result.exit_code == USAGE
    assert said in result.output.replace("\n", " ")
