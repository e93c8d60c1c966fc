"""Which verdicts lean on poor input."""

from firstfault.transforms.clock_faults import CLOCK_FAULTS, faulty_clocks
from firstfault.transforms.data_quality import DATA_QUALITY, poor_inputs, poor_sources
from tests.frames import frame, rows, scoped

WINNERS = "uid string, source_cluster string, event_ids array<string>"


def poor(node="n1", source="kernel", **given) -> dict:
    return {"cluster": "c", "node": node, "source": source, "text": f"{source} is poor"} | given


def leaning(spark, *quality: dict, faults: tuple[dict, ...] = ()) -> dict:
    events = [
        {"uid": "a", "event_id": "x", "t": "03:00:00", "node": "n1", "source": "kernel"},
        {"uid": "a", "event_id": "y", "t": "03:10:00", "node": "n2", "source": "app"},
        {"uid": "a", "event_id": "unused", "t": "03:00:00", "node": "n3", "source": "kernel"},
        {"uid": "b", "event_id": "z", "t": "03:00:00", "node": None, "source": "slurmctld"},
    ]
    winners = [
        {"uid": "a", "source_cluster": "c", "event_ids": ["x", "y"]},
        {"uid": "b", "source_cluster": "c", "event_ids": ["z"]},
    ]
    sources = poor_sources(frame(spark, DATA_QUALITY, quality), 0.85)
    clocks = faulty_clocks(frame(spark, CLOCK_FAULTS, faults), 0.95)
    found = poor_inputs(frame(spark, WINNERS, winners), scoped(spark, events), sources.unionByName(clocks))
    return {uid: said if factor == 0.85 else (said, factor) for uid, said, factor in rows(found)}


def test_a_verdict_leans_on_the_sources_of_the_events_that_it_rests_on(spark):
    assert leaning(spark, poor(), poor("n2", "app"), poor("n3"), poor("n1", "app")) == {
        "a": ["app of n2: app is poor", "kernel of n1: kernel is poor"]
    }


def test_a_source_that_is_poor_everywhere_is_poor_on_every_node(spark):
    assert leaning(spark, poor(None, "slurmctld"), poor(None)) == {
        "a": ["kernel: kernel is poor"],
        "b": ["slurmctld: slurmctld is poor"],
    }


def test_other_clusters_other_times_and_counts_of_rows_do_not_matter(spark):
    assert leaning(spark, poor(cluster="d"), poor(cluster=None), poor(source=None)) == {}
    assert leaning(spark, poor(t_from="03:00:01", t_to="05:00:00"), poor(t_from="01:00:00", t_to="02:59:59")) == {}
    assert leaning(spark, poor(t_from="02:00:00", t_to="03:00:00")) == {"a": ["kernel of n1: kernel is poor"]}


def fault(node="n1", source="*", **given) -> dict:
    return {
        "cluster": "c", "node": node, "source": source, "fault": "off", "text": "off by 6 s", "day": "2026-11-20",
    } | given  # fmt: skip


def test_a_verdict_leans_on_the_clocks_that_wrote_its_events_of_that_day(spark):
    assert leaning(spark, faults=(fault(), fault("n3"), fault("n1", "app"), fault(day="2026-11-18"))) == {
        "a": (["clock of n1: off by 6 s"], 0.95)
    }
    assert leaning(spark, faults=(fault("n2", "app"),)) == {"a": (["app of n2: off by 6 s"], 0.95)}


def test_the_worst_of_what_a_verdict_leans_on_counts(spark):
    assert leaning(spark, poor(), faults=(fault("n2"),)) == {
        "a": ["clock of n2: off by 6 s", "kernel of n1: kernel is poor"]
    }
