"""What rules share, each thing numbered once: selectors, anchors, probes and the probes judged together."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from firstfault.rules.engine.clauses import AnyClause, Looking, Selector, Silence, Step, Test, WindowS
from firstfault.rules.engine.clauses import Sequence as SequenceClause
from firstfault.rules.engine.model import Rule
from firstfault.transforms.composites import SEQUENCE, SILENCE
from firstfault.transforms.reporters import LAST, STOPPED

BUCKETS_S = ((600, 30), (21_600, 300))
"""Windows up to 10 minutes are joined by 30 s buckets, up to 6 hours by 5 minutes, longer ones by 6 hours: a window
then spans some tens of buckets at most."""
LONG_BUCKET_S = 21_600
_KINDS = {
    "same_device": "device",
    "same_node": "node",
    "same_port": "port",
    "same_switch": "switch",
    "same_rack": "rack",
    "same_power_domain": "power_domain",
    "filesystem": "filesystem",
    "job": "job",
    "job_other_nodes": "job_other_nodes",
    "origin_node": "origin_node",
    "cluster": "cluster",
    "other_jobs_same_node": "other_jobs_node",
    "other_jobs_same_device": "other_jobs_device",
    "same_workload": "workload",
    "same_user": "user",
}
BY_TIME = (STOPPED, LAST)
"""Blames that compare when reporters spoke."""


@dataclass
class Numbering:
    """Distinct things in order of first use; equal ones share a number."""

    numbers: dict[Any, int] = field(default_factory=dict)

    def __call__(self, key: Any) -> int:  # noqa: ANN401
        """Number of the thing, a new one at its first use."""
        return self.numbers.setdefault(key, len(self.numbers))


@dataclass
class Numbers:
    """What rules share: selectors, anchors, probes and composites, each numbered once."""

    selectors: Numbering = field(default_factory=Numbering)
    specs: Numbering = field(default_factory=Numbering)
    probes: Numbering = field(default_factory=Numbering)
    composites: Numbering = field(default_factory=Numbering)

    def selector(self, selector: Selector | Step) -> int:
        """Number of the (event, where)."""
        return self.selectors(_selector_key(selector))

    def probe(self, place: Looking, selector: Selector | Step, window_s: WindowS, distinct_by: str = "node") -> int:
        """Number of what is looked for around an anchor."""
        key = (self.selector(selector), *_relation(place.relation), *window_s, _bucket_s(window_s), distinct_by)
        return self.probes(key)

    def composite(self, kind: str, steps: Sequence[int | None]) -> int:
        """Number of probes judged together, below zero to tell it from a probe's."""
        return -1 - self.composites((kind, tuple(steps)))


def spec_key(rule: Rule, numbers: Numbers) -> tuple[Any, ...]:
    """What tells one anchor from another: its selector, what it blames and how, and what takes it back."""
    kind, _, arg = rule.blame.source.partition(":")
    by_s = rule.blame.by_s if kind in BY_TIME else None
    suppress = tuple((numbers.selector(s), *_relation(s.relation), s.within_s) for s in rule.anchor.suppress)
    return (numbers.selector(rule.anchor), kind.removeprefix("anchor."), arg or None, rule.blame.scope, by_s, suppress)


def probe_of(clause: AnyClause, numbers: Numbers) -> tuple[int, list[int]]:
    """The number of a clause's probe, and the numbers of those that it is put together from."""
    if isinstance(clause, SequenceClause):
        steps = [None if s.event is None else numbers.probe(clause, s, clause.window_s) for s in clause.steps]
        return numbers.composite(SEQUENCE, steps), [s for s in steps if s is not None]
    if isinstance(clause, Silence):
        begin_s, end_s = clause.window_s
        others = Looking(relation="job_other_nodes")
        parts = [
            numbers.probe(clause, clause, (begin_s - clause.before_s, begin_s)),
            numbers.probe(clause, clause, (begin_s, end_s)),
            numbers.probe(others, clause, (begin_s, end_s)),
        ]
        return numbers.composite(SILENCE, parts), parts
    return numbers.probe(clause, clause, clause.window_s, getattr(clause, "distinct_by", "node")), []


def _selector_key(selector: Selector | Step) -> tuple[str, tuple[Any, ...]]:
    tests = []
    for name, test in sorted(selector.where.items()):
        tests += _predicates(name, test if isinstance(test, Test) else Test(eq=test))
    return str(selector.event), tuple(tests)


def _predicates(name: str, test: Test) -> list[tuple[str, str, tuple[str, ...], float | None]]:
    """(field, op, texts, number) per bound of a test."""
    given = {op: getattr(test, op) for op in test.model_fields_set}
    found: list[tuple[str, str, tuple[str, ...], float | None]] = []
    for op, value in sorted(given.items()):
        if op in {"gte", "lte"}:
            found.append((name, op, (), float(value)))
        else:
            values = value if isinstance(value, list) else [value]
            found.append((name, op, tuple(_text(v) for v in values), None))
    return found


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _relation(relation: str) -> tuple[str, str | None]:
    kind, _, arg = relation.partition(":")
    return ("attr", arg) if kind == "attr" else (_KINDS[kind], None)


def _bucket_s(window_s: WindowS) -> int:
    length_s = window_s[1] - window_s[0]
    return next((bucket for longest, bucket in BUCKETS_S if length_s <= longest), LONG_BUCKET_S)
