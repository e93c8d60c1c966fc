"""The lake that the notebooks run on: a rehearsed fleet of six attempts, one night, one review, two months before it."""

from datetime import UTC, date, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from firstfault.jobs.fleet import Profile, generate
from firstfault.jobs.fleet.profile import AttemptsProfile, ClocksProfile, SamplingProfile, TopologyProfile
from firstfault.jobs.label_words import statement
from firstfault.jobs.labelling import add_statements, show_in_results
from firstfault.jobs.light import in_lake
from firstfault.jobs.nightly import run_night
from firstfault.jobs.review.run import review_month
from firstfault.jobs.settings import load_settings
from firstfault.transforms.rule_calibration import RULE_CALIBRATION
from firstfault.transforms.rule_confusion import RULE_CONFUSION
from firstfault.transforms.rule_stats import RULE_STATS

DAY = date(2026, 11, 9)
MONTH, BEFORE = "2026-11", ("2026-09", "2026-10")
GPU_JOB = "84301"
FAULTS = {"gpu_off_bus": 1, "nic_link_down": 1, "user_exception": 1, "storage_full": 1, "no_evidence": 1}
"""What strikes, and how often."""


def profile() -> Profile:
    return Profile(
        name="notebooks", seed=3, day=DAY, topology=TopologyProfile(racks=1, gpus=2, hcas=2),
        attempts=AttemptsProfile(mechanisms=FAULTS, healthy=1, sizes={2: 1.0}, minutes=(10.0, 14.0)),
        clocks=ClocksProfile(seconds_off=2),
        sampling=SamplingProfile(
            metrics_s=900, nvidia_smi_s=1800, dumps_s=21600, switch_csv_s=43200, switch_dumps_s=43200
        ),
        labels=1.0, label_errors=0.2,
    )  # fmt: skip


def _disagree(lake: str) -> None:
    """A second operator sees the GPU's fault in the network."""
    at = datetime(2026, 11, 10, tzinfo=UTC)
    other = {"cluster": "main", "job_id": GPU_JOB, "attempt": 0, "category": "network_link"}
    add_statements(lake, [statement(**other, source="command", who="eve", labelled_at=at)])
    show_in_results(lake)


def reviewed(spark: SparkSession, root: Path) -> str:
    """Rehearses, runs and reviews; the path of the lake."""
    fleet = generate(profile(), root)
    settings = load_settings(None, landing=str(fleet.landing), lake=str(root / "lake"), gates=False)
    run_night(spark, settings)
    review_month(spark, settings, MONTH, say=lambda _: None)
    _disagree(str(settings.lake))
    for contract in (RULE_STATS, RULE_CONFUSION, RULE_CALIBRATION):
        table = in_lake(str(settings.lake), contract)
        rows = table.dataset().to_table()
        rows = rows.filter(pc.equal(rows["month"], MONTH))
        at = rows.schema.get_field_index("month")
        for month in BEFORE:
            table.append(rows.set_column(at, rows.schema.field(at), pa.array([month] * len(rows), pa.string())))
    return str(settings.lake)
