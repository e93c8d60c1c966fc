"""attempts: what one landed batch adds to them, and which attempts that touches."""

from collections.abc import Iterable
from functools import reduce

from pyspark.sql import DataFrame

from firstfault.jobs.batch import Batch
from firstfault.jobs.frames import local_frame, materialised
from firstfault.jobs.night import Night
from firstfault.jobs.quality import note
from firstfault.transforms.attempts import ATTEMPTS, build_attempts, inferred, superseded
from firstfault.transforms.inputs import INPUTS
from firstfault.transforms.keys import ATTEMPT_KEY
from firstfault.transforms.labels import LABELS
from firstfault.transforms.scheduler_records import kube_records, slurm_records
from firstfault.transforms.staged import LANDED_LOG


def update_attempts(night: Night, batch: Batch) -> None:
    """Merges what the batch says of attempts; those that change are noted as changed."""
    if not batch.counted(LANDED_LOG):
        return
    observed = inferred(batch.staged)
    if "sacct" in batch.formats:
        observed = observed.unionByName(slurm_records(batch.staged))
    if "kube" in batch.formats:
        observed = observed.unionByName(kube_records(batch.staged))
    observed = observed.persist()
    existing = night.lake.read(ATTEMPTS)
    built = materialised(build_attempts(observed, existing, night.frames.states))
    landed = local_frame(night.spark, batch.landed_ranges, INPUTS.schema)
    note(
        night.lake, night.gates, batch, "attempts", [(ATTEMPTS, night.gates.check(ATTEMPTS, built, {"inputs": landed}))]
    )
    changed = materialised(built.exceptAll(existing).select(*ATTEMPT_KEY).distinct())
    if night.lake.exists(ATTEMPTS):
        night.lake.delete(ATTEMPTS, superseded(observed, existing))
    night.all_are_new = not night.lake.exists(ATTEMPTS)
    night.lake.merge(ATTEMPTS, built)
    if "labels" in batch.formats:
        known = {"attempts": night.lake.read(ATTEMPTS)}
        labels = materialised(night.lake.read(LABELS).select(*LABELS.columns))
        note(night.lake, night.gates, batch, "labels", [(LABELS, night.gates.check(LABELS, labels, known))])
    night.changed.append(changed)
    observed.unpersist()


def union_keys(frames: Iterable[DataFrame]) -> DataFrame | None:
    """Distinct attempt keys of all frames, None when there are none."""
    listed = list(frames)
    return reduce(DataFrame.unionByName, listed).distinct() if listed else None
