"""Operators' labels of a share of the failures, a few of them wrong as operators are."""

from collections.abc import Sequence
from dataclasses import replace

from firstfault.jobs.fleet.model import stream
from firstfault.jobs.fleet.profile import Profile
from firstfault.jobs.fleet.truth import Truth

HEADER = "cluster,job_id,attempt,category,origin_scope,origin"
TAKEN_FOR = {
    "data_pipeline": "storage",
    "driver_software": "gpu_hardware",
    "gpu_hardware": "network_link",
    "host_hardware": "scheduler",
    "host_memory": "user_code",
    "network_config": "network_link",
    "network_link": "gpu_hardware",
    "nvlink_fabric": "gpu_hardware",
    "power_cooling": "host_hardware",
    "preemption": "scheduler",
    "scheduler": "host_hardware",
    "storage": "network_link",
    "unknown": "network_link",
    "user_code": "network_link",
    "walltime": "user_code",
}
"""What the loudest symptom of a category is usually taken for."""


def rows(profile: Profile, truths: Sequence[Truth]) -> list[str]:
    """Rows under `HEADER`.

    Args:
        profile: The shares of labels and of errors among them.
        truths: What is true of all attempts.

    Returns:
        A row a labelled attempt. Of the errors a third name another category, a third another place, and a third are
        two operators who differ.
    """
    rng = stream(profile.seed, "labels")
    judged = [t for t in truths if t.category is not None and rng.random() < profile.labels]
    return [row for truth in judged for row in _said(profile, truth)]


def _said(profile: Profile, truth: Truth) -> list[str]:
    rng = stream(profile.seed, "label", truth.job_id, truth.attempt)
    if rng.random() >= profile.label_errors:
        return [_row(truth)]
    how = rng.choice(("category", "place", "both"))
    elsewhere = [node for node in truth.affected_nodes if node not in truth.origin]
    if how == "place" and truth.origin and elsewhere:
        return [_row(replace(truth, origin_scope="node", origin=(rng.choice(elsewhere),)))]
    wrong = _row(replace(truth, category=TAKEN_FOR.get(truth.category or "", "unknown"), origin_scope=None, origin=()))
    return [_row(truth), wrong] if how == "both" else [wrong]


def _row(truth: Truth) -> str:
    places = ";".join(truth.origin)
    fields = (truth.cluster, truth.job_id, str(truth.attempt), truth.category, truth.origin_scope or "", places)
    return ",".join(str(field) for field in fields)
