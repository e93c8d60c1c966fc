"""The table rules: what one row holds and what it refuses."""

import pytest

from firstfault.transforms.rules import RULES
from tests.frames import frame, rows

ROW = {
    "rule_id": "gpu_off_bus", "ruleset_version": "0123456789ab", "version": 2, "status": "stable",
    "category": "gpu_hardware", "title": "A GPU fell off the bus", "sha256": "0" * 64, "text": "id: gpu_off_bus\n",
}  # fmt: skip


def test_a_rule_has_a_row_per_rule_set_and_may_lack_the_catalogues(spark):
    given = [ROW, ROW | {"ruleset_version": "ba9876543210", "version": 3, "catalogue_version": "abcdefabcdef"}]
    columns = ("rule_id", "ruleset_version", "version", "catalogue_version")
    assert RULES.keys == ("ruleset_version", "rule_id")
    assert rows(RULES.conform(frame(spark, RULES, given)), *columns) == [
        ("gpu_off_bus", "0123456789ab", 2, None),
        ("gpu_off_bus", "ba9876543210", 3, "abcdefabcdef"),
    ]


@pytest.mark.parametrize("column", ["version", "sha256", "text"])
def test_what_names_the_rule_is_never_null(spark, column):
    with pytest.raises(Exception, match=f"rules.{column} is null"):
        rows(RULES.conform(frame(spark, RULES, [ROW | {column: None}])))
