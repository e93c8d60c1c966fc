"""The answer read from the lake without Spark, and why there is none."""

import json

import jsonschema
import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyspark.sql.pandas.types import to_arrow_schema

from firstfault.jobs.answer import SCHEMA_FILE, Answer, NoAnswerError, read_answer
from firstfault.transforms.attempts import ATTEMPTS
from firstfault.transforms.coverage import COVERAGE
from firstfault.transforms.evidence import EVIDENCE
from firstfault.transforms.labels import LABELS
from firstfault.transforms.results import RESULTS
from tests.frames import clock, moment

HOSTILE = "[red]\x1b[31m\u202e\n<script>\x00é中 {origin}"


def attempt(job, number=0, cluster="alpha", **given) -> dict:
    return {
        "cluster": cluster, "job_id": job, "attempt": number, "start": moment("03:00:00"), "end": moment("04:00:00"),
        "nodes": ["n1", "n2"], "state": "FAILED", "is_ended": True, "is_failure": True, "scope_source": "scheduler",
    } | given  # fmt: skip


def verdict(job, number=0, cluster="alpha", **given) -> dict:
    return {
        "cluster": cluster, "job_id": job, "attempt": number, "outcome": "failed", "category": "gpu_hardware",
        "origin_scope": "gpu", "origin": ["n1/0000:3b:00"], "also": [], "affected_nodes": ["n2"],
        "symptoms": {"gpu.xid 79": "1 on 1 nodes"}, "t0": moment("03:59:00.25"), "confidence": 0.9,
        "order_certain": True, "state": "final", "scheduler_state": "FAILED", "agrees_with_scheduler": True,
        "alternatives": [], "missing": [], "conclusion": "A GPU fell off the bus.", "action": "Drain n1.",
        "rule_id": "xid", "device_serials": ["165"], "gpu_hours_lost": 8.0, "ruleset_version": "v1",
    } | given  # fmt: skip


def step(job, position, number=0, cluster="alpha", **given) -> dict:
    return dict.fromkeys(EVIDENCE.columns) | {
        "cluster": cluster, "job_id": job, "attempt": number, "position": position, "offset_s": float(position),
        "t": moment("03:59:00.25"), "order_certain": True, "part": "cascade", "event_type": "comm.timeout",
        "node": "n2", "count": 1, "text": f"{cluster} {job}", "event_id": f"e{position}", "stream_id": "s",
        "byte_offset": 7, "file": "f", "line_no": 1,
    } | given  # fmt: skip


def source(job, kind, node=None, number=0, cluster="alpha", **given) -> dict:
    return {
        "cluster": cluster, "job_id": job, "attempt": number, "kind": kind, "node": node, "lines": 5,
        "first": moment("03:00:00"), "last": moment("04:00:00"), "delivered_throughout": True,
    } | given  # fmt: skip


def label(job, who, category="storage", number=0, cluster="alpha", **given) -> dict:
    return {
        "cluster": cluster, "job_id": job, "attempt": number, "category": category, "who": who, "kind": "operator",
        "source": "command", "origin": [], "labelled_at": moment("06:00:00"),
    } | given  # fmt: skip


ROWS = {
    LABELS.name: [
        label("84213", "bob"), label("84213", "ann", "walltime", cluster="logs"), label("84213", "ann", number=1),
        label("84213", "eve", cluster="beta"), label("84213", None, kind="weak", source="weak:repaired"),
        label("84213", "joe", withdrawn=True),
    ],
    ATTEMPTS.name: [
        attempt("84213", source_cluster="logs"),
        attempt("84213", 1, end=moment("05:00:00")),
        attempt("84214", state="RUNNING", is_ended=False, is_failure=False, end=None),
        attempt("84215", state="COMPLETED", is_failure=False),
        attempt("84216"),
        attempt("84217", state=None, is_failure=False, scope_source="inferred"),
        attempt("hostile"),
        attempt("twice", cluster="alpha"),
        attempt("twice", cluster="beta", nodes=["b1"]),
    ],
    RESULTS.name: [
        verdict("84213"),
        verdict("84213", 1, category="unknown", origin_scope=None, origin=[], t0=None, rule_id=None, symptoms=None,
                agrees_with_scheduler=None, gpu_hours_lost=None, confidence=0.0, missing=["app_log"],
                label_category="storage", scheduler_state=None,
                also=[{"category": "storage", "origin_scope": None, "origin": [], "confidence": 0.6, "t0": None}],
                alternatives=[{"rule_id": "job", "category": "user_code", "origin_scope": "job", "origin": [],
                               "confidence": 0.3, "why_lost": "low_points"}]),
        verdict("hostile", conclusion=HOSTILE, origin=[HOSTILE], symptoms={HOSTILE: HOSTILE}),
        verdict("twice", cluster="alpha", conclusion="alpha"),
        verdict("twice", cluster="beta", conclusion="beta"),
    ],
    EVIDENCE.name: [
        step("84213", 1), step("84213", 0, part="origin"), step("84213", 0, 1), step("hostile", 0, text=HOSTILE),
        step("twice", 0, cluster="alpha"), step("twice", 0, cluster="beta"),
    ],
    COVERAGE.name: [
        source("84213", "kernel_log", "n2"), source("84213", "app_log"), source("84213", "kernel_log", "n1"),
        source("84213", "app_log", number=1), source("twice", "app_log", cluster="beta", node="b1"),
        source("twice", "app_log", cluster="alpha", node="n1"),
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    """A lake as delta-rs sees it."""
    root = tmp_path_factory.mktemp("lake")
    for table in (ATTEMPTS, RESULTS, EVIDENCE, COVERAGE, LABELS):
        full = [dict.fromkeys(table.columns) | row for row in ROWS[table.name]]
        schema = to_arrow_schema(table.schema, timezone="UTC")
        write_deltalake(str(root / table.name), pa.Table.from_pylist(full, schema=schema))
    return str(root)


def test_an_answer_has_what_each_operator_says_now(lake):
    labels = read_answer(lake, "84213", 0).labels
    assert [(s.category, s.who, s.source) for s in labels] == [
        ("storage", "bob", "command"), ("walltime", "ann", "command"),
    ]  # fmt: skip
    assert clock(labels[0].labelled_at) == "06:00:00"
    assert read_answer(lake, "hostile", 0).labels == []


def test_an_answer_has_the_verdict_its_chain_in_order_and_its_sources(lake):
    answer = read_answer(lake, "84213", 0)
    assert (answer.category, answer.origin, answer.t0) == ("gpu_hardware", ["n1/0000:3b:00"], moment("03:59:00.25"))
    assert [(s.position, s.part) for s in answer.evidence] == [(0, "origin"), (1, "cascade")]
    assert [(s.kind, s.node) for s in answer.coverage] == [
        ("app_log", None), ("kernel_log", "n1"), ("kernel_log", "n2"),
    ]  # fmt: skip
    assert (answer.nodes, clock(answer.end), answer.symptoms) == (
        ["n1", "n2"], "04:00:00", {"gpu.xid 79": "1 on 1 nodes"},
    )  # fmt: skip


def test_the_last_attempt_is_the_default_and_what_is_not_known_is_empty(lake):
    answer = read_answer(lake, "84213", None)
    assert (answer.attempt, answer.category, answer.origin_scope, answer.t0) == (1, "unknown", None, None)
    assert (answer.symptoms, answer.missing, answer.label_category) == ({}, ["app_log"], "storage")
    assert [(a.rule_id, a.why_lost) for a in answer.alternatives] == [("job", "low_points")]
    assert [(f.category, f.origin) for f in answer.also] == [("storage", [])]
    assert [s.position for s in answer.evidence] == [0]


@pytest.mark.parametrize(
    ("job", "number", "says"),
    [
        ("84218", None, r"job 84218 is not in this lake; 7 jobs are\. Jobs with a similar id: 84213, 84214"),
        ("84213", 5, r"job 84213 has no attempt 5; it has 0, 1\."),
        ("84214", None, r"job 84214 attempt 0 is still running \(RUNNING\) and shows progress"),
        ("84215", None, r"job 84215 attempt 0 ended well \(COMPLETED\)"),
        ("84216", None, r"failed but has no verdict yet; run `firstfault nightly` again"),
        ("84217", None, r"ended well \(no scheduler record\)"),
    ],
)
def test_without_a_verdict_it_says_why(lake, job, number, says):
    with pytest.raises(NoAnswerError, match=says):
        read_answer(lake, job, number)


def test_a_lake_that_is_not_there_is_told_apart_from_an_empty_one(tmp_path):
    with pytest.raises(NoAnswerError, match="no such lake; give --lake"):
        read_answer(str(tmp_path / "gone"), "1", None)
    with pytest.raises(NoAnswerError, match="0 jobs are"):
        read_answer(str(tmp_path), "1", None)


def test_the_machine_form_validates_and_reads_back(lake):
    schema = json.loads(SCHEMA_FILE.read_text())
    for job, number in (("84213", 0), ("84213", 1), ("hostile", 0)):
        answer = read_answer(lake, job, number)
        text = answer.model_dump_json()
        document = json.loads(text)
        jsonschema.validate(document, schema)
        assert document["schema_version"] == "1.0"
        assert Answer.model_validate_json(text) == answer
    assert document["conclusion"] == HOSTILE
    assert document["evidence"][0]["text"] == HOSTILE


def test_times_of_the_machine_form_are_utc(lake):
    document = json.loads(read_answer(lake, "84213", 0).model_dump_json())
    assert (document["t0"], document["end"]) == ("2026-11-20T03:59:00.250000Z", "2026-11-20T04:00:00Z")


def test_parts_of_two_clusters_with_the_same_job_id_do_not_mix(lake):
    for cluster in ("alpha", "beta"):
        answer = read_answer(lake, "twice", None, cluster)
        assert answer.conclusion == answer.cluster == cluster
        assert [s.text for s in answer.evidence] == [f"{cluster} twice"]
        assert [s.node for s in answer.coverage] == answer.nodes[:1]


def test_a_job_id_of_two_clusters_asks_for_the_cluster(lake):
    with pytest.raises(NoAnswerError, match="exists on the clusters alpha, beta; name one with --cluster"):
        read_answer(lake, "twice", None)
