"""Rules -> rows of `transforms.rule_tables`: distinct selectors, anchors and probes, shared by all rules."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from firstfault.rules.engine.clauses import Absence, AnyClause, Doubt, Selector, Silence, Support, Unless
from firstfault.rules.engine.clauses import Sequence as SequenceClause
from firstfault.rules.engine.model import Rule
from firstfault.rules.engine.numbering import Numbering, Numbers, probe_of, spec_key
from firstfault.rules.engine.vocabulary import Vocabulary
from firstfault.transforms.composites import SEQUENCE
from firstfault.transforms.filesystems import NAMING
from firstfault.transforms.step_times import STEP

Row = dict[str, Any]
_CLAUSE_KINDS: dict[type, str] = {
    Support: "support",
    Unless: "unless",
    Doubt: "doubt",
    Absence: "absence",
    Silence: "silence",
    SequenceClause: "support",
}
"""Whether a clause speaks for the rule, against it, or asks that something is not heard."""


def compile_rules(
    rules: Sequence[Rule], vocabulary: Vocabulary, versions: Mapping[str, int] = MappingProxyType({})
) -> dict[str, list[Row]]:
    """Rows per table of `rule_tables.TABLES`.

    Args:
        rules: Validated rules; deprecated ones are left out by the caller.
        vocabulary: Expands globs to event types.
        versions: Rule id -> version of its text.
    """
    numbers = Numbers()
    for event in (STEP, *NAMING):  # progress and names are asked for whatever the rules are
        numbers.selector(Selector(event=event))
    spec_probes: dict[tuple[int, int], None] = {}
    rule_rows: list[Row] = []
    clause_rows: list[Row] = []
    explains: list[Row] = []
    for rule in sorted(rules, key=lambda r: r.id):
        spec = numbers.specs(spec_key(rule, numbers))
        rule_rows.append({**_rule_row(rule, spec), "rule_version": versions.get(rule.id, 0)})
        for number, clause in enumerate(rule.clauses):
            probe, parts = probe_of(clause, numbers)
            spec_probes |= dict.fromkeys((spec, p) for p in (probe, *parts))
            clause_rows.append(_clause_row(rule, number, clause, probe))
        types = {t for glob in (*rule.explains, rule.anchor.event) for t in vocabulary.expand(glob)}
        explains += [
            {"rule_id": rule.id, "event_type": t, "is_local": vocabulary.events[t].local} for t in sorted(types)
        ]
    return {
        "selectors": _selector_rows(numbers.selectors, vocabulary),
        "specs": _spec_rows(numbers.specs),
        "suppressions": _suppression_rows(numbers.specs),
        "rules": rule_rows,
        "probes": _probe_rows(numbers),
        "composites": _composite_rows(numbers.composites),
        "clauses": clause_rows,
        "spec_probes": [{"spec_id": s, "probe_id": p} for s, p in spec_probes],
        "explains": explains,
    }


def _rows(numbering: Numbering, number: str, *names: str) -> list[Row]:
    return [{number: n, **dict(zip(names, key, strict=True))} for key, n in numbering.numbers.items()]


def _spec_rows(specs: Numbering) -> list[Row]:
    names = ("selector_id", "blame", "blame_arg", "scope", "by_s")
    return [{"spec_id": n, **dict(zip(names, key[:-1], strict=True))} for key, n in specs.numbers.items()]


def _suppression_rows(specs: Numbering) -> list[Row]:
    names = ("selector_id", "kind", "kind_arg", "within_s")
    return [
        {"spec_id": n, "suppression_no": k, **dict(zip(names, one, strict=True))}
        for key, n in specs.numbers.items()
        for k, one in enumerate(key[-1])
    ]


def _probe_rows(numbers: Numbers) -> list[Row]:
    ordered = {step for (kind, steps) in numbers.composites.numbers if kind == SEQUENCE for step in steps}
    names = ("selector_id", "kind", "kind_arg", "lo_s", "hi_s", "bucket_s", "distinct_by")
    rows = _rows(numbers.probes, "probe_id", *names)
    return [{**row, "is_ordered": row["probe_id"] in ordered} for row in rows]


def _composite_rows(composites: Numbering) -> list[Row]:
    return [
        {"probe_id": -1 - n, "composite": kind, "step_no": k, "step_probe_id": step}
        for (kind, steps), n in composites.numbers.items()
        for k, step in enumerate(steps)
    ]


def _selector_rows(selectors: Numbering, vocabulary: Vocabulary) -> list[Row]:
    rows = []
    for (event, tests), number in selectors.numbers.items():
        predicates = [dict(zip(("field", "op", "texts", "number"), t, strict=True)) for t in tests]
        rows += [
            {"selector_id": number, "event_type": event_type, "predicates": predicates}
            for event_type in sorted(vocabulary.expand(event))
        ]
    return rows


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
        "min_ranks": rule.anchor.min_ranks,
        "min_devices": rule.anchor.min_devices,
        "role": rule.role,
        "base": rule.base,
        "cap": rule.cap,
        "specificity": rule.specificity,
        "settle": rule.settle,
        "conclusion_en": rule.conclusion.en,
        "conclusion_zh": rule.conclusion.zh,
        "action_en": rule.action.en,
        "action_zh": rule.action.zh,
    }


def _clause_row(rule: Rule, number: int, clause: AnyClause, probe: int) -> Row:
    return {
        "rule_id": rule.id,
        "clause_no": number,
        "kind": _CLAUSE_KINDS[type(clause)],
        "probe_id": probe,
        "min_events": getattr(clause, "min_events", 1),
        "min_distinct": getattr(clause, "min_distinct", 1),
        "required": getattr(clause, "required", False),
        "weight": float(getattr(clause, "weight", 0)),
        "needs_coverage": getattr(clause, "needs_coverage", None),
    }
