"""The tests inside rule files as plain rows: small attempts, their events, what each rule must say."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from firstfault.rules.engine.inline_event import InlineEvent, parse_event
from firstfault.rules.engine.model import Rule, RuleTest
from firstfault.rules.engine.vocabulary import Vocabulary
from firstfault.transforms.hits import ENTITIES

Row = dict[str, Any]
BASE_TIME = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)
"""Offset 0 of every test."""
BEFORE = timedelta(seconds=3600)
AFTER = timedelta(seconds=60)
HCA = "mlx5_0"
APART = "~"
"""Between a test's job and the name of another job in it."""


@dataclass
class InlineRows:
    """Rows of all tests, by table; `expected` holds job_id, rule_id, test, expect and origin."""

    attempts: list[Row] = field(default_factory=list)
    events: list[Row] = field(default_factory=list)
    placement: list[Row] = field(default_factory=list)
    topology: list[Row] = field(default_factory=list)
    coverage: list[Row] = field(default_factory=list)
    expected: list[Row] = field(default_factory=list)


def inline_attempts(
    rules: Sequence[Rule], vocabulary: Vocabulary, catalogues: Iterable[Mapping[str, Any]]
) -> InlineRows:
    """Rows for every test of every rule.

    Args:
        rules: Loaded rules.
        vocabulary: Roles and categories of events.
        catalogues: Rows with catalogue, code, class, role and category.
    """
    known = {(str(row["catalogue"]), str(row["code"])): row for row in catalogues}
    rows = InlineRows()
    for rule in rules:
        for number, test in enumerate(rule.tests):
            job_id = f"{rule.id}.{number}"
            events = [parse_event(line, vocabulary) for line in test.events]
            _add_test(rows, job_id, test, events)
            rows.events += [_event_row(job_id, n, e, vocabulary, known) for n, e in enumerate(events)]
            rows.expected.append(
                {
                    "job_id": job_id,
                    "rule_id": rule.id,
                    "test": test.name,
                    "expect": test.expect,
                    "origin": None if test.origin is None else sorted(test.origin),
                }
            )
    return rows


def _add_test(rows: InlineRows, job_id: str, test: RuleTest, events: Sequence[InlineEvent]) -> None:
    """Attempt, ranks, topology and coverage of one test, and the other job where an event names it."""
    mine = [e for e in events if e.other is None]
    named = {e.node for e in mine if e.node is not None}
    nodes = sorted(named | set(test.topology) | set(test.ranks.values()) | set(test.nodes))
    attempt = _attempt_row(job_id, job_id, nodes, mine, BASE_TIME - BEFORE)
    rows.attempts.append(attempt)
    for other in sorted({e.other for e in events if e.other is not None}):
        theirs = [e for e in events if e.other == other]
        first = BASE_TIME + timedelta(seconds=min(e.offset_s for e in theirs)) - AFTER
        their_nodes = sorted({e.node for e in theirs if e.node is not None})
        rows.attempts.append(_attempt_row(f"{job_id}{APART}{other}", job_id, their_nodes, theirs, first))
    ranks = {e.rank: e.node for e in mine if e.rank is not None and e.node is not None} | test.ranks
    rows.placement += [_placement_row(job_id, rank, node) for rank, node in sorted(ranks.items())]
    rows.topology += [_topology_row(job_id, node, leaf) for node, leaf in sorted(test.topology.items())]
    rows.coverage += [_coverage_row(attempt, kind) for kind in sorted(test.covered)]


def _cluster(job_id: str) -> str:
    """A cluster per test, since tests share node names; the other job of a test is on the same one."""
    return job_id.partition(APART)[0]


def _key(job_id: str) -> Row:
    return {"cluster": _cluster(job_id), "job_id": job_id, "attempt": 0, "day": BASE_TIME.date()}


def _attempt_row(job_id: str, workload: str, nodes: list[str], events: Sequence[InlineEvent], start: datetime) -> Row:
    offsets = [e.offset_s for e in events]
    own = [e.offset_s for e in events if e.relation == "own"]
    start = min(start, BASE_TIME + timedelta(seconds=min(own, default=0.0)))
    return {
        **_key(job_id),
        "source_cluster": _cluster(job_id),
        "workload_key": f"tester/{workload}",
        "job_name": workload,
        "user": f"user of {workload}",
        "account": None,
        "partition": None,
        "namespace": None,
        "submit": start,
        "start": start,
        "end": BASE_TIME + timedelta(seconds=max(offsets, default=0.0)) + AFTER,
        "end_basis": "scheduler",
        "time_limit_s": None,
        "nodes": nodes,
        "gpus": None,
        "state": "FAILED",
        "reason": None,
        "exit_code": 1,
        "signal": None,
        "restarts": 0,
        "aliases": [],
        "outcome_hint": "failed",
        "is_ended": True,
        "is_failure": True,
        "scope_source": "scheduler",
    }


def _placement_row(job_id: str, rank: int, node: str) -> Row:
    return {**_key(job_id), "rank": rank, "node": node, "device": None, "basis": "path"}


def _topology_row(job_id: str, node: str, leaf: str) -> Row:
    switch, _, port = leaf.partition(":")
    return {
        "cluster": _cluster(job_id),
        "node": node,
        "hca": HCA,
        "rack": f"r-{switch}",
        "power_domain": f"p-{switch}",
        "pod": None,
        "switch": switch,
        "switch_port": port,
        "hca_port": f"{node}/{HCA}/1",
        "leaf_port": leaf,
    }


def _coverage_row(attempt: Row, kind: str) -> Row:
    key = {k: attempt[k] for k in ("cluster", "job_id", "attempt", "day")}
    window = {"first": attempt["start"], "last": attempt["end"], "lines": 1, "delivered_throughout": True}
    nothing = dict.fromkeys(("lost_lines", "gap_from", "gap_to", "clock_offset_s", "clock_error_s"))
    return {**key, "node": None, "kind": kind, **window, **nothing, "gaps": 0, "clock_faults": []}


def _event_row(
    job_id: str,
    number: int,
    event: InlineEvent,
    vocabulary: Vocabulary,
    catalogues: Mapping[tuple[str, str], Mapping[str, Any]],
) -> Row:
    """The event as scoping would give it, judged as extraction would."""
    word = vocabulary.events[event.event_type]
    code = event.special.get("code", event.attrs.get(word.key or ""))
    judged = catalogues.get((word.catalogue or "", code or ""), {})
    t = BASE_TIME + timedelta(seconds=event.offset_s)
    half = timedelta(seconds=event.half_width_s)
    home = job_id if event.other is None else f"{job_id}{APART}{event.other}"
    return {
        **_key(home),
        "relation": event.relation,
        "event_id": f"{job_id}:{number}",
        "event_type": event.event_type,
        "t": t,
        "t_low": t - half,
        "t_high": t + half,
        "t_raw": t,
        "t_last": t,
        "time_basis": "zoned",
        "clock": "server:sched" if event.relation == "cluster" else event.node,
        "clock_error_s": event.half_width_s,
        "clock_shared_s": 0.0,
        "clock_reference": None,
        **{name: getattr(event, name) for name in ENTITIES},
        "code": code,
        "class": event.special.get("class") or judged.get("class"),
        "role": event.special.get("role") or judged.get("role") or word.role,
        "category": judged.get("category") or word.category,
        "count": int(event.special.get("count", 1)),
        "attrs": dict(event.attrs),
        "source": event.special.get("source", "inline"),
        "stream_id": job_id,
        "byte_offset": number,
        "file": "rule",
        "line_no": number + 1,
        "text": event.event_type,
        "pattern_id": None,
    }
