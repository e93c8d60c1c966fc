"""Attempts: numbered by submission, judged by the catalogue of states, guessed from logs when no scheduler spoke."""

import pytest

from firstfault.transforms.attempts import ATTEMPTS, build_attempts, inferred, superseded
from firstfault.transforms.scheduler_records import kube_records, slurm_records
from firstfault.transforms.staged import STAGED
from tests.frames import collected, frame, pick, rows
from tests.transforms.test_scheduler_records import ended, kube, kube_job, kube_pod, sacct

STATES = "state string, outcome string, is_ended boolean, is_failure boolean"
KEY = ("job_id", "attempt")


@pytest.fixture(scope="module")
def states(spark):
    known = [
        ("COMPLETED", None, True, False), ("FAILED", "failed", True, True), ("RUNNING", None, False, False),
        ("CANCELLED", "cancelled", True, True), ("REQUEUED", None, True, True), ("COMPLETE", None, True, False),
    ]  # fmt: skip
    names = ("state", "outcome", "is_ended", "is_failure")
    return frame(spark, STATES, [dict(zip(names, k, strict=True)) for k in known]).persist()


def own(job_id="9", hint=None, event_time=None, node=None) -> dict:
    """The report of a segment of a job's own log: one line."""
    figures = {"first_time": event_time, "last_time": event_time, "nodes": [node] if node else []}
    return {
        "source": "app", "disposition": "report", "cluster": "main", "job_id": job_id, "attempt_hint": hint,
        "file_time": "06:00:00", "report": figures,
    }  # fmt: skip


@pytest.fixture(scope="module")
def night(spark, states):
    """Builds the attempts of one batch on top of what exists, both as plain rows."""

    def build(staged_rows, existing=()):
        staged = frame(spark, STAGED, staged_rows)
        observed = inferred(staged).unionByName(slurm_records(staged)).unionByName(kube_records(staged))
        return collected(build_attempts(observed, frame(spark, ATTEMPTS, existing), states))

    return build


REPEATED = [
    sacct(JobID="2_1", JobIDRaw="7", State="CANCELLED by 5001"),
    sacct(JobID="5", State="MYSTERY"),
    own("8", event_time=None, node="n7"),
    kube(kube_job("kept", ended("Complete"))),
    kube(kube_pod("kept-0", "kept", "gpu-03", 0)),
]
FIRST_NIGHT = [
    *REPEATED,
    sacct(JobID="1", Submit="2026-11-20T03:30:00", State="FAILED"),
    sacct(JobID="1", Submit="2026-11-20T01:00:00", State="REQUEUED", Start="2026-11-20T01:05:00",
          End="2026-11-20T03:00:00"),
    sacct(JobID="3", State="RUNNING", End="Unknown"),
    sacct(JobID="4", State="COMPLETED", Start="2026-11-19T22:00:00", End="2026-11-19T23:59:59"),
    own("9", event_time="03:00:00", node="n2"),
    own("9", event_time="03:10:00", node="n1"),
    own("9", event_time=None, node=None),
    own("10", event_time="03:00:00", node="n2"),
    own("_node", event_time="01:00:00", node="n3"),
    {**own("7", event_time="03:00:00"), "report": None, "disposition": "landed_log"},
    own("50", hint=1, event_time="04:00:00"),
    own("50", hint=2, event_time="05:00:00"),
    own("51", hint=0, event_time="01:00:00"),
    own("51", hint=None, event_time="02:00:00"),
    kube(kube_job("kj", ended("Failed", "BackoffLimitExceeded"))),
    kube(kube_pod("kj-0", "kj", "gpu-01", 1)),
    kube(kube_job("again", ended("Failed", "BackoffLimitExceeded"))),
    sacct(JobID="60"),
    {**sacct(JobID="60", Cluster="beta", Submit="2026-11-20T00:00:00"), "cluster": "other"},
]  # fmt: skip
SECOND_NIGHT = [
    *REPEATED,
    # The running one has ended, as its own log knew before.
    sacct(JobID="3", State="FAILED", End="2026-11-20T05:00:00"),
    own("3", event_time="09:00:00"),
    # An even earlier requeue of job 1 turns up.
    sacct(JobID="1", Submit="2026-11-20T00:10:00", State="REQUEUED", End="2026-11-20T00:50:00"),
    # A record of job 4 as it was while it ran, landed late.
    sacct(JobID="4", State="RUNNING", Start="2026-11-19T22:00:00", End="Unknown"),
    own("9", event_time="02:00:00", node="n3"),
    # The scheduler speaks of a job that was guessed.
    sacct(JobID="10", Cluster="beta"),
    own("10", event_time="03:20:00"),
    # A Job outlives its pods, another was created again under its name.
    kube(kube_job("kj", ended("Failed", "BackoffLimitExceeded")), "07:00:00"),
    kube(kube_job("again", ended("Complete"), created="2026-11-20T04:30:00Z"), "07:00:00"),
]


@pytest.fixture(scope="module")
def first_night(night):
    return night(FIRST_NIGHT)


@pytest.fixture(scope="module")
def second_night(night, first_night):
    return night(SECOND_NIGHT, first_night)


def test_attempts_count_requeues_by_submission(first_night):
    assert pick(first_night, *KEY, "submit", "state", job_id="1") == [
        ("1", 0, "01:00:00", "REQUEUED"),
        ("1", 1, "03:30:00", "FAILED"),
    ]


def test_the_catalogue_judges_the_first_word_of_the_state(first_night):
    columns = ("job_id", "outcome_hint", "is_ended", "is_failure", "end_basis")
    assert pick(first_night, *columns, job_id={"2_1", "3", "4", "5", "kj"}) == [
        ("2_1", "cancelled", True, True, "scheduler"),
        ("3", None, False, False, "running"),
        ("4", None, True, False, "scheduler"),
        ("5", None, True, False, "scheduler"),
        ("kj", "failed", True, True, "scheduler"),
    ]


def test_the_day_is_that_of_the_end_else_of_the_start_and_the_workload_is_user_and_name(first_night):
    found = pick(first_night, "job_id", "day", "workload_key", "cluster", job_id={"3", "4"})
    assert found == [("3", "2026-11-20", "u1/train", "alpha"), ("4", "2026-11-19", "u1/train", "alpha")]


def test_without_a_scheduler_window_and_nodes_are_those_of_its_own_lines(first_night):
    columns = (*KEY, "cluster", "start", "end", "nodes", "state", "is_ended", "is_failure", "end_basis", "day")
    assert pick(first_night, *columns, job_id={"8", "9", "7", "_node"}) == [
        ("8", 0, "main", "06:00:00", "06:00:00", ["n7"], None, True, False, "last_line", "2026-11-20"),
        ("9", 0, "main", "03:00:00", "03:10:00", ["n1", "n2"], None, True, False, "last_line", "2026-11-20"),
    ]


def test_guessed_attempts_have_the_numbers_of_their_folders(first_night):
    assert pick(first_night, *KEY, "start", "end", job_id={"50", "51"}) == [
        ("50", 1, "04:00:00", "04:00:00"),
        ("50", 2, "05:00:00", "05:00:00"),
        ("51", 0, "01:00:00", "02:00:00"),
    ]


def test_equal_job_ids_of_two_clusters_are_two_jobs(first_night):
    found = pick(first_night, "cluster", "source_cluster", *KEY, job_id="60")
    assert found == [("alpha", "main", "60", 0), ("beta", "other", "60", 0)]


def test_the_same_rows_again_change_nothing(first_night, second_night):
    repeated = {"2_1", "5", "8", "kept"}
    columns = ATTEMPTS.columns
    assert pick(second_night, *columns, job_id=repeated) == pick(first_night, *columns, job_id=repeated)
    assert len(pick(second_night, "job_id", job_id=repeated)) == len(repeated)


def test_jobs_of_which_the_batch_says_nothing_are_not_built_again(second_night):
    assert not {r["job_id"] for r in second_night} & {"50", "51", "60"}


def test_a_running_row_is_replaced_by_its_end_and_an_end_never_by_a_running_row(second_night):
    found = pick(second_night, *KEY, "state", "end", "scope_source", job_id={"3", "4"})
    assert found == [
        ("3", 0, "FAILED", "05:00:00", "scheduler"),
        ("4", 0, "COMPLETED", "2026-11-19 23:59:59", "scheduler"),
    ]


def test_an_earlier_requeue_that_turns_up_late_renumbers(second_night):
    assert pick(second_night, *KEY, "state", "submit", "end", job_id="1") == [
        ("1", 0, "REQUEUED", "00:10:00", "00:50:00"),
        ("1", 1, "REQUEUED", "01:00:00", "03:00:00"),
        ("1", 2, "FAILED", "03:30:00", "04:00:00"),
    ]


def test_a_guessed_window_grows(second_night):
    found = pick(second_night, "start", "end", "nodes", job_id="9")
    assert found == [("02:00:00", "03:10:00", ["n1", "n2", "n3"])]


def test_a_scheduler_record_replaces_the_guess(second_night):
    found = pick(second_night, "cluster", *KEY, "scope_source", "end", job_id="10")
    assert found == [("beta", "10", 0, "scheduler", "04:00:00")]


def test_a_guess_for_which_a_scheduler_speaks_is_to_be_removed(spark, first_night):
    observed = slurm_records(frame(spark, STAGED, SECOND_NIGHT))
    assert rows(superseded(observed, frame(spark, ATTEMPTS, first_night))) == [("main", "10", 0)]


def test_a_kubernetes_job_of_the_same_name_created_again_is_the_next_attempt(second_night):
    assert pick(second_night, *KEY, "state", job_id="again") == [("again", 0, "Failed"), ("again", 1, "Complete")]


def test_pods_that_are_gone_from_a_later_dump_stay_known(second_night):
    found = pick(second_night, "job_id", "nodes", "exit_code", "aliases", job_id="kj")
    assert found == [("kj", ["gpu-01"], 1, ["kj-0"])]
