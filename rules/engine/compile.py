"""Rules -> rows of `transforms.rule_tables`: distinct selectors, anchors and probes, shared by all rules."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from firstfault.rules.engine.model import Absence, Anchor, Clause, Rule, Selector, Test, Unless
from firstfault.rules.engine.vocabulary import Vocabulary

Row = dict[str, Any]
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
    "cluster": "cluster",
    "other_jobs_same_node": "other_jobs_node",
    "other_jobs_same_device": "other_jobs_device",
    "same_workload": "workload",
    "same_user": "user",
}


@dataclass
class _Numbering:
    """Distinct things in order of first use; equal ones share a number."""

    numbers: dict[Any, int] = field(default_factory=dict)

    def __call__(self, key: Any) -> int:  # noqa: ANN401
        return self.numbers.setdefault(key, len(self.numbers))


def compile_rules(rules: Sequence[Rule], vocabulary: Vocabulary) -> dict[str, list[Row]]:
    """Rows per table of `rule_tables.TABLES`.

    Args:
        rules: Validated rules; deprecated ones are left out by the caller.
        vocabulary: Expands globs to event types.
    """
    selectors, specs, probes = _Numbering(), _Numbering(), _Numbering()
    spec_probes: dict[tuple[int, int], None] = {}
    rule_rows: list[Row] = []
    clause_rows: list[Row] = []
    explains: list[Row] = []
    for rule in sorted(rules, key=lambda r: r.id):
        spec = specs((selectors(_selector_key(rule.anchor)), *_blame(rule), rule.blame.scope))
        rule_rows.append(_rule_row(rule, spec))
        for number, clause in enumerate((*rule.support, *rule.unless, *rule.absence)):
            probe = probes((selectors(_selector_key(clause)), *_relation(clause), *clause.window_s, _bucket_s(clause)))
            spec_probes[spec, probe] = None
            clause_rows.append(_clause_row(rule, number, clause, probe))
        types = {t for glob in (*rule.explains, rule.anchor.event) for t in vocabulary.expand(glob)}
        explains += [{"rule_id": rule.id, "event_type": t} for t in sorted(types)]
    return {
        "selectors": _selector_rows(selectors, vocabulary),
        "specs": _rows(specs, "spec_id", "selector_id", "blame", "blame_arg", "scope"),
        "rules": rule_rows,
        "probes": _rows(probes, "probe_id", "selector_id", "kind", "kind_arg", "lo_s", "hi_s", "bucket_s"),
        "clauses": clause_rows,
        "spec_probes": [{"spec_id": s, "probe_id": p} for s, p in spec_probes],
        "explains": explains,
    }


def _rows(numbering: _Numbering, number: str, *names: str) -> list[Row]:
    return [{number: n, **dict(zip(names, key, strict=True))} for key, n in numbering.numbers.items()]


def _selector_key(selector: Selector | Anchor) -> tuple[str, tuple[Any, ...]]:
    tests = []
    for name, test in sorted(selector.where.items()):
        tests += _predicates(name, test if isinstance(test, Test) else Test(eq=test))
    return selector.event, tuple(tests)


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


def _selector_rows(selectors: _Numbering, vocabulary: Vocabulary) -> list[Row]:
    rows = []
    for (event, tests), number in selectors.numbers.items():
        predicates = [dict(zip(("field", "op", "texts", "number"), t, strict=True)) for t in tests]
        rows += [
            {"selector_id": number, "event_type": event_type, "predicates": predicates}
            for event_type in sorted(vocabulary.expand(event))
        ]
    return rows


def _blame(rule: Rule) -> tuple[str, str | None]:
    kind, _, arg = rule.blame.source.partition(":")
    return kind.removeprefix("anchor."), arg or None


def _relation(clause: Clause) -> tuple[str, str | None]:
    kind, _, arg = clause.relation.partition(":")
    return ("attr", arg) if kind == "attr" else (_KINDS[kind], None)


def _bucket_s(clause: Clause) -> int:
    length_s = clause.window_s[1] - clause.window_s[0]
    return next((bucket for longest, bucket in BUCKETS_S if length_s <= longest), LONG_BUCKET_S)


def _rule_row(rule: Rule, spec: int) -> Row:
    return {
        "rule_id": rule.id,
        "title": rule.title,
        "status": rule.status,
        "category": rule.category,
        "outcome": rule.outcome,
        "spec_id": spec,
        "min_count": rule.anchor.min_count,
        "min_nodes": rule.anchor.min_nodes,
        "base": rule.base,
        "cap": rule.cap,
        "specificity": rule.specificity,
        "settle": rule.settle,
        "conclusion_en": rule.conclusion.en,
        "conclusion_zh": rule.conclusion.zh,
        "action_en": rule.action.en,
        "action_zh": rule.action.zh,
    }


def _clause_row(rule: Rule, number: int, clause: Clause, probe: int) -> Row:
    kind = "unless" if isinstance(clause, Unless) else "absence" if isinstance(clause, Absence) else "support"
    return {
        "rule_id": rule.id,
        "clause_no": number,
        "kind": kind,
        "probe_id": probe,
        "min_events": getattr(clause, "min_events", 1),
        "min_nodes": getattr(clause, "min_nodes", 1),
        "required": getattr(clause, "required", False),
        "weight": float(getattr(clause, "weight", 0)),
        "needs_coverage": getattr(clause, "needs_coverage", None),
    }
