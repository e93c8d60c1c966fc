"""Lines of unknown attempts: which are looked at, what is masked, and what stands out."""

import pytest
from pyspark.sql import functions as F

from firstfault.jobs.knowledge import RULES_ROOT
from firstfault.rules.engine.review import load_review
from firstfault.transforms.attempts import ATTEMPTS
from firstfault.transforms.diagnoses import DIAGNOSES
from firstfault.transforms.line_templates import chosen, clusters, lines_of, over_represented, with_template
from firstfault.transforms.raw_logs import RAW_LOGS
from tests.frames import collected, frame, pick, rows
from tests.transforms.fleet_of_eleven import GPU, verdict

LOOKING = load_review(RULES_ROOT).looking
FAULT = "widget 0x{n}f on gpu-r10-n0{n} failed after {n} s at /data/run{n}/ckpt.pt"
STEP = "step {n} loss 2.{n}"


def attempt(job: str, **given) -> dict:
    plain = {
        "cluster": "alpha", "source_cluster": "main", "job_id": job, "attempt": 0, "day": "2026-11-20",
        "nodes": [f"n{job}"], "end": "04:00:00", "is_ended": True, "is_failure": False, "scope_source": "scheduler",
    }  # fmt: skip
    return plain | given


def line(job: str, message: str, at: str | None = "03:50:00", **given) -> dict:
    plain = {
        "cluster": "main", "job_id": job, "hour": "2026-11-20-03", "source": "app", "stream_id": f"s{job}",
        "byte_offset": abs(hash((job, message, at))) % 10**9, "file": "f", "event_time": at, "message": message,
    }  # fmt: skip
    return plain | given


@pytest.fixture(scope="module")
def looked_at(spark):
    attempts = [attempt(str(n)) for n in range(1, 9)] + [
        attempt("f", is_failure=True),
        attempt("r", end=None, is_ended=False),
    ]
    said = [verdict(str(n), None, "unknown", 0.0) for n in (1, 2, 3)] + [verdict("4", "a", GPU, 0.9)]
    return chosen(frame(spark, ATTEMPTS, attempts), frame(spark, DIAGNOSES, said), LOOKING).persist()


@pytest.fixture(scope="module")
def templated(spark, looked_at):
    raw = [line(str(n), FAULT.format(n=n)) for n in (1, 2)]
    raw += [line(str(n), STEP.format(n=n)) for n in range(1, 9)]
    raw += [line("3", "once in a while something odd"), line("3", FAULT.format(n=3), "02:00:00")]
    raw += [line("_node", f"kernel: widget{n} is on fire", node=f"n{n}", source="kernel") for n in (1, 2, 3)]
    raw += [line("_node", "kernel: widget9 is on fire", "01:00:00", node="n5", source="kernel")]
    return with_template(lines_of(frame(spark, RAW_LOGS, raw), looked_at, LOOKING), LOOKING).persist()


def test_unknown_attempts_are_looked_at_beside_healthy_ones(looked_at):
    assert rows(looked_at, "job_id", "is_unknown") == [
        *((str(n), True) for n in (1, 2, 3)), *((str(n), False) for n in (5, 6, 7, 8)),
    ]  # fmt: skip


def test_only_lines_near_the_end_are_read(templated):
    assert rows(templated.where("job_id = '3'"), "message") == [
        ("kernel: widget3 is on fire",), ("once in a while something odd",), ("step 3 loss 2.3",),
    ]  # fmt: skip
    assert rows(templated.where("job_id = '5'"), "message") == [("step 5 loss 2.5",)]


@pytest.mark.parametrize(
    ("text", "template"),
    [
        (FAULT.format(n=1), "widget <hex> on <host> failed after <n> s at <path>"),
        ("[2026-11-20 03:14:07,123] rank 7: 10.0.0.1:29500 reset", "[<time>] rank <n>: <ip> reset"),
        ("login of <user:k1:0123456789> refused", "login of <user> refused"),
        ("NVRM: Xid (PCI:0000:3b:00): 79, pid=1234", "NVRM: Xid (PCI:<pci>): <n>, pid=<n>"),
        ("Nov 20 03:14:07  nccl   error 12 deadbeef0", "<time> nccl error <n> <hex>"),
        ("a decade defaced no facade", "a decade defaced no facade"),
    ],
)  # fmt: skip
def test_what_differs_is_masked(spark, text, template):
    given = frame(spark, "message string", [{"message": text}])
    assert rows(with_template(given, LOOKING), "template") == [(template,)]


def test_what_stands_out_leads_the_attempts_it_is_of(templated, looked_at):
    found = over_represented(templated, looked_at, LOOKING)
    # 2 of 3 against 0 of 4: ln(2.5/1.5) - ln(0.5/4.5)
    assert pick(collected(found), "template", "unknown_attempts", "healthy_attempts", "log_odds", "is_alarming") == [
        ("kernel: widget<n> is on fire", 3, 0, 4.143, False),
        ("widget <hex> on <host> failed after <n> s at <path>", 2, 0, 2.708, True),
    ]
    groups = collected(clusters(templated, found.withColumn("event_type", F.lit(None).cast("string")), LOOKING))
    # 1 and 2 have an alarm; 3 alone has the other, which is no group.
    assert pick(groups, "template", "n", "attempts") == [
        ("widget <hex> on <host> failed after <n> s at <path>", 2, ["alpha/1#0", "alpha/2#0"])
    ]
