"""A tiny fleet whose figures are worked out by hand, for the statistics and the review.

November, cluster `alpha` unless said, rule set v1, live. Category said -> label:

    job  rule      said              label            origin said / label
    1    gpu_a     gpu_hardware 0.9  gpu_hardware     n1/g0 / n1/g0
    2    gpu_a     gpu_hardware 0.9  gpu_hardware     n2/g0 / n2/g1
    3    gpu_a     gpu_hardware 0.6  storage          n3/g0 / -            sto_b stood among the alternatives (storage)
    4    sto_b     storage      0.8  storage          -     / /scratch
    5    sto_b     storage      0.8  none
    6    gpu_a     unknown      0.4  gpu_hardware     -     / -            gpu_a stood first, gpu_c behind it
    7    -         unknown      0.0  storage          -     / -
    8    sto_b     storage      0.7  operators differ
    9    gpu_c     gpu_hardware 0.7  gpu_hardware     (beta)
    10   sto_b     storage      0.9  unknown          -     / -            the operator found no cause either
    11   gpu_a     gpu_hardware 0.9  weak: gpu_hardware
"""

from firstfault.transforms.diagnoses import DIAGNOSES

LABEL_VERDICTS = (
    "cluster string, job_id string, attempt int, category string, origin_scope string, origin array<string>, "
    "is_conflict boolean, weak_category string"
)
WAITS = "cluster string, job_id string, attempt int, hours_to_diagnosis double"
GPU, STORAGE = "gpu_hardware", "storage"


def verdict(job: str, rule: str | None, said: str, confidence: float, **given) -> dict:
    plain = {
        "cluster": "alpha", "job_id": job, "attempt": 0, "day": "2026-11-20", "outcome": "failed", "category": said,
        "origin": [], "confidence": confidence, "rule_id": rule, "alternatives": [], "gpu_hours_lost": 10.0,
        "ruleset_version": "v1", "track": "live",
    }  # fmt: skip
    return plain | given


def stood(rule: str, category: str, why: str = "low_points") -> dict:
    return {"rule_id": rule, "category": category, "origin": [], "confidence": 0.4, "why_lost": why}


def label(job: str, category: str | None, **given) -> dict:
    return {"cluster": "alpha", "job_id": job, "attempt": 0, "category": category, "is_conflict": False} | given


DIAGNOSED = [
    verdict("1", "gpu_a", GPU, 0.9, origin_scope="gpu", origin=["n1/g0"]),
    verdict("2", "gpu_a", GPU, 0.9, origin_scope="gpu", origin=["n2/g0"]),
    verdict("3", "gpu_a", GPU, 0.6, origin_scope="gpu", origin=["n3/g0"], alternatives=[stood("sto_b", STORAGE)]),
    verdict("4", "sto_b", STORAGE, 0.8),
    verdict("5", "sto_b", STORAGE, 0.8, gpu_hours_lost=None),
    verdict("6", "gpu_a", "unknown", 0.4, alternatives=[stood("gpu_a", GPU), stood("gpu_c", GPU), stood("gpu_c", GPU)]),
    verdict("7", None, "unknown", 0.0),
    verdict("8", "sto_b", STORAGE, 0.7),
    verdict("9", "gpu_c", GPU, 0.7, cluster="beta"),
    verdict("10", "sto_b", STORAGE, 0.9),
    verdict("11", "gpu_a", GPU, 0.9),
]
LABELLED = [
    label("1", GPU, origin_scope="gpu", origin=["n1/g0"]),
    label("2", GPU, origin_scope="gpu", origin=["n2/g1"]),
    label("3", STORAGE),
    label("4", STORAGE, origin_scope="filesystem", origin=["/scratch"]),
    label("6", GPU),
    label("7", STORAGE, origin=[]),
    label("8", None, is_conflict=True),
    label("9", GPU, cluster="beta"),
    label("10", "unknown"),
    label("11", None, weak_category=GPU),
]
WAITED = [{"cluster": "alpha", "job_id": str(n), "attempt": 0, "hours_to_diagnosis": float(n)} for n in (1, 2, 3)]
assert {"category", "alternatives"} <= set(DIAGNOSES.columns)
