"""Inline tests of rules as plain rows: the columns that the tables promise, judged as extraction judges."""

from datetime import timedelta
from pathlib import Path

import pytest

from firstfault.rules.engine.catalogues import load_catalogues
from firstfault.rules.engine.inline import BASE_TIME, inline_attempts
from firstfault.rules.engine.inline_event import parse_event
from firstfault.rules.engine.load import load_rules
from firstfault.rules.engine.model import Rule
from firstfault.rules.engine.vocabulary import Vocabulary
from firstfault.transforms.attempts import ATTEMPTS
from firstfault.transforms.coverage import COVERAGE
from firstfault.transforms.placement import PLACEMENT
from firstfault.transforms.scoped_events import SCOPED_EVENTS
from firstfault.transforms.topology import TOPOLOGY

ROOT = Path(__file__).parents[2] / "rules"
VOCABULARY = Vocabulary.load(ROOT / "vocabulary.yaml")
CODES = load_catalogues(ROOT / "catalogues", VOCABULARY).code_rows()
RULES = load_rules(ROOT, VOCABULARY)
ROWS = inline_attempts(RULES, VOCABULARY, CODES)


def rows_of(events, **test):
    """Rows of one rule whose first test holds these events."""
    rule = Rule.model_validate(
        {
            "id": "some_rule",
            "title": "t",
            "status": "experimental",
            "category": "gpu_hardware",
            "anchor": {"event": "gpu.xid"},
            "blame": {"scope": "gpu", "from": "anchor.device"},
            "base": 1,
            "conclusion": {"en": "some conclusion"},
            "action": {"en": "some action"},
            "tests": [
                {"name": "one", "events": events, "expect": "match", **test},
                {"name": "two", "events": ["0 n1 sys.boot"], "expect": "none"},
            ],
        }
    )
    return inline_attempts([rule], VOCABULARY, CODES)


@pytest.mark.parametrize(
    ("rows", "table"),
    [
        (ROWS.attempts, ATTEMPTS),
        (ROWS.events, SCOPED_EVENTS),
        (ROWS.placement, PLACEMENT),
        (ROWS.topology, TOPOLOGY),
        (rows_of(["0 n1 sys.boot"], covered=["app_log"]).coverage, COVERAGE),
    ],
    ids=["attempts", "scoped_events", "placement", "topology", "coverage"],
)
def test_rows_have_the_columns_of_their_table(rows, table):
    assert rows
    for row in rows:
        assert set(row) == set(table.columns)
        assert all(row[f.name] is not None for f in table.fields if not f.nullable)


def test_every_test_of_every_rule_is_expected_once():
    assert len(ROWS.expected) == sum(len(r.tests) for r in RULES)
    keys = {e["job_id"] for e in ROWS.expected}
    assert len(keys) == len(ROWS.expected)
    assert keys <= {a["job_id"] for a in ROWS.attempts}
    assert {e["expect"] for e in ROWS.expected} == {"match", "none"}


def test_keys_are_unique():
    assert len({e["event_id"] for e in ROWS.events}) == len(ROWS.events)
    assert len({a["job_id"] for a in ROWS.attempts}) == len(ROWS.attempts)


def test_the_window_holds_the_events():
    rows = rows_of(["-7200 n1#0 comm.ib_async_event", "0 n1/0000:3b:00 gpu.xid code=79", "+5±2 n2 sys.boot"])
    attempt = rows.attempts[0]
    assert attempt["start"] == BASE_TIME - timedelta(seconds=7200)
    assert attempt["end"] == BASE_TIME + timedelta(seconds=65)
    assert attempt["nodes"] == ["n1", "n2"]
    assert rows.attempts[1]["start"] == BASE_TIME - timedelta(seconds=3600)
    assert rows.placement[0]["rank"] == 0


def test_an_interval_has_its_half_width_on_both_sides():
    event = rows_of(["+5±2 n2 sys.boot"]).events[0]
    assert event["t_high"] - event["t_low"] == timedelta(seconds=4)
    assert event["t"] == BASE_TIME + timedelta(seconds=5)
    assert event["clock_error_s"] == 2


@pytest.mark.parametrize(
    ("line", "node", "device", "port", "rank", "relation"),
    [
        ("0 n1 sys.boot", "n1", None, None, None, "node"),
        ("0 n1/0000:3b:00 gpu.xid code=79", "n1", "0000:3b:00", None, None, "node"),
        ("0 n1/0000:2a:00/5/2 gpu.xid code=94", "n1", "0000:2a:00/5/2", None, None, "node"),
        ("0 sw1:1 net.port_crc delta=4", None, None, "sw1:1", None, "port"),
        ("0 n1/mlx5_0/1 net.link_down", "n1", None, "n1/mlx5_0/1", None, "node"),
        ("0 n1#3 comm.peer_closed", "n1", None, None, 3, "own"),
        ("0 #3 comm.peer_closed", None, None, None, 3, "own"),
        ("0 n1#3 storage.no_space", "n1", None, None, 3, "own"),
        ("0 n1 storage.io_error", "n1", None, None, None, "node"),
        ("0 - sched.end state=FAILED", None, None, None, None, "cluster"),
        ("0 n1 sched.node_fail", "n1", None, None, None, "cluster"),
        ("0 - train.aborted", None, None, None, None, "own"),
        ("0 n1 sys.oom_kill relation=cluster", "n1", None, None, None, "cluster"),
    ],
)
def test_places_and_relations(line, node, device, port, rank, relation):
    event = parse_event(line, VOCABULARY)
    assert (event.node, event.device, event.port, event.rank) == (node, device, port, rank)
    assert event.relation == relation


def test_codes_are_judged_by_catalogue_then_vocabulary():
    lines = ["0 n1/0000:3b:00 gpu.xid code=45", "0 n1/0000:3b:00 gpu.xid code=99999", "0 n1 sys.boot"]
    known, unlisted, plain = rows_of(lines).events[:3]
    assert (known["code"], known["class"], known["role"]) == ("45", "channel_teardown", "teardown")
    assert (unlisted["code"], unlisted["class"], unlisted["role"]) == ("99999", None, "initiating")
    assert (plain["code"], plain["role"], plain["category"]) == (None, "context", "host_hardware")


def test_special_keys_override_and_quotes_keep_spaces():
    line = '0 n1#0 gpu.cuda_error name="a b" role=teardown class=x count=7 source=app'
    event = rows_of([line]).events[0]
    assert event["attrs"] == {"name": "a b"}
    assert (event["role"], event["class"], event["count"], event["source"]) == ("teardown", "x", 7, "app")


def test_an_event_of_another_job_makes_that_job():
    rows = rows_of(["0 n1/0000:3b:00 gpu.xid code=31", "-86400 n1/0000:3b:00 gpu.xid code=31 job=other"])
    mine, other = rows.attempts[:2]
    assert other["job_id"] == f"{mine['job_id']}~other"
    assert other["workload_key"] == mine["workload_key"]
    assert other["end"] < mine["start"]
    assert [e["job_id"] for e in rows.events[:2]] == [mine["job_id"], other["job_id"]]


def test_topology_names_both_ends_rack_and_power_domain():
    row = rows_of(["0 n1 sys.boot"], topology={"n1": "sw1:7", "n9": "sw2:1"}).topology[0]
    assert (row["hca_port"], row["leaf_port"]) == ("n1/mlx5_0/1", "sw1:7")
    assert (row["rack"], row["power_domain"], row["switch_port"]) == ("r-sw1", "p-sw1", "7")
    attempt = rows_of(["0 n1 sys.boot"], topology={"n9": "sw2:1"}, nodes=["n5"], ranks={0: "n6"}).attempts[0]
    assert attempt["nodes"] == ["n1", "n5", "n6", "n9"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("0 n1", "give offset, place and event type"),
        ("x n1 sys.boot", "x is no offset"),
        ("0 n1 sys.boots", "sys.boots is not in the vocabulary"),
        ("0 n1 sys.boot now", "now is no key=value"),
        ("0 n1 sys.boot why=x", "why is no attribute of sys.boot"),
        ("0 n1/0000:3b:00 gpu.xid code=many", "code=many is no int"),
        ("0 n1 sys.boot count=many", "count=many is no int"),
    ],
)
def test_a_wrong_line_says_what_is_wrong(line, said):
    with pytest.raises(ValueError, match=said):
        parse_event(line, VOCABULARY)
