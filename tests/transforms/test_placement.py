"""Which rank ran where."""

from firstfault.transforms.attempts import ATTEMPTS
from firstfault.transforms.placement import PLACEMENT, build_placement, fill_nodes
from firstfault.transforms.scoped_events import SCOPED_EVENTS
from tests.frames import frame, rows

SEEN = "cluster string, job_id string, attempt_hint int, rank int, node string"


def test_ranks_come_from_paths_and_initialisation_lines_know_better(spark):
    def attempt(job, number, *nodes):
        return {
            "cluster": "alpha", "source_cluster": "c", "job_id": job, "attempt": number, "nodes": list(nodes),
            "day": "2026-11-20",
        }  # fmt: skip

    def line(job, rank, event_type="comm.init_complete", **given):
        return {
            "cluster": "alpha", "job_id": job, "attempt": 0, "day": "2026-11-20", "rank": rank, "relation": "own",
            "event_type": event_type,
        } | given  # fmt: skip

    def task(job, tasks, by="srun", **given):
        return line(job, None, "proc.exit", attrs={"tasks": tasks, "by": by}, **given)

    def path(job, rank, node=None, hint=None, cluster="c"):
        return {"cluster": cluster, "job_id": job, "attempt_hint": hint, "rank": rank, "node": node}

    attempts = [attempt("1", 0, "n1", "n2"), attempt("1", 1, "n3", "n4"), attempt("2", 0, "n9")]
    seen = [
        path("1", 0, "n1", hint=0),
        path("1", 1, "n2", hint=0),
        path("1", 2, hint=0),
        path("1", 0, "n3", hint=1),
        path("2", 0),
        path("2", None, "n9"),
        path("2", 5, "n5", cluster="d"),
        path("7", 0, "n1"),
    ]
    lines = [
        line("1", 1, node="n1", device="0000:3b:00"),
        line("1", 2, node=None, device="0000:5d:00"),
        line("1", 3, node="n2"),
        line("1", None, node="n2"),
        line("1", 0, "train.step", node="n2", device="0000:99:00"),
        task("1", "8", node="n1"),
        task("3", "0-1,3", node="n1"),
        task("3", "4", node="n2"),
        task("3", "6-5,x", node="n2"),
        task("3", "0-2147483647", node="n2"),  # a corrupt line
        task("4", "0", node="n1"),
        task("4", "1", node="n2"),
        task("4", "2", node="n1", by=None),
    ]
    made = build_placement(
        frame(spark, SEEN, seen), frame(spark, SCOPED_EVENTS, lines), frame(spark, ATTEMPTS, attempts)
    )
    assert rows(made, "cluster", "job_id", "attempt", "rank", "node", "device", "basis") == [
        ("alpha", "1", 0, 0, "n1", None, "path"),
        ("alpha", "1", 0, 1, "n1", "0000:3b:00", "init_line"),
        ("alpha", "1", 0, 2, None, "0000:5d:00", "init_line"),
        ("alpha", "1", 0, 3, "n2", None, "init_line"),
        ("alpha", "1", 1, 0, "n3", None, "path"),
        ("alpha", "2", 0, 0, "n9", None, "path"),
        # Several tasks a node are ranks; one a node starts others, and its number is no rank.
        ("alpha", "3", 0, 0, "n1", None, "task"),
        ("alpha", "3", 0, 1, "n1", None, "task"),
        ("alpha", "3", 0, 3, "n1", None, "task"),
        ("alpha", "3", 0, 4, "n2", None, "task"),
    ]


def test_an_event_that_names_only_its_rank_gets_the_node_that_the_rank_ran_on(spark):
    key = {"cluster": "alpha", "job_id": "1", "attempt": 0}
    events = [
        key | {"event_id": "by rank", "rank": 3, "relation": "own"},
        key | {"event_id": "names its node", "rank": 3, "node": "n7", "relation": "own"},
        key | {"event_id": "unknown rank", "rank": 9, "relation": "own"},
        key | {"event_id": "no rank", "relation": "own"},
        key | {"event_id": "rank nobody placed", "rank": 4, "relation": "own"},
        key | {"event_id": "other attempt", "attempt": 1, "rank": 3, "relation": "own"},
    ]
    ranks = [key | {"rank": 3, "node": "n2"}, key | {"rank": 4}]
    attempts = [key | {"nodes": ["n2", "n7"]}, key | {"job_id": "2", "nodes": ["n5"]}]
    events += [
        key | {"job_id": "2", "event_id": "a job of one node", "relation": "own"},
        key | {"job_id": "2", "event_id": "of a port it uses", "relation": "port", "port": "sw1:1"},
    ]
    filled = fill_nodes(
        frame(spark, SCOPED_EVENTS, events), frame(spark, PLACEMENT, ranks), frame(spark, ATTEMPTS, attempts)
    )
    assert filled.columns == SCOPED_EVENTS.columns
    assert rows(filled, "event_id", "node", "rank") == [
        ("a job of one node", "n5", None),
        ("by rank", "n2", 3),
        ("names its node", "n7", 3),
        ("no rank", None, None),
        ("of a port it uses", None, None),
        ("other attempt", None, 3),
        ("rank nobody placed", None, 4),
        ("unknown rank", None, 9),
    ]
