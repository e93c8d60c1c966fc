"""The answer for one attempt in its machine form (schema_version 1.0), read from the lake without Spark."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError
from pydantic import BaseModel, ConfigDict

from firstfault.jobs.label_words import held_of
from firstfault.transforms.attempts import ATTEMPTS
from firstfault.transforms.contract import Table
from firstfault.transforms.coverage import COVERAGE
from firstfault.transforms.evidence import EVIDENCE
from firstfault.transforms.keys import ATTEMPT_KEY
from firstfault.transforms.labels import LABELS
from firstfault.transforms.results import RESULTS

SCHEMA_VERSION = "1.0"
SCHEMA_FILE = Path(__file__).with_name("templates") / "answer.schema.json"


class NoAnswerError(LookupError):
    """There is no verdict to show; the message says why."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class Finding(_Part):
    """An independent second fault."""

    category: str
    origin_scope: str | None
    origin: list[str]
    confidence: float
    t0: datetime | None


class Alternative(_Part):
    """An explanation that lost, and why."""

    rule_id: str
    category: str
    origin_scope: str | None
    origin: list[str]
    confidence: float
    why_lost: str


class Step(_Part):
    """A step of the chain, on corrected time."""

    position: int
    offset_s: float | None
    t: datetime | None
    t_low: datetime | None
    t_high: datetime | None
    t_raw: datetime | None
    order_certain: bool
    part: str
    role: str | None
    event_type: str
    node: str | None
    device: str | None
    rank: int | None
    count: int
    text: str | None
    event_id: str
    file: str | None
    line_no: int | None
    stream_id: str | None
    byte_offset: int | None


class Source(_Part):
    """A kind of source and how well it covered the attempt."""

    kind: str
    node: str | None
    first: datetime | None
    last: datetime | None
    lines: int | None
    delivered_throughout: bool
    # A lake of an earlier version says nothing of these.
    gaps: int | None = None
    lost_lines: int | None = None
    gap_from: datetime | None = None
    gap_to: datetime | None = None
    clock_offset_s: float | None = None
    clock_error_s: float | None = None
    clock_faults: list[str] | None = None


class Label(_Part):
    """What an operator says now, as a source has it."""

    category: str
    origin_scope: str | None
    origin: list[str]
    who: str | None = None
    source: str
    labelled_at: datetime | None


class Answer(_Part):
    """One attempt's verdict."""

    schema_version: str = SCHEMA_VERSION
    cluster: str
    job_id: str
    attempt: int
    outcome: str
    category: str
    origin_scope: str | None
    origin: list[str]
    also: list[Finding]
    affected_nodes: list[str]
    symptoms: dict[str, str]
    t0: datetime | None
    confidence: float
    order_certain: bool
    state: str
    scheduler_state: str | None
    agrees_with_scheduler: bool | None
    scheduler_note: str | None = None
    alternatives: list[Alternative]
    missing: list[str]
    poor_inputs: list[str] = []  # a verdict of an earlier version says nothing of it
    conclusion: str
    action: str
    rule_id: str | None
    rule_version: int | None = None
    catalogue_version: str | None = None
    device_serials: list[str]
    gpu_hours_lost: float | None
    ruleset_version: str
    label_category: str | None = None
    label_origin: list[str] | None = None
    label_agrees: bool | None = None
    label_conflict: bool | None = None
    labels: list[Label] = []
    start: datetime | None = None
    end: datetime | None = None
    nodes: list[str] = []
    scope_source: str = "scheduler"
    evidence: list[Step] = []
    coverage: list[Source] = []


def read_answer(lake: str, job_id: str, attempt: int | None, cluster: str | None = None) -> Answer:
    """The verdict of a job's attempt, the last one by default.

    Raises:
        NoAnswerError: The lake, the job or the verdict is not there; the message says which, and why.
    """
    chosen = choose_attempt(lake, job_id, attempt, cluster)
    key = {k: chosen[k] for k in ATTEMPT_KEY}
    verdicts = lake_rows(lake, RESULTS, **key)
    if not verdicts:
        raise NoAnswerError(_why_none(chosen))
    verdict = verdicts[0]
    steps = sorted(lake_rows(lake, EVIDENCE, **key), key=lambda r: r["position"])
    sources = sorted(lake_rows(lake, COVERAGE, **key), key=lambda r: (r["kind"], r["node"] or ""))
    window = {k: chosen[k] for k in ("start", "end", "nodes", "scope_source")}
    told = (verdict | window).items()
    plain = {k: v for k, v in told if v is not None or k not in {"symptoms", "nodes", "poor_inputs"}}
    plain["symptoms"] = dict(plain.get("symptoms") or {})
    names = {chosen["cluster"], chosen.get("source_cluster")}
    said = lake_rows(lake, LABELS, job_id=key["job_id"], attempt=key["attempt"])
    plain["labels"] = held_of(row for row in said if row["cluster"] in names)
    return Answer.model_validate(_in_utc(plain | {"evidence": steps, "coverage": sources}))


def choose_attempt(lake: str, job_id: str, attempt: int | None, cluster: str | None) -> dict[str, Any]:
    """The attempt's row, the last one of the job by default."""
    found = [r for r in lake_rows(lake, ATTEMPTS, job_id=job_id) if cluster in {None, r["cluster"]}]
    if not found:
        raise NoAnswerError(_no_such_job(lake, job_id))
    clusters = sorted({r["cluster"] for r in found})
    if len(clusters) > 1:
        raise NoAnswerError(f"job {job_id} exists on the clusters {', '.join(clusters)}; name one with --cluster.")
    attempts = {r["attempt"]: r for r in found}
    number = max(attempts) if attempt is None else attempt
    if number not in attempts:
        have = ", ".join(str(n) for n in sorted(attempts))
        raise NoAnswerError(f"job {job_id} has no attempt {number}; it has {have}.")
    return attempts[number]


def lake_rows(lake: str, table: Table, **equal: object) -> list[dict[str, Any]]:
    """The rows of a table of the lake whose columns have these values; none when it was never written."""
    try:
        dataset = DeltaTable(f"{lake.rstrip('/')}/{table.name}").to_pyarrow_dataset()
    except TableNotFoundError:
        return []
    condition = None
    for name, value in equal.items():
        test = pc.field(name) == value
        condition = test if condition is None else condition & test
    return list(dataset.to_table(filter=condition).to_pylist())


def _no_such_job(lake: str, job_id: str) -> str:
    if not Path(lake).is_dir() and "://" not in lake:
        return f"{lake}: no such lake; give --lake the folder that `firstfault nightly` wrote."
    known = {r["job_id"] for r in lake_rows(lake, ATTEMPTS)}
    near = sorted(k for k in known if k.startswith(job_id[:4]))[:5]
    hint = f" Jobs with a similar id: {', '.join(near)}." if near else ""
    return f"job {job_id} is not in this lake; {len(known)} jobs are.{hint}"


def _why_none(attempt: dict[str, Any]) -> str:
    name = f"job {attempt['job_id']} attempt {attempt['attempt']}"
    if not attempt["is_ended"]:
        return f"{name} is still running ({attempt['state']}) and shows progress, so there is no verdict."
    if not attempt["is_failure"]:
        said = attempt["state"] or "no scheduler record"
        return f"{name} ended well ({said}) and its own logs show no fault at the end, so there is no verdict."
    return f"{name} failed but has no verdict yet; run `firstfault nightly` again."


def _in_utc(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, datetime):
        return value if value.tzinfo else value.replace(tzinfo=UTC)
    if isinstance(value, dict):
        return {k: _in_utc(v) for k, v in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_in_utc(v) for v in value]
    return value
