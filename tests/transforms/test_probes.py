"""What stands around an anchor: possibly, certainly, and whose it is."""

import pytest
from pyspark.sql import functions as F

from firstfault.transforms.anchors import FIRST_COLUMNS
from firstfault.transforms.needs import needs
from firstfault.transforms.probes import fold, probe
from firstfault.transforms.rule_tables import PROBES, SPEC_PROBES
from firstfault.transforms.selection import with_places
from firstfault.transforms.topology import TOPOLOGY
from tests.frames import collected, frame, moment, scoped

ANCHOR = "03:10:00"


def at(offset_s, half_s=0.0, **given) -> dict:
    """An event this long after the anchor, known to `half_s`."""
    t = moment(ANCHOR).timestamp() + offset_s
    low, middle, high = (_text(x) for x in (t - half_s, t, t + half_s))
    return {"t": middle, "t_low": low, "t_high": high, "event_type": "comm.timeout", "node": "n2", **given}


def _text(seconds) -> str:
    day, rest = divmod(seconds - moment("00:00:00").timestamp(), 86_400)
    return f"{int(day)}d {int(rest // 3600):02d}:{int(rest % 3600 // 60):02d}:{rest % 60:09.6f}"


NEAR = (0.0, 10.0, 60)
AROUND = (-60.0, 60.0, 300)
# name: (kind, (lo_s, hi_s, bucket_s), anchor, events within the attempt)
WITHIN = {
    "inside": ("job", NEAR, at(0), [at(5), at(10)]),
    "outside": ("job", NEAR, at(0), [at(-0.5), at(10.5)]),
    "may be inside": ("job", NEAR, at(0), [at(8, 4)]),
    "may be inside, mostly out": ("job", NEAR, at(0), [at(13, 4)]),
    "certainly out": ("job", NEAR, at(0), [at(15, 4)]),
    "anchor uncertain": ("job", NEAR, at(0, 4), [at(3)]),
    "both uncertain, still certain": ("job", AROUND, at(0, 20), [at(5, 20)]),
    "same clock": ("node", NEAR, at(0, 5, node="n1", clock_error_s=5.0),
                   [at(3, 5, node="n1", clock_error_s=5.0)]),
    "same clock, wrong side": ("node", NEAR, at(0, 5, node="n1", clock_error_s=5.0),
                               [at(-3, 5, node="n1", clock_error_s=5.0)]),
    "two clocks": ("job", NEAR, at(0, 5, node="n1", clock_error_s=5.0),
                   [at(3, 5, node="n2", clock_error_s=5.0)]),
    "a controller's word on the node": ("node", NEAR, at(0, 5, node="n1", clock_error_s=5.0),
                                        [at(3, 5, node="n1", clock_error_s=5.0, clock="server:slurmctld")]),
    "one reference": ("job", NEAR, at(0, 5, node="n1", clock_error_s=5.0, clock_shared_s=4.5, clock_reference="ntp"),
                      [at(3, 5, node="n2", clock_error_s=5.0, clock_shared_s=4.5, clock_reference="ntp")]),
    "two references": ("job", NEAR, at(0, 5, node="n1", clock_error_s=5.0, clock_shared_s=4.5, clock_reference="ntp"),
                       [at(3, 5, node="n2", clock_error_s=5.0, clock_shared_s=4.5, clock_reference="collector")]),
    "same node, untimed": ("node", NEAR, at(0, 0.5, node="n1", clock_error_s=0.5),
                           [at(5, 20, node="n1", clock_error_s=0.5)]),
    "untimed": ("job", NEAR, at(0), [at(-1800, 3600)]),
    "untimed, long before": ("job", NEAR, at(0), [at(-7200, 3600)]),
    "anchor untimed": ("job", NEAR, at(0, 3600), [at(1800)]),
    "next bucket": ("job", NEAR, at(59.5), [at(60.5)]),
    "counted": ("job", NEAR, at(0), [at(1, count=40), at(2, node="n3", count=2)]),
    "other nodes": ("job_other_nodes", NEAR, at(0, node="n1"),
                    [at(1, node="n1"), at(2, node="n2"), at(3, node="n3", count=4)]),
    "other nodes, none": ("job_other_nodes", NEAR, at(0, node="n1"), [at(1, node="n1")]),
    "node": ("node", NEAR, at(0, node="n1"), [at(1, node="n1"), at(2, node="n2")]),
    "device": ("device", NEAR, at(0, node="n1", device="d1"),
               [at(1, node="n1", device="d1"), at(2, node="n1", device="d2"), at(3, node="n2", device="d1")]),
    "no device": ("device", NEAR, at(0, node="n1"), [at(1, node="n1")]),
    "attribute": ("attr", NEAR, at(0, attrs={"qp": "7"}), [at(1, attrs={"qp": "7"}), at(2, attrs={"qp": "8"})]),
    "switch": ("switch", NEAR, at(0, node=None, port="sw1:1"), [at(1, node="n2"), at(2, node="n9")]),
}  # fmt: skip

ORDERED = {"same clock", "counted"}


def probes_of(cases) -> list[dict]:
    return [
        {
            "probe_id": n, "selector_id": n, "kind": kind, "kind_arg": "qp" if kind == "attr" else None,
            "lo_s": lo, "hi_s": hi, "bucket_s": bucket, "distinct_by": "node",
            "is_ordered": name in ORDERED,
        }
        for n, (name, (kind, (lo, hi, bucket), *_)) in enumerate(cases.items())
    ]  # fmt: skip


def run(spark, cases, *, beyond):
    """What each case's probe found, by name: (possible, certain, names)."""
    names = list(cases)
    anchors, events = [], []
    for name, (_, _, anchor, found) in cases.items():
        anchors.append(anchor | {"uid": name})
        events += [e | {"uid": name, "event_id": f"{name} {n}"} for n, e in enumerate(found)]
    links = [{"cluster": "c", "node": f"n{n}", "hca": "h", "switch": "sw1"} for n in (1, 2)]
    topology = frame(spark, TOPOLOGY, links)
    number = F.array_position(F.array(*(F.lit(n) for n in names)), F.col("uid")).cast("int") - 1
    placed = with_places(scoped(spark, events), topology).withColumn("selector_id", number)
    starts = with_places(scoped(spark, anchors), topology).select(
        "uid", number.alias("spec_id"), F.lit("x").alias("entity"), "home", "source_cluster", "workload_key", "user",
        F.array().cast("array<string>").alias("origin_nodes"),
        F.lit(moment("02:45:00")).alias("window_from"),
        F.when(~F.col("uid").contains("running"), F.lit(moment("03:40:00"))).alias("window_to"),
        F.struct(*FIRST_COLUMNS).alias("first"),
    )  # fmt: skip
    probes = frame(spark, PROBES, probes_of(cases))
    spec_probes = frame(spark, SPEC_PROBES, [{"spec_id": n, "probe_id": n} for n in range(len(names))])
    tagged = placed.withColumn("uid", F.lit(None).cast("string")).withColumn("ran", F.col("home")) if beyond else placed
    asked = needs(starts, spec_probes, probes, beyond=beyond)
    around = tagged.join(asked, "selector_id" if beyond else ["uid", "selector_id"])
    found = collected(probe(starts, spec_probes, probes, fold(around, beyond=beyond)))
    made = {r["uid"]: (r["possible"], r["certain"], sorted(r["names"])) for r in found}
    return {name: made.get(name) for name in names}, {r["uid"]: r["events"] for r in found} | {
        ("intervals", r["uid"]): r["intervals"] for r in found
    }


@pytest.fixture(scope="module")
def within(spark):
    return run(spark, WITHIN, beyond=False)


def test_an_event_counts_within_its_window_and_the_borders_belong_to_it(within):
    found, _ = within
    assert found["inside"] == (2, 2, ["n2"])
    assert found["outside"] is None
    assert found["next bucket"] == (1, 1, ["n2"])


def test_uncertain_clocks_make_it_possible_and_certain_only_when_no_time_speaks_against_it(within):
    found, _ = within
    assert found["may be inside"] == (1, 0, ["n2"])
    assert found["may be inside, mostly out"] == (1, 0, ["n2"])
    assert found["certainly out"] is None
    assert found["anchor uncertain"] == (1, 0, ["n2"])
    assert found["both uncertain, still certain"] == (1, 1, ["n2"])


def test_two_times_of_one_node_share_its_clock_so_its_error_does_not_count(within):
    found, _ = within
    assert found["same clock"] == (1, 1, ["n1"])
    assert found["same clock, wrong side"] is None
    assert found["two clocks"] == (1, 0, ["n2"])
    assert found["same node, untimed"] == (1, 0, ["n1"])
    assert found["a controller's word on the node"] == (1, 0, ["n1"])


def test_what_two_clocks_of_one_reference_share_of_their_errors_does_not_count(within):
    found, _ = within
    assert found["one reference"] == (1, 1, ["n2"])
    assert found["two references"] == (1, 0, ["n2"])


def test_events_of_a_wide_interval_are_found_from_any_bucket(within):
    found, _ = within
    assert found["untimed"] == (1, 0, ["n2"])
    assert found["untimed, long before"] is None
    assert found["anchor untimed"] == (1, 0, ["n2"])


def test_records_are_counted_not_events_and_events_are_named(within):
    found, events = within
    assert found["counted"] == (42, 42, ["n2", "n3"])
    assert events["counted"] == [("03:10:01", "counted 0"), ("03:10:02", "counted 1")]


def test_single_times_are_kept_only_for_sequences(within):
    _, found = within
    assert len(found["intervals", "same clock"]) == 1
    assert len(found["intervals", "counted"]) == 1  # two events of one bucket
    assert found["intervals", "inside"] == []


def test_other_nodes_leave_out_the_anchors_own(within):
    found, _ = within
    assert found["other nodes"] == (5, 5, ["n2", "n3"])
    assert found["other nodes, none"] is None


def test_places_are_met_by_equality(within):
    found, _ = within
    assert found["node"] == (1, 1, ["n1"])
    assert found["device"] == (1, 1, ["n1"])
    assert found["no device"] is None
    assert found["attribute"] == (1, 1, ["n2"])
    assert found["switch"] == (1, 1, ["n2"])


LONG = (-86_400.0, 7200.0, 3600)
OTHER, NOBODY = {"home": "c/other"}, {"home": None}
ON_NODE = {"node": "n1", "event_type": "gpu.xid"}
# The attempt's padded window is 02:45 to 03:40, the anchor at 03:10.
BEYOND = {
    "before my window": ("other_jobs_node", LONG, at(0, **ON_NODE), [at(-7200, **ON_NODE, **NOBODY)]),
    "in my window": ("other_jobs_node", LONG, at(0, **ON_NODE), [at(-600, **ON_NODE, **NOBODY)]),
    "after my window": ("other_jobs_node", LONG, at(0, **ON_NODE), [at(3600, **ON_NODE, **OTHER)]),
    "running, in my window": ("other_jobs_node", LONG, at(0, **ON_NODE), [at(-600, **ON_NODE, **NOBODY)]),
    "running, before my window": ("other_jobs_node", LONG, at(0, **ON_NODE), [at(-7200, **ON_NODE, **NOBODY)]),
    "another node": ("other_jobs_node", LONG, at(0, **ON_NODE), [at(-7200, node="n2", **NOBODY)]),
    "another cluster": ("other_jobs_node", LONG, at(0, **ON_NODE),
                        [at(-7200, **ON_NODE, **NOBODY, source_cluster="d")]),
    "my own lines before": ("workload", LONG, at(0, workload_key="u1/train", home="c/me"),
                            [at(-7200, workload_key="u1/train", home="c/me")]),
    "the same workload before": ("workload", LONG, at(0, workload_key="u1/train", home="c/me"),
                                 [at(-7200, workload_key="u1/train", **OTHER), at(-7300, workload_key="x", **OTHER)]),
    "the whole cluster": ("cluster", LONG, at(0), [at(-60, node="n8", **OTHER), at(-60, source_cluster="d", **OTHER)]),
}  # fmt: skip


@pytest.fixture(scope="module")
def beyond(spark):
    return run(spark, BEYOND, beyond=True)[0]


def test_other_jobs_of_this_node_count_outside_my_window_only(beyond):
    assert beyond["before my window"] == (1, 1, ["n1"])
    assert beyond["after my window"] == (1, 1, ["n1"])
    assert beyond["in my window"] is None
    assert beyond["another node"] is None
    assert beyond["another cluster"] is None


def test_the_window_of_a_running_attempt_has_no_end(beyond):
    assert beyond["running, before my window"] == (1, 1, ["n1"])
    assert beyond["running, in my window"] is None


def test_the_same_workload_is_that_of_other_jobs(beyond):
    assert beyond["the same workload before"] == (1, 1, ["n2"])
    assert beyond["my own lines before"] is None


def test_the_whole_cluster_is_my_cluster(beyond):
    assert beyond["the whole cluster"] == (1, 1, ["n8"])
