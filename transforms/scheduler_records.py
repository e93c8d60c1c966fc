"""What Slurm and Kubernetes records say of attempts, as rows of `attempts.OBSERVED_COLUMNS`."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from firstfault.transforms.attempts import SCHEDULER, observation
from firstfault.transforms.columns import field
from firstfault.transforms.hostlist import hosts

_UNSET = ("unknown", "none", "n/a", "(null)")
_LIMIT = r"^(?:(\d+)-)?(\d+):(\d+):(\d+)$"
_KUBE_OBJECT = """
kind string,
metadata struct<name:string, namespace:string, uid:string, creationTimestamp:timestamp, labels:map<string,string>,
  ownerReferences:array<struct<kind:string, name:string>>>,
spec struct<nodeName:string, activeDeadlineSeconds:bigint, runPolicy:struct<activeDeadlineSeconds:bigint>>,
status struct<startTime:timestamp, phase:string, reason:string,
  state:struct<phase:string, reason:string, lastTransitionTime:timestamp>,
  conditions:array<struct<type:string, status:string, reason:string, lastTransitionTime:timestamp>>,
  containerStatuses:array<struct<state:struct<terminated:struct<exitCode:int, reason:string, finishedAt:timestamp>>>>>
"""

_JOB_KINDS = ("Job", "PyTorchJob", "MPIJob", "TFJob", "XGBoostJob", "PaddleJob", "JAXJob")
"""batch and Volcano jobs, and those of the Kubeflow training operator: one attempt each."""
_END_CONDITIONS = ("Failed", "Complete", "Succeeded")
_END_PHASES = ("Completed", "Failed", "Aborted", "Terminated")
"""How a Volcano job says that it is over: by one phase, not by conditions."""
_JOB_LABELS = (
    "batch.kubernetes.io/job-name", "job-name", "training.kubeflow.org/job-name", "volcano.sh/job-name",
)  # fmt: skip


def slurm_records(staged: DataFrame) -> DataFrame:
    """One row per job record of `sacct`; step rows are left out.

    Args:
        staged: Rows in flight of source `sacct`, with `fields` named as sacct names them.
    """
    rows = staged.where(
        (F.col("source") == "sacct") & F.col("fields").isNotNull() & ~F.col("fields")["JobID"].contains(".")
    )
    exit_code = F.split(_field("ExitCode"), ":")
    observed = observation(
        rows,
        {
            "cluster": F.coalesce(_field("Cluster"), F.col("cluster")),
            "source_cluster": F.col("cluster"),
            "job_id": _field("JobID"),
            "job_name": _field("JobName"),
            "user": _field("User"),
            "account": _field("Account"),
            "partition": _field("Partition"),
            "submit": _time("Submit"),
            "start": _time("Start"),
            "end": _time("End"),
            "time_limit_s": limit_seconds(_field("Timelimit")),
            "nodes": hosts(_field("NodeList")),
            "gpus": F.expr("try_cast(regexp_extract(fields['AllocTRES'], 'gres/gpu=(\\\\d+)', 1) as int)"),
            "state": _field("State"),
            "reason": _field("Reason"),
            "exit_code": F.try_element_at(exit_code, F.lit(1)).try_cast("int"),
            "signal": F.try_element_at(exit_code, F.lit(2)).try_cast("int"),
            "restarts": _field("Restarts").try_cast("int"),
            "aliases": F.array_except(F.array(_field("JobIDRaw")), F.array(_field("JobID"))),
            "scope_source": F.lit(SCHEDULER),
        },
        seen=F.concat(F.col("file_time").cast("string"), F.lpad(F.col("byte_offset").cast("string"), 15, "0")),
    )
    return observed.where("job_id is not null and state is not null")


def _field(name: str) -> Column:
    return field(name, *_UNSET)


def _time(name: str) -> Column:
    """UTC time of a sacct column: local text in the stream's zone, or epoch seconds."""
    value = _field(name)
    local = F.try_to_timestamp(F.substring(value, 1, 19), F.lit("yyyy-MM-dd'T'HH:mm:ss"))
    epoch = value.try_cast("bigint")
    return F.when(epoch > 0, F.timestamp_seconds(epoch)).otherwise(F.to_utc_timestamp(local, F.col("zone")))


def limit_seconds(limit: Column) -> Column:
    """Seconds of Slurm's `[D-]HH:MM:SS`; null for UNLIMITED and Partition_Limit."""
    days, hours, minutes, rest = (_limit_part(limit, i) for i in (1, 2, 3, 4))
    return F.when(limit.rlike(_LIMIT), days * 86400 + hours * 3600 + minutes * 60 + rest)


def _limit_part(limit: Column, i: int) -> Column:
    return F.coalesce(F.regexp_extract(limit, _LIMIT, i).try_cast("bigint"), F.lit(0))


def kube_records(staged: DataFrame) -> DataFrame:
    """One row per job object of `_JOB_KINDS`, with the nodes and exit codes of its pods.

    Args:
        staged: Rows in flight of source `kube`; `message` is the object's JSON.
    """
    items = staged.where((F.col("source") == "kube") & (F.col("disposition") == "landed_log"))
    objects = items.select("cluster", "file_time", F.from_json("message", _KUBE_OBJECT).alias("o"))
    ended = F.filter("o.status.conditions", lambda c: c["type"].isin(*_END_CONDITIONS) & (c["status"] == "True"))
    by_condition = F.try_element_at(ended, F.lit(1))
    phase = F.col("o.status.state")
    by_phase = F.when(
        phase["phase"].isin(*_END_PHASES),
        F.struct(
            phase["phase"].alias("type"),
            F.lit("True").alias("status"),
            phase["reason"].alias("reason"),
            phase["lastTransitionTime"].alias("lastTransitionTime"),
        ),
    )
    deadline = F.coalesce("o.spec.activeDeadlineSeconds", "o.spec.runPolicy.activeDeadlineSeconds")
    jobs = objects.where(F.col("o.kind").isin(*_JOB_KINDS)).select(
        "cluster",
        F.col("o.metadata.name").alias("job_id"),
        F.col("o.metadata.name").alias("job_name"),
        F.col("o.metadata.namespace").alias("namespace"),
        F.col("o.metadata.creationTimestamp").alias("submit"),
        F.col("o.status.startTime").alias("start"),
        F.coalesce(by_condition, by_phase).alias("_end"),
        deadline.alias("time_limit_s"),
        "file_time",
    )
    joined = jobs.join(_pods(objects), ["cluster", "namespace", "job_id"], "left")
    return observation(
        joined,
        {
            "source_cluster": F.col("cluster"),
            "end": F.col("_end.lastTransitionTime"),
            "state": F.coalesce("_end.type", F.lit("Running")),
            "reason": F.col("_end.reason"),
            "aliases": F.coalesce("pods", F.array().cast("array<string>")),
            "scope_source": F.lit(SCHEDULER),
        },
        seen=F.col("file_time"),
    )


def _pods(objects: DataFrame) -> DataFrame:
    labels = F.col("o.metadata.labels")
    owner = F.try_element_at(F.col("o.metadata.ownerReferences"), F.lit(1))["name"]
    codes = F.transform("o.status.containerStatuses", lambda c: c["state"]["terminated"]["exitCode"])
    pods = objects.where("o.kind = 'Pod'").select(
        "cluster",
        F.col("o.metadata.namespace").alias("namespace"),
        F.coalesce(*(labels[name] for name in _JOB_LABELS), owner).alias("job_id"),
        F.lower(F.substring_index("o.spec.nodeName", ".", 1)).alias("node"),
        F.array_max(codes).alias("code"),
        F.col("o.metadata.name").alias("pod"),
    )
    return pods.groupBy("cluster", "namespace", "job_id").agg(
        F.array_sort(F.collect_set("node")).alias("nodes"),
        F.max("code").alias("exit_code"),
        F.array_sort(F.collect_set("pod")).alias("pods"),
    )
