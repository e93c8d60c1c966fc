"""Ids are the same whether Python or Spark makes them."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import functions as F

from firstfault.transforms.keys import digest, entity, id_column
from tests.frames import frame, rows

PART = st.none() | st.text(max_size=20)


@settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(PART, PART, PART), min_size=50, max_size=200))
def test_digest_equals_id_column(spark, triples):
    given = [{"i": i, "a": a, "b": b, "c": c} for i, (a, b, c) in enumerate(triples)]
    made = frame(spark, "i int, a string, b string, c string", given)
    found = made.select("i", id_column(F.col("a"), F.col("b"), F.col("c")).alias("id")).collect()
    assert {r["i"]: r["id"] for r in found} == {i: digest(*triple) for i, triple in enumerate(triples)}


def test_ids_are_16_hex_digits_of_sha256_over_unit_separators(spark):
    assert digest("main", "84213", 0) == "108a446b2099760f"
    made = frame(spark, "c string, j string, a int", [{"c": "main", "j": "84213", "a": 0}])
    assert rows(made.select(id_column(F.col("c"), F.col("j"), F.col("a")))) == [("108a446b2099760f",)]


def test_the_place_of_a_separator_counts_and_null_is_empty():
    assert digest("ab", "c") != digest("a", "bc")
    assert digest("a", None) == digest("a", "")
    assert digest("a") != digest("a", None)


def test_entity_names_a_device_of_a_node_and_nothing_less(spark):
    made = frame(
        spark,
        "node string, device string",
        [{"node": "n1", "device": "0000:3b:00"}, {"node": "n1"}, {"device": "0000:3b:00"}],
    )
    assert rows(made.select(entity(F.col("node"), F.col("device")))) == [("n1/0000:3b:00",), (None,), (None,)]
