"""Records of Slurm and Kubernetes as observations of attempts."""

import json

import pytest
from pyspark.sql import functions as F

from firstfault.transforms.scheduler_records import kube_records, limit_seconds, slurm_records
from firstfault.transforms.staged import STAGED
from tests.frames import collected, frame, pick, rows

PLAIN = {
    "JobID": "100", "JobIDRaw": "100", "JobName": "train", "User": "u1", "Account": "acct", "Partition": "gpu",
    "State": "FAILED", "ExitCode": "1:9", "Submit": "2026-11-20T02:00:00", "Start": "2026-11-20T03:00:00",
    "End": "2026-11-20T04:00:00", "Timelimit": "1-00:00:00", "NodeList": "n[1-2]", "Reason": "None", "Restarts": "0",
    "AllocTRES": "billing=96,cpu=96,gres/gpu=16,node=2", "Cluster": "alpha",
}  # fmt: skip


def sacct(offset=0, **fields) -> dict:
    zone = fields.pop("zone", "UTC")
    given = {k: v for k, v in (PLAIN | fields).items() if v is not None}
    return {
        "source": "sacct", "disposition": "landed_log", "cluster": "main", "job_id": "_cluster", "zone": zone,
        "file_time": "05:00:00", "byte_offset": offset, "fields": given,
    }  # fmt: skip


def kube(obj: dict, file_time="05:00:00") -> dict:
    return {
        "source": "kube", "disposition": "landed_log", "cluster": "main", "job_id": "_cluster",
        "file_time": file_time, "message": json.dumps(obj),
    }  # fmt: skip


def kube_job(name, *conditions, created="2026-11-20T02:00:00Z", namespace="ml", **spec) -> dict:
    return {
        "kind": "Job",
        "metadata": {"name": name, "namespace": namespace, "uid": f"uid-{name}", "creationTimestamp": created},
        "spec": spec,
        "status": {"startTime": "2026-11-20T02:00:05Z", "conditions": list(conditions)},
    }


def ended(kind, reason=None, status="True") -> dict:
    return {"type": kind, "status": status, "reason": reason, "lastTransitionTime": "2026-11-20T04:00:00Z"}


def kube_pod(name, job, node, *codes, label="batch.kubernetes.io/job-name", namespace="ml") -> dict:
    metadata = {"name": name, "namespace": namespace}
    if label == "owner":
        metadata["ownerReferences"] = [{"kind": "Job", "name": job}]
    else:
        metadata["labels"] = {label: job}
    states = [{"state": {"terminated": {"exitCode": c}} if c is not None else {"running": {}}} for c in codes]
    return {
        "kind": "Pod", "metadata": metadata, "spec": {"nodeName": node}, "status": {"containerStatuses": states},
    }  # fmt: skip


@pytest.fixture(scope="module")
def slurm(spark):
    given = [
        sacct(JobID="100"),
        sacct(JobID="100.batch"),
        sacct(JobID="100.0"),
        sacct(JobID="200_3", JobIDRaw="205"),
        sacct(JobID="300", State="CANCELLED by 5001", ExitCode="0:15"),
        sacct(JobID="400", State="RUNNING", End="Unknown", NodeList="None assigned", Timelimit="UNLIMITED"),
        sacct(JobID="500", zone="America/New_York"),
        sacct(JobID="501", zone="America/New_York", Submit="2026-07-01T12:00:00"),
        sacct(JobID="600", Submit="1795139999", Start="1795140000", End="0", State="RUNNING"),
        sacct(JobID="700", AllocTRES="", ExitCode="", Reason="Priority", Restarts=None, Cluster="", User=" "),
        sacct(JobID=None),
        sacct(JobID="800", State=""),
        sacct(JobID="900", Submit="soon", Start="2026-11-20T03:00:00.000", End="2026-13-45T00:00:00"),
        {**sacct(JobID="101"), "fields": None},
        {**sacct(JobID="102"), "source": "slurmctld"},
    ]
    return collected(slurm_records(frame(spark, STAGED, given)))


def test_a_plain_record_says_all_of_it(slurm):
    columns = (
        "cluster", "source_cluster", "job_id", "job_name", "user", "account", "partition", "submit", "start", "end",
        "time_limit_s", "nodes", "gpus", "state", "reason", "exit_code", "signal", "restarts", "scope_source",
    )  # fmt: skip
    assert pick(slurm, *columns, job_id="100") == [
        ("alpha", "main", "100", "train", "u1", "acct", "gpu", "02:00:00", "03:00:00", "04:00:00",
         86_400, ["n1", "n2"], 16, "FAILED", None, 1, 9, 0, "scheduler"),
    ]  # fmt: skip


def test_steps_and_records_without_job_or_state_are_left_out(slurm):
    found = [job for (job,) in pick(slurm, "job_id")]
    assert found == ["100", "200_3", "300", "400", "500", "501", "600", "700", "900"]


def test_an_array_task_keeps_its_raw_id_as_alias(slurm):
    assert pick(slurm, "aliases", job_id="100") == [([],)]
    assert pick(slurm, "aliases", job_id="200_3") == [(["205"],)]


def test_states_are_verbatim(slurm):
    found = pick(slurm, "state", "exit_code", "signal", job_id="300")
    assert found == [("CANCELLED by 5001", 0, 15)]


def test_an_unknown_end_is_open_and_no_node_and_no_limit_are_null(slurm):
    found = pick(slurm, "state", "start", "end", "nodes", "time_limit_s", job_id="400")
    assert found == [("RUNNING", "03:00:00", None, None, None)]


def test_times_are_local_to_the_zone_of_the_stream_or_epoch_seconds(slurm):
    found = pick(slurm, "job_id", "submit", "start", "end", job_id={"500", "501", "600", "900"})
    assert found == [
        ("500", "07:00:00", "08:00:00", "09:00:00"),
        ("501", "2026-07-01 16:00:00", "08:00:00", "09:00:00"),
        ("600", "01:59:59", "02:00:00", None),
        ("900", None, "03:00:00", None),
    ]


def test_empty_fields_are_null_and_the_cluster_falls_back_to_the_source(slurm):
    columns = ("cluster", "user", "gpus", "exit_code", "signal", "reason", "restarts")
    assert pick(slurm, *columns, job_id="700") == [("main", None, None, None, None, "Priority", None)]


def test_limits(spark):
    texts = ["1-00:00:00", "00:30:00", "02:00:10", "365-23:59:59", "UNLIMITED", "Partition_Limit", "", None]
    given = frame(spark, "i int, l string", [{"i": i, "l": t} for i, t in enumerate(texts)])
    found = [v for _, v in rows(given.select("i", limit_seconds(F.col("l"))))]
    assert found == [86_400, 1_800, 7_210, 365 * 86_400 + 86_399, None, None, None, None]


@pytest.fixture(scope="module")
def kubernetes(spark):
    given = [
        kube(kube_job("fails", ended("FailureTarget"), ended("Failed", "BackoffLimitExceeded"))),
        kube(kube_pod("fails-0", "fails", "GPU-01.example.com", 0, 137)),
        kube(kube_pod("fails-1", "fails", "gpu-02", 1, label="job-name")),
        kube(kube_pod("fails-2", "fails", "gpu-02", None, label="owner")),
        kube(kube_pod("elsewhere", "fails", "gpu-09", 3, namespace="other")),
        kube(kube_job("succeeds", ended("Complete"), activeDeadlineSeconds=3600)),
        kube(kube_job("goes-on", ended("Failed", "x", status="False"))),
        kube({"kind": "Node", "metadata": {"name": "gpu-01"}}),
        {**kube(kube_job("refused")), "disposition": "quarantined"},
        {**kube(kube_job("broken")), "message": '{"kind": "Job", "metadata": {'},
    ]
    return collected(kube_records(frame(spark, STAGED, given)))


def test_a_job_object_has_the_nodes_the_worst_exit_code_and_the_names_of_its_pods(kubernetes):
    columns = ("job_id", "namespace", "nodes", "exit_code", "aliases")
    assert pick(kubernetes, *columns) == [
        ("fails", "ml", ["gpu-01", "gpu-02"], 137, ["fails-0", "fails-1", "fails-2"]),
        ("goes-on", "ml", None, None, []),
        ("succeeds", "ml", None, None, []),
    ]


def test_failed_and_complete_end_a_job_and_other_conditions_do_not(kubernetes):
    columns = ("job_id", "state", "reason", "submit", "start", "end", "time_limit_s")
    assert pick(kubernetes, *columns) == [
        ("fails", "Failed", "BackoffLimitExceeded", "02:00:00", "02:00:05", "04:00:00", None),
        ("goes-on", "Running", None, "02:00:00", "02:00:05", None, None),
        ("succeeds", "Complete", None, "02:00:00", "02:00:05", "04:00:00", 3600),
    ]


@pytest.fixture(scope="module")
def operators(spark):
    """Job objects of the training operator and of Volcano, with their pods."""
    trained = kube_job("torch", ended("Created"), ended("Running", status="False"), ended("Failed", "PyTorchJobFailed"))
    well = kube_job("mpi", ended("Succeeded", "MPIJobSucceeded"), runPolicy={"activeDeadlineSeconds": 7200})
    again = kube_job("again", ended("Restarting", "PyTorchJobRestarting"))
    given = [
        kube(trained | {"kind": "PyTorchJob"}),
        kube(kube_pod("torch-worker-0", "torch", "gpu-01", 1, label="training.kubeflow.org/job-name")),
        kube(well | {"kind": "MPIJob"}),
        kube(again | {"kind": "PyTorchJob"}),
        kube(volcano("gone", "Aborted", "PodEvicted")),
        kube(kube_pod("gone-0", "gone", "gpu-02", 137, label="volcano.sh/job-name")),
        kube(volcano("goes-on", "Restarting")),
        kube({**kube_job("queued", ended("Finished")), "kind": "Workload"}),
    ]
    return collected(kube_records(frame(spark, STAGED, given)))


def volcano(name, phase, reason=None) -> dict:
    job = kube_job(name)
    state = {"phase": phase, "reason": reason, "lastTransitionTime": "2026-11-20T04:00:00Z"}
    return job | {"apiVersion": "batch.volcano.sh/v1alpha1", "status": {"state": state}}


def test_jobs_of_the_training_operator_and_of_volcano_end_by_condition_or_phase(operators):
    columns = ("job_id", "state", "reason", "end", "time_limit_s", "nodes", "exit_code")
    assert pick(operators, *columns) == [
        ("again", "Running", None, None, None, None, None),
        ("goes-on", "Running", None, None, None, None, None),
        ("gone", "Aborted", "PodEvicted", "04:00:00", None, ["gpu-02"], 137),
        ("mpi", "Succeeded", "MPIJobSucceeded", "04:00:00", 7200, None, None),
        ("torch", "Failed", "PyTorchJobFailed", "04:00:00", None, ["gpu-01"], 1),
    ]
