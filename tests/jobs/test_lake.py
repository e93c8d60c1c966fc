"""The lake: what is written, what is not written again, and what stays."""

from datetime import date

import pytest
from delta.tables import DeltaTable
from deltalake import DeltaTable as LightTable
from pyspark.sql.types import ArrayType, StringType

from firstfault.jobs import frames
from firstfault.jobs.lake import Lake
from firstfault.transforms.contract import Table, column
from firstfault.transforms.types import DAY, DOUBLE, LONG, TEXT, TEXT_MAP
from tests.frames import frame, rows

TOY = Table(
    name="toy",
    row="a toy",
    fields=(
        column("name", TEXT, "what it is called", required=True),
        column("part", TEXT, "part of it; null for the whole"),
        column("day", DAY, "day it was made"),
        column("n", LONG, "how many"),
        column("x", DOUBLE, "how long"),
        column("tags", ArrayType(StringType()), "words"),
        column("attrs", TEXT_MAP, "more"),
    ),
    keys=("name", "part"),
    partitions=("day",),
)
FLAT = Table(name="flat", row="a toy without map", fields=TOY.fields[:5], keys=TOY.keys, partitions=("day",))
A = {"name": "a", "part": "1", "day": "2026-11-20", "n": 1, "x": 0.5, "tags": ["p", "q"], "attrs": {"k": "v", "l": "w"}}
B = {"name": "b", "part": "1", "day": "2026-11-21", "n": 2}
FIRST = [date(2026, 11, 20)]


@pytest.fixture(params=["few rows", "many rows"])
def toys(request, spark, tmp_path, monkeypatch):
    """A lake written by delta-rs, and one written by Spark: both must hold the same."""
    if request.param == "many rows":
        monkeypatch.setattr(frames, "SMALL_ROWS", -1)
    return Lake(spark, f"{tmp_path}/lake/")


def flat(row: dict) -> dict:
    return {k: v for k, v in row.items() if k in FLAT.columns}


def version(lake, table=TOY) -> int:
    return LightTable(lake.path(table)).version()


def test_a_table_never_written_has_its_columns_and_no_rows(toys):
    assert not toys.exists(TOY)
    assert rows(toys.read(TOY)) == []
    assert toys.read(TOY).columns == TOY.columns
    assert toys.tables() == []


def test_an_append_with_the_same_intent_is_made_once(spark, toys):
    for given, intent in ((A, "batch-1"), (B, "batch-1"), (B, "batch-2")):
        toys.append(TOY, frame(spark, TOY, [given]), intent=intent)
    assert rows(toys.read(TOY), "name", "n") == [("a", 1), ("b", 2)]
    assert toys.tables() == ["toy"]
    written = {f.name: f.metadata["comment"] for f in toys.read(TOY).schema.fields}
    assert written == {f.name: f.metadata["comment"] for f in TOY.fields}
    assert LightTable(toys.path(TOY)).metadata().partition_columns == ["day"]


def test_a_null_key_is_never_written(spark, toys):
    with pytest.raises(Exception, match=r"toy\.name is null"):
        toys.append(TOY, frame(spark, TOY, [A, A | {"name": None}]))
    assert rows(toys.read(TOY)) == []


def test_replace_keeps_other_days_and_writes_nothing_when_the_content_is_equal(spark, toys):
    assert toys.replace(TOY, frame(spark, TOY, [A, B]))
    before = version(toys)
    # Equal rows in another order, the entries of the map too.
    again = A | {"attrs": {"l": "w", "k": "v"}}
    assert not toys.replace(TOY, frame(spark, TOY, [again]), FIRST)
    assert not toys.replace(TOY, frame(spark, TOY, [B, again]))
    assert version(toys) == before
    # Another entry of a map, another order within an array and one more equal row are changes.
    for changed in ([A | {"attrs": {"k": "v"}}], [A | {"tags": ["q", "p"]}] * 2):
        assert toys.replace(TOY, frame(spark, TOY, changed), FIRST)
    assert rows(toys.read(TOY), "name", "tags", "attrs") == [
        ("a", ["q", "p"], {"k": "v", "l": "w"}), ("a", ["q", "p"], {"k": "v", "l": "w"}), ("b", None, None),
    ]  # fmt: skip
    assert toys.replace(TOY, frame(spark, TOY, []), FIRST)
    assert rows(toys.read(TOY), "name") == [("b",)]


def test_merge_inserts_new_keys_and_updates_only_rows_that_differ(spark, toys):
    other = B | {"name": "c"}
    toys.merge(FLAT, frame(spark, FLAT, [flat(r) for r in (A, B, other)]))
    toys.merge(FLAT, frame(spark, FLAT, [flat(r) for r in (A, B | {"n": 7, "day": "2026-11-20"}, B | {"part": "2"})]))
    assert rows(toys.read(FLAT), "name", "part", "n", "day") == [
        ("a", "1", 1, "2026-11-20"),
        ("b", "1", 7, "2026-11-20"),
        ("b", "2", 2, "2026-11-21"),
        ("c", "1", 2, "2026-11-21"),
    ]
    last = DeltaTable.forPath(spark, toys.path(FLAT)).history(1).first()["operationMetrics"]
    assert (last["numTargetRowsUpdated"], last["numTargetRowsInserted"]) == ("1", "1")


def test_a_merge_that_would_change_nothing_is_not_made(spark, toys):
    toys.merge(FLAT, frame(spark, FLAT, [flat(A)]))
    before = version(toys, FLAT)
    toys.merge(FLAT, frame(spark, FLAT, [flat(A)]))
    assert version(toys, FLAT) == before


def test_a_key_with_a_null_is_merged_once_too(spark, toys):
    """An HCA-less row of the topology file comes every night."""
    whole = flat(A) | {"part": None}
    for n in (1, 2):
        toys.merge(FLAT, frame(spark, FLAT, [whole | {"n": n}]))
    assert rows(toys.read(FLAT), "name", "part", "n") == [("a", None, 2)]


def test_delete_removes_the_rows_with_these_keys_and_no_others(spark, toys):
    toys.append(TOY, frame(spark, TOY, [A, A | {"part": "2"}, B]))
    before = version(toys)
    keys = frame(spark, "name string, part string", [])
    toys.delete(TOY, keys)
    assert version(toys) == before
    toys.delete(TOY, frame(spark, "name string, part string", [{"name": "a", "part": "1"}, {"name": "x", "part": "1"}]))
    assert rows(toys.read(TOY), "name", "part") == [("a", "2"), ("b", "1")]


def test_a_table_of_an_earlier_version_is_read_with_the_new_columns_and_grows_by_them(spark, toys):
    fewer = Table(name="toy", row="a toy", fields=TOY.fields[:4], keys=TOY.keys, partitions=("day",))
    toys.append(fewer, frame(spark, fewer, [{k: v for k, v in A.items() if k in fewer.columns}]))
    assert rows(toys.read(TOY), "name", "tags") == [("a", None)]
    assert toys.replace(TOY, frame(spark, TOY, [B]), [date(2026, 11, 21)])
    toys.append(TOY, frame(spark, TOY, [A | {"name": "c"}]))
    assert rows(toys.read(TOY), "name", "n", "tags") == [("a", 1, None), ("b", 2, None), ("c", 1, ["p", "q"])]


def test_a_table_replaced_by_nothing_comes_to_be(spark, toys):
    assert toys.replace(TOY, frame(spark, TOY, []))
    assert toys.exists(TOY)
    assert rows(toys.read(TOY)) == []


def test_replace_keeps_other_months(spark, tmp_path, monkeypatch):
    monthly = Table(name="monthly", row="a toy", fields=(column("name", TEXT, "name"), column("month", TEXT, "month")),
                    keys=("name",), partitions=("month",))  # fmt: skip
    for most in (20_000, -1):
        monkeypatch.setattr(frames, "SMALL_ROWS", most)
        lake = Lake(spark, f"{tmp_path}/{most}")
        for name, month in (("a", "2026-10"), ("b", "2026-11"), ("c", "2026-11"), ("c", "2026-11")):
            written = lake.replace(monthly, frame(spark, monthly, [{"name": name, "month": month}]), [month])
        assert not written
        assert rows(lake.read(monthly)) == [("a", "2026-10"), ("c", "2026-11")]
