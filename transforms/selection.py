"""Selection: events with what they stand next to, tagged with the selectors of the rules in one pass."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from firstfault.transforms.filesystems import filesystem_name

_COLUMN_FIELDS = ("class", "role", "category", "node", "rank", "source", "relation", "code", "count")
MAX_KEYS = 256
"""Most keys of one selector, a product over the values of the fields it asks for."""
MAX_FIELDS = 4
"""Most fields of a key."""


def with_places(events: DataFrame, topology: DataFrame) -> DataFrame:
    """The events with the keys by which they may be related: ports, switches, rack, power domain, file system.

    Args:
        events: Events with source_cluster, node, device, port and attrs.
        topology: HCAs of nodes.
    """
    hcas = topology.withColumnRenamed("cluster", "source_cluster")
    by_node = F.broadcast(
        hcas.groupBy("source_cluster", "node").agg(
            F.sort_array(F.collect_set("leaf_port")).alias("_node_ports"),
            F.sort_array(F.collect_set("switch")).alias("_node_switches"),
            F.max("rack").alias("_rack"),
            F.max("power_domain").alias("_power_domain"),
        )
    )
    leaf = hcas.select("source_cluster", F.col("hca_port").alias("port"), F.col("leaf_port").alias("_leaf"))
    placed = events.join(by_node, ["source_cluster", "node"], "left").join(
        F.broadcast(leaf.dropDuplicates(["source_cluster", "port"])), ["source_cluster", "port"], "left"
    )
    named_port = F.coalesce("_leaf", "port")
    of_switch = F.when(~named_port.contains("/"), F.substring_index(named_port, ":", 1))
    return placed.withColumns(
        {
            "_device": F.concat_ws("/", "node", "device"),
            "_ports": F.when(named_port.isNotNull(), F.array(named_port)).otherwise(
                F.coalesce("_node_ports", F.array())
            ),
            "_switches": F.when(of_switch.isNotNull(), F.array(of_switch)).otherwise(
                F.coalesce("_node_switches", F.array())
            ),
            "_filesystem": filesystem_name(),
        }
    ).drop("_node_ports", "_node_switches", "_leaf")


def tag(events: DataFrame, selectors: DataFrame, needed: DataFrame | None = None) -> DataFrame:
    """One row per event and selector that it satisfies.

    What selectors ask to be equal is found by a join, so that a selector costs only where it may hold: ten times the
    selectors of other codes or classes are not ten times the tests.

    Args:
        events: Events with `with_places` columns.
        selectors: Rows of `rule_tables.SELECTORS`.
        needed: Result of `needs.needs`: only these selectors are looked for, and only in the attempts that ask.
    """
    keyed = _keyed(selectors)
    asking = keyed if needed is None else keyed.join(needed, "selector_id")
    of_type = ("uid", "event_type") if "uid" in asking.columns else ("event_type",)
    asked = asking.groupBy(*of_type).agg(F.explode(F.collect_set("_key.fields")).alias("_fields"))
    offered = events.join(F.broadcast(asked), [*of_type]).withColumn("_key", _key())
    wanted = asking.select("*", F.col("_key.rest").alias("_rest"), F.explode("_key.keys").alias("_one")).drop("_key")
    paired = offered.join(F.broadcast(wanted.withColumnRenamed("_one", "_key")), [*of_type, "_key"])
    return paired.where((F.size("_rest") == 0) | F.forall("_rest", _holds)).drop("_rest", "_fields", "_key")


def _keyed(selectors: DataFrame) -> DataFrame:
    """The selectors with `_key`: fields asked to be equal, the keys of all values that would do, and other tests."""
    none = F.struct(
        F.array().cast("array<string>").alias("fields"),
        F.array(F.lit("")).alias("keys"),
        F.slice("predicates", 1, 0).alias("rest"),
    )
    tests = F.transform("predicates", lambda test: test.withField("texts", _spelled_texts(test)))
    spelled = selectors.select("selector_id", "event_type", tests.alias("predicates"))
    return spelled.select("selector_id", "event_type", F.aggregate("predicates", none, _one_test_more).alias("_key"))


def _spelled_texts(test: Column) -> Column:
    """The texts of a test for equality, each number in its one spelling."""
    by_equality = test["op"].isin("eq", "one_of", "ne", "none_of")
    return F.when(by_equality, F.transform(test["texts"], _spelled)).otherwise(test["texts"])


def _one_test_more(key: Column, test: Column) -> Column:
    """The key with the field of one more test; where that is no equality, or gives too many keys, one test more."""
    added = F.transform(test["texts"], lambda text: _part(test["field"], text))
    keys = F.flatten(F.transform(key["keys"], lambda done: F.transform(added, lambda part: F.concat(done, part))))
    distinct = F.array_distinct(keys)
    fields = F.concat(key["fields"], F.array(test["field"]))
    fits = (F.size(keys) <= MAX_KEYS) & (F.size(fields) <= MAX_FIELDS) & ~F.array_contains(key["fields"], test["field"])
    more = F.struct(fields.alias("fields"), distinct.alias("keys"), key["rest"].alias("rest"))
    rest = F.concat(key["rest"], F.array(test))
    after = F.struct(key["fields"].alias("fields"), key["keys"].alias("keys"), rest.alias("rest"))
    return F.when(test["op"].isin("eq", "one_of") & fits, more).otherwise(after)


def _key() -> Column:
    """The key of an event for the fields of its row; null, which meets nothing, when it lacks one of them.

    Field by field, since Spark compiles no lambdas and this is asked of every event.
    """
    named = [F.get("_fields", F.lit(place)) for place in range(MAX_FIELDS)]
    return F.concat(*(F.when(field.isNull(), "").otherwise(_part(field, _value(field))) for field in named))


def _part(field: Column, text: Column) -> Column:
    """One field of a key."""
    return F.concat(field, F.lit("\x1e"), _spelled(text), F.lit("\x1f"))


def _spelled(text: Column) -> Column:
    """The text; numbers that are equal have one spelling."""
    return F.coalesce(_number(text).cast("string"), text)


def _number(text: Column) -> Column:
    """The number that a text spells, else null; words are not tried, which would cost an exception each."""
    return F.when(text < ":", text.try_cast("double") + F.lit(0.0))


def _value(field: Column) -> Column:
    """The text of an attribute of the event, or of the column that stands in for it."""
    return F.coalesce(F.col("attrs")[field], *(F.when(field == c, F.col(c).cast("string")) for c in _COLUMN_FIELDS))


def _holds(test: Column) -> Column:
    """Whether one test holds for the event of the row.

    A missing attribute satisfies only `ne`, `none_of` and `exists: false`.
    """
    texts, number = test["texts"], test["number"]
    value = _value(test["field"])
    text = F.get(texts, F.lit(0))
    equal = F.coalesce(F.array_contains(texts, _spelled(value)), F.lit(False))
    outcome = (
        F.when(test["op"].isin("eq", "one_of"), equal)
        .when(test["op"] == "gte", _number(value) >= number)
        .when(test["op"] == "lte", _number(value) <= number)
        .when(test["op"] == "prefix", value.startswith(text))
        .when(test["op"] == "contains", value.contains(text))
        .when(test["op"].isin("ne", "none_of"), ~equal)
        .when(test["op"] == "exists", (value.isNotNull()) == (text == "true"))
    )
    return F.coalesce(outcome, F.lit(False))


def relation_keys(kind: Column, kind_arg: Column) -> Column:
    """The keys of an event for a relation: an array, empty when the event has no such place."""
    device = F.when(F.col("device").isNotNull(), F.col("_device"))
    return (
        F.when(kind == "device", _one(device))
        .when(kind.isin("node", "origin_node"), _one(F.col("node")))
        .when(kind == "other_jobs_device", _here(device))
        .when(kind == "other_jobs_node", _here(F.col("node")))
        .when(kind == "cluster", _one(F.col("source_cluster")))
        .when(kind == "port", F.col("_ports"))
        .when(kind == "switch", F.col("_switches"))
        .when(kind == "rack", _one(F.col("_rack")))
        .when(kind == "power_domain", _one(F.col("_power_domain")))
        .when(kind == "filesystem", _one(F.col("_filesystem")))
        .when(kind == "attr", _one(F.col("attrs")[kind_arg]))
        .when(kind == "workload", _here(F.col("workload_key")))
        .when(kind == "user", _here(F.col("user")))
        .otherwise(F.array(F.lit("")))
    )


def _one(key: Column) -> Column:
    """The key alone, or nothing; without a lambda, which Spark would not compile."""
    return F.when(key.isNotNull(), F.array(key)).otherwise(F.array().cast("array<string>"))


def _here(key: Column) -> Column:
    """Relations beyond the attempt meet other clusters' names, so their keys carry the cluster."""
    return _one(F.concat(F.col("source_cluster"), F.lit("/"), key))
