"""A contract: what it refuses, what it drops, what it keeps."""

import pytest

from firstfault.transforms.contract import ContractError, Table, column
from firstfault.transforms.types import INT, LONG, TEXT
from tests.frames import frame, rows

TOY = Table(
    name="toy",
    row="a toy",
    fields=(
        column("name", TEXT, "what it is called", required=True),
        column("n", LONG, "how many"),
        column("size", INT, "how large"),
    ),
    keys=("name",),
)


def test_every_discrepancy_is_in_one_error(spark):
    given = frame(spark, "size int, sise int, nome string, _helper int", [])
    with pytest.raises(ContractError) as error:
        TOY.conform(given)
    assert str(error.value) == "table toy: missing columns ['n', 'name'], unexpected columns ['nome', 'sise']"


def test_helpers_are_dropped_columns_ordered_and_cast_and_comments_kept(spark):
    given = frame(spark, "_order int, size string, n int, name string", [{"size": "7", "n": 3, "name": "a"}])
    made = TOY.conform(given)
    assert rows(made) == [("a", 3, 7)]
    assert made.columns == ["name", "n", "size"]
    assert [f.dataType for f in made.schema.fields] == [TEXT, LONG, INT]
    assert [f.metadata["comment"] for f in made.schema.fields] == ["what it is called", "how many", "how large"]


def test_a_null_in_a_required_column_stops_the_write_and_is_named(spark):
    given = frame(spark, TOY, [{"name": "a"}, {"name": None, "n": 1}])
    writer = TOY.conform(given).write.format("noop").mode("overwrite")
    with pytest.raises(Exception, match=r"toy\.name is null"):
        writer.save()


def test_a_null_elsewhere_is_written(spark):
    assert rows(TOY.conform(frame(spark, TOY, [{"name": "a"}]))) == [("a", None, None)]
