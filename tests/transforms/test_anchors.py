"""Where rules start, and whom they blame."""

import pytest
from pyspark.sql import functions as F

from firstfault.transforms.anchors import find_anchors, starts_of
from firstfault.transforms.attempts import ATTEMPTS
from firstfault.transforms.filesystems import names_known
from firstfault.transforms.origins import with_origin
from firstfault.transforms.placement import PLACEMENT
from firstfault.transforms.rule_tables import SPECS, SUPPRESSIONS
from firstfault.transforms.selection import with_places
from firstfault.transforms.suppression import taken_back
from firstfault.transforms.topology import TOPOLOGY
from tests.frames import collected, frame, pick, scoped

# Blame, its argument, and scope by the name of the specification.
SPEC = {
    "device": ("device", None, "gpu"),
    "node": ("node", None, "node"),
    "port": ("port", None, "port"),
    "rank": ("rank", None, "rank"),
    "attr": ("attr", "fs", "filesystem"),
    "filesystem": ("filesystem", None, "filesystem"),
    "silent": ("silent", None, "rank"),
    "silent node": ("silent", None, "node"),
    "behind": ("behind", None, "rank"),
    "switch": ("common", "switch", "rack"),
    "job": ("job", None, "job"),
}
NUMBER = {name: n for n, name in enumerate(SPEC)}
EVENTS = {
    "devices": [
        {"t": "03:00:09", "node": "n1", "device": "0000:3b:00", "count": 2},
        {"t": "03:00:05", "node": "n1", "device": "0000:3b:00", "count": 3},
        {"t": "03:00:01", "node": "n1", "device": "0000:5d:00"},
        {"t": "03:00:03", "node": "n2", "device": None},
    ],
    # The earliest is the one that had certainly happened first.
    "intervals": [
        {"t": "03:00:02", "t_low": "03:00:00", "t_high": "03:00:04", "node": "n1"},
        {"t": "03:00:03", "node": "n1"},
    ],
    "ports": [{"t": "03:00:00", "port": "sw1:1"}, {"t": "03:00:00", "node": "n1"}],
    "a leaf port": [{"t": "03:00:00", "port": "sw1:n1"}],
    "ranks": [{"t": "03:00:00", "rank": 3, "node": "n2"}, {"t": "03:00:01", "rank": None, "node": "n1"}],
    "file systems": [
        {"t": "03:00:00", "node": "n1", "attrs": {"fs": "/scratch"}},
        {"t": "03:00:01", "node": "n2", "attrs": {"fs": "/scratch"}},
        {"t": "03:00:02", "node": "n2", "attrs": {"other": "/home"}},
    ],
    "a server and the mount lost with it": [
        {"t": "03:00:00", "node": "n1", "attrs": {"server": "nas1"}, "event_type": "storage.nfs_stall"},
        {"t": "03:00:09", "attrs": {"path": "/data/x"}, "event_type": "storage.write_error", "role": "initiating"},
    ],
    "a server and two mounts": [
        {"t": "03:00:00", "node": "n1", "attrs": {"server": "nas1"}, "event_type": "storage.nfs_stall"},
        {"t": "03:00:09", "attrs": {"path": "/data/x"}, "event_type": "storage.write_error", "role": "initiating"},
        {"t": "03:00:09", "attrs": {"path": "/home/x"}, "event_type": "storage.write_error", "role": "initiating"},
    ],
    "a server and a node's mount": [
        {"t": "03:00:00", "node": "n1", "attrs": {"server": "nas1"}, "event_type": "storage.nfs_stall"},
        {"t": "03:00:09", "attrs": {"mount": "/var"}, "event_type": "storage.usage", "relation": "node"},
    ],
    "one is silent": [{"t": "03:00:00", "rank": r, "node": f"n{1 + r // 2}"} for r in (0, 1, 2)],
    "half are silent": [{"t": "03:00:00", "rank": r, "node": "n1"} for r in (0, 1)],
    "most are silent": [{"t": "03:00:00", "rank": 0, "node": "n1"}],
    "nobody is silent": [{"t": "03:00:00", "rank": r, "node": "n1"} for r in range(4)],
    "nobody says its rank": [{"t": "03:00:00", "rank": None, "node": "n1"}],
    "one is behind": [
        {"t": "03:00:00", "rank": r, "node": "n1", "attrs": {"seq": s}}
        for r, s in ((0, "100"), (1, "100"), (2, "99"), (3, "100"))
    ],
    "behind by what it completed": [
        {"t": "03:00:00", "rank": r, "node": "n1", "attrs": {"last_completed": s}} for r, s in ((0, "1000"), (1, "999"))
    ],
    "all are equal": [{"t": "03:00:00", "rank": r, "node": "n1", "attrs": {"seq": "7"}} for r in (0, 1)],
    "most are behind": [
        {"t": "03:00:00", "rank": r, "node": "n1", "attrs": {"seq": s}} for r, s in ((0, "9"), (1, "7"), (2, "7"))
    ],
    "one switch": [{"t": "03:00:00", "node": n} for n in ("n1", "n2")],
    "two switches": [{"t": "03:00:00", "node": n} for n in ("n1", "n3")],
    "one node": [{"t": "03:00:00", "node": "n1"}],
    "everywhere": [
        {
            "t": "03:00:00",
            "node": n,
            "device": d,
            "port": p,
            "rank": 0,
            "attrs": {"everywhere": "true", "fs": "/scratch"},
        }
        for n, d, p in (("n1", "0000:3b:00", "sw1:1"), ("n2", None, None))
    ],
    "one of them alone": [
        {"t": "03:00:00", "node": "n1", "attrs": {"everywhere": "true", "peer_distance": "0.100"}},
        {"t": "03:00:01", "node": "n2", "attrs": {"peer_distance": "9.000"}},
        {"t": "03:00:02", "node": "n3", "attrs": None},
    ],
}
ASKED = {
    "devices": ("device", "node"), "intervals": ("node",), "ports": ("port",), "a leaf port": ("port",),
    "ranks": ("rank",),
    "file systems": ("attr", "job", "filesystem"), "one is silent": ("silent", "silent node"),
    **{name: ("silent",) for name in EVENTS if "silent" in name and name != "one is silent"},
    "nobody says its rank": ("silent",),
    **{name: ("behind",) for name in EVENTS if "behind" in name or "equal" in name},
    **{name: ("switch",) for name in EVENTS if "switch" in name or name == "one node"},
    "everywhere": ("device", "node", "port", "rank", "attr", "switch", "job"),
    "one of them alone": ("node",),
    **{name: ("filesystem",) for name in EVENTS if "a server and" in name},
}  # fmt: skip


@pytest.fixture(scope="module")
def found(spark):
    """Anchors with their origin; every group of events is an attempt of its own."""
    events, attempts, placement = [], [], []
    pairs = [(uid, spec) for uid, specs in ASKED.items() for spec in specs]
    for uid, spec in pairs:
        events += [{"uid": f"{uid}: {spec}", "event_id": f"{n}", **e} for n, e in enumerate(EVENTS[uid])]
        attempts.append({"job_id": f"{uid}: {spec}", "source_cluster": "c", "nodes": ["n1", "n2", "n3"]})
        placement += [{"job_id": f"{uid}: {spec}", "rank": r, "node": f"n{1 + r // 2}"} for r in range(4)]
    specs = [
        {"spec_id": NUMBER[s], "selector_id": NUMBER[s], "blame": b, "blame_arg": a, "scope": scope}
        for s, (b, a, scope) in SPEC.items()
    ]
    links = [
        {"cluster": "c", "node": n, "hca": "h", "switch": s, "leaf_port": f"{s}:{n}", "rack": "r"}
        for n, s in (("n1", "sw1"), ("n2", "sw1"), ("n3", "sw2"))
    ] + [{"cluster": "d", "node": n, "hca": "h", "switch": "sw0"} for n in ("n1", "n3")]
    topology = frame(spark, TOPOLOGY, links)
    tagged = with_places(scoped(spark, events), topology)
    chosen = F.create_map(*(F.lit(x) for s, n in NUMBER.items() for x in (s, n)))
    tagged = tagged.withColumn("selector_id", chosen[F.element_at(F.split("uid", ": "), -1)])
    starts = starts_of(tagged, frame(spark, SPECS, specs))
    anchors = find_anchors(starts, taken_back(starts, tagged, frame(spark, SUPPRESSIONS, [])))
    by_job = lambda df: df.withColumn("uid", F.col("job_id"))  # noqa: E731
    located = with_origin(
        anchors, by_job(frame(spark, ATTEMPTS, attempts)), by_job(frame(spark, PLACEMENT, placement)), topology,
        names_known(tagged),
    )  # fmt: skip
    return collected(located.select("*", F.col("first.event_id").alias("first_id"), F.col("first.t").alias("t")))


def of(found, name, *columns):
    return pick(found, *columns, uid=name)


def test_an_anchor_is_the_earliest_event_of_each_device_with_the_count_of_all(found):
    columns = ("origin", "origin_scope", "origin_nodes", "t", "n", "event_ids")
    assert of(found, "devices: device", *columns) == [
        (["n1/0000:3b:00"], "gpu", ["n1"], "03:00:05", 5, ["0", "1"]),
        (["n1/0000:5d:00"], "gpu", ["n1"], "03:00:01", 1, ["2"]),
        # A device that nobody names is blamed as its node.
        (["n2"], "node", ["n2"], "03:00:03", 1, ["3"]),
    ]
    assert of(found, "devices: node", "origin", "n", "t") == [(["n1"], 6, "03:00:01"), (["n2"], 1, "03:00:03")]


def test_the_earliest_is_the_one_that_ends_first(found):
    assert of(found, "intervals: node", "t", "nodes") == [("03:00:03", ["n1"])]


def test_a_port_is_blamed_and_a_node_where_no_port_is_named(found):
    assert of(found, "ports: port", "origin", "origin_scope") == [(["n1"], "node"), (["sw1:1"], "port")]


def test_a_rank_is_blamed_by_its_number_and_the_job_where_none_is_named(found):
    assert of(found, "ranks: rank", "origin", "origin_scope", "origin_nodes") == [
        ([], "job", []),
        (["rank-3"], "rank", ["n2"]),
    ]


def test_an_attribute_or_file_system_is_blamed_where_the_event_has_it_and_a_job_needs_no_name(found):
    columns = ("origin", "origin_scope", "nodes")
    assert of(found, "file systems: attr", *columns) == [(["/scratch"], "filesystem", ["n1", "n2"])]
    assert of(found, "file systems: filesystem", *columns) == [
        ([], "job", ["n2"]),
        (["/scratch"], "filesystem", ["n1", "n2"]),
    ]
    assert of(found, "file systems: job", "origin", "origin_scope", "n") == [([], "job", 3)]


def test_a_silent_minority_is_blamed_by_rank_or_node(found):
    columns = ("origin", "origin_scope", "origin_nodes")
    assert of(found, "one is silent: silent", *columns) == [(["rank-3"], "rank", ["n2"])]
    assert of(found, "one is silent: silent node", *columns) == [(["n2"], "node", ["n2"])]
    assert of(found, "half are silent: silent", "origin") == [(["rank-2", "rank-3"],)]


@pytest.mark.parametrize("name", ["most are silent", "nobody is silent", "nobody says its rank"])
def test_a_silence_of_most_or_none_names_nobody(found, name):
    assert of(found, f"{name}: silent", "origin") == []


def test_the_ranks_with_the_lowest_sequence_number_are_behind(found):
    assert of(found, "one is behind: behind", "origin", "origin_nodes") == [(["rank-2"], ["n2"])]
    assert of(found, "behind by what it completed: behind", "origin") == [(["rank-1"],)]


@pytest.mark.parametrize("name", ["all are equal", "most are behind"])
def test_nobody_is_behind_when_all_are_equal_or_most_are_low(found, name):
    assert of(found, f"{name}: behind", "origin") == []


def test_what_all_nodes_have_in_common_is_blamed(found):
    assert of(found, "one switch: switch", "origin", "nodes") == [(["sw1"], ["n1", "n2"])]
    assert of(found, "two switches: switch", "origin") == []
    assert of(found, "one node: switch", "origin") == []


@pytest.mark.parametrize("blame", ["device", "node", "port"])
def test_what_rises_everywhere_accuses_no_place(found, blame):
    assert of(found, f"everywhere: {blame}", "origin") == []


@pytest.mark.parametrize(
    ("blame", "origin"),
    [
        ("switch", ["sw1"]),
        ("job", []),
        ("attr", ["/scratch"]),
        ("rank", ["rank-0"]),
    ],
)
def test_what_rises_everywhere_still_speaks_of_what_all_share(found, blame, origin):
    assert of(found, f"everywhere: {blame}", "origin", "nodes") == [(origin, ["n1", "n2"])]


def test_a_place_that_rises_alone_is_accused_beside_those_that_rise_everywhere(found):
    assert of(found, "one of them alone: node", "origin") == [(["n2"],), (["n3"],)]


def test_a_file_server_is_named_by_the_one_mount_that_the_job_lost_with_it(found):
    names = {name: [r[0] for r in of(found, f"{name}: filesystem", "origin")] for name in ASKED if "a server" in name}
    assert names["a server and the mount lost with it"] == [["/data"], ["/data"]]
    assert ["nas1"] in names["a server and two mounts"]
    assert ["nas1"] in names["a server and a node's mount"]


def test_a_port_names_its_link_and_the_nodes_behind_it(found):
    assert of(found, "ports: port", "origin", "link", "link_nodes") == [
        (["n1"], None, None),
        (["sw1:1"], None, None),
    ]
    assert ("sw1:n1", ["n1"]) in of(found, "a leaf port: port", "link", "link_nodes")
