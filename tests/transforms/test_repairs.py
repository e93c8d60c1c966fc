"""What was replaced."""

from firstfault.transforms.repairs import build_repairs
from firstfault.transforms.staged import STAGED
from tests.frames import frame, rows


def repair(offset, **fields) -> dict:
    return {"source": "repairs", "cluster": "main", "file": "repairs.csv", "byte_offset": offset, "fields": fields}


def test_a_repair_of_the_list(spark):
    given = [
        repair(0, node="N1.site", device="0000:3B:00", serial="165", part="GPU", day="2026-11-21"),
        repair(9, node="n1", device="0000:3b:00", serial="165", part="gpu", day="2026-11-21T08:00:00Z"),
        repair(18, cluster="alpha", node="n2", part="cable", day="2026-11-22"),
        repair(27, node="n3", part="cable", day="soon"),
        repair(36, node="n4", day="2026-11-22"),
        repair(45, node="n5", part="cable", day="2026-11-22") | {"source": "changes"},
    ]
    assert rows(build_repairs(frame(spark, STAGED, given))) == [
        ("alpha", "n2", None, None, "cable", "2026-11-22"),
        ("main", "n1", "0000:3b:00", "165", "gpu", "2026-11-21"),
    ]
