"""Rules as tables: equal things shared, buckets chosen by window, numbers that do not depend on order."""

from pathlib import Path

import pytest

from firstfault.rules.engine.compile import compile_rules
from firstfault.rules.engine.load import load_rules
from firstfault.rules.engine.model import Rule
from firstfault.rules.engine.vocabulary import Vocabulary
from firstfault.transforms.filesystems import NAMING
from firstfault.transforms.rule_tables import TABLES

ROOT = Path(__file__).parents[2] / "rules"
VOCABULARY = Vocabulary.load(ROOT / "vocabulary.yaml")
RULES = load_rules(ROOT, VOCABULARY)


def rule(name, **given):
    """A rule with the least it needs."""
    return Rule.model_validate(
        {
            "id": name,
            "title": "t",
            "status": "experimental",
            "category": "gpu_hardware",
            "anchor": {"event": "gpu.xid", "where": {"code": 79}},
            "blame": {"scope": "gpu", "from": "anchor.device"},
            "base": 1,
            "conclusion": {"en": "some conclusion"},
            "action": {"en": "some action"},
            "tests": [
                {"name": "one", "events": ["0 n1 sys.boot"], "expect": "match"},
                {"name": "two", "events": ["0 n1 sys.boot"], "expect": "none"},
            ],
            **given,
        }
    )


def clause(event="comm.peer_closed", relation="job", window_s=(-5, 60), **given):
    return {"event": event, "relation": relation, "window_s": list(window_s), **given}


def test_rows_have_the_columns_of_their_tables():
    tables = compile_rules(RULES, VOCABULARY)
    assert set(tables) == set(TABLES)
    assert all(tables[name] for name in ("selectors", "specs", "rules", "probes", "clauses", "spec_probes", "explains"))
    for name, rows in tables.items():
        assert all(set(row) == set(TABLES[name].names) for row in rows), name


def test_numbers_do_not_depend_on_the_order_of_files():
    assert compile_rules(RULES, VOCABULARY) == compile_rules(RULES[::-1], VOCABULARY)


def test_equal_anchors_and_clauses_are_shared():
    tables = compile_rules(
        [
            rule("rule_a", support=[clause(weight=2)]),
            rule("rule_b", support=[clause(weight=1, required=True)], unless=[clause(window_s=(-9, 60))]),
        ],
        VOCABULARY,
    )
    assert len(tables["specs"]) == 1
    assert len(tables["probes"]) == 2
    assert len(tables["spec_probes"]) == 2
    # Steps and names are always asked for.
    assert len({s["selector_id"] for s in tables["selectors"]}) == 2 + 1 + len(NAMING)
    assert [c["kind"] for c in tables["clauses"]] == ["support", "support", "unless"]
    first, second, _ = tables["clauses"]
    assert first["probe_id"] == second["probe_id"]
    assert (first["weight"], second["required"]) == (2.0, True)


def test_another_blame_is_another_anchor_of_the_same_selector():
    by_node = rule("rule_b", blame={"scope": "node", "from": "anchor.node"})
    tables = compile_rules([rule("rule_a"), by_node], VOCABULARY)
    assert [s["blame"] for s in tables["specs"]] == ["device", "node"]
    assert len({s["selector_id"] for s in tables["specs"]}) == 1


def test_the_library_shares_much():
    tables = compile_rules(RULES, VOCABULARY)
    assert len(tables["probes"]) < 0.8 * len(tables["clauses"])


@pytest.mark.parametrize(
    ("window_s", "bucket_s"),
    [((-5, 60), 30), ((0, 600), 30), ((0, 601), 300), ((-21600, 0), 300), ((-86400, 0), 21600)],
)
def test_bucket_follows_the_length_of_the_window(window_s, bucket_s):
    tables = compile_rules([rule("rule_a", support=[clause(window_s=window_s)])], VOCABULARY)
    assert tables["probes"][0]["bucket_s"] == bucket_s


def test_tests_become_predicates():
    where = {"delta": {"gte": 100}, "counter": {"in": ["a", "b"]}, "role": "initiating"}
    tables = compile_rules([rule("rule_a", anchor={"event": "net.port_crc", "where": where})], VOCABULARY)
    assert tables["selectors"][-1]["predicates"] == [
        {"field": "counter", "op": "one_of", "texts": ("a", "b"), "number": None},
        {"field": "delta", "op": "gte", "texts": (), "number": 100.0},
        {"field": "role", "op": "eq", "texts": ("initiating",), "number": None},
    ]


def test_globs_become_one_row_a_type_under_one_selector():
    tables = compile_rules([rule("rule_a", support=[clause(event="data.worker_*")])], VOCABULARY)
    selector = tables["probes"][0]["selector_id"]
    types = [s["event_type"] for s in tables["selectors"] if s["selector_id"] == selector]
    assert types == ["data.worker_bus_error", "data.worker_error", "data.worker_killed"]


def test_a_rule_explains_its_own_anchor():
    tables = compile_rules([rule("rule_a", explains=["comm.peer_closed"])], VOCABULARY)
    assert [e["event_type"] for e in tables["explains"]] == ["comm.peer_closed", "gpu.xid"]


def test_relations_and_blames_keep_their_argument():
    given = rule(
        "rule_a",
        anchor={"event": "storage.usage"},
        blame={"scope": "filesystem", "from": "attr:mount"},
        support=[clause(event="storage.usage", relation="attr:fs"), clause(relation="other_jobs_same_node")],
    )
    tables = compile_rules([given], VOCABULARY)
    assert (tables["specs"][0]["blame"], tables["specs"][0]["blame_arg"]) == ("attr", "mount")
    assert [(p["kind"], p["kind_arg"]) for p in tables["probes"]] == [("attr", "fs"), ("other_jobs_node", None)]


def test_specificity_counts_what_is_asked_for():
    plain = rule("rule_a")
    asking = rule("rule_b", support=[clause(required=True), clause(window_s=(0, 1))], unless=[clause()])
    assert plain.specificity == 1
    assert asking.specificity == 1 + 2


def test_a_sequence_is_its_probes_and_the_anchor_in_order():
    steps = [{"event": "pcie.aer"}, {"anchor": True}, {"event": "sys.boot"}]
    given = rule("rule_a", sequence=[{"steps": steps, "relation": "same_node", "window_s": [-600, 60]}])
    tables = compile_rules([given], VOCABULARY)
    first, second = (p["probe_id"] for p in tables["probes"])
    assert [(c["composite"], c["step_no"], c["step_probe_id"]) for c in tables["composites"]] == [
        ("sequence", 0, first),
        ("sequence", 1, None),
        ("sequence", 2, second),
    ]
    assert all(p["is_ordered"] for p in tables["probes"])
    assert [c["probe_id"] for c in tables["clauses"]] == [tables["composites"][0]["probe_id"]]
    assert {p["probe_id"] for p in tables["spec_probes"]} == {first, second, tables["clauses"][0]["probe_id"]}


def test_a_silence_asks_before_after_and_of_the_others():
    silence = {"event": "train.step", "relation": "same_node", "before_s": 900, "window_s": [10, 600]}
    tables = compile_rules([rule("rule_a", silence=[silence | {"needs_coverage": "app_log"}])], VOCABULARY)
    assert [(p["kind"], p["lo_s"], p["hi_s"]) for p in tables["probes"]] == [
        ("node", -890, 10),
        ("node", 10, 600),
        ("job_other_nodes", 10, 600),
    ]
    assert not any(p["is_ordered"] for p in tables["probes"])
    assert [c["composite"] for c in tables["composites"]] == ["silence"] * 3
    assert tables["clauses"][0]["kind"] == "silence"


def test_what_takes_an_anchor_back_makes_it_another_anchor():
    back = {"event": "storage.nfs_ok", "relation": "attr:server", "within_s": 30}
    anchor = {"event": "storage.nfs_stall", "suppress": [back]}
    plain = {"event": "storage.nfs_stall"}
    tables = compile_rules([rule("rule_a", anchor=anchor), rule("rule_b", anchor=plain)], VOCABULARY)
    assert len(tables["specs"]) == 2
    assert [(s["spec_id"], s["kind"], s["kind_arg"], s["within_s"]) for s in tables["suppressions"]] == [
        (tables["rules"][0]["spec_id"], "attr", "server", 30)
    ]


def test_only_blames_that_compare_times_keep_by_how_much():
    stopped = rule("rule_a", anchor={"event": "train.step"}, blame={"scope": "node", "from": "stopped", "by_s": 90})
    tables = compile_rules([stopped, rule("rule_b", blame={"scope": "gpu", "from": "anchor.device"})], VOCABULARY)
    assert [s["by_s"] for s in tables["specs"]] == [90, None]
