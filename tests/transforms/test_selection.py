"""Selectors on events, and the keys by which events are related."""

import pytest
from pyspark.sql import functions as F

from firstfault.transforms.rule_tables import SELECTORS
from firstfault.transforms.selection import relation_keys, tag, with_places
from firstfault.transforms.topology import TOPOLOGY
from tests.frames import collected, frame, scoped

TESTS = {
    "eq text": ("eq", ["79"], None),
    "eq number": ("eq", ["79.0"], None),
    "ne": ("ne", ["79"], None),
    "ne number": ("ne", ["79.0"], None),
    "one_of": ("one_of", ["13", "79"], None),
    "none_of": ("none_of", ["13", "79"], None),
    "gte": ("gte", [], 79.0),
    "lte": ("lte", [], 79.0),
    "prefix": ("prefix", ["7"], None),
    "contains": ("contains", ["9"], None),
}
VALUES = {"79": "79", "13": "13", "790": "790", "7.5": "7.5", "word": "seventy-nine", "missing": None}


MANY = {f"field {n}": f"value {n}" for n in range(5)}
NUMBERS = [str(n) for n in range(20)]


def selector(number, event_type, *predicates) -> dict:
    names = ("field", "op", "texts", "number")
    return {
        "selector_id": number, "event_type": event_type,
        "predicates": [dict(zip(names, p, strict=True)) for p in predicates],
    }  # fmt: skip


@pytest.fixture(scope="module")
def matched(spark):
    events = [
        {"uid": name, "t": "03:00:00", "event_type": "gpu.xid", "attrs": {"code": v} if v else {"other": "79"}}
        for name, v in VALUES.items()
    ]
    selectors = [selector(n, "gpu.xid", ("code", *test)) for n, test in enumerate(TESTS.values())]
    found = collected(tag(scoped(spark, events), frame(spark, SELECTORS, selectors)))
    names = list(TESTS)
    pairs = {(names[r["selector_id"]], r["uid"]) for r in found}
    return {test: {uid for t, uid in pairs if t == test} for test in TESTS}


@pytest.mark.parametrize(
    ("test", "holds_for"),
    [
        ("eq text", {"79"}),
        ("eq number", {"79"}),
        ("one_of", {"79", "13"}),
        ("gte", {"79", "790"}),
        ("lte", {"79", "13", "7.5"}),
        ("prefix", {"79", "790", "7.5"}),
        ("contains", {"79", "790"}),
        # A missing attribute satisfies only these.
        ("ne", {"13", "790", "7.5", "word", "missing"}),
        ("ne number", {"13", "790", "7.5", "word", "missing"}),
        ("none_of", {"790", "7.5", "word", "missing"}),
    ],
)
def test_operators(matched, test, holds_for):
    assert matched[test] == holds_for


def test_all_predicates_must_hold_and_columns_stand_in_for_attributes(spark):
    plain = {"t": "03:00:00", "event_type": "gpu.xid"}
    events = [
        plain | {"uid": "a", "attrs": {"x": "1", "y": "2"}},
        plain | {"uid": "b", "attrs": {"x": "1"}},
        plain | {"uid": "c", "class": "bus", "count": 5, "rank": 0, "node": "n1", "relation": "node"},
        plain | {"uid": "d", "class": "bus", "count": 1, "attrs": {"class": "other"}},
        plain | {"uid": "e", "event_type": "comm.timeout", "attrs": {"x": "1", "y": "2"}},
        plain | {"uid": "f", "attrs": MANY},
        plain | {"uid": "g", "attrs": MANY | {"field 4": "other"}},
        plain | {"uid": "h", "attrs": {"x": "19.0", "y": "00"}},
    ]
    one = lambda name, op, text: (name, op, [text], None)  # noqa: E731
    selectors = [
        selector(0, "gpu.xid", one("x", "eq", "1"), one("y", "eq", "2")),
        selector(1, "gpu.xid", one("class", "eq", "bus")),
        selector(2, "gpu.xid", ("count", "gte", [], 5.0), one("relation", "eq", "node"), one("rank", "eq", "0")),
        selector(3, "gpu.xid"),
        # A glob is a row per type.
        selector(4, "comm.timeout"),
        selector(4, "gpu.xid", one("node", "prefix", "n")),
        # Two tests of one field, more fields than a key has, more values than keys.
        selector(5, "gpu.xid", one("x", "eq", "1"), ("x", "one_of", ["2", "3"], None)),
        selector(6, "gpu.xid", *(one(name, "eq", value) for name, value in MANY.items())),
        selector(7, "gpu.xid", ("x", "one_of", NUMBERS, None), ("y", "one_of", NUMBERS, None)),
    ]
    found = collected(tag(scoped(spark, events), frame(spark, SELECTORS, selectors)))
    assert sorted((r["selector_id"], r["uid"]) for r in found) == [
        (0, "a"), (1, "c"), (2, "c"), *((3, uid) for uid in "abcdfgh"), (4, "c"), (4, "e"),
        (6, "f"), (7, "a"), (7, "h"),
    ]  # fmt: skip


def test_only_the_attempts_that_ask_are_looked_at_and_what_they_ask_comes_along(spark):
    uids = ("asks for both", "asks for one", "asks for none")
    events = [{"uid": uid, "t": "03:00:00", "event_type": "gpu.xid", "attrs": {"code": "79"}} for uid in uids]
    selectors = frame(spark, SELECTORS, [selector(0, "gpu.xid", ("code", "eq", ["79"], None)), selector(1, "gpu.xid")])
    asked = [("asks for both", 0, "a"), ("asks for both", 1, "b"), ("asks for one", 1, "c")]
    of_attempts = spark.createDataFrame(asked, "uid string, selector_id int, asks string")
    found = collected(tag(scoped(spark, events), selectors, of_attempts))
    assert sorted((r["uid"], r["selector_id"], r["asks"]) for r in found) == asked
    of_all = of_attempts.where("asks = 'a'").drop("uid")
    found = collected(tag(scoped(spark, events), selectors, of_all))
    assert sorted((r["uid"], r["selector_id"], r["asks"]) for r in found) == [(uid, 0, "a") for uid in sorted(uids)]


LINKS = [
    {"cluster": "c", "node": "n1", "hca": "mlx5_0", "hca_port": "n1/mlx5_0/1", "leaf_port": "sw1:1", "switch": "sw1",
     "rack": "r1", "power_domain": "p1"},
    {"cluster": "c", "node": "n1", "hca": "mlx5_1", "hca_port": "n1/mlx5_1/1", "leaf_port": "sw2:1", "switch": "sw2",
     "rack": "r1", "power_domain": "p1"},
    {"cluster": "d", "node": "n1", "hca": "mlx5_0", "hca_port": "n1/mlx5_0/1", "leaf_port": "sw9:9", "switch": "sw9",
     "rack": "r9"},
]  # fmt: skip
PLACES = {
    "a node": {"node": "n1"},
    "a device": {"node": "n1", "device": "0000:3b:00"},
    "an HCA port": {"node": "n1", "port": "n1/mlx5_1/1"},
    "a leaf port": {"port": "sw1:1"},
    "an HCA port of nobody": {"node": "n3", "port": "n3/mlx5_0/1"},
    "a node of nobody": {"node": "n3"},
    "the other cluster": {"node": "n1", "source_cluster": "d"},
    "a mount": {"attrs": {"mount": "/scratch", "path": "/home/u"}},
    "a path": {"attrs": {"path": "/scratch/u1/ckpt.pt"}},
    "a path below a folder of mounts": {"attrs": {"path": "/gpfs/fs1/u1/ckpt.pt"}},
    "a file in a folder of mounts": {"attrs": {"path": "/mnt/ckpt.pt"}},
    "a URL": {"attrs": {"url": "s3a://corpus"}},
    "a path that is a URL": {"attrs": {"path": "hdfs://nn1.cl:8020/ckpt/x"}},
    "a request of a bucket": {"attrs": {"scheme": "s3", "endpoint": "https://s3.cl/train-ckpt/x.pt"}},
    "a request at a bucket's host": {"attrs": {"scheme": "s3", "endpoint": "https://a.b.s3.eu-west-1.amazonaws.com/x"}},
    "a request of an operation": {"attrs": {"scheme": "s3", "endpoint": "PutObject"}},
    "a request of another kind": {"attrs": {"endpoint": "https://hub.cl/models/x"}},
    "a server": {"attrs": {"server": "oss-1"}},
    "a relative path": {"attrs": {"path": "ckpt.pt"}},
    "people": {"workload_key": "u1/train", "user": "u1"},
}
KINDS = (
    "device", "node", "port", "switch", "rack", "power_domain", "filesystem", "cluster", "other_jobs_node",
    "other_jobs_device", "workload", "user", "job",
)  # fmt: skip


@pytest.fixture(scope="module")
def keys(spark):
    events = [{"uid": name, "t": "03:00:00", **place} for name, place in PLACES.items()]
    placed = with_places(scoped(spark, events), frame(spark, TOPOLOGY, LINKS))
    columns = [relation_keys(F.lit(k), F.lit(None).cast("string")).alias(k) for k in KINDS]
    found = collected(placed.select("uid", *columns, relation_keys(F.lit("attr"), F.lit("server")).alias("attr")))
    return {r["uid"]: {k: v for k, v in r.items() if k != "uid" and v} for r in found}


def test_a_node_has_the_ports_switches_rack_and_power_domain_of_the_topology(keys):
    assert keys["a node"] == {
        "node": ["n1"], "port": ["sw1:1", "sw2:1"], "switch": ["sw1", "sw2"], "rack": ["r1"], "power_domain": ["p1"],
        "cluster": ["c"], "other_jobs_node": ["c/n1"], "job": [""],
    }  # fmt: skip
    assert keys["a node of nobody"] == {
        "node": ["n3"], "cluster": ["c"], "other_jobs_node": ["c/n3"], "job": [""],
    }  # fmt: skip


def test_a_device_is_named_with_its_node(keys):
    assert (keys["a device"]["device"], keys["a device"]["other_jobs_device"]) == (
        ["n1/0000:3b:00"],
        ["c/n1/0000:3b:00"],
    )


def test_both_ends_of_a_link_have_the_key_of_the_leaf_port(keys):
    assert (keys["an HCA port"]["port"], keys["an HCA port"]["switch"]) == (["sw2:1"], ["sw2"])
    assert (keys["a leaf port"]["port"], keys["a leaf port"]["switch"]) == (["sw1:1"], ["sw1"])
    assert keys["an HCA port of nobody"]["port"] == ["n3/mlx5_0/1"]
    assert "switch" not in keys["an HCA port of nobody"]


def test_places_are_those_of_the_events_cluster(keys):
    assert (keys["the other cluster"]["port"], keys["the other cluster"]["rack"]) == (["sw9:9"], ["r9"])
    assert "power_domain" not in keys["the other cluster"]


def test_a_file_system_is_a_mount_the_head_of_a_path_or_a_server(keys):
    found = {name: keys[name].get("filesystem") for name in ("a mount", "a path", "a server", "a relative path")}
    assert found == {
        "a mount": ["/scratch"], "a path": ["/scratch"], "a server": ["oss-1"], "a relative path": None,
    }  # fmt: skip
    assert keys["a server"]["attr"] == ["oss-1"]
    assert keys["a path below a folder of mounts"]["filesystem"] == ["/gpfs/fs1"]
    assert keys["a file in a folder of mounts"]["filesystem"] == ["/mnt"]


def test_a_store_is_its_bucket_or_url_whatever_names_it(keys):
    found = {name: keys[name].get("filesystem") for name in PLACES if name.startswith(("a request", "a URL"))}
    assert found == {
        "a URL": ["s3://corpus"],
        "a request of a bucket": ["s3://train-ckpt"],
        "a request at a bucket's host": ["s3://a.b"],
        "a request of an operation": None,
        "a request of another kind": None,
    }
    assert keys["a path that is a URL"]["filesystem"] == ["hdfs://nn1.cl:8020"]


def test_workload_and_user_carry_the_cluster(keys):
    assert (keys["people"]["workload"], keys["people"]["user"]) == (["c/u1/train"], ["c/u1"])
